//! `Elah::Shards::Commits`: the batches of one kind of entities in this process.

use std::sync::Arc;
use std::time::Duration;

use elah_store::GroupCommits;
#[cfg(feature = "sql")]
use elah_store::TableName;
use magnus::{Error, Module, Object, RArray, RModule, Ruby, TryConvert, function, method};

use super::RubyClaim;
use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::store::errors::raised;
use crate::store::table::RubyTable;

#[magnus::wrap(class = "Elah::Shards::Commits", size)]
pub(crate) struct RubyCommits {
    pub(super) commits: Arc<GroupCommits>,
    /// Whether calls without writes are part of a batch, too.
    pub(super) checks_reads: bool,
}

impl RubyCommits {
    fn new(ruby: &Ruby, tables: RArray, delay_seconds: f64) -> Result<Self, Error> {
        let tables: Vec<_> = tables
            .into_iter()
            .map(|table| <&RubyTable>::try_convert(table).map(|table| table.table.clone()))
            .collect::<Result<_, _>>()?;
        let delay = Duration::try_from_secs_f64(delay_seconds).unwrap_or_default();
        let commits = GroupCommits::new(&tables, delay).map_err(|error| raised(ruby, &error))?;
        Ok(RubyCommits { commits: Arc::new(commits), checks_reads: false })
    }

    /// The same over a cluster's database, for tables by their names.
    #[cfg(feature = "sql")]
    fn of_cluster(
        ruby: &Ruby,
        cluster: &crate::entity::cluster::RubyCluster,
        tables: Vec<String>,
        delay_seconds: f64,
        checks_reads: bool,
    ) -> Result<Self, Error> {
        let tables: Result<Vec<_>, _> = tables.iter().map(|name| TableName::table(name).map(Arc::new)).collect();
        let tables = tables.map_err(|error| raised(ruby, &error))?;
        let delay = Duration::try_from_secs_f64(delay_seconds).unwrap_or_default();
        Ok(RubyCommits { commits: Arc::new(GroupCommits::over(cluster.cluster(), tables.into(), delay)), checks_reads })
    }

    /// Claims shards of a store of `of` shards for a generation; the claims, once they are on disk.
    fn claim(ruby: &Ruby, commits: &Self, shards: Vec<u16>, of: u32, generation: u64) -> Result<RArray, Error> {
        let claims = suspend(ruby, |completer| {
            commits.commits.claim(shards, of, generation, |claims| completer.complete(claims));
        })?;
        let claims = claims.map_err(|error| raised(ruby, &error))?;
        Ok(ruby.ary_from_iter(claims.into_iter().map(|claim| RubyClaim { claim })))
    }

    /// Whether nobody else has claimed the shard.
    fn owns(commits: &Self, claim: &RubyClaim) -> bool {
        commits.commits.still_owns(&claim.claim)
    }

    /// The number of the last submitted batch.
    fn submit(&self) -> u64 {
        self.commits.submit()
    }

    fn settled(&self) -> u64 {
        self.commits.settled()
    }

    fn waiting_bytes(&self) -> usize {
        self.commits.waiting_bytes()
    }

    /// Suspends until the submitted batch `number` is settled.
    fn wait(ruby: &Ruby, commits: &Self, number: u64) -> Result<(), Error> {
        wait(ruby, &commits.commits, number)
    }
}

pub(super) fn wait(ruby: &Ruby, commits: &GroupCommits, number: u64) -> Result<(), Error> {
    if commits.settled() >= number {
        return Ok(());
    }
    suspend(ruby, |completer| commits.when_settled(number, || completer.complete(())))
}

pub(super) fn init(ruby: &Ruby, shards: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyCommits>(ruby, shards, "Commits")?;
    class.define_singleton_method("open", function!(RubyCommits::new, 2))?;
    #[cfg(feature = "sql")]
    class.define_singleton_method("of_cluster", function!(RubyCommits::of_cluster, 4))?;
    class.define_method("claim", method!(RubyCommits::claim, 3))?;
    class.define_method("owns?", method!(RubyCommits::owns, 1))?;
    class.define_method("submit", method!(RubyCommits::submit, 0))?;
    class.define_method("settled", method!(RubyCommits::settled, 0))?;
    class.define_method("waiting_bytes", method!(RubyCommits::waiting_bytes, 0))?;
    class.define_method("wait", method!(RubyCommits::wait, 1))?;
    Ok(())
}
