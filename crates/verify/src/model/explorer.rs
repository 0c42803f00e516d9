//! Explicit-state search over all interleavings of a few workers.
//!
//! A model writes each worker's action (a transaction, a merge ...) as ordinary sequential code in which every access
//! to shared memory is one `cx.step(..)?`. The explorer runs such code one step at a time without coroutines: the
//! results of the steps taken so far are kept in the worker's log; to take the next step, the action is run again from
//! its beginning, answered from the log until the log ends, takes exactly one step on a copy of the shared state, and
//! is cut off (`Stop::Pause`) at the following one. So the code must be deterministic apart from what its steps return.
//!
//! ```text
//!   state = shared memory + for every worker (action number, log of step results)
//!   search = breadth first, states told apart by hash, so the first violation found has the fewest steps
//! ```

use super::cached::hash_of;
use super::history::{History, Property};
use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::rc::Rc;

/// Why an action did not run on.
#[derive(Debug)]
pub enum Stop {
    /// The one step of this run has been taken.
    Pause,
    /// The next step cannot be taken in this state (it waits for another worker).
    Blocked,
    /// The transaction must abort; the model's driver catches this and takes the abort steps.
    Conflict(&'static str),
    /// An invariant of the protocol is broken.
    Bug(String),
}

/// The result of code that takes steps.
pub type Steps<T> = Result<T, Stop>;

/// A step's result: it is replayed (clone), is part of the state (hash) and is shown in traces (debug).
pub trait Seen: Clone + Hash + Debug + 'static {}
impl<T: Clone + Hash + Debug + 'static> Seen for T {}

/// What an action takes its steps through.
pub struct Cx<'a, S> {
    shared: &'a mut S,
    log: &'a [Rc<dyn Any>],
    replayed: usize,
    taken: Option<(Rc<dyn Any>, u64)>,
    trace: Option<&'a mut String>,
}

impl<S> Cx<'_, S> {
    /// One atomic access to the shared state.
    pub fn step<T: Seen>(&mut self, name: &str, access: impl FnOnce(&mut S) -> T) -> Steps<T> {
        self.wait(name, |shared| Some(access(shared)))
    }

    /// As `step`, but the worker waits while `access` returns `None` (in which case it must have changed nothing).
    pub fn wait<T: Seen>(&mut self, name: &str, access: impl FnOnce(&mut S) -> Option<T>) -> Steps<T> {
        if let Some(logged) = self.log.get(self.replayed) {
            self.replayed += 1;
            let value: &T = logged.downcast_ref().expect("an action must be deterministic");
            return Ok(value.clone());
        }
        if self.taken.is_some() {
            return Err(Stop::Pause);
        }
        let value = access(self.shared).ok_or(Stop::Blocked)?;
        if let Some(trace) = &mut self.trace {
            let shown = format!("{value:?}");
            **trace = if shown == "()" { name.to_string() } else { format!("{name} -> {shown}") };
        }
        self.taken = Some((Rc::new(value.clone()), hash_of(&value)));
        Ok(value)
    }
}

/// A model: shared state and what each worker does to it.
pub trait System {
    /// Everything that more than one step can see.
    type Shared: Clone + Hash;
    /// The state before the first step.
    fn initial(&self) -> Self::Shared;
    /// Number of workers.
    fn workers(&self) -> usize;
    /// Number of actions of a worker, run one after the other.
    fn actions(&self, worker: usize) -> usize;
    /// One action.
    fn act(&self, cx: &mut Cx<'_, Self::Shared>, worker: usize, action: usize) -> Steps<()>;
    /// What was committed so far.
    fn history<'a>(&self, shared: &'a Self::Shared) -> &'a History;
    /// Checks a state in which every worker has finished.
    fn final_check(&self, shared: &Self::Shared) -> Result<(), String>;
    /// One line about a state, for traces.
    fn show(&self, shared: &Self::Shared) -> String;
}

/// How far to search and for what.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Give up (as clean so far) after this many states.
    pub states: usize,
    /// Stop only at a violation of this property (or of a stronger kind of serial order); `None` stops at any.
    pub goal: Option<Property>,
}

impl Limits {
    fn is_goal(&self, found: Property) -> bool {
        match self.goal {
            None => true,
            Some(goal) => found == goal || (found > goal && found <= Property::AnyOrder),
        }
    }
}

