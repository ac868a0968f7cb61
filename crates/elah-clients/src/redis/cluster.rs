//! A cluster: a client of each node, the slots that each has, and the commands that a node sends elsewhere.
//!
//! A command is sent again only after a reply which says that it has not run.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;

use crate::Work;
use crate::redis::client::Client;
use crate::redis::command::{Commands, Name};
use crate::redis::error::Error;
use crate::redis::in_flight::Waiter;
use crate::redis::key_slot;
use crate::redis::reply::{Item, Replies};
use crate::redis::settings::Settings;
use crate::redis::slot_map::{Redirection, SlotMap};

/// How often a command is sent elsewhere. A slot moves once; more than a few times is a circle.
const ROUNDS_MAX: usize = 16;
/// What Redis says of a command with keys in several slots; of a transaction each node says only which keys are not its own.
const CROSS_SLOT: &[u8] = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n";
/// The pause before a command whose keys are moving is sent again.
const MOVING_PAUSE: Duration = Duration::from_millis(20);
/// The least time between two questions for the slots.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

/// A client of a cluster. It connects for the first command.
pub struct ClusterClient {
    settings: Settings,
    topology: Mutex<Topology>,
    /// When the slots were asked for; held by who asks. Those behind it have their turns in their order, so that no command
    /// overtakes an earlier one.
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// How many calls have no reply yet.
    in_flight: AtomicUsize,
    doubts: Arc<Doubts>,
}

/// Whether the slots may have changed since they were asked for: a node has failed, or a slot has moved.
#[derive(Default)]
struct Doubts {
    raised: AtomicU64,
    /// How many of them the last answer has settled.
    settled: AtomicU64,
}

impl Doubts {
    fn raise(&self) {
        self.raised.fetch_add(1, Ordering::Relaxed);
    }

    fn raised(&self) -> u64 {
        self.raised.load(Ordering::Relaxed)
    }

    /// What was raised after the question remains.
    fn settle(&self, raised_before: u64) {
        self.settled.store(raised_before, Ordering::Relaxed);
    }

    fn are_settled(&self) -> bool {
        self.settled.load(Ordering::Relaxed) == self.raised()
    }
}

#[derive(Default)]
struct Topology {
    slots: SlotMap,
    nodes: Vec<Arc<Node>>,
    is_closed: bool,
}

struct Node {
    host: String,
    port: u16,
    client: Client<Caller>,
}

/// Waits for the replies of a node.
struct Caller {
    replies: oneshot::Sender<Result<Replies, Error>>,
    doubts: Arc<Doubts>,
}

impl Waiter for Caller {
    fn end(self, outcome: Result<Replies, Error>) {
        if outcome.is_err() {
            self.doubts.raise();
        }
        let _ = self.replies.send(outcome); // the caller may have been cancelled
    }
}

/// What is sent to one node: a command, or a whole transaction.
struct Unit {
    commands: Commands,
    /// That of its first key; any node runs what has none.
    slot: Option<u16>,
    /// The slot that a node has named, so that it is known to be one of its keys.
    named_slot: Option<u16>,
    /// The node that a reply named, instead of that of the slot.
    asked: Option<(String, u16)>,
    replies: Option<Bytes>,
}

/// The units that leave together.
struct Batch {
    node: Arc<Node>,
    commands: Commands,
    /// The numbers of the units, and whether an `ASKING` is before them.
    units: Vec<(usize, bool)>,
}

impl ClusterClient {
    /// A client without connections.
    pub fn new(settings: Settings) -> Self {
        ClusterClient {
            settings,
            topology: Mutex::default(),
            refreshed: tokio::sync::Mutex::new(None),
            in_flight: AtomicUsize::new(0),
            doubts: Arc::default(),
        }
    }

