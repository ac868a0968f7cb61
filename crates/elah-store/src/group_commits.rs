//! Group commits: gathers the writes of many calls into numbered batches, and reports when each is settled.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Table;
use super::batch::{Batch, Gathered};
use super::batch_store::{BatchStore, Own, Told};
use super::claim::{Claim, Takeover};
use super::error::Error;
use super::merge::Merge;
use super::range::{Entry, Range};
use super::table::TableName;

/// The batches of one owner over a fixed list of tables.
pub struct GroupCommits {
    store: Arc<dyn BatchStore>,
    tables: Arc<[Arc<TableName>]>,
    commit_delay: Duration,
    open: Mutex<Batch>,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    /// Every batch up to this number is stored, or has failed its claims.
    settled: u64,
    /// The numbers of others that are: a batch that is refused is settled while earlier ones wait.
    ahead: BTreeSet<u64>,
    /// Total size of the unsettled batches.
    bytes: usize,
    waiting: Vec<(u64, Told)>,
}

impl GroupCommits {
    /// Writes refer to a table by its position in the list. A batch may wait `commit_delay` for others to share a commit, unless
    /// somebody waits for it: one transaction of many writes costs far less than many of few.
    pub fn new(tables: &[Table], commit_delay: Duration) -> Result<Self, Error> {
        let (Some(first), true) = (tables.first(), tables.len() <= 256) else {
            return Err(Error::InvalidName { bytes: 0 });
        };
        if let Some(foreign) = tables.iter().find(|table| !first.handle.shares_opening_with(&table.handle)) {
            return Err(Error::ForeignTable { name: foreign.name().to_owned() });
        }
        let names = tables.iter().map(|table| Arc::clone(&table.name)).collect();
        Ok(Self::over(Arc::<super::shared::Handle>::clone(&first.handle), names, commit_delay))
    }

    /// The same over any store of batches; up to 256 tables.
    pub fn over(store: Arc<dyn BatchStore>, tables: Arc<[Arc<TableName>]>, commit_delay: Duration) -> Self {
        let open = Mutex::new(Batch::new(1, Arc::clone(&tables), commit_delay));
        GroupCommits { store, open, tables, commit_delay, progress: Arc::default() }
    }

    /// Claims shards for `generation`, in a store of `of` shards; `done` gets the claims when they are on disk.
    pub fn claim(
        &self,
        shards: Vec<u16>,
        of: u32,
        generation: u64,
        done: impl FnOnce(Result<Vec<Arc<Claim>>, Error>) + Send + 'static,
    ) {
        self.store.claim(Takeover { shards, of, generation }, Box::new(done));
    }

    /// Whether nobody else has claimed the shard, as far as this process can read the store.
    pub fn still_owns(&self, claim: &Claim) -> bool {
        self.store.still_owns(claim)
    }

    /// Adds the writes of a call to the open batch, and returns that batch's number.
    pub fn gather(&self, claim: &Arc<Claim>, gathered: &mut Gathered) -> u64 {
        let mut open = self.open();
        open.add(claim, gathered);
        open.number
    }

    /// Submits the open batch to the writer, unless it is empty, and returns the number of the last submitted batch.
    pub fn submit(&self) -> u64 {
        let batch = {
            let mut open = self.open();
            if open.is_empty() {
                return open.number - 1;
            }
            let next = Batch::new(open.number + 1, Arc::clone(&self.tables), self.commit_delay);
            std::mem::replace(&mut *open, next)
        };
        let (number, bytes) = (batch.number, batch.bytes());
        lock(&self.progress).bytes += bytes;
        let progress = Arc::clone(&self.progress);
        self.store.store(batch, Box::new(move |()| settle(&progress, number, bytes)));
        number
    }

    /// The number up to which all batches are settled.
    pub fn settled(&self) -> u64 {
        lock(&self.progress).settled
    }

    /// Total size of the unsettled batches.
    pub fn waiting_bytes(&self) -> usize {
        lock(&self.progress).bytes
    }