/// A broken property and the shortest way there.
#[derive(Debug)]
pub struct Violation {
    /// What is broken.
    pub property: Property,
    /// In words.
    pub detail: String,
    /// Number of atomic steps.
    pub steps: usize,
    /// The steps, the last state and the history, one a line.
    pub trace: Vec<String>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Report {
    /// Distinct states seen.
    pub states: usize,
    /// The limit on states was reached.
    pub capped: bool,
    /// States in which every worker had finished.
    pub terminals: usize,
    /// The largest number of transactions that committed in one run (0 would make a clean result worthless).
    pub most_commits: usize,
    /// The first violation of the goal.
    pub violation: Option<Violation>,
}

#[derive(Clone, Default)]
struct ModelWorker {
    action: usize,
    log: Vec<Rc<dyn Any>>,
    digest: u64,
}

struct ModelState<S> {
    shared: S,
    workers: Vec<Rc<ModelWorker>>,
}

enum Move<S> {
    Done,
    Blocked,
    Bug(String),
    To(ModelState<S>),
}

impl<S: Hash> ModelState<S> {
    fn hash(&self) -> u64 {
        let local: Vec<u64> = self.workers.iter().flat_map(|w| [w.action as u64, w.digest]).collect();
        hash_of(&(&self.shared, local))
    }
}

/// Lets `worker` take its next step.
fn advance<M: System>(
    model: &M,
    state: &ModelState<M::Shared>,
    worker: usize,
    trace: Option<&mut String>,
) -> Move<M::Shared> {
    let local = &state.workers[worker];
    if local.action == model.actions(worker) {
        return Move::Done;
    }
    let mut shared = state.shared.clone();
    let mut cx = Cx { shared: &mut shared, log: &local.log, replayed: 0, taken: None, trace };
    let outcome = model.act(&mut cx, worker, local.action);
    let taken = cx.taken;
    let next = match outcome {
        Err(Stop::Blocked) => return Move::Blocked,
        Err(Stop::Bug(what)) => return Move::Bug(what),
        Err(Stop::Conflict(what)) => panic!("the model let a conflict escape: {what}"),
        Ok(()) => ModelWorker { action: local.action + 1, ..ModelWorker::default() },
        Err(Stop::Pause) => {
            let (value, hash) = taken.expect("a pause follows a step");
            let mut log = Vec::with_capacity(local.log.len() + 1);
            log.extend_from_slice(&local.log);
            log.push(value);
            ModelWorker { action: local.action, log, digest: hash_of(&(local.digest, hash)) }
        }
    };
    let mut workers = state.workers.clone();
    workers[worker] = Rc::new(next);
    Move::To(ModelState { shared, workers })
}

/// Where a state was first reached from: (index of the predecessor, worker that moved).
type Parents = Vec<(usize, usize)>;

fn start<M: System>(model: &M) -> ModelState<M::Shared> {
    let idle = Rc::new(ModelWorker::default());
    ModelState { shared: model.initial(), workers: vec![idle; model.workers()] }
}

/// Replays the way to state `index` and one more move of `last`, with labels.
fn trace<M: System>(model: &M, parents: &Parents, index: usize, last: Option<usize>) -> (usize, Vec<String>) {
    let mut moves = Vec::from_iter(last);
    let mut at = index;
    while at != 0 {
        moves.push(parents[at].1);
        at = parents[at].0;
    }
    moves.reverse();
    let mut lines = Vec::new();
    let mut state = start(model);
    for (number, &worker) in moves.iter().enumerate() {
        let mut label = String::new();
        let action = state.workers[worker].action;
        let next = advance(model, &state, worker, Some(&mut label));
        lines.push(format!("{:>3}. {}{} {}", number + 1, worker_name(worker), action, label));
        if let Move::To(next) = next {
            state = next;
        }
    }
    lines.push(format!("     end: {}", model.show(&state.shared)));
    lines.extend(model.history(&state.shared).show());
    (moves.len(), lines)
}

/// A, B, C ...
pub fn worker_name(worker: usize) -> char {
    (b'A' + worker as u8) as char
}

/// Searches every interleaving within the limits.
pub fn explore<M: System>(model: &M, limits: Limits) -> Report {
    let mut report = Report::default();
    let mut parents: Parents = vec![(0, 0)];
    let mut seen = HashSet::new();
    let mut verdicts: HashMap<u64, Result<(), (Property, String)>> = HashMap::new();
    let mut queue = VecDeque::new();
    let first = start(model);
    seen.insert(first.hash());
    queue.push_back((first, 0));
    let violation = |parents: &Parents, index, last, property, detail| {
        let (steps, trace) = trace(model, parents, index, last);
        Some(Violation { property, detail, steps, trace })
    };
    while let Some((state, index)) = queue.pop_front() {
        if report.states == limits.states {
            report.capped = true;
            return report;
        }
        report.states += 1;
        let (mut done, mut blocked) = (0, 0);
        for worker in 0..model.workers() {
            let next = match advance(model, &state, worker, None) {
                Move::Done => {
                    done += 1;
                    continue;
                }
                Move::Blocked => {
                    blocked += 1;
                    continue;
                }
                Move::Bug(_) if !limits.is_goal(Property::Invariant) => continue,
                Move::Bug(what) => {
                    report.violation = violation(&parents, index, Some(worker), Property::Invariant, what);
                    return report;
                }
                Move::To(next) => next,
            };
            if !seen.insert(next.hash()) {
                continue;
            }
            let history = model.history(&next.shared);
            if history.len() != model.history(&state.shared).len() {
                report.most_commits = report.most_commits.max(history.len());
                let verdict = verdicts.entry(hash_of(history)).or_insert_with(|| history.check());
                if let Err((property, detail)) = verdict.clone()
                    && limits.is_goal(property)
                {
                    report.violation = violation(&parents, index, Some(worker), property, detail);
                    return report;
                }
            }
            parents.push((index, worker));
            queue.push_back((next, parents.len() - 1));
        }
        if done == model.workers() {
            report.terminals += 1;
            if let Err(what) = model.final_check(&state.shared)
                && limits.is_goal(Property::FinalState)
            {
                report.violation = violation(&parents, index, None, Property::FinalState, what);
                return report;
            }
        } else if done + blocked == model.workers() && limits.is_goal(Property::Deadlock) {
            let what = "every worker waits for another".to_string();
            report.violation = violation(&parents, index, None, Property::Deadlock, what);
            return report;
        }
    }
    report
}
