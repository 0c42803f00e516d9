//! Reads: at the nearest copy, again there if it is behind, and at last at the master.

use super::resolve::{Next, Resolve};
use super::{Ask, Error, Event, Failure, Operation, Patience, Step, Target, View};
use crate::wire::{Command, Item, ReadReply, Reply};
use crate::{Datacenter, Micros, Refused, Rule, Slot, Stamp, Value, slot_of};

/// What a read has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadResult {
    /// The slot of the keys.
    pub slot: Slot,
    /// The datacenter of its stamps.
    pub datacenter: Option<Datacenter>,
    /// All writes of the slot up to here are in it.
    pub shardstamp: Stamp,
    /// The keys, in the order in which they were asked for.
    pub items: Vec<Item>,
}

/// A read of keys of one slot.
#[derive(Clone, Debug)]
pub struct Read {
    keys: Vec<Value>,
    slot: Slot,
    /// How often the nearest copy has been asked again because it was behind.
    retries: u32,
    /// Whether the master is asked from now on.
    master: bool,
    resolve: Option<Resolve>,
    patience: Patience,
}

impl Read {
    pub(super) fn new(keys: Vec<Value>) -> Self {
        assert!(!keys.is_empty(), "a read without keys");
        let slot = slot_of(&keys[0]);
        assert!(keys.iter().all(|key| slot_of(key) == slot), "a read of keys of several slots");
        Self { keys, slot, retries: 0, master: false, resolve: None, patience: Patience::default() }
    }

    /// The keys.
    pub fn keys(&self) -> &[Value] {
        &self.keys
    }

    fn ask<T>(&self, view: &View<'_>) -> Step<T> {
        let keys = self.keys.clone();
        let (to, command) = if self.master {
            (Target::Master, Command::ReadMaster { known: view.known(self.slot), keys })
        } else {
            (Target::Nearest, Command::Read { keys })
        };
        Step::Ask(vec![Ask { tag: 0, to, command }])
    }

    fn ask_master<T>(&mut self, view: &mut View<'_>) -> Step<T> {
        if !self.master {
            self.master = true;
            view.memory.metrics.fallbacks += 1;
        }
        self.ask(view)
    }

    fn pause<T>(&mut self, view: &mut View<'_>, now: Micros, error: Error) -> Step<T> {
        match self.patience.pause(view, now) {
            Some(pause) => Step::Sleep(pause),
            None => Step::Done(Err(error)),
        }
    }

    fn read(&mut self, view: &mut View<'_>, from_master: bool, reply: ReadReply) -> Step<ReadResult> {
        let ReadReply { shardstamp, incarnation, datacenter, items } = reply;
        if items.len() != self.keys.len() {
            return Step::Done(Err(Error::Nonsense { slot: self.slot }));
        }
        let slot = self.slot;
        let rules = view.config.rules;
        let known =
            datacenter.map_or_else(|| view.deps.get_anywhere(slot), |of| view.deps.get_of(of, slot, rules));
        let checked = rules.on(Rule::StaleReadsAreRetried)
            && (rules.on(Rule::MasterReadsAreChecked) || !(from_master || self.master));
        if !self.master {
            if checked && shardstamp < known.max(view.has_seen(slot)) {
                return self.stale(view, from_master);
            }
            if view.doubts(slot, incarnation) || view.knows_other(slot, datacenter) {
                return self.ask_master(view);
            }
        } else if checked && shardstamp < known {
            // the session has learnt more in the meantime
            return self.ask(view);
        } else {
            view.memory.verified(slot, incarnation);
        }
        for item in &items {
            if rules.on(Rule::ReadsMergeDeps) {
                view.deps.merge(&item.deps);
            }
            view.memory.see(slot, datacenter, item.stamp, incarnation);
        }
        Step::Done(Ok(ReadResult { slot, datacenter, shardstamp, items }))
    }

    fn stale(&mut self, view: &mut View<'_>, from_master: bool) -> Step<ReadResult> {
        if self.retries == 0 {
            view.memory.metrics.stale_reads += 1;
        }
        if from_master || self.retries >= view.config.local_retries {
            return self.ask_master(view);
        }
        self.retries += 1;
        view.memory.metrics.local_retries += 1;
        if self.retries == 1 {
            return self.ask(view);
        }
        let delay = view.config.local_delay.0.checked_shl(self.retries - 2).unwrap_or(u64::MAX);
        Step::Sleep(Micros(delay.min(view.config.max_delay.0)))
    }

    fn failed(&mut self, view: &mut View<'_>, now: Micros, failure: Failure) -> Step<ReadResult> {
        let (slot, waited) = (self.slot, self.patience.waited(now));
        match failure {
            Failure::Refused(Refused::Locked(lock)) => {
                // who is told so has seen another part of that transaction, so it probably has committed
                let (resolve, ask) = Resolve::start(view, slot, lock);
                self.resolve = Some(resolve);
                Step::Ask(vec![ask])
            }
            Failure::Refused(Refused::Lost { seen, .. }) => {
                view.memory.report_lost(slot, seen);
                Step::Done(Err(Error::LostWrite { slot }))
            }
            Failure::Refused(Refused::Forgotten { seen, .. }) => {
                view.memory.report_lost(slot, seen);
                Step::Done(Err(Error::LossUnknown { slot }))
            }
            Failure::Refused(Refused::Moving | Refused::NotMaster) | Failure::NotSent | Failure::Unknown => {
                view.memory.metrics.unreachable_waits += 1;
                // the nearest copy may be down: the master may not be
                self.master = true;
                self.pause(view, now, Error::Unreachable { slot, waited })
            }
            Failure::Refused(refused) => Step::Done(Err(Error::Refused(refused))),
        }
    }
}

impl Operation for Read {
    type Output = ReadResult;

    fn step(&mut self, view: &mut View<'_>, now: Micros, event: Event) -> Step<ReadResult> {
        match event {
            Event::Start => {
                view.memory.metrics.reads += 1;
                self.patience = Patience::start(now);
                self.ask(view)
            }
            Event::Wake => self.ask(view),
            Event::Answer { from_master, answer, .. } => {
                if let Some(resolve) = &mut self.resolve {
                    match resolve.answer(view, answer) {
                        Next::Ask(ask) => return Step::Ask(vec![*ask]),
                        Next::Free => {
                            self.resolve = None;
                            return self.ask(view);
                        }
                        Next::Later => {
                            self.resolve = None;
                            view.memory.metrics.lock_waits += 1;
                            let (slot, waited) = (self.slot, self.patience.waited(now));
                            return self.pause(view, now, Error::Stale { slot, waited });
                        }
                    }
                }
                match answer {
                    Ok(Reply::Read(reply)) => self.read(view, from_master, reply),
                    Ok(_) => Step::Done(Err(Error::Nonsense { slot: self.slot })),
                    Err(failure) => self.failed(view, now, failure),
                }
            }
        }
    }
}