    /// Sends each command to the node of its first key. The work returns the replies in the order of the commands.
    ///
    /// # Errors
    /// [`Error::Overloaded`]
    pub fn run(self: &Arc<Self>, commands: Commands) -> Result<Work<'static, Result<Replies, Error>>, Error> {
        let units = commands.each().map(|(words, commands)| Unit::new(key_slot::slot_of(&words), commands)).collect();
        self.in_time(commands.name(), units)
    }

    /// Runs commands whose keys are in one slot, all or none. The replies are those to `MULTI`, to each command, and to `EXEC`.
    ///
    /// # Errors
    /// [`Error::Overloaded`]
    pub fn run_transaction(self: &Arc<Self>, commands: Commands) -> Result<Work<'static, Result<Replies, Error>>, Error> {
        let slot = commands.each().find_map(|(words, _)| key_slot::slot_of(&words));
        let commands = commands.into_transaction();
        self.in_time(commands.name(), vec![Unit::new(slot, commands)])
    }

    /// The masters as host and port, as far as they are known.
    pub fn addresses(&self) -> Vec<(String, u16)> {
        self.topology().slots.addresses().to_vec()
    }

    /// Closes the connections and ends all waits, for good.
    pub fn close(&self) {
        let mut topology = self.topology();
        topology.is_closed = true;
        topology.nodes.iter().for_each(|node| node.client.close());
    }

    fn in_time(self: &Arc<Self>, command: Name, units: Vec<Unit>) -> Result<Work<'static, Result<Replies, Error>>, Error> {
        let call = Call::begin(self)?;
        Ok(Box::pin(async move {
            let client = &call.0;
            let after = client.settings.times.command;
            let outcome = tokio::time::timeout(after, client.run_units(units)).await;
            outcome.unwrap_or_else(|_| Err(Error::TimedOut { server: Arc::clone(&client.settings.server), command, after }))
        }))
    }

    async fn run_units(&self, mut units: Vec<Unit>) -> Result<Replies, Error> {
        let mut round = 0;
        while round < ROUNDS_MAX {
            self.refresh().await?;
            let batches = self.batches(&units, round);
            if batches.is_empty() {
                break;
            }
            let outcomes = join_all(batches.iter().map(|batch| self.ask(&batch.node, &batch.commands, &self.doubts))).await;
            let mut is_moving = false;
            for (batch, outcome) in batches.iter().zip(outcomes) {
                match outcome {
                    Ok(replies) => is_moving |= self.deliver(batch, replies, &mut units),
                    // Nothing was sent, and another node may have the slots by now, or need none.
                    Err(Error::Unreachable { .. }) if round < self.topology().slots.addresses().len() => {}
                    Err(error) => return Err(error),
                }
            }
            if is_moving {
                tokio::time::sleep(MOVING_PAUSE).await; // as long as the command has time
            } else {
                round += 1;
            }
        }
        let mut whole = BytesMut::new();
        for unit in &units {
            whole.extend_from_slice(unit.replies.as_deref().unwrap_or(b"-TRYAGAIN The slot moves from node to node\r\n"));
        }
        Ok(Replies::new(whole.freeze()))
    }

    /// Puts the units without replies together by their nodes, in their order.
    fn batches(&self, units: &[Unit], round: usize) -> Vec<Batch> {
        let mut topology = self.topology();
        let mut batches: Vec<Batch> = Vec::new();
        for (number, unit) in units.iter().enumerate().filter(|(_, unit)| unit.replies.is_none()) {
            let Some((host, port)) = unit.asked.clone().or_else(|| topology.slots.address(unit.slot, round)) else { continue };
            let node = topology.node(&self.settings, &host, port);
            let known = batches.iter().position(|batch| Arc::ptr_eq(&batch.node, &node));
            let at = known.unwrap_or_else(|| {
                batches.push(Batch { node, commands: Commands::default(), units: Vec::new() });
                batches.len() - 1
            });
            let batch = &mut batches[at];
            let is_asking = unit.asked.is_some();
            if is_asking {
                batch.commands.begin(1);
                batch.commands.word(b"ASKING");
            }
            batch.commands.append(&unit.commands);
            batch.units.push((number, is_asking));
        }
        batches
    }

    /// Gives its replies to each unit; one that belongs elsewhere remains without. Whether the keys of one are moving.
    fn deliver(&self, batch: &Batch, mut replies: Replies, units: &mut [Unit]) -> bool {
        let mut is_moving = false;
        for (number, is_asking) in &batch.units {
            let unit = &mut units[*number];
            if *is_asking {
                replies.skip();
            }
            let own = replies.take(unit.commands.count());
            unit.asked = None;
            match redirection(&own, unit.commands.count(), &batch.node.host) {
                None => unit.replies = Some(own),
                Some(Redirection::Down) => {
                    unit.replies = Some(own);
                    self.doubts.raise();
                }
                Some(Redirection::TryAgain) => is_moving = true,
                Some(Redirection::Ask { host, port }) => unit.asked = Some((host, port)),
                // Another key of the same transaction.
                Some(Redirection::Moved { slot, .. }) if unit.named_slot.is_some_and(|named| named != slot) => {
                    unit.replies = Some(Bytes::from_static(CROSS_SLOT));
                }
                Some(Redirection::Moved { slot, host, port }) => {
                    self.topology().slots.set(slot, &host, port);
                    unit.slot = Some(slot); // also where the key was taken for another word
                    unit.named_slot = unit.slot;
                    self.doubts.raise(); // more slots may have moved
                }
            }
        }
        is_moving
    }

    /// Raises a doubt when the node fails, also after the caller was cancelled.
    async fn ask(&self, node: &Node, commands: &Commands, doubts: &Arc<Doubts>) -> Result<Replies, Error> {
        let (replies, receiver) = oneshot::channel();
        if let Some(driver) = node.client.submit(commands, Caller { replies, doubts: Arc::clone(doubts) }) {
            tokio::spawn(driver.run());
        }
        receiver.await.unwrap_or_else(|_| Err(Error::Closed { server: Arc::clone(&self.settings.server) }))
    }

    /// Asks for the slots if they may have changed. Without an answer the known ones remain.
    async fn refresh(&self) -> Result<(), Error> {
        let mut refreshed = self.refreshed.lock().await;
        let is_recent = refreshed.is_some_and(|at| at.elapsed() < REFRESH_PAUSE);
        if !self.is_empty() && (is_recent || self.doubts.are_settled()) {
            return Ok(());
        }
        *refreshed = Some(Instant::now());
        let doubts = self.doubts.raised();
        match self.newest_slots().await {
            Ok(slots) => {
                self.topology().replace(&self.settings, slots);
                self.doubts.settle(doubts);
                Ok(())
            }
            Err(error) if self.is_empty() => Err(error),
            Err(_) => Ok(()),
        }
    }
    /// The first answer of a node that takes part in the cluster. The slots of one that is cut off are old, and used if nobody
    /// knows better.
    async fn newest_slots(&self) -> Result<SlotMap, Error> {
        let nodes = self.topology().all(&self.settings);
        let mut answers: FuturesUnordered<_> = nodes.iter().map(|node| self.slots_of(node)).collect();
        let mut outcome = Err(Error::Closed { server: Arc::clone(&self.settings.server) });
        loop {
            let next = answers.next();
            let answer = match &outcome {
                Ok(_) => tokio::time::timeout(REFRESH_PAUSE, next).await.unwrap_or_default(),
                Err(_) => next.await,
            };
            match answer {
                Some(Ok(slots)) if !slots.is_doubtful() => return Ok(slots),
                Some(answer) => outcome = outcome.or(answer),
                None => return outcome,
            }
        }
    }

    async fn slots_of(&self, node: &Node) -> Result<SlotMap, Error> {
        let replies = self.ask(node, &SlotMap::question_with_state(), &Arc::default()).await?;
        SlotMap::read_with_state(replies, &node.host).map_err(|cause| Error::Unreachable {
            server: Arc::clone(&self.settings.server),
            cause: cause.trim_end_matches('.').into(),
            retry_after: Duration::ZERO,
        })
    }

    fn is_empty(&self) -> bool {
        self.topology().slots.is_empty()
    }

    fn topology(&self) -> MutexGuard<'_, Topology> {
        self.topology.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call, until it has its replies or is cancelled.
