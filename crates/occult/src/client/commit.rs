//! The commit of a transaction.
//!
//! ```text
//!  validate the reads ─► PREPARE at the home ─► PREPARE elsewhere, at once ─► validate against what is overwritten
//!                                                                                │
//!        done, for the client ◄── COMMIT at the home: the decision ◄─────────────┘
//!                 └─► COMMIT elsewhere (Finish); whoever meets a lock before that asks the home
//! ```

use std::collections::BTreeMap;

use super::resolve::{Next, Resolve, is_over};
use super::{Ask, Conflict, Error, Event, Failure, Operation, Patience, Step, Target, Transaction, View};
use crate::wire::{Command, LockInfo, Prepare, Prepared, Reply};
use crate::{Datacenter, Micros, Refused, Rule, Slot, Stamp, Timestamp, TxnId, Write};

/// What a shard has answered.
#[derive(Clone, Debug)]
enum Answer {
    Prepared(Prepared),
    Locked(LockInfo),
    OutOfReach,
    /// What the session has seen, and what is to be said of it.
    Lost(Stamp, Error),
    Failed(Error),
}

/// A shard that the transaction writes to.
#[derive(Clone, Debug)]
struct Part {
    slot: Slot,
    writes: Vec<Write>,
    /// The last answer; none while a question is under way, or before the first one.
    answer: Option<Answer>,
    /// Whether the shard may hold a lock of the transaction.
    asked: bool,
}

