//! What can happen next in a world, how often, and what happens when nothing goes wrong.

use super::rules::Rules;
use super::world::{Broken, Calls, Memory, World};
use crate::Event;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Execute(usize),
    ExecuteStray(usize, usize),
    Refuse(usize),
    Deliver(usize),
    Disconnect(usize),
    Connect(usize),
    Write(usize, usize),
    PassTime,
    Tick(usize),
    Hang(usize),
    ReadBoard(usize),
    FailBoard(usize),
    Fence(usize, usize),
    Restore(usize, usize),
    Reread(usize, usize),
    Stop(usize, usize),

    Drain(usize),
    StopStandby,
    FailOver,
    Die(usize),
    Reap(usize, usize),
}

/// How often each kind of disturbance may still happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    /// By process.
    pub(super) writes: Vec<u8>,
    /// By process.
    pub(super) disconnects: Vec<u8>,
    pub(super) time: u8,
    /// Which processes read the board.
    pub(super) observers: Vec<bool>,
    pub(super) refusals: u8,
    pub(super) failed_boards: u8,
    pub(super) hangs: u8,
    pub(super) rereads: u8,
    /// By process.
    pub(super) drains: Vec<u8>,
    /// By process.
    pub(super) deaths: Vec<u8>,
    pub(super) lossless_failovers: u8,
    pub(super) lossy_failovers: u8,
}

fn use_up(budget: &mut u8) {
    *budget = budget.saturating_sub(1);
}

impl Budget {
    /// Nothing happens but that time passes and `writes` by each process.
    pub(super) fn new(writes: &[u8], time: u8) -> Self {
        let none = vec![0; writes.len()];
        Budget {
            writes: writes.to_vec(),
            time,
            observers: vec![true; writes.len()],
            disconnects: none.clone(),
            drains: none.clone(),
            deaths: none,
            ..Budget::default()
        }
    }

    fn pay(&mut self, step: Step, is_lossy: bool) {
        match step {
            Step::Write(index, _) => use_up(&mut self.writes[index]),
            Step::Disconnect(index) => use_up(&mut self.disconnects[index]),
            Step::PassTime => use_up(&mut self.time),
            Step::Refuse(_) => use_up(&mut self.refusals),
            Step::FailBoard(_) => use_up(&mut self.failed_boards),
            Step::Hang(_) => use_up(&mut self.hangs),
            Step::Reread(..) => use_up(&mut self.rereads),
            Step::Drain(index) => use_up(&mut self.drains[index]),
            Step::Die(index) => use_up(&mut self.deaths[index]),
            Step::FailOver if is_lossy => use_up(&mut self.lossy_failovers),
            Step::FailOver => use_up(&mut self.lossless_failovers),
            _ => {}
        }
    }
}

/// A world and what may still disturb it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Situation {
    pub(super) world: World,
    pub(super) budget: Budget,
}

impl Situation {
    /// All that can happen next.
    pub(super) fn steps(&self, rules: &Rules) -> Vec<Step> {
        let mut steps = Vec::new();
        for index in 0..self.world.processes.len() {
            self.steps_of(rules, index, &mut steps);
        }
        if self.budget.time > 0 {
            steps.push(Step::PassTime);
        }
        if self.budget.lossy_failovers > 0 && self.world.standby.is_none() {
            steps.push(Step::StopStandby);
        }
        let has_standby = self.world.standby.is_some();
        if has_standby && self.budget.lossy_failovers > 0 || !has_standby && self.budget.lossless_failovers > 0 {
            steps.push(Step::FailOver);
        }
        steps
    }

