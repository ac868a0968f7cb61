//! `Elah::Clients::Cluster`: this process in a cluster. The Ruby half is `lib/elah/store/cluster/membership.rb`.

use std::sync::Arc;
use std::time::Duration;

use elah_clients::sql::Settings;
use elah_cluster_postgres::{Cluster, Options, Role};
use magnus::{Error, Module, Object, RHash, RModule, Ruby, Symbol, TryConvert, Value, function, method};

use crate::clients::sql::{RubySql, read_bounds};
use crate::concurrency::wait::suspend;
use crate::ruby::errors;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::Cluster", size)]
pub(crate) struct RubyCluster {
    cluster: Arc<Cluster>,
    node: String,
}

impl RubyCluster {
    /// The URL of the database, the limits of the writer's connection, who else uses it, and what others may know of this process. It
    /// takes no part yet.
    fn open(ruby: &Ruby, url: String, bounds: RHash, others: &RubySql, own: RHash) -> Result<Self, Error> {
        fn fetch<T: TryConvert>(ruby: &Ruby, own: RHash, name: &str) -> Result<T, Error> {
            own.fetch::<_, Value>(ruby.to_symbol(name)).and_then(T::try_convert)
        }
        let settings = Settings::parse(&url, read_bounds(ruby, bounds)?)
            .map_err(|error| Error::new(errors::class(ruby, "OptionError"), error.to_string()))?;
        let seconds = |name| -> Result<Duration, Error> {
            Ok(Duration::try_from_secs_f64(fetch::<f64>(ruby, own, name)?).unwrap_or(Duration::MAX))
        };
        let node: String = fetch(ruby, own, "node")?;
        let options = Options {
            settings: Arc::new(settings),
            others: others.settings(),
            node: node.clone(),
            socket: fetch(ruby, own, "socket")?,
            lease: seconds("lease_seconds")?,
            hang: seconds("hang_seconds")?,
            handover: seconds("handover_seconds")?,
            shards: fetch(ruby, own, "shards")?,
            version: fetch(ruby, own, "version")?,
        };
        Ok(RubyCluster { cluster: Arc::new(Cluster::new(options)), node })
    }

    /// Takes part from now on, as `:server`, `:script` or `:idle`. Processes of other machines call this one at `address`.
    fn join(ruby: &Ruby, cluster: &Self, address: String, role: Symbol) -> Result<(), Error> {
        let role = match &*role.name()? {
            "server" => Role::Server,
            "script" => Role::Script,
            _ => Role::Idle,
        };
        cluster.cluster.join(address, role).map_err(|error| {
            Error::new(errors::class(ruby, "Store::CannotOpen"), format!("The cluster's thread does not start: {error}."))
        })
    }