impl Part {
    fn stamp(&self) -> Option<Stamp> {
        match &self.answer {
            Some(Answer::Prepared(prepared)) => Some(prepared.stamp),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The parts up to this are being prepared.
    Prepare(usize),
    /// A lock of another transaction is looked at, in front of a part.
    Resolve(usize, Resolve),
    Decide,
    Abort,
}

/// The commit of a transaction.
#[derive(Debug)]
pub struct Commit {
    txn: TxnId,
    transaction: Option<Transaction>,
    /// The first is the home.
    parts: Vec<Part>,
    phase: Phase,
    open: usize,
    tries: u32,
    patience: Patience,
    /// Whether the home has been asked to decide, and has not answered: it may have decided.
    unanswered: bool,
    /// What all writes depend on, when it is decided.
    deps: Timestamp,
    /// Why it aborts.
    error: Option<Error>,
}

impl Commit {
    pub(super) fn new(mut transaction: Transaction) -> Self {
        let part = |(slot, writes)| Part { slot, writes, answer: None, asked: false };
        let parts = transaction.take_writes().into_iter().map(part).collect();
        Self {
            txn: transaction.name(),
            deps: transaction.deps().clone(),
            transaction: Some(transaction),
            parts,
            phase: Phase::Prepare(0),
            open: 0,
            tries: 0,
            patience: Patience::default(),
            unanswered: false,
            error: None,
        }
    }

    fn home(&self) -> Slot {
        self.parts[0].slot
    }

    /// Asks those parts that have no answer to keep.
    fn prepare(&mut self, view: &View<'_>, until: usize) -> Step<Finish> {
        let (txn, home, lease) = (self.txn, self.home(), view.config.lease);
        let mut asks = Vec::new();
        let mut known = view.known(home);
        if view.config.rules.on(Rule::WritesCarryDeps) {
            known.deps.clone_from(&self.deps);
        }
        for (tag, part) in self.parts[..until].iter_mut().enumerate() {
            if matches!(part.answer, Some(Answer::Prepared(_))) {
                continue;
            }
            (part.answer, part.asked) = (None, true);
            let prepare = Prepare { txn, home, lease, writes: part.writes.clone() };
            let known = crate::wire::Known { deps: known.deps.clone(), ..view.known(part.slot) };
            asks.push(Ask { tag, to: Target::Master, command: Command::Prepare { prepare, known } });
        }
        self.phase = Phase::Prepare(until);
        self.open = asks.len();
        Step::Ask(asks)
    }

    /// All parts that were asked have answered.
    fn answered(&mut self, view: &mut View<'_>, now: Micros, until: usize) -> Step<Finish> {
        let answers = || self.parts[..until].iter().filter_map(|part| part.answer.as_ref()).enumerate();
        let failed = answers().find_map(|(_, answer)| match answer {
            Answer::Failed(error) => Some(error.clone()),
            _ => None,
        });
        if let Some(error) = failed {
            return self.abort(view, error);
        }
        let lost = answers().find_map(|(at, answer)| match answer {
            Answer::Lost(seen, error) => Some((self.parts[at].slot, *seen, error.clone())),
            _ => None,
        });
        if let Some((slot, seen, error)) = lost {
            // if there are more, the next attempt is told of the next one
            view.memory.report_lost(slot, seen);
            return self.abort(view, error);
        }
        let locked = answers().find_map(|(at, answer)| match answer {
            Answer::Locked(lock) => Some((at, *lock)),
            _ => None,
        });
        if let Some((at, lock)) = locked {
            if is_over(&lock) {
                let (resolve, ask) = Resolve::start(view, self.parts[at].slot, lock);
                self.phase = Phase::Resolve(at, resolve);
                return Step::Ask(vec![ask]);
            }
            return self.wait_for_lock(view, now);
        }
        if answers().any(|(_, answer)| matches!(answer, Answer::OutOfReach)) {
            view.memory.metrics.unreachable_waits += 1;
            let error = Error::Unreachable { slot: self.home(), waited: self.patience.waited(now) };
            return match self.patience.pause(view, now) {
                Some(pause) => Step::Sleep(pause),
                None => self.abort(view, error),
            };
        }
        if until < self.parts.len() {
            return self.prepare(view, self.parts.len());
        }
        self.prepared(view)
    }

    fn wait_for_lock(&mut self, view: &mut View<'_>, now: Micros) -> Step<Finish> {
        if self.tries < view.config.lock_retries
            && let Some(pause) = self.patience.pause(view, now)
        {
            self.tries += 1;
            view.memory.metrics.lock_waits += 1;
            return Step::Sleep(pause);
        }
        let floor = Box::new(self.deps.clone());
        self.abort(view, Error::Conflict { conflict: Conflict::Locked, floor })
    }

    fn prepared_parts(&self) -> impl Iterator<Item = (Slot, &Prepared)> {
        self.parts.iter().filter_map(|part| match &part.answer {
            Some(Answer::Prepared(prepared)) => Some((part.slot, prepared)),
            _ => None,
        })
    }

    /// All shards are locked: nothing of what is overwritten can change any more.
    fn prepared(&mut self, view: &mut View<'_>) -> Step<Finish> {
        let rules = view.config.rules;
        if let Some(transaction) = &self.transaction
            && rules.on(Rule::ValidateOverwrites)
        {
            let overwritten = self.prepared_parts().map(|(_, prepared)| &prepared.deps);
            if let Err(error) = transaction.validate_overwrites(overwritten, rules) {
                return self.abort(view, error);
            }
        }
        if rules.on(Rule::OtherDatacentersCount)
            && let Err(error) = self.validate_datacenters(view)
        {
            return self.abort(view, error);
        }
        let mut deps = self.deps.clone();
        for (slot, Prepared { stamp, datacenter, deps: overwritten }) in self.prepared_parts() {
            if rules.on(Rule::WritesDependOnEachOther) {
                deps.update(*datacenter, slot, *stamp);
            }
            if rules.on(Rule::OverwriteInherits) {
                deps.merge(overwritten);
            }
        }
        self.deps = deps;
        self.decide(view)
    }

    /// Whether the slots that it writes to are still of the datacenters of which they were when it read them.
    fn validate_datacenters(&self, view: &mut View<'_>) -> Result<(), Error> {
        for (slot, prepared) in self.prepared_parts() {
            view.memory.note_datacenter(slot, prepared.datacenter);
        }
        let Some(transaction) = &self.transaction else { return Ok(()) };
        let mut parts = self.prepared_parts();
        parts.try_for_each(|(slot, prepared)| transaction.validate_datacenter(slot, prepared.datacenter))
    }

    fn decide(&mut self, view: &View<'_>) -> Step<Finish> {
        self.phase = Phase::Decide;
        let home = self.home();
        let command = |part: &Part| {
            let (stamp, at_home) = (part.stamp(), part.slot == home);
            let parts = self.parts[1..].iter().map(|part| part.slot).filter(|_| at_home).collect();
            Command::Commit { slot: part.slot, txn: self.txn, home, stamp, deps: self.deps.clone(), parts }
        };
        if view.config.rules.on(Rule::DecisionAtHome) {
            self.open = 1;
            return Step::Ask(vec![Ask { tag: 0, to: Target::Master, command: command(&self.parts[0]) }]);
        }
        self.open = self.parts.len();
        let ask = |(tag, part): (usize, &Part)| Ask { tag, to: Target::Master, command: command(part) };
        Step::Ask(self.parts.iter().enumerate().map(ask).collect())
    }

    fn decided(&mut self, view: &mut View<'_>) -> Step<Finish> {
        view.memory.metrics.commits += 1;
        if view.config.rules.on(Rule::SessionOrder) {
            view.deps.merge(&self.deps);
        }
        for (slot, Prepared { stamp, datacenter, .. }) in self.prepared_parts() {
            view.memory.see(slot, Some(*datacenter), *stamp, stamp.incarnation());
        }
        let stamps = self
            .prepared_parts()
            .map(|(slot, prepared)| (slot, prepared.datacenter, prepared.stamp))
            .collect();
        let (txn, home, deps) = (self.txn, self.parts.first().map(|part| part.slot), self.deps.clone());
        let part = |part: &Part| (part.slot, part.stamp());
        let mut open: BTreeMap<usize, _> = self.parts.iter().map(part).enumerate().skip(1).collect();
        if !view.config.rules.on(Rule::DecisionAtHome) {
            open.clear();
        }
        Step::Done(Ok(Finish {
            txn,
            home,
            deps,
            stamps,
            open,
            ended: Vec::new(),
            answered: 0,
            patience: Patience::default(),
        }))
    }

    fn abort(&mut self, view: &mut View<'_>, error: Error) -> Step<Finish> {
        if let Error::Conflict { conflict, .. } = &error {
            view.memory.metrics.count(*conflict);
        }
        if !view.config.rules.on(Rule::AbortKeepsSession)
            && let Some(transaction) = &self.transaction
        {
            view.deps.clone_from(transaction.begin());
        }
        self.error = Some(error);
        self.phase = Phase::Abort;
        let asked = self.parts.iter().enumerate().filter(|(_, part)| {
            part.asked
                && !matches!(part.answer, Some(Answer::Locked(_) | Answer::Lost(..) | Answer::Failed(_)))
        });
        let txn = self.txn;
        let ask = |(tag, part): (usize, &Part)| {
            let command = Command::Abort { slot: part.slot, txn };
            Ask { tag, to: Target::Master, command }
        };
        let asks: Vec<Ask> = asked.map(ask).collect();
        self.open = asks.len();
        if asks.is_empty() { self.aborted() } else { Step::Ask(asks) }
    }

    fn aborted(&mut self) -> Step<Finish> {
        match self.error.take() {
            Some(error) => Step::Done(Err(error)),
            // an answer after the end
            None => Step::Wait,
        }
    }

    fn answer(
        &mut self,
        view: &mut View<'_>,
        now: Micros,
        tag: usize,
        answer: Result<Reply, Failure>,
    ) -> Step<Finish> {
        match &mut self.phase {
            Phase::Prepare(until) => {
                let until = *until;
                let Some(part) = self.parts.get_mut(tag) else { return Step::Wait };
                part.answer = Some(match answer {
                    Ok(Reply::Prepared(prepared)) => Answer::Prepared(prepared),
                    Ok(_) => Answer::Failed(Error::Nonsense { slot: part.slot }),
                    Err(Failure::Refused(Refused::Locked(lock))) => Answer::Locked(lock),
                    Err(Failure::Refused(Refused::Lost { slot, seen, .. })) => {
                        Answer::Lost(seen, Error::LostWrite { slot })
                    }
                    Err(Failure::Refused(Refused::Forgotten { slot, seen })) => {
                        Answer::Lost(seen, Error::LossUnknown { slot })
                    }
                    Err(Failure::Refused(Refused::Moving | Refused::NotMaster | Refused::Full))
                    | Err(Failure::NotSent | Failure::Unknown) => Answer::OutOfReach,
                    Err(Failure::Refused(refused)) => Answer::Failed(Error::Refused(refused)),
                });
                self.open -= 1;
                if self.open > 0 { Step::Wait } else { self.answered(view, now, until) }
            }
            Phase::Resolve(_, resolve) => match resolve.answer(view, answer) {
                Next::Ask(ask) => Step::Ask(vec![*ask]),
                Next::Free => {
                    let until = self.until();
                    self.prepare(view, until)
                }
                Next::Later => {
                    let until = self.until();
                    self.phase = Phase::Prepare(until);
                    self.wait_for_lock(view, now)
                }
            },
            Phase::Decide => self.decision(view, now, answer),
            Phase::Abort => {
                // a lock that stays is freed by who meets it
                self.open -= 1;
                if self.open > 0 { Step::Wait } else { self.aborted() }
            }
        }
    }

    /// Up to which part has been prepared.
    fn until(&self) -> usize {
        if self.parts.iter().skip(1).any(|part| part.asked) { self.parts.len() } else { 1 }
    }

    fn decision(&mut self, view: &mut View<'_>, now: Micros, answer: Result<Reply, Failure>) -> Step<Finish> {
        if !view.config.rules.on(Rule::DecisionAtHome) {
            self.open -= 1;
            return if self.open > 0 { Step::Wait } else { self.decided(view) };
        }
        let unknown = Error::CommitUnknown { txn: self.txn, home: self.home() };
        self.unanswered |= matches!(answer, Err(Failure::Unknown));
        match answer {
            Ok(Reply::Done) => self.decided(view),
            Ok(_) => Step::Done(Err(Error::Nonsense { slot: self.home() })),
            Err(Failure::Refused(Refused::Lost { .. })) if self.unanswered => {
                // a failover may have lost the decision, and others may have seen it
                view.memory.metrics.commits_unknown += 1;
                Step::Done(Err(unknown))
            }
            Err(Failure::Refused(Refused::NotPrepared | Refused::Lost { .. })) => {
                let floor = Box::new(self.deps.clone());
                self.abort(view, Error::Conflict { conflict: Conflict::LeaseExpired, floor })
            }
            Err(
                Failure::Refused(Refused::Moving | Refused::NotMaster) | Failure::NotSent | Failure::Unknown,
            ) => {
                // the same again answers the same, so the question may be put until there is an answer
                view.memory.metrics.unreachable_waits += 1;
                match self.patience.pause(view, now) {
                    Some(pause) => Step::Sleep(pause),
                    None => {
                        view.memory.metrics.commits_unknown += 1;
                        Step::Done(Err(unknown))
                    }
                }
            }
            Err(Failure::Refused(refused)) => self.abort(view, Error::Refused(refused)),
        }
    }
}

impl Operation for Commit {
    type Output = Finish;

    fn step(&mut self, view: &mut View<'_>, now: Micros, event: Event) -> Step<Finish> {
        match event {
            Event::Start => {
                self.patience = Patience::start(now);
                if let Some(transaction) = &self.transaction
                    && view.config.rules.on(Rule::ValidateReads)
                    && let Err(error) = transaction.validate_reads(view.config.rules)
                {
                    return self.abort(view, error);
                }
                if self.parts.is_empty() {
                    return self.decided(view);
                }
                let first = if view.config.rules.on(Rule::HomeFirst) { 1 } else { self.parts.len() };
                self.prepare(view, first)
            }
            Event::Wake => match self.phase {
                Phase::Prepare(until) => self.prepare(view, until),
                Phase::Decide => self.decide(view),
                _ => Step::Wait,
            },
            Event::Answer { tag, answer, .. } => self.answer(view, now, tag, answer),
        }
    }
}

/// A transaction that has committed. Its writes at shards other than its home are still to be made visible: run this,
/// in the background or not. If it is dropped, whoever meets the locks does it.
#[derive(Clone, Debug)]
pub struct Finish {
    txn: TxnId,
    /// None if it wrote nothing.
    home: Option<Slot>,
    deps: Timestamp,
    stamps: Vec<(Slot, Datacenter, Stamp)>,
    open: BTreeMap<usize, (Slot, Option<Stamp>)>,
    /// Where it has committed: the home is told, and need not remember it for those slots.
    ended: Vec<Slot>,
    answered: usize,
    patience: Patience,
}

impl Finish {
    /// The stamps of its writes.
    pub fn stamps(&self) -> &[(Slot, Datacenter, Stamp)] {
        &self.stamps
    }

    /// What its writes depend on.
    pub fn deps(&self) -> &Timestamp {
        &self.deps
    }

    /// Whether there is nothing to do.
    pub fn is_finished(&self) -> bool {
        self.open.is_empty()
    }

    fn ask(&mut self) -> Step<()> {
        let Some(home) = self.home.filter(|_| !self.open.is_empty()) else { return self.end() };
        self.answered = self.open.len();
        let ask = |(&tag, &(slot, stamp)): (&usize, &(Slot, Option<Stamp>))| {
            let (deps, parts) = (self.deps.clone(), Vec::new());
            let command = Command::Commit { slot, txn: self.txn, home, stamp, deps, parts };
            Ask { tag, to: Target::Master, command }
        };
        Step::Ask(self.open.iter().map(ask).collect())
    }

    /// Tells the home which parts have ended. If that gets lost, the home remembers the transaction for longer.
    fn end(&mut self) -> Step<()> {
        self.open.clear();
        let Some(home) = self.home.filter(|_| !self.ended.is_empty()) else { return Step::Done(Ok(())) };
        self.answered = 1;
        let command = Command::End { home, txn: self.txn, parts: std::mem::take(&mut self.ended) };
        Step::Ask(vec![Ask { tag: 0, to: Target::Master, command }])
    }
}

impl Operation for Finish {
    type Output = ();

    fn step(&mut self, view: &mut View<'_>, now: Micros, event: Event) -> Step<()> {
        match event {
            Event::Start => {
                self.patience = Patience::start(now);
                self.ask()
            }
            Event::Wake => self.ask(),
            Event::Answer { tag, answer, .. } => {
                if !matches!(
                    answer,
                    Err(Failure::NotSent
                        | Failure::Unknown
                        | Failure::Refused(Refused::Moving | Refused::NotMaster))
                ) && let Some((slot, _)) = self.open.remove(&tag)
                    && answer == Ok(Reply::Done)
                {
                    self.ended.push(slot);
                }
                self.answered -= 1;
                if self.answered > 0 {
                    return Step::Wait;
                }
                if self.open.is_empty() {
                    return self.end();
                }
                match self.patience.pause(view, now) {
                    Some(pause) => Step::Sleep(pause),
                    // who meets the locks finishes it
                    None => self.end(),
                }
            }
        }
    }
}