    fn steps_of(&self, rules: &Rules, index: usize, steps: &mut Vec<Step>) {
        let (process, budget) = (&self.world.processes[index], &self.budget);
        steps.extend((0..process.stray.len()).map(|stray| Step::ExecuteStray(index, stray)));
        steps.extend((0..process.fences.len()).map(|place| Step::Fence(index, place)));
        if process.is_dead {
            for observer in 0..self.world.processes.len() {
                let other = &self.world.processes[observer];
                if !other.is_dead && !other.is_over && !process.is_reaped {
                    steps.push(Step::Reap(observer, index));
                }
            }
            return;
        }
        if !process.queue.is_empty() {
            steps.push(Step::Execute(index));
            if budget.refusals > 0 {
                steps.push(Step::Refuse(index));
            }
        }
        if !process.replies.is_empty() {
            steps.push(Step::Deliver(index));
        }
        if budget.deaths[index] > 0 {
            steps.push(Step::Die(index));
        }
        if process.is_over {
            return;
        }
        if !process.is_connected {
            steps.push(Step::Connect(index));
        } else if budget.disconnects[index] > 0 && !(process.queue.is_empty() && process.replies.is_empty()) {
            steps.push(Step::Disconnect(index));
        }
        let is_idle = process.is_connected && process.queue.is_empty() && process.replies.is_empty();
        if is_idle && !rules.swift[index] && process.machine.tick_at().is_none_or(|at| at <= process.clock) {
            steps.push(Step::Tick(index));
        }
        if budget.hangs > 0 {
            steps.push(Step::Hang(index));
        }
        if budget.observers[index] {
            steps.push(Step::ReadBoard(index));
        }
        if budget.failed_boards > 0 {
            steps.push(Step::FailBoard(index));
        }
        if budget.drains[index] > 0 {
            steps.push(Step::Drain(index));
        }
        for (shard, memory) in process.memory.iter().enumerate() {
            match memory {
                Some(Memory::Reading { .. }) if process.machine.witness().is_some() => steps.push(Step::Restore(index, shard)),
                Some(Memory::Serving { calls, .. }) => {
                    if budget.writes[index] > 0 && *calls != Calls::Ended {
                        steps.push(Step::Write(index, shard));
                    }
                    if budget.rereads > 0 && self.world.is_settled(index, shard) {
                        steps.push(Step::Reread(index, shard));
                    }
                    if !rules.is_prompt && *calls == Calls::Ending {
                        steps.push(Step::Stop(index, shard));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes a step, and checks what must hold after it.
    pub(super) fn take(&mut self, rules: &Rules, step: Step) -> Result<(), Broken> {
        self.budget.pay(step, self.world.standby.is_some());
        let world = &mut self.world;
        match step {
            Step::Execute(index) => world.execute(rules, index, None)?,
            Step::ExecuteStray(index, stray) => world.execute(rules, index, Some(stray))?,
            Step::Refuse(index) => world.refuse(index),
            Step::Deliver(index) => world.deliver(rules, index)?,
            Step::Disconnect(index) => world.disconnect(rules, index)?,
            Step::Connect(index) => world.connect(rules, index)?,
            Step::Write(index, shard) => world.write(rules, index, shard)?,
            Step::PassTime => world.pass_time(rules)?,
            Step::Tick(index) => world.meet(rules, index, Event::Tick { is_alive: true })?,
            Step::Hang(index) => world.meet(rules, index, Event::Tick { is_alive: false })?,
            Step::ReadBoard(index) => world.read_board(rules, index)?,
            Step::FailBoard(index) => {
                world.processes[index].reads_deposed = false;
                world.meet(rules, index, Event::BoardFailed)?;
            }
            Step::Fence(index, place) => world.fence(rules, index, place)?,
            Step::Restore(index, shard) | Step::Reread(index, shard) => world.restore(rules, index, shard)?,
            Step::Stop(index, shard) => world.stopped(rules, index, shard)?,
            Step::Drain(index) => world.drain(rules, index)?,
            Step::StopStandby => world.standby = Some(Box::new(world.database.clone())),
            Step::FailOver => world.fail_over(rules)?,
            Step::Die(index) => world.die(index),
            Step::Reap(observer, index) => {
                world.processes[index].is_reaped = true;
                world.meet(rules, observer, Event::Reaped { writer: index as u64 + 1 })?;
            }
        }
        self.world.check(rules)
    }

    /// Lets the cluster run for a while, with nothing going wrong.
    pub(super) fn calm(&mut self, rules: &Rules, rounds: usize) -> Result<(), (Vec<Step>, Broken)> {
        let mut taken = Vec::new();
        self.budget = Budget::new(&vec![0; self.world.processes.len()], u8::MAX);
        for process in &mut self.world.processes {
            process.stray.clear();
            process.reads_deposed = false;
        }
        let mut take = |situation: &mut Situation, step| {
            taken.push(step);
            situation.take(rules, step).map_err(|law| (taken.clone(), law))
        };
        let boards: Vec<Step> = (0..self.world.processes.len()).map(Step::ReadBoard).collect();
        for _ in 0..rounds {
            for round in boards.iter().chain(&[Step::PassTime]) {
                for _ in 0..50 {
                    let mut steps = self.steps(rules).into_iter();
                    let Some(step) = steps.find(|step| !matches!(step, Step::ReadBoard(_) | Step::PassTime)) else { break };
                    take(self, step)?;
                }
                if self.steps(rules).contains(round) {
                    take(self, *round)?;
                }
            }
        }
        Ok(())
    }
}
