//! Events, and the troubles among them: failovers, moves of slots, clocks that are set.

use super::World;
use crate::cluster::Said;
use crate::versions::Past;
use rand::Rng;
use rand::seq::SliceRandom;
use scaledb_occult::client::{Ask, Event as ClientEvent, Failure};

/// The time between beats.
const BEAT: u64 = 50_000;

/// Something that will happen.
#[derive(Debug)]
pub(super) enum Event {
    Next(usize),
    Deliver { client: usize, operation: u64, ask: Box<Ask>, past: Past, answers: bool },
    Answer { client: usize, operation: u64, tag: usize, said: Box<Result<Said, Failure>> },
    Wake { client: usize, operation: u64 },
    Replicate(usize, usize),
    Beat(usize),
    Fail,
    Promote(usize),
    Move,
    StepMove,
    StepClock,
}

impl World {
    pub(super) fn start_replicas(&mut self) {
        for group in 0..self.plan.groups {
            for at in 0..self.plan.datacenters {
                if !self.replicating[group][at]
                    && self.cluster.lags(group, at)
                    && at != self.cluster.groups[group].master
                {
                    self.replicating[group][at] = true;
                    let delay = self.random.random_range(0..=self.plan.lag);
                    self.queue.after(self.plan.delay.1 + delay, Event::Replicate(group, at));
                }
            }
        }
    }

    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::Next(client) => self.next(client),
            Event::Deliver { client, operation, ask, past, answers } => {
                self.deliver(client, operation, *ask, &past, answers);
            }
            Event::Answer { client, operation, tag, said } => self.answer(client, operation, tag, *said),
            Event::Wake { client, operation } => self.step(client, operation, ClientEvent::Wake),
            Event::Replicate(group, at) => {
                self.replicating[group][at] = false;
                let count = if self.scripts.is_some() { 1 } else { self.random.random_range(1..200) };
                self.cluster.replicate(group, at, count, self.queue.now());
            }
            Event::Beat(group) => {
                self.cluster.beat(group, self.queue.now());
                self.queue.after(BEAT, Event::Beat(group));
            }
            Event::Fail | Event::Move if self.report.operations >= self.plan.operations => {}
            Event::Fail => {
                let group = self.random.random_range(0..self.plan.groups);
                if self.cluster.groups[group].up {
                    self.cluster.fail(group);
                    // a failover takes longer than clocks differ
                    let down = 4 * self.plan.skew.unsigned_abs() + self.random.random_range(1_000..500_000);
                    self.queue.after(down, Event::Promote(group));
                }
                self.queue.after(self.plan.failovers, Event::Fail);
            }
            Event::Promote(group) => {
                let at = self.random.random_range(0..self.plan.datacenters);
                let loses = self.random.random_range(0..30);
                self.cluster.promote(group, at, loses, self.queue.now());
            }
            Event::StepClock => {
                let group = self.random.random_range(0..self.plan.groups);
                let at = self.random.random_range(0..self.plan.datacenters);
                let skew = self.random.random_range(-self.plan.skew..=self.plan.skew);
                self.cluster.step_clock(group, at, skew);
                self.queue.after(self.plan.clock_steps, Event::StepClock);
            }
            Event::Move => {
                let (nth, to) =
                    (self.random.random_range(0..64), self.random.random_range(0..self.plan.groups));
                let random = &mut self.random;
                if self.cluster.begin_move(nth, to, |rest| rest.shuffle(random)) {
                    self.queue.after(0, Event::StepMove);
                }
                self.queue.after(self.plan.moves, Event::Move);
            }
            Event::StepMove => {
                if self.cluster.step_move(self.queue.now()) {
                    let pause = self.random.random_range(100..30_000);
                    self.queue.after(pause, Event::StepMove);
                }
            }
        }
    }
}
