//! The thread of a writer: it tells the state machine what happens, and carries out what the machine decides.

mod connections;

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use elah_clients::sql::Settings;
use elah_cluster::{Action, Config, Event, Held, Machine, Role, Seen};
use elah_store::{Claim, Error as StoreError, Told};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::Options;
use crate::board::Looks;
use crate::error::Error;
use crate::figures::count;
use crate::input::Input;
use crate::job::Job;
use crate::life::Life;
use crate::reader::Reader;
use crate::rows::{Group, Waiting};
use crate::sequence::{Registration, Sequence, signed, unsigned};
use crate::shared::{Shared, Shown, now_ms};
use crate::statements;

/// The pauses between attempts to reach the database.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LAST: Duration = Duration::from_secs(1);

/// Looks at the other writers in the time of a lease.
const LOOKS_PER_LEASE: u32 = 10;

/// Terms of one machine are numbered below this, so that those of two machines of a process differ.
const TERMS: u64 = 1 << 40;

pub(crate) fn start(
    options: Options,
    address: String,
    role: Role,
    shared: Arc<Shared>,
    jobs: UnboundedReceiver<Job>,
) -> std::io::Result<()> {
    shared.set_writer(new_writer());
    let life = Life::begin(&options.socket);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let run = move || {
        LocalSet::new().block_on(&runtime, async move { Driver::new(options, address, role, shared, jobs).run().await });
        drop(life);
    };
    std::thread::Builder::new().name("elah-cluster".to_owned()).spawn(run).map(|_| ())
}

struct Driver {
    options: Options,
    shared: Arc<Shared>,
    jobs: UnboundedReceiver<Job>,
    inputs: UnboundedReceiver<Input>,
    report: UnboundedSender<Input>,
    /// Of both readers.
    readers: Arc<Settings>,
    /// For rows.
    reader: Rc<Reader>,
    /// For the board, for fences and for announcements: they wait for no read of rows.
    board: Rc<Reader>,
    machine: Machine,
    own: Registration,
    role: Role,
    /// What the terms of this machine begin with.
    terms_from: u64,
    /// The number of the connection; its predecessors' reports are of no interest.
    connection: u64,
    sequence: Option<Rc<Sequence>>,
    /// The server of the last connection, by its start.
    server: Option<i64>,
    /// When that connection was lost.
    lost_at: Instant,
    retry: Duration,
    waiting: VecDeque<Waiting>,
    /// Batches that the machine knows, by their numbers.
    groups: BTreeMap<u64, Group>,
    last_group: u64,
    /// Shards whose calls are to end.
    stopping: Vec<Held>,
    /// Shards whose calls have ended.
    handed_over: Vec<Held>,
    /// The writer with another version that the log knows.
    incompatible: u64,
    events: VecDeque<Event>,
    /// Who waits for the end, and until when the database is waited for.
    leaving: Option<(Told, u64)>,
}

impl Driver {
    fn new(options: Options, address: String, role: Role, shared: Arc<Shared>, jobs: UnboundedReceiver<Job>) -> Driver {
        let (report, inputs) = unbounded_channel();
        let readers = Arc::new(options.settings.apart());
        let reader = Rc::new(Reader::new(Arc::clone(&readers)));
        let board = Rc::new(Reader::listening(Arc::clone(&readers)));
        let own = Registration {
            writer: shared.writer(),
            node: options.node.clone(),
            address,
            socket: options.socket.clone(),
            version: options.version,
            lease_ms: u64::try_from(options.lease.as_millis()).unwrap_or(u64::MAX / 4),
        };
        let mut driver = Driver {
            machine: Machine::new(Config::new(0, options.shards, 1)),
            options,
            shared,
            jobs,
            inputs,
            report,
            readers,
            reader,
            board,
            own,
            role,
            terms_from: 0,
            connection: 0,
            sequence: None,
            server: None,
            lost_at: Instant::now(),
            retry: RETRY_FIRST,
            waiting: VecDeque::new(),
            groups: BTreeMap::new(),
            last_group: 0,
            stopping: Vec::new(),
            handed_over: Vec::new(),
            incompatible: 0,
            events: VecDeque::new(),
            leaving: None,
        };
        driver.take_role(role);
        driver.begin();
        driver
    }

