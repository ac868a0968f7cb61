//! The model of a cluster: processes with machines, clocks and memory, their connections, and the laws that must hold.

use std::collections::VecDeque;

use super::database::{Database, Payload, Sent, Writes};
use super::rules::{CALM, LEASE, Reads, Rules};
use crate::{Action, Config, Event, Held, Machine, Opened, Reply, Seen, Statement};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Calls {
    Accepted,
    Ending,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    Reading { held: Held },
    Serving { held: Held, writes: Writes, calls: Calls },
}

impl Memory {
    pub(super) fn held(&self) -> Held {
        match self {
            Memory::Reading { held } | Memory::Serving { held, .. } => *held,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    id: u64,
    payload: Payload,
    is_stored: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) machine: Machine,
    pub(super) clock: u64,
    pub(super) is_dead: bool,
    pub(super) is_reaped: bool,
    pub(super) is_connected: bool,
    /// Statements on the connection, and the replies to those that were executed.
    pub(super) queue: VecDeque<Sent>,
    pub(super) replies: VecDeque<Event>,
    /// Statements of lost connections, which may still be executed.
    pub(super) stray: Vec<VecDeque<Sent>>,
    pub(super) fences: Vec<(u64, Option<Seen>)>,
    lease_until: u64,
    pub(super) memory: Vec<Option<Memory>>,
    /// Batches without a result yet, in order.
    unsettled: VecDeque<Wanted>,
    last_batch: u64,
    /// The last number that the database has confirmed to the process.
    confirmed: u64,
    pub(super) is_leaving: bool,
    pub(super) is_over: bool,
    /// Whether the database has lost what this process relies on, and it does not know yet.
    is_astray: bool,
    /// Whether another primary, which was deposed, answers the reads.
    pub(super) reads_deposed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) processes: Vec<Process>,
    pub(super) database: Database,
    /// What an asynchronous standby has, once it has stopped to follow.
    pub(super) standby: Option<Box<Database>>,
    /// The former primary, as long as it still answers reads.
    deposed: Option<Box<Database>>,
    has_lost: bool,
    /// Whether anything went wrong by which a batch can fail.
    is_disturbed: bool,
    /// The confirmed writes of each shard.
    confirmed: Vec<Writes>,
    /// Writes of which a client was told that they are not stored.
    refused: Vec<u8>,
    writes: u8,
}

/// A law that does not hold.
pub(super) type Broken = String;

fn require(holds: bool, law: &str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(law.to_owned()) }
}

impl World {
    pub(super) fn new(rules: &Rules) -> Self {
        let process = |(writer, version): (u64, &u32)| Process {
            machine: {
                let config = Config {
                    version: *version,
                    in_flight_max: rules.in_flight_max,
                    calm: CALM,
                    ..Config::new(writer, rules.shards as u32, LEASE)
                };
                Machine::with_safeguards(config, rules.safeguards)
            },
            clock: 1_000,
            is_dead: false,
            is_reaped: false,
            is_connected: false,
            queue: VecDeque::new(),
            replies: VecDeque::new(),
            stray: Vec::new(),
            fences: Vec::new(),
            lease_until: 0,
            memory: vec![None; rules.shards],
            unsettled: VecDeque::new(),
            last_batch: 0,
            confirmed: 0,
            is_leaving: false,
            is_over: false,
            is_astray: false,
            reads_deposed: false,
        };
        World {
            processes: (1..).zip(&rules.versions).map(process).collect(),
            database: Database::new(rules.versions.len(), rules.shards),
            standby: None,
            deposed: None,
            has_lost: false,
            is_disturbed: false,
            confirmed: vec![Writes::new(); rules.shards],
            refused: Vec::new(),
            writes: 0,
        }
    }

    // What happens

    /// A machine meets an event, and its driver acts.
    pub(super) fn meet(&mut self, rules: &Rules, index: usize, event: Event) -> Result<(), Broken> {
        let mut actions = Vec::new();
        let clock = self.processes[index].clock;
        self.processes[index].machine.step(clock, event, &mut actions);
        let asked: Vec<(bool, u32)> = actions
            .iter()
            .filter_map(|action| match action {
                Action::Restore(held) => Some((true, held.shard)),
                Action::Stop(held) => Some((false, held.shard)),
                _ => None,
            })
            .collect();
        for action in actions {
            self.act(index, action)?;
        }
        for (is_restore, shard) in asked.into_iter().filter(|_| rules.is_prompt) {
            match is_restore {
                true => self.restore(rules, index, shard as usize)?,
                false => self.stopped(rules, index, shard as usize)?,
            }
        }
        while rules.swift[index] && !self.processes[index].queue.is_empty() {
            self.execute(rules, index, None)?;
            self.deliver(rules, index)?;
        }
        Ok(())
    }

