//! A cluster's rows, owners and leases in PostgreSQL.
//!
//! Each process is a *writer*: it stores the batches of its entities in one numbered sequence of statements, each of which holds
//! the fence; it shows signs of life; and it owns shards, which it claims, hands over, and takes from writers that have died. What
//! it may do when is decided by `elah-cluster`; here are the connections, the statements and the thread that carries them.

mod board;
mod driver;
mod error;
mod figures;
mod input;
mod job;
mod life;
mod members;
mod reader;
mod rows;
mod sequence;
mod shared;
mod statements;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elah_clients::sql::Settings;
use elah_clock::Clock;
use elah_store::{Batch, BatchStore, Claim, Entry, Error as StoreError, Own, Range, TableName, Takeover, Told};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use elah_cluster::Role;
pub use error::Error;
pub use figures::Figures;
use job::Job;
pub use members::{Member, Members};
pub use shared::ReleaseTold;
use shared::Shared;

/// What a process tells the cluster of itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// The database.
    pub settings: Arc<Settings>,
    /// Of all other connections of the process to the database. They are closed when the writer's had to be opened to another server, since
    /// theirs may be silent for good.
    pub others: Arc<Settings>,
    /// The name of this machine.
    pub node: String,
    /// Where processes of this machine call this one.
    pub socket: String,
    /// How long a writer without a sign of life keeps its shards.
    pub lease: Duration,
    /// How long the process may do nothing before it gives no more signs of life.
    pub hang: Duration,
    /// How long a hand-over may take.
    pub handover: Duration,
    /// The number of shards of the cluster.
    pub shards: u32,
    /// The version of the protocol and of the stored rows that it speaks, beside the one before.
    pub version: u32,
}

/// This process in the cluster.
pub struct Cluster {
    jobs: UnboundedSender<Job>,
    shared: Arc<Shared>,
    /// What the thread is started with; `None` once it runs.
    waiting: Mutex<Option<(Options, UnboundedReceiver<Job>)>>,
}

impl Cluster {
    /// A process that takes no part yet. It has no thread, so it may be made before a fork.
    pub fn new(options: Options) -> Cluster {
        let shared = Arc::new(Shared::new(options.shards as usize));
        let (jobs, received) = unbounded_channel();
        Cluster { jobs, shared, waiting: Mutex::new(Some((options, received))) }
    }

    /// Takes part: a thread of its own reaches the database as soon as it can. Processes of other machines call this one at `address`;
    /// an empty one means nowhere. Later calls change address and role.
    pub fn join(&self, address: String, role: Role) -> std::io::Result<()> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        match waiting {
            Some((options, jobs)) => driver::start(options, address, role, Arc::clone(&self.shared), jobs),
            None => {
                self.send(Job::Join(address, role));
                Ok(())
            }
        }
    }

    /// The number of this process's writer; 0 while it has none.
    pub fn writer(&self) -> u64 {
        self.shared.writer()
    }

    /// Changes whenever a shard has another owner, or a writer comes or goes.
    pub fn version(&self) -> u64 {
        self.shared.version()
    }

    /// The version of the protocol by which all processes work: none speaks only an earlier one. 0 while that is not known.
    pub fn spoken(&self) -> u32 {
        self.shared.spoken()
    }

    /// What this process has counted.
    pub fn figures(&self) -> Figures {
        self.shared.figures()
    }

    /// The writers and owners.
    pub fn members(&self) -> Arc<Members> {
        self.shared.members()
    }

    /// The writer that owns the shard, if one does.
    pub fn owner_of(&self, shard: u16) -> Option<u64> {
        let own = self.shared.writer();
        match self.shared.term(u32::from(shard)) {
            0 => self.shared.members().owner_of(shard).filter(|owner| *owner != own),
            _ => Some(own),
        }
    }

    /// The term under which this process owns the shard; 0 if it does not.
    pub fn term_of(&self, shard: u16) -> u64 {
        self.shared.term(u32::from(shard))
    }

    /// What has happened since the last call, as sentences for the log. From the first call on, the process has to come back in time:
    /// one that hangs must not keep its shards.
    pub fn take_notes(&self) -> Vec<String> {
        self.shared.come_back();
        self.shared.take_notes()
    }

    /// Why the database accepts nothing at the moment.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    /// Whether the database has refused writes for want of room since the last call. It is for the caller to find out how long that lasts:
    /// other writes may need less.
    pub fn take_was_full(&self) -> bool {
        self.shared.take_was_full()
    }

    /// Tells `told` when this process should hand shards over: finish the calls of their terms and store their writes, and then `release`
    /// these. They may have ended meanwhile, by `handover` or the lease.
    pub fn when_released(&self, told: ReleaseTold) {
        self.shared.when_released(told);
    }

    /// Gives up terms of shards whose calls have ended.
    pub fn release(&self, terms: Vec<(u16, u64)>) {
        self.send(Job::Released(terms));
    }

    /// Hands everything over and leaves the cluster; `done` is called when others can take the shards.
    pub fn leave(&self, done: Told) {
        self.shared.close_releases();
        if self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return done(());
        }
        self.send(Job::Leave(done));
    }

    fn send(&self, job: Job) {
        if let Err(refused) = self.jobs.send(job) {
            refused.0.refuse();
        }
    }
}

impl BatchStore for Cluster {
    fn store(&self, batch: Batch, done: Told) {
        self.send(Job::Batch(rows::Waiting { batch, done, since_ms: shared::now_ms() }));
    }

    fn claim(&self, takeover: Takeover, done: Told<Result<Vec<Arc<Claim>>, StoreError>>) {
        let claim = |shard: u16| match self.shared.term(u32::from(shard)) {
            0 => None,
            term => Some(Claim::new(shard, term)),
        };
        done(Ok(takeover.shards.into_iter().filter_map(claim).collect()));
    }

    fn still_owns(&self, claim: &Claim) -> bool {
        if !self.shared.holds(claim) {
            claim.take_away();
            return false;
        }
        self.shared.is_leased()
    }

    fn hurry(&self) {}

    fn expiry(&self, ttl: Duration) -> u64 {
        Clock::System.expiry(ttl)
    }

    fn get_now(&self, _: &TableName, _: &[u8], _: &mut Vec<u8>) -> Option<Result<bool, StoreError>> {
        None
    }

    fn range_now(&self, _: &TableName, _: &Range, _: &Own) -> Option<Result<Vec<Entry>, StoreError>> {
        None
    }

    fn range_later(&self, claim: &Arc<Claim>, table: &Arc<TableName>, range: Range, done: Told<Result<Vec<Entry>, StoreError>>) {
        self.send(Job::Read { claim: Arc::clone(claim), table: Arc::clone(table), range, done });
    }
}
