//! Single writes and deletions.

use super::resolve::{Next, Resolve, is_over};
use super::{Ask, Error, Event, Failure, Operation, Patience, Step, Target, View};
use crate::wire::{Command, Erased, Reply, Written};
use crate::{Micros, Refused, Slot, Stamp, Value, slot_of};

/// What a write or a deletion has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its place in the order of the slot.
    pub stamp: Stamp,
    /// Of a deletion: whether there was something to delete.
    pub existed: Option<bool>,
}

/// A write, or a deletion.
#[derive(Clone, Debug)]
pub struct Change {
    key: Value,
    value: Option<Value>,
    slot: Slot,
    resolve: Option<Resolve>,
    patience: Patience,
}

impl Change {
    pub(super) fn new(key: Value, value: Option<Value>) -> Self {
        let slot = slot_of(&key);
        Self { key, value, slot, resolve: None, patience: Patience::default() }
    }

    fn ask(&self, view: &View<'_>) -> Step<Changed> {
        let (key, known) = (self.key.clone(), view.known(self.slot));
        let command = match &self.value {
            Some(value) => Command::Write { key, value: value.clone(), known },
            None => Command::Delete { key, known },
        };
        Step::Ask(vec![Ask { tag: 0, to: Target::Master, command }])
    }

    fn pause(&mut self, view: &mut View<'_>, now: Micros, error: Error) -> Step<Changed> {
        match self.patience.pause(view, now) {
            Some(pause) => Step::Sleep(pause),
            None => Step::Done(Err(error)),
        }
    }

    fn done(&self, view: &mut View<'_>, written: Written, existed: Option<bool>) -> Step<Changed> {
        let Written { stamp, datacenter } = written;
        view.deps.update(datacenter, self.slot, stamp);
        view.memory.see(self.slot, Some(datacenter), stamp, stamp.incarnation());
        Step::Done(Ok(Changed { stamp, existed }))
    }

    fn locked(&mut self, view: &mut View<'_>, now: Micros) -> Step<Changed> {
        view.memory.metrics.lock_waits += 1;
        let error = Error::Locked { slot: self.slot, waited: self.patience.waited(now) };
        self.pause(view, now, error)
    }

    fn failed(&mut self, view: &mut View<'_>, now: Micros, failure: Failure) -> Step<Changed> {
        let slot = self.slot;
        match failure {
            Failure::Refused(Refused::Locked(lock)) if is_over(&lock) => {
                let (resolve, ask) = Resolve::start(view, slot, lock);
                self.resolve = Some(resolve);
                Step::Ask(vec![ask])
            }
            Failure::Refused(Refused::Locked(_)) => self.locked(view, now),
            Failure::Refused(Refused::Lost { seen, .. }) => {
                view.memory.report_lost(slot, seen);
                Step::Done(Err(Error::LostWrite { slot }))
            }
            Failure::Refused(Refused::Forgotten { seen, .. }) => {
                view.memory.report_lost(slot, seen);
                Step::Done(Err(Error::LossUnknown { slot }))
            }
            Failure::Refused(Refused::Moving | Refused::NotMaster) | Failure::NotSent => {
                view.memory.metrics.unreachable_waits += 1;
                let error = Error::Unreachable { slot, waited: self.patience.waited(now) };
                self.pause(view, now, error)
            }
            // the same again could undo what others have written since
            Failure::Unknown => Step::Done(Err(Error::Unknown { slot })),
            Failure::Refused(refused) => Step::Done(Err(Error::Refused(refused))),
        }
    }
}

impl Operation for Change {
    type Output = Changed;

    fn step(&mut self, view: &mut View<'_>, now: Micros, event: Event) -> Step<Changed> {
        match event {
            Event::Start => {
                view.memory.metrics.writes += 1;
                self.patience = Patience::start(now);
                self.ask(view)
            }
            Event::Wake => self.ask(view),
            Event::Answer { answer, .. } => {
                if let Some(resolve) = &mut self.resolve {
                    let next = resolve.answer(view, answer);
                    if let Next::Ask(ask) = next {
                        return Step::Ask(vec![*ask]);
                    }
                    self.resolve = None;
                    return if matches!(next, Next::Free) { self.ask(view) } else { self.locked(view, now) };
                }
                match answer {
                    Ok(Reply::Written(written)) => self.done(view, written, None),
                    Ok(Reply::Erased(Erased { written, existed })) => self.done(view, written, Some(existed)),
                    Ok(_) => Step::Done(Err(Error::Nonsense { slot: self.slot })),
                    Err(failure) => self.failed(view, now, failure),
                }
            }
        }
    }
}
