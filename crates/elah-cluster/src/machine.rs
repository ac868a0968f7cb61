//! The state machine of one writer.

use std::collections::VecDeque;

use crate::action::Action;
use crate::config::{Config, Role};
use crate::event::Event;
use crate::members::Members;
use crate::owned::{OwnedShards, Phase};
use crate::safeguards::Safeguards;
use crate::statement::{Claimed, Held, Opened, Reply, Seen, Statement};

/// The state of one writer. Equal machines that meet equal events at equal times do the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    config: Config,
    safeguards: Safeguards,
    session: Session,
    is_registered: bool,
    /// The serial number of the last statement.
    serial: u64,
    /// The number that the last numbered statement leaves in the database.
    sequence: u64,
    /// The last number of which the database has said that it is stored.
    confirmed: u64,
    in_flight: VecDeque<InFlight>,
    /// Batches of ended sessions whose fate is not known yet.
    unresolved: Vec<SentBatch>,
    /// Batches that are not sent yet.
    waiting: VecDeque<Batch>,
    to_claim: Vec<u32>,
    owned: OwnedShards,
    members: Members,
    last_sent: u64,
    is_alive: bool,
    is_draining: bool,
    /// Whether the database shows this writer as ready; `None` when that is not known.
    shown_ready: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Session {
    /// There is no connection.
    Disconnected,
    /// There is a connection, and the last attempt to open a session on it failed.
    Closed,
    Opening {
        serial: u64,
        sent_at: u64,
    },
    Open(u64),
    /// The writer is fenced or lost.
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Batch {
    id: u64,
    shards: Vec<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SentBatch {
    serial: u64,
    batch: Batch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InFlight {
    serial: u64,
    sent_at: u64,
    subject: Subject,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Batch(Batch),
    Beat { ready: bool },
    Claim,
    Release(Vec<u32>),
}

impl Machine {
    /// A writer that the database does not know yet.
    pub fn new(config: Config) -> Self {
        Machine {
            config,
            safeguards: Safeguards::default(),
            session: Session::Disconnected,
            is_registered: false,
            serial: 0,
            sequence: 0,
            confirmed: 0,
            in_flight: VecDeque::new(),
            unresolved: Vec::new(),
            waiting: VecDeque::new(),
            to_claim: Vec::new(),
            owned: OwnedShards::default(),
            members: Members::default(),
            last_sent: 0,
            is_alive: true,
            is_draining: false,
            shown_ready: Some(false),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_safeguards(config: Config, safeguards: Safeguards) -> Self {
        Machine { safeguards, ..Machine::new(config) }
    }

    /// The writer's number.
    pub fn writer(&self) -> u64 {
        self.config.writer
    }

    /// Takes in what happened at the time `now`, and appends what is to be done.
    pub fn step(&mut self, now: u64, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Connected => self.open(now, actions),
            Event::Disconnected => self.close(Session::Disconnected),
            Event::Reply { serial, reply } => self.reply(now, serial, reply, actions),
            Event::Failed { serial } => self.failed(now, serial, actions),
            Event::Batch { id, .. } if self.session == Session::Over => actions.push(Action::NotStored { id }),
            Event::Batch { id, shards } => self.waiting.push_back(Batch { id, shards }),
            Event::Tick { is_alive } => self.tick(now, is_alive, actions),
            Event::Restored(held) => self.owned.advance(held, Phase::Restoring, Phase::Serving),
            Event::Stopped(held) => self.owned.advance(held, Phase::Stopping, Phase::Stopped),
            Event::Drain => self.drain(),
            Event::Role(role) => {
                self.config.role = role;
                self.plan_claims();
            }
            Event::Board(board) => {
                self.members.read(now, &self.config, board, actions);
                self.plan_claims();
                self.hand_over(now, actions);
            }
            Event::BoardFailed => self.members.reads_failed(),
            Event::FenceReply { writer, is_fenced } => {
                if is_fenced {
                    self.members.fenced(now, writer);
                    self.plan_claims();
                }
            }
            Event::Reaped { writer } => self.members.reaped(writer, actions),
        }
        self.send(now, actions);
    }

    /// When the next [`Event::Tick`] is due, unless something else happens before.
    pub fn tick_at(&self) -> Option<u64> {
        let is_idle = matches!(self.session, Session::Open(_)) && self.in_flight.is_empty();
        is_idle.then(|| self.last_sent + self.config.lease / 5)
    }

    /// What the row of this writer must say where its memory is read: this session, and at least this number. `None` while no session
    /// is open.
    pub fn witness(&self) -> Option<Seen> {
        match self.session {
            Session::Open(session) => Some(Seen { sequence: self.confirmed, session }),
            _ => None,
        }
    }

    fn number(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    // Sessions

    fn open(&mut self, now: u64, actions: &mut Vec<Action>) {
        self.close(Session::Closed);
        if self.session == Session::Closed {
            let serial = self.number();
            self.session = Session::Opening { serial, sent_at: now };
            self.last_sent = now;
            actions.push(Action::Send { serial, statement: Statement::Open { register: !self.is_registered } });
        }
    }

    /// Ends the session, if there is one. What was in flight is to be resolved by the next one.
    fn close(&mut self, next: Session) {
        if self.session == Session::Over {
            return;
        }
        self.session = next;
        for sent in self.in_flight.drain(..) {
            match sent.subject {
                Subject::Batch(batch) => self.unresolved.push(SentBatch { serial: sent.serial, batch }),
                Subject::Beat { .. } => self.shown_ready = None,
                Subject::Claim | Subject::Release(_) => {}
            }
        }
        self.to_claim.clear();
    }

    fn failed(&mut self, now: u64, serial: u64, actions: &mut Vec<Action>) {
        match self.session {
            // The database does not open sessions now. The next tick asks again.
            Session::Opening { serial: opening, .. } if opening == serial => self.session = Session::Closed,
            _ => match self.in_flight.iter().find(|sent| sent.serial == serial).map(|sent| &sent.subject) {
                Some(Subject::Batch(_)) => self.open(now, actions),
                // It would be sent again at once.
                Some(_) => self.close(Session::Closed),
                None => {}
            },
        }
    }

    fn reply(&mut self, now: u64, serial: u64, reply: Reply, actions: &mut Vec<Action>) {
        match (&self.session, reply) {
            (Session::Opening { serial: opening, sent_at }, Reply::Opened(opened)) if *opening == serial => {
                let sent_at = *sent_at;
                self.opened(now, serial, sent_at, opened, actions);
            }
            (Session::Open(_), reply) => {
                // Replies to statements before the session are of no interest.
                if self.in_flight.front().is_none_or(|sent| sent.serial != serial) {
                    return;
                }
                if matches!(reply, Reply::Done(false) | Reply::Claims(None)) {
                    return self.open(now, actions);
                }
                let Some(sent) = self.in_flight.pop_front() else { return };
                if self.has_number(&sent.subject) {
                    self.confirmed = serial;
                }
                self.prolong(now, sent.sent_at, actions);
                self.done(sent.subject, reply, actions);
            }
            _ => {}
        }
    }

    fn opened(&mut self, now: u64, serial: u64, sent_at: u64, opened: Opened, actions: &mut Vec<Action>) {
        let (sequence, claims) = match opened {
            Opened::Session { sequence, shards } => (sequence, shards),
            Opened::Fenced { sequence } => return self.end(Some(sequence), actions),
            Opened::Missing => return self.end(None, actions),
        };
        self.is_registered = true;
        self.session = Session::Open(serial);
        self.prolong(now, sent_at, actions);
        let has_lost = sequence < self.confirmed && self.safeguards.notices_loss;
        (self.sequence, self.confirmed) = (sequence, sequence);
        if has_lost {
            actions.push(Action::Lost { writer: self.config.writer });
            self.owned.retain(&[], actions);
            self.shown_ready = None;
        }
        self.resolve(Some(sequence), actions);
        for shard in self.owned.retain(&claims, actions) {
            self.members.set_owner(shard, None);
        }
        self.owned.release_again();
        for claimed in claims {
            self.owned.adopt(claimed, actions);
        }
        self.plan_claims();
    }

    /// Settles the batches of earlier sessions: those up to `sequence` are stored, the others never will be.
    fn resolve(&mut self, sequence: Option<u64>, actions: &mut Vec<Action>) {
        for sent in std::mem::take(&mut self.unresolved) {
            match sequence {
                Some(sequence) if sent.serial <= sequence => actions.push(Action::Stored { id: sent.batch.id }),
                Some(_) => self.fail(sent.batch, actions),
                None => actions.push(Action::Unknown { id: sent.batch.id }),
            }
        }
    }

    /// The writer is fenced, with this number; without one the database has lost the writer.
    fn end(&mut self, sequence: Option<u64>, actions: &mut Vec<Action>) {
        self.session = Session::Over;
        actions.push(Action::LeaseUntil { time: 0 });
        if sequence.unwrap_or(0) < self.confirmed || (sequence.is_none() && self.is_registered) {
            actions.push(Action::Lost { writer: self.config.writer });
        }
        self.owned.retain(&[], actions);
        self.resolve(sequence, actions);
        self.fail_waiting(actions);
        actions.push(Action::Fenced);
    }

    /// Fails the batches that wait, since no session will follow.
    fn fail_waiting(&mut self, actions: &mut Vec<Action>) {
        for batch in self.waiting.drain(..) {
            actions.push(Action::NotStored { id: batch.id });
        }
    }

    fn prolong(&mut self, now: u64, sent_at: u64, actions: &mut Vec<Action>) {
        self.members.confirmed(now);
        let from = if self.safeguards.counts_from_sending { sent_at } else { now };
        actions.push(Action::LeaseUntil { time: from + self.config.lease * self.safeguards.lease_tenths / 10 });
    }

    // Statements

    fn done(&mut self, subject: Subject, reply: Reply, actions: &mut Vec<Action>) {
        match (subject, reply) {
            (Subject::Batch(batch), _) => actions.push(Action::Stored { id: batch.id }),
            (Subject::Beat { ready }, _) => self.shown_ready = Some(ready),
            (Subject::Claim, Reply::Claims(Some(claims))) => self.claimed(claims, actions),
            (Subject::Claim, _) => {}
            (Subject::Release(shards), _) => {
                for shard in shards {
                    self.owned.remove(shard, actions);
                    self.members.set_owner(shard, None);
                }
            }
        }
    }

    /// Sends what is due and has a place in flight.
    fn send(&mut self, now: u64, actions: &mut Vec<Action>) {
        while self.in_flight.len() < self.config.in_flight_max {
            if self.fail_outdated(actions) {
                continue;
            }
            let Session::Open(session) = self.session else { return };
            let Some(subject) = self.next_subject(now) else { return };
            let serial = self.number();
            let after = self.sequence;
            if self.has_number(&subject) {
                self.sequence = serial;
            }
            let statement = match &subject {
                Subject::Batch(batch) => Statement::Batch { session, after, id: batch.id },
                Subject::Beat { ready } => Statement::Beat { session, after, ready: *ready },
                Subject::Claim => Statement::Claim { session, after, shards: std::mem::take(&mut self.to_claim) },
                Subject::Release(shards) => Statement::Release { session, after, shards: shards.clone() },
            };
            self.in_flight.push_back(InFlight { serial, sent_at: now, subject });
            self.last_sent = now;
            actions.push(Action::Send { serial, statement });
        }
    }

    fn next_subject(&mut self, now: u64) -> Option<Subject> {
        let released = self.releasable();
        if !released.is_empty() {
            for shard in &released {
                self.owned.begin_release(*shard);
            }
            return Some(Subject::Release(released));
        }
        if !self.to_claim.is_empty() && !self.has_in_flight(|subject| *subject == Subject::Claim) {
            return Some(Subject::Claim);
        }
        if !self.is_outdated()
            && let Some(batch) = self.waiting.pop_front()
        {
            return Some(Subject::Batch(batch));
        }
        let ready = self.is_ready();
        let is_due = self.is_alive && now >= self.last_sent + self.config.lease / 5;
        let is_beat_due = self.in_flight.is_empty() && (is_due || self.shown_ready != Some(ready));
        is_beat_due.then_some(Subject::Beat { ready })
    }

    fn has_number(&self, subject: &Subject) -> bool {
        self.safeguards.numbers_claims || *subject != Subject::Claim
    }

    fn has_in_flight(&self, is_it: impl Fn(&Subject) -> bool) -> bool {
        self.in_flight.iter().any(|sent| is_it(&sent.subject))
    }

    fn tick(&mut self, now: u64, is_alive: bool, actions: &mut Vec<Action>) {
        self.is_alive = is_alive;
        if self.session == Session::Closed {
            self.open(now, actions);
        }
    }

    // Batches

    /// Whether the next batch builds on memory that is dropped.
    fn is_outdated(&self) -> bool {
        let next = self.waiting.front().filter(|_| self.safeguards.drops_failed_memory);
        next.is_some_and(|batch| batch.shards.iter().any(|held| !self.owned.allows(*held)))
    }

    /// Fails the next batch if it is outdated, and all before it are settled. Whether it has.
    fn fail_outdated(&mut self, actions: &mut Vec<Action>) -> bool {
        let is_due = self.is_outdated() && !self.has_unsettled(|_| true);
        if let Some(batch) = is_due.then(|| self.waiting.pop_front()).flatten() {
            self.fail(batch, actions);
        }
        is_due
    }

    /// Whether a batch is sent whose fate is not known, and that the block wants.
    fn has_unsettled(&self, wants: impl Fn(&Batch) -> bool) -> bool {
        self.has_in_flight(|subject| matches!(subject, Subject::Batch(batch) if wants(batch)))
            || self.unresolved.iter().any(|sent| wants(&sent.batch))
    }

    /// A batch that never will be stored: memory that it has changed is dropped.
    fn fail(&mut self, batch: Batch, actions: &mut Vec<Action>) {
        actions.push(Action::NotStored { id: batch.id });
        for held in batch.shards.iter().filter(|_| self.safeguards.drops_failed_memory) {
            self.owned.renew(*held, actions);
        }
    }

    // Shards

    /// Whether this writer wants shards, for all to see.
    fn is_ready(&self) -> bool {
        let wants_some = match self.config.role {
            Role::Server => true,
            Role::Script => !self.members.has_server(),
            Role::Idle => false,
        };
        wants_some && self.members.has_joined && !self.is_draining
    }

    fn can_claim(&self) -> bool {
        let is_alone = self.members.has_joined && !self.is_draining && !self.members.has_ready();
        let may_own = self.is_ready() || (self.config.role == Role::Idle && is_alone);
        may_own && self.is_alive && matches!(self.session, Session::Open(_))
    }

    fn drain(&mut self) {
        self.is_draining = true;
        self.to_claim.clear();
    }

    /// Decides which free shards to claim.
    fn plan_claims(&mut self) {
        self.to_claim.clear();
        if !self.can_claim() {
            return;
        }
        let owned = &self.owned;
        let balance = self.members.balance(&self.config, true, |shard| owned.phase(shard).is_some());
        let own = balance.claims.iter().filter(|(_, writer)| *writer == self.config.writer);
        self.to_claim = own.map(|(shard, _)| *shard).collect();
    }

    fn claimed(&mut self, claims: Vec<Claimed>, actions: &mut Vec<Action>) {
        for claimed in claims {
            self.to_claim.retain(|shard| *shard != claimed.shard);
            self.members.set_owner(claimed.shard, Some(self.config.writer));
            self.owned.adopt(claimed, actions);
        }
    }

    /// Begins to hand over shards: all when the writer wants none, and those above its part when the members are calm.
    fn hand_over(&mut self, now: u64, actions: &mut Vec<Action>) {
        let is_calm = self.members.same_since().is_some_and(|since| now - since >= self.config.calm);
        if (!is_calm && self.is_ready()) || !self.members.has_ready() {
            return;
        }
        let owned = &self.owned;
        let owns = |shard: u32| owned.phase(shard).is_some();
        let quota = self.members.balance(&self.config, self.is_ready(), owns).quota(self.config.writer);
        let moving = owned.moving();
        let places = self.config.moves_max.saturating_sub(moving + self.members.free(&self.config, owns));
        let surplus = (owned.len() - moving).saturating_sub(quota);
        let mut serving: Vec<u32> = owned.in_phase(Phase::Serving).collect();
        serving.reverse();
        for shard in serving.into_iter().take(surplus.min(places)) {
            self.owned.stop(shard, actions);
        }
    }

    /// The stopped shards whose batches are all settled.
    fn releasable(&self) -> Vec<u32> {
        let is_settled = |shard: &u32| {
            let wants = |batch: &Batch| batch.shards.iter().any(|held| held.shard == *shard);
            !self.safeguards.settles_before_release || !(self.has_unsettled(wants) || self.waiting.iter().any(wants))
        };
        self.owned.in_phase(Phase::Stopped).filter(is_settled).collect()
    }
}