struct Call(Arc<ClusterClient>);

impl Call {
    fn begin(client: &Arc<ClusterClient>) -> Result<Call, Error> {
        let max = client.settings.times.in_flight_max;
        let call = Call(Arc::clone(client)); // counted even if it is refused
        if client.in_flight.fetch_add(1, Ordering::Relaxed) < max {
            return Ok(call);
        }
        Err(Error::Overloaded { server: Arc::clone(&client.settings.server), max })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Node {
    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }
}

impl Unit {
    fn new(slot: Option<u16>, commands: Commands) -> Unit {
        Unit { commands, slot, named_slot: None, asked: None, replies: None }
    }
}

impl Topology {
    /// The client of a node, made on first use.
    fn node(&mut self, settings: &Settings, host: &str, port: u16) -> Arc<Node> {
        let known = self.nodes.iter().find(|node| node.is_at(host, port)).map(Arc::clone);
        known.unwrap_or_else(|| {
            let client = Client::new(settings.at(host, port));
            if self.is_closed {
                client.close();
            }
            let node = Arc::new(Node { host: host.to_owned(), port, client });
            self.nodes.push(Arc::clone(&node));
            node
        })
    }

    /// The known masters and the node of the URL.
    fn all(&mut self, settings: &Settings) -> Vec<Arc<Node>> {
        let (host, port) = settings.host_and_port();
        let addresses = [&[(host.to_owned(), port)], self.slots.addresses()].concat();
        addresses.iter().for_each(|(host, port)| drop(self.node(settings, host, *port)));
        self.nodes.clone()
    }

    /// Takes over new slots; nodes without any are left, when their callers have their replies.
    fn replace(&mut self, settings: &Settings, slots: SlotMap) {
        let (host, port) = settings.host_and_port();
        let is_used =
            |node: &Arc<Node>| node.is_at(host, port) || slots.addresses().iter().any(|(host, port)| node.is_at(host, *port));
        self.nodes.retain(is_used);
        self.slots = slots;
    }
}

/// Where the first of these replies sends its command that says so. In a transaction nothing has run then.
fn redirection(replies: &Bytes, count: u32, host: &str) -> Option<Redirection> {
    let mut replies = Replies::new(replies.clone());
    (0..count).find_map(|_| {
        let found = match replies.clone().next_item() {
            Item::Refusal(line) => Redirection::read(line, host),
            _ => None,
        };
        replies.skip();
        found
    })
}