    /// Calls `told` when the batch `number` is settled, on the writer's thread or at once. An open batch must be submitted first.
    pub fn when_settled(&self, number: u64, told: impl FnOnce() + Send + 'static) {
        let mut progress = lock(&self.progress);
        if number > progress.settled {
            progress.waiting.push((number, Box::new(|()| told())));
            drop(progress);
            if !self.commit_delay.is_zero() {
                self.store.hurry();
            }
        } else {
            drop(progress);
            told();
        }
    }

    /// The expiry of something with the lifetime `ttl` from now.
    pub fn expiry(&self, ttl: Duration) -> u64 {
        self.store.expiry(ttl)
    }

    /// Appends the value of a key of a table to `into`, as stored and changed by `gathered`. `None` if the store has to be asked for
    /// it, with `range_later`.
    pub fn get_now(&self, table: u8, key: &[u8], gathered: &Gathered, into: &mut Vec<u8>) -> Option<Result<bool, Error>> {
        match gathered.get(table, key) {
            Some(own) => {
                into.extend_from_slice(own.unwrap_or_default());
                Some(Ok(own.is_some()))
            }
            None => match self.table(table) {
                Ok(name) => self.store.get_now(name, key, into),
                Err(error) => Some(Err(error)),
            },
        }
    }

    /// A range of a table, as stored and changed by `gathered`. `None` if the store has to be asked for it, with `range_later`.
    pub fn range_now(&self, table: u8, range: &Range, gathered: &Gathered) -> Option<Result<Vec<Entry>, Error>> {
        match self.table(table) {
            Ok(name) => self.store.range_now(name, range, &Own(gathered.by_key(table))),
            Err(error) => Some(Err(error)),
        }
    }

    /// A range of a table, as stored and changed by `gathered`, for the owner of the claim; `done` gets it.
    pub fn range_later(
        &self,
        claim: &Arc<Claim>,
        table: u8,
        range: Range,
        gathered: &Gathered,
        done: impl FnOnce(Result<Vec<Entry>, Error>) + Send + 'static,
    ) {
        let bounds = match self.table(table).and_then(|_| range.bounds()) {
            Ok(Some(bounds)) if range.limit > 0 => bounds,
            Ok(_) => return done(Ok(Vec::new())),
            Err(error) => return done(Err(error)),
        };
        let own = gathered.by_key(table);
        // Each own write may take the place of a stored row.
        let wider = Range { limit: range.limit.saturating_add(own.len()), ..range.clone() };
        let merged = move |stored: Vec<Entry>| {
            let mut merge = Merge::new(Some(&own), &bounds, &range);
            let _ = stored.iter().all(|(key, value)| merge.own_before(key) && merge.stored(key, value));
            merge.finish()
        };
        if let Some(name) = self.tables.get(usize::from(table)) {
            self.store.range_later(claim, name, wider, Box::new(move |stored| done(stored.map(merged))));
        }
    }

    fn table(&self, number: u8) -> Result<&TableName, Error> {
        self.tables.get(usize::from(number)).map(|name| &**name).ok_or(Error::InvalidName { bytes: 0 })
    }

    fn open(&self) -> MutexGuard<'_, Batch> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever waits for a batch is told when all up to it are settled.
fn settle(progress: &Mutex<Progress>, number: u64, bytes: usize) {
    let due = {
        let mut progress = lock(progress);
        progress.ahead.insert(number);
        while progress.ahead.first() == Some(&(progress.settled + 1)) {
            progress.settled += 1;
            progress.ahead.pop_first();
        }
        progress.bytes = progress.bytes.saturating_sub(bytes);
        let settled = progress.settled;
        let (due, later) = std::mem::take(&mut progress.waiting).into_iter().partition(|(number, _)| *number <= settled);
        progress.waiting = later;
        due
    };
    let due: Vec<(u64, Told)> = due;
    for (_, told) in due {
        told(());
    }
}