    /// Goes on as a new writer.
    fn begin_again(&mut self) {
        self.own.writer = new_writer();
        self.shared.set_writer(self.own.writer);
        self.begin();
    }

    fn begin(&mut self) {
        let lease = self.own.lease_ms;
        let config = Config::new(self.own.writer, self.options.shards, lease);
        let (calm, version, role) = (config.calm.min(2 * lease), self.options.version, self.role);
        self.machine = Machine::new(Config { calm, version, role, ..config });
        self.terms_from += TERMS;
        self.stopping.clear();
        self.handed_over.clear();
        self.connect(Duration::ZERO);
    }

    async fn run(mut self) {
        let Options { node, version, lease, .. } = &self.options;
        let looks = Looks::new(node.clone(), *version, *lease / 2, Rc::clone(&self.board), Arc::clone(&self.shared));
        let (pause, report) = (*lease / LOOKS_PER_LEASE, self.report.clone());
        let looking = spawn_local(async move { looks.run(pause, report).await });
        let (pause_ms, mut ticked_at) = (u64::try_from(pause.as_millis()).unwrap_or(u64::MAX / 2), now_ms());
        while !self.is_over() {
            let due_at = self.machine.tick_at().unwrap_or(ticked_at + pause_ms);
            tokio::select! {
                job = self.jobs.recv() => match job {
                    Some(job) => self.take(job),
                    None => self.leave(Box::new(|()| ())),
                },
                Some(input) = self.inputs.recv() => self.meet(input),
                () = sleep(Duration::from_millis(due_at.saturating_sub(now_ms()))) => {}
            }
            while let Ok(job) = self.jobs.try_recv() {
                self.take(job);
            }
            if self.groups.is_empty() {
                self.want();
            }
            // Also while jobs come without a pause.
            if now_ms() >= due_at {
                ticked_at = now_ms();
                self.events.push_back(Event::Tick { is_alive: self.shared.is_alive(self.options.hang) });
            }
            self.carry_out();
            let since_ms = self.groups.values().next().and_then(Group::since_ms);
            self.shared.counts.waiting_since_ms.store(since_ms.unwrap_or(0), Ordering::Relaxed);
        }
        looking.abort();
        self.end().await;
    }

    /// Whether the process leaves, and nothing waits to be stored, or the database does not come back.
    fn is_over(&self) -> bool {
        let is_settled = self.waiting.is_empty() && self.groups.is_empty();
        self.leaving.as_ref().is_some_and(|(_, until)| is_settled || now_ms() >= *until)
    }

    fn leave(&mut self, done: Told) {
        let patience = u64::try_from(self.options.lease.as_millis()).unwrap_or(u64::MAX / 2);
        self.leaving = Some((done, now_ms() + 2 * patience));
    }

    /// The writer ends, so that others can claim its shards at once.
    async fn end(mut self) {
        self.shared.drop_all();
        self.shared.close_releases();
        let writer = signed(self.own.writer);
        // Without the database its lease ends by itself.
        let stored = timeout(self.options.lease, self.last_stored(writer)).await.ok().flatten();
        self.jobs.close();
        for group in std::mem::take(&mut self.groups).into_values() {
            match (group.serial, stored) {
                (Some(_), None) => group.fail(&unknown("did not come back before the process ended")),
                (Some(serial), Some(stored)) if serial <= stored => group.settle(),
                _ => group.fail_not_stored(),
            }
        }
        // What was not sent is not stored.
        self.waiting.drain(..).for_each(|waiting| Group::from(waiting).fail_not_stored());
        while let Ok(job) = self.jobs.try_recv() {
            job.refuse();
        }
        if let Some((done, _)) = self.leaving.take() {
            done(());
        }
    }

    /// Fences the writer. Its statements up to the returned one are stored, and no other ever will be. `None` if that is not certain: a
    /// deposed primary knows less than the writer.
    async fn last_stored(&self, writer: i64) -> Option<u64> {
        self.board.rows(statements::FENCE, &[&writer]).await.ok()?;
        let fate = self.board.rows(statements::FATE, &[&writer]).await;
        self.board.announce().await;
        let rows = fate.ok()?;
        let row = rows.first().filter(|row| row.get(1))?;
        let (sequence, session) = (unsigned(row.get(0)), unsigned(row.get(2)));
        let is_known = |seen: Seen| session == seen.session && sequence >= seen.sequence;
        self.machine.witness().is_none_or(is_known).then_some(sequence)
    }