    fn act(&mut self, index: usize, action: Action) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        let writer = index as u64 + 1;
        require(!process.is_over || matches!(action, Action::NotStored { .. }), "a fenced machine does nothing")?;
        match action {
            Action::Send { serial, statement } => {
                require(process.is_connected, "statements need a connection")?;
                let id = if let Statement::Batch { id, .. } = statement { id } else { 0 };
                let payload = process.unsettled.iter().find(|wanted| wanted.id == id).map(|wanted| wanted.payload.clone());
                require(id == 0 || payload.is_some(), "a settled batch is not sent")?;
                process.queue.push_back(Sent { serial, statement, payload });
            }
            Action::Fence { writer, seen } => {
                if !process.fences.contains(&(writer, seen)) {
                    process.fences.push((writer, seen));
                }
            }
            Action::Stored { id } => self.stored(index, id)?,
            Action::NotStored { id } => self.not_stored(index, id)?,
            Action::Unknown { id } => {
                self.settle(index, id)?;
                require(self.has_lost, "a fate is unknown only after a loss")?;
            }
            Action::LeaseUntil { time } => {
                require(time == 0 || time >= process.lease_until, "a lease is not shortened")?;
                process.lease_until = time;
            }
            Action::Restore(held) => {
                let place = &mut process.memory[held.shard as usize];
                require(place.is_none(), "memory is dropped before it is restored")?;
                *place = Some(Memory::Reading { held });
            }
            Action::Drop(held) => {
                let place = process.memory[held.shard as usize].take();
                // Memory on its way to another writer may be gone already.
                require(place.is_none_or(|memory| memory.held() == held), "the dropped term is the current one")?;
            }
            Action::Stop(held) => {
                let memory = process.memory[held.shard as usize].as_mut();
                let Some(Memory::Serving { held: serving, calls, .. }) = memory else {
                    return Err("what is not served is not stopped".to_owned());
                };
                require(*serving == held, "the stopped term is the current one")?;
                *calls = Calls::Ending;
            }
            Action::Lost { writer: lost } => {
                require(self.has_lost, "a loss is reported only after one")?;
                if lost == writer {
                    process.is_astray = false;
                }
            }
            Action::Incompatible { .. } => {}
            Action::Fenced => {
                require(process.memory.iter().all(Option::is_none), "a fenced writer drops all memory")?;
                process.is_over = true;
                process.is_astray = false;
            }
        }
        Ok(())
    }

    fn settle(&mut self, index: usize, id: u64) -> Result<Wanted, Broken> {
        let wanted = self.processes[index].unsettled.pop_front();
        wanted.filter(|wanted| wanted.id == id).ok_or_else(|| "batches are settled once and in order".to_owned())
    }

    fn stored(&mut self, index: usize, id: u64) -> Result<(), Broken> {
        let wanted = self.settle(index, id)?;
        require(wanted.is_stored, "only what was stored is confirmed")?;
        require(!self.processes[index].is_astray, "a loss is noticed before the next confirmation")?;
        self.confirmed[wanted.payload.shard as usize].push(wanted.payload.write);
        Ok(())
    }

    fn not_stored(&mut self, index: usize, id: u64) -> Result<(), Broken> {
        let wanted = self.settle(index, id)?;
        let is_stored = self.database.shards.iter().any(|shard| shard.writes.contains(&wanted.payload.write));
        require(!is_stored, "what is stored is not refused")?;
        require(self.is_disturbed, "undisturbed batches are stored")?;
        self.refused.push(wanted.payload.write);
        Ok(())
    }

    /// The next statement of a connection is executed: of the current one, or of a lost one.
    pub(super) fn execute(&mut self, rules: &Rules, index: usize, stray: Option<usize>) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        let writer = index as u64 + 1;
        let queue = stray.map_or(&mut process.queue, |place| &mut process.stray[place]);
        let Some(sent) = queue.pop_front() else { return Ok(()) };
        process.stray.retain(|queue| !queue.is_empty());
        let writes = sent.payload.as_ref().map(|payload| self.database.shards[payload.shard as usize].writes.clone());
        let was_fenced = self.database.is_fenced(writer);
        let (reply, is_stored) = self.database.execute(rules, writer, &sent);
        if let Some((payload, writes)) = sent.payload.as_ref().zip(writes).filter(|_| is_stored) {
            require(!was_fenced, "nothing of a fenced writer is stored")?;
            let owner = self.database.shards[payload.shard as usize].writer;
            require(owner == Some(writer), "only the owner changes rows")?;
            require(!self.refused.contains(&payload.write), "a fate is final")?;
            require(payload.before == writes, "memory builds on what is stored")?;
            let wanted = self.processes[index].unsettled.iter_mut().find(|wanted| wanted.payload.write == payload.write);
            wanted.ok_or("a settled batch is not stored")?.is_stored = true;
        }
        if stray.is_none() {
            self.processes[index].replies.push_back(Event::Reply { serial: sent.serial, reply });
        }
        Ok(())
    }

    /// The next statement ends with an error, and with it what follows a failed one.
    pub(super) fn refuse(&mut self, index: usize) {
        self.is_disturbed = true;
        let process = &mut self.processes[index];
        if let Some(sent) = process.queue.pop_front() {
            process.replies.push_back(Event::Failed { serial: sent.serial });
        }
    }

    pub(super) fn deliver(&mut self, rules: &Rules, index: usize) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        let Some(event) = process.replies.pop_front() else { return Ok(()) };
        match &event {
            Event::Reply { reply: Reply::Opened(Opened::Session { sequence, .. }), .. } => process.confirmed = *sequence,
            Event::Reply { serial, reply: Reply::Done(true) } => process.confirmed = *serial,
            Event::Reply { serial, reply: Reply::Claims(Some(_)) } if rules.safeguards.numbers_claims => {
                process.confirmed = *serial
            }
            _ => {}
        }
        self.meet(rules, index, event)
    }

    pub(super) fn connect(&mut self, rules: &Rules, index: usize) -> Result<(), Broken> {
        self.processes[index].is_connected = true;
        self.meet(rules, index, Event::Connected)
    }

    pub(super) fn disconnect(&mut self, rules: &Rules, index: usize) -> Result<(), Broken> {
        self.is_disturbed = true;
        let process = &mut self.processes[index];
        process.is_connected = false;
        process.replies.clear();
        let queue = std::mem::take(&mut process.queue);
        if !queue.is_empty() {
            process.stray.push(queue);
        }
        self.meet(rules, index, Event::Disconnected)?;
        if rules.is_prompt && !self.processes[index].is_over { self.connect(rules, index) } else { Ok(()) }
    }

    /// A handler changes an entity of the shard.
    pub(super) fn write(&mut self, rules: &Rules, index: usize, shard: usize) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        let Some(Memory::Serving { held, writes, calls: Calls::Accepted | Calls::Ending }) = &mut process.memory[shard] else {
            return Ok(());
        };
        let held = *held;
        self.writes += 1;
        process.last_batch += 1;
        let id = process.last_batch;
        let payload = Payload { shard: shard as u32, before: writes.clone(), write: self.writes };
        writes.push(self.writes);
        process.unsettled.push_back(Wanted { id, payload, is_stored: false });
        self.meet(rules, index, Event::Batch { id, shards: vec![held] })
    }

    /// The memory of a shard is read, for the first time or again, unless the connection leads to a deposed primary.
    pub(super) fn restore(&mut self, rules: &Rules, index: usize, shard: usize) -> Result<(), Broken> {
        let Some(witness) = self.processes[index].machine.witness() else { return Ok(()) };
        let database = self.read_by(index);
        if rules.checks_witness && !database.shows(index as u64 + 1, witness) {
            self.processes[index].reads_deposed = false;
            return Ok(());
        }
        let read = database.shards[shard].writes.clone();
        match &mut self.processes[index].memory[shard] {
            Some(Memory::Serving { writes, .. }) => {
                *writes = read;
                Ok(())
            }
            Some(Memory::Reading { held }) => {
                let held = *held;
                self.processes[index].memory[shard] = Some(Memory::Serving { held, writes: read, calls: Calls::Accepted });
                self.meet(rules, index, Event::Restored(held))
            }
            None => Ok(()),
        }
    }

    /// Whether the memory of a shard can be forgotten and read again, since nothing of it is on its way.
    pub(super) fn is_settled(&self, index: usize, shard: usize) -> bool {
        !self.processes[index].unsettled.iter().any(|wanted| wanted.payload.shard as usize == shard)
    }

    fn read_by(&self, index: usize) -> &Database {
        self.deposed.as_deref().filter(|_| self.processes[index].reads_deposed).unwrap_or(&self.database)
    }

    pub(super) fn read_board(&mut self, rules: &Rules, index: usize) -> Result<(), Broken> {
        let board = self.read_by(index).board();
        self.meet(rules, index, Event::Board(board))
    }

    pub(super) fn fence(&mut self, rules: &Rules, index: usize, place: usize) -> Result<(), Broken> {
        let (writer, seen) = self.processes[index].fences.remove(place);
        let is_fenced = self.database.fence(writer, seen, rules.omission);
        self.is_disturbed |= is_fenced;
        if self.processes[index].is_dead {
            return Ok(());
        }
        self.meet(rules, index, Event::FenceReply { writer, is_fenced })
    }

    pub(super) fn stopped(&mut self, rules: &Rules, index: usize, shard: usize) -> Result<(), Broken> {
        match &mut self.processes[index].memory[shard] {
            Some(Memory::Serving { held, calls, .. }) if *calls == Calls::Ending => {
                let held = *held;
                *calls = Calls::Ended;
                self.meet(rules, index, Event::Stopped(held))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn pass_time(&mut self, rules: &Rules) -> Result<(), Broken> {
        for (process, rate) in self.processes.iter_mut().zip(&rules.rates) {
            process.clock += rate;
        }
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if rules.swift[index] && process.is_connected && !process.is_dead && !process.is_over {
                self.meet(rules, index, Event::Tick { is_alive: true })?;
            }
        }
        Ok(())
    }

    pub(super) fn drain(&mut self, rules: &Rules, index: usize) -> Result<(), Broken> {
        self.processes[index].is_leaving = true;
        self.meet(rules, index, Event::Drain)
    }

    pub(super) fn die(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.is_dead = true;
        process.memory.fill(None);
        process.replies.clear();
        let queue = std::mem::take(&mut process.queue);
        if !queue.is_empty() {
            process.stray.push(queue);
        }
    }

    /// A standby becomes the primary. What was on the way to the former one is gone, and so is what the standby did not have.
    pub(super) fn fail_over(&mut self, rules: &Rules) -> Result<(), Broken> {
        let former = self.database.clone();
        if let Some(standby) = self.standby.take() {
            self.database = *standby;
            self.has_lost |= self.database != former;
            for (confirmed, shard) in self.confirmed.iter_mut().zip(&self.database.shards) {
                confirmed.retain(|write| shard.writes.contains(write));
            }
        }
        self.deposed = Some(Box::new(former));
        for index in 0..self.processes.len() {
            let sequence = self.database.sequence(index as u64 + 1);
            let process = &mut self.processes[index];
            process.queue.clear();
            process.stray.clear();
            process.fences.clear();
            process.is_astray |= process.confirmed > sequence;
            process.reads_deposed = true;
            if process.is_connected && !process.is_dead && !process.is_over {
                self.disconnect(rules, index)?;
            }
        }
        Ok(())
    }

    // Laws

    /// What must hold at every moment.
    pub(super) fn check(&self, rules: &Rules) -> Result<(), Broken> {
        for (confirmed, shard) in self.confirmed.iter().zip(&self.database.shards) {
            require(confirmed.iter().all(|write| shard.writes.contains(write)), "a confirmed write stays stored")?;
        }
        for process in self.processes.iter().filter(|process| !process.is_dead && !process.is_astray) {
            let may_read = process.clock < process.lease_until || rules.reads == Reads::Always;
            for (memory, confirmed) in process.memory.iter().zip(&self.confirmed) {
                if let Some(Memory::Serving { writes, calls: Calls::Accepted | Calls::Ending, .. }) =
                    memory.as_ref().filter(|_| may_read)
                {
                    require(confirmed.iter().all(|write| writes.contains(write)), "a leased read sees every confirmed write")?;
                }
            }
        }
        Ok(())
    }

    /// What must hold when nothing disturbs the cluster for long.
    pub(super) fn check_calm(&self) -> Result<(), Broken> {
        let active = || self.processes.iter().filter(|process| !process.is_dead && !process.is_over);
        for process in active() {
            require(process.unsettled.is_empty(), "every batch is settled at last")?;
            require(process.clock < process.lease_until, "every active writer has a lease at last")?;
            let row = self.database.board().writers.into_iter().find(|row| row.writer == process.machine.writer());
            require(row.is_some_and(|row| row.is_ready != process.is_leaving), "all know who wants shards at last")?;
        }
        if active().all(|process| process.is_leaving) {
            return Ok(());
        }
        for (shard, row) in self.database.shards.iter().enumerate() {
            let owner = row.writer.map(|writer| &self.processes[writer as usize - 1]);
            let memory = owner.filter(|owner| !owner.is_dead && !owner.is_over).and_then(|owner| owner.memory[shard].as_ref());
            let is_served =
                matches!(memory, Some(Memory::Serving { writes, calls: Calls::Accepted, .. }) if *writes == row.writes);
            require(is_served, "every shard is served at last")?;
            require(owner.is_some_and(|owner| !owner.is_leaving), "a leaving writer has handed over all at last")?;
        }
        Ok(())
    }
}