    pub(crate) fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.cluster)
    }

    fn writer(&self) -> u64 {
        self.cluster.writer()
    }

    fn version(&self) -> u64 {
        self.cluster.version()
    }

    /// The writer that owns a shard; 0 for none.
    fn owner_of(&self, shard: u16) -> u64 {
        self.cluster.owner_of(shard).unwrap_or(0)
    }

    /// The term under which this process owns a shard; 0 if it does not.
    fn term_of(&self, shard: u16) -> u64 {
        self.cluster.term_of(shard)
    }

    /// Whether the writer lives, as far as this process knows.
    fn is_alive(&self, writer: u64) -> bool {
        writer == self.cluster.writer() || self.cluster.members().writers.get(&writer).is_some_and(|member| !member.is_fenced)
    }

    /// Whether the writer was declared dead for its silence.
    fn has_vanished(&self, writer: u64) -> bool {
        self.cluster.members().writers.get(&writer).is_some_and(|member| member.has_vanished)
    }

    /// Where this process calls the writer; nil for nowhere.
    fn address_of(&self, writer: u64) -> Option<String> {
        let members = self.cluster.members();
        let member = members.writers.get(&writer).filter(|member| !member.is_fenced)?;
        match (member.node == self.node, member.address.as_str()) {
            (true, _) => Some(member.socket.clone()),
            (false, "") => None,
            // With the writer's number, so that another one that listens there now is not called.
            (false, address) => Some(format!("{address}/{writer}")),
        }
    }

    /// Suspends until shards should be handed over, each with the term that ends; nil when the process has left.
    fn next_release(ruby: &Ruby, cluster: &Self) -> Result<Option<Vec<(u16, u64)>>, Error> {
        suspend(ruby, |completer| cluster.cluster.when_released(Box::new(|terms| completer.complete(terms))))
    }

    fn release(&self, terms: Vec<(u16, u64)>) {
        self.cluster.release(terms);
    }

    /// Suspends until others can take all shards.
    fn leave(ruby: &Ruby, cluster: &Self) -> Result<(), Error> {
        suspend(ruby, |completer| cluster.cluster.leave(Box::new(|()| completer.complete(()))))
    }

    fn trouble(&self) -> Option<String> {
        self.cluster.trouble()
    }

    fn take_was_full(&self) -> bool {
        self.cluster.take_was_full()
    }

    fn take_notes(&self) -> Vec<String> {
        self.cluster.take_notes()
    }

    /// The version of the protocol by which all processes work; 0 while it is not known.
    fn spoken(&self) -> u32 {
        self.cluster.spoken()
    }

    /// What this process has counted.
    fn figures(ruby: &Ruby, cluster: &Self) -> Result<RHash, Error> {
        let figures = cluster.cluster.figures();
        let hash = ruby.hash_new();
        hash.aset(ruby.to_symbol("lag_ms"), figures.lag_ms)?;
        hash.aset(ruby.to_symbol("losses"), figures.losses)?;
        hash.aset(ruby.to_symbol("restores"), figures.restores)?;
        hash.aset(ruby.to_symbol("drops"), figures.drops)?;
        hash.aset(ruby.to_symbol("moves"), figures.moves)?;
        Ok(hash)
    }

    /// Of each writer: its number, node, address, version, whether it is ready, whether it is fenced, and its shards.
    fn members(ruby: &Ruby, cluster: &Self) -> Result<RHash, Error> {
        let members = cluster.cluster.members();
        let hash = ruby.hash_new();
        for (writer, member) in &members.writers {
            let row = ruby.hash_new();
            row.aset(ruby.to_symbol("node"), member.node.as_str())?;
            row.aset(ruby.to_symbol("address"), member.address.as_str())?;
            row.aset(ruby.to_symbol("version"), member.version)?;
            row.aset(ruby.to_symbol("ready"), member.is_ready)?;
            row.aset(ruby.to_symbol("fenced"), member.is_fenced)?;
            let shards = members.owners.iter().filter(|owner| *owner == writer).count();
            row.aset(ruby.to_symbol("shards"), shards)?;
            hash.aset(*writer, row)?;
        }
        Ok(hash)
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let clients = elah.define_module("Clients")?;
    let class = native_class::define::<RubyCluster>(ruby, clients, "Cluster")?;
    class.define_singleton_method("open", function!(RubyCluster::open, 4))?;
    class.define_method("join", method!(RubyCluster::join, 2))?;
    class.define_method("writer", method!(RubyCluster::writer, 0))?;
    class.define_method("version", method!(RubyCluster::version, 0))?;
    class.define_method("owner_of", method!(RubyCluster::owner_of, 1))?;
    class.define_method("term_of", method!(RubyCluster::term_of, 1))?;
    class.define_method("alive?", method!(RubyCluster::is_alive, 1))?;
    class.define_method("vanished?", method!(RubyCluster::has_vanished, 1))?;
    class.define_method("address_of", method!(RubyCluster::address_of, 1))?;
    class.define_method("next_release", method!(RubyCluster::next_release, 0))?;
    class.define_method("release", method!(RubyCluster::release, 1))?;
    class.define_method("leave", method!(RubyCluster::leave, 0))?;
    class.define_method("take_was_full", method!(RubyCluster::take_was_full, 0))?;
    class.define_method("trouble", method!(RubyCluster::trouble, 0))?;
    class.define_method("take_notes", method!(RubyCluster::take_notes, 0))?;
    class.define_method("spoken", method!(RubyCluster::spoken, 0))?;
    class.define_method("figures", method!(RubyCluster::figures, 0))?;
    class.define_method("members", method!(RubyCluster::members, 0))?;
    Ok(())
}