    fn take(&mut self, job: Job) {
        match job {
            Job::Batch(waiting) => self.waiting.push_back(waiting),
            Job::Leave(done) => self.leave(done),
            Job::Join(address, role) => {
                self.own.address = address;
                self.take_role(role);
                self.events.push_back(Event::Role(role));
            }
            Job::Read { claim, table, range, done } => self.read(claim, table, range, done),
            Job::Released(terms) => {
                let terms_from = self.terms_from;
                let is_released = |held: &mut Held| {
                    terms.iter().any(|(shard, term)| (u32::from(*shard), *term) == (held.shard, terms_from + held.term))
                };
                let released: Vec<_> = self.stopping.extract_if(.., is_released).collect();
                self.stopped(&released);
            }
        }
    }

    fn meet(&mut self, input: Input) {
        let event = match input {
            Input::Board(board) => Event::Board(board),
            Input::BoardFailed(error) => {
                self.shared.set_trouble(Some(error.to_string()));
                Event::BoardFailed
            }
            Input::Fenced(writer, is_fenced) => Event::FenceReply { writer, is_fenced },
            Input::Ended(writer) => Event::Reaped { writer },
            Input::Drain => Event::Drain,
            Input::Late(late) => {
                let late: Vec<_> = self.stopping.extract_if(.., |held| late.contains(held)).collect();
                return self.stopped(&late);
            }
            Input::Connected(connection, sequence) if connection == self.connection => {
                let before = std::mem::replace(&mut self.server, sequence.server);
                if before.is_some() && before != self.server {
                    self.readers.close_connections(self.lost_at);
                    self.options.others.close_connections(self.lost_at);
                }
                self.sequence = Some(sequence);
                Event::Connected
            }
            Input::Lost(connection, error) if connection == self.connection => {
                self.shared.set_trouble(Some(error.to_string()));
                if self.sequence.take().is_some() {
                    self.lost_at = Instant::now();
                }
                self.connect(self.retry);
                self.retry = (self.retry * 2).min(RETRY_LAST);
                Event::Disconnected
            }
            Input::Reply(connection, serial, reply) if connection == self.connection => {
                self.retry = RETRY_FIRST;
                self.shared.set_trouble(None);
                Event::Reply { serial, reply }
            }
            Input::Refused(connection, serial, error) if connection == self.connection => {
                self.refused(serial, &error);
                Event::Failed { serial }
            }
            Input::Connected(..) | Input::Lost(..) | Input::Reply(..) | Input::Refused(..) => return,
        };
        self.events.push_back(event);
    }

    /// Hands what waits to the machine as one batch.
    fn want(&mut self) {
        while !self.waiting.is_empty() {
            let group = Group::take(&mut self.waiting);
            group.leave_out(|claim| self.shared.holds(claim));
            let mut shards: Vec<_> = group.claims().map(|claim| self.held(claim)).collect();
            if shards.is_empty() {
                group.settle();
                continue;
            }
            shards.sort_unstable();
            shards.dedup();
            self.last_group += 1;
            self.groups.insert(self.last_group, group);
            self.events.push_back(Event::Batch { id: self.last_group, shards });
            return;
        }
    }

    /// The calls of these shards have ended, or had time enough: what comes later under their claims is not stored.
    fn stopped(&mut self, shards: &[Held]) {
        while !self.waiting.is_empty() {
            self.want();
        }
        for held in shards {
            self.shared.disown(held.shard, self.terms_from + held.term);
            self.handed_over.push(*held);
            self.events.push_back(Event::Stopped(*held));
        }
    }

    fn held(&self, claim: &Claim) -> Held {
        Held { shard: u32::from(claim.shard()), term: claim.epoch().saturating_sub(self.terms_from) }
    }

    /// Tells the machine what has happened, and does what it wants, until it wants nothing more.
    fn carry_out(&mut self) {
        let mut actions = Vec::new();
        while let Some(event) = self.events.pop_front() {
            self.machine.step(now_ms(), event, &mut actions);
            for action in std::mem::take(&mut actions) {
                self.act(action);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send { serial, statement } => self.send(serial, statement),
            Action::Fence { writer, seen } => self.fence(writer, seen),
            Action::Stored { id } => self.settled(id, Group::settle),
            Action::NotStored { id } => self.settled(id, Group::fail_not_stored),
            Action::Unknown { id } => {
                self.settled(id, |group| group.fail(&unknown("has lost this process")));
            }
            Action::LeaseUntil { time } => self.shared.set_lease_end(time),
            Action::Restore(held) => {
                // Rows are read as they are asked for.
                count(&self.shared.counts.restores);
                self.shared.own(held.shard, self.terms_from + held.term);
                self.events.push_back(Event::Restored(held));
            }
            Action::Drop(held) => {
                self.stopping.retain(|stopping| *stopping != held);
                let counts = &self.shared.counts;
                let is_handed_over = self.handed_over.extract_if(.., |handed| handed.shard == held.shard).count() > 0;
                count(if is_handed_over { &counts.moves } else { &counts.drops });
                self.shared.disown(held.shard, self.terms_from + held.term);
            }
            Action::Stop(held) => self.stop(held),
            Action::Lost { writer } => {
                count(&self.shared.counts.losses);
                self.shared.note(format!(
                    "The cluster's database has lost confirmed writes of the writer {writer}, as a failover to an asynchronous standby does."
                ));
            }
            Action::Incompatible { writer, version } if writer != self.incompatible => {
                self.incompatible = writer;
                let own = self.options.version;
                self.shared.note(format!(
                    "This process takes no shards: the writer {writer} speaks version {version} of the protocol, and this one {own}."
                ));
            }
            Action::Incompatible { .. } => {}
            Action::Fenced => {
                self.shared.note(format!(
                    "The writer {} was declared dead: it had given no sign of life for {} s. The process goes on as another one.",
                    self.own.writer,
                    self.options.lease.as_secs_f64()
                ));
                self.begin_again();
            }
        }
    }

    fn settled(&mut self, id: u64, settle: impl FnOnce(Group)) {
        if let Some(group) = self.groups.remove(&id) {
            settle(group);
        }
        if self.groups.is_empty() {
            self.want();
        }
    }

    /// The batch that was sent is not repeated: the database would refuse it again.
    fn refused(&mut self, serial: u64, error: &Error) {
        let refusal = match error {
            Error::Refused { cause, is_full: true } => {
                self.shared.found_full();
                StoreError::Full { what: format!("the cluster's database ({cause})") }
            }
            other => StoreError::Unavailable { why: other.to_string(), may_have_run: false },
        };
        if let Some(group) = self.groups.values_mut().find(|group| group.serial == Some(serial)) {
            group.refuse(refusal);
        }
    }

    /// Whether others can call the process has changed. Without a loop no fiber is asked to hand shards over.
    fn take_role(&mut self, role: Role) {
        self.role = role;
        self.shared.show(Shown { address: self.own.address.clone(), is_server: role == Role::Server });
        if role == Role::Idle {
            let stopping = std::mem::take(&mut self.stopping);
            self.stopped(&stopping);
        }
    }

    fn stop(&mut self, held: Held) {
        if self.role == Role::Idle {
            return self.stopped(&[held]);
        }
        self.stopping.push(held);
        let shard = u16::try_from(held.shard).unwrap_or(u16::MAX);
        self.shared.ask_release(shard, self.terms_from + held.term);
        let (report, patience) = (self.report.clone(), self.options.handover);
        drop(spawn_local(async move {
            sleep(patience).await;
            let _ = report.send(Input::Late(vec![held]));
        }));
    }
}

/// The error of a batch that was sent, and of which the database says no more.
fn unknown(what: &str) -> StoreError {
    StoreError::Unavailable {
        why: format!("The cluster's database {what}: nobody knows whether this was stored."),
        may_have_run: true,
    }
}

/// A number for a writer: random, because one that the database gives could be given again after a failover.
fn new_writer() -> u64 {
    (RandomState::new().hash_one(std::process::id()) >> 1).max(1)
}
