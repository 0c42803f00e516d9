//! Which runs are taken: all that deviate from the usual one at most so often, or random ones.
//!
//! In the usual run clients go first, messages arrive in the order in which they were sent, and an epoch ends when all
//! wait for it. A deviation is anything else at one moment: another client or message first, a message that is late,
//! a crash, a change of view. Without a bound on deviations the search takes every run.

use super::history::Property;
use super::world::{Move, Setup, World};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_scar::Switched;
use std::collections::{HashSet, VecDeque};

/// Moves of a run that has an end.
const LONGEST: usize = 5_000;

/// How far to search, and for what.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Deviations from the usual run; none is every run.
    pub deviations: Option<u32>,
    /// Give up, as clean so far, after so many states.
    pub states: usize,
    /// Take notice of this only; none is of anything.
    pub goal: Option<Property>,
}

/// A broken property, and the way there.
#[derive(Debug, Clone)]
pub struct Violation {
    /// What is broken.
    pub property: Property,
    /// In words.
    pub detail: String,
    /// How many deviations it takes.
    pub deviations: u32,
    /// The moves (a star marks a deviation), and the last state.
    pub trace: Vec<String>,
}

/// What a search has found.
#[derive(Debug, Default)]
pub struct Report {
    /// Distinct states.
    pub states: usize,
    /// The limit on states was reached.
    pub capped: bool,
    /// Runs that ended.
    pub ends: usize,
    /// The most transactions that committed in one run.
    pub most_commits: usize,
    /// The first violation.
    pub violation: Option<Violation>,
}

fn is_goal(goal: Option<Property>, found: Property) -> bool {
    goal.is_none_or(|goal| goal == found)
}

fn violation(
    setup: &Setup,
    rules: Switched,
    moves: &[(Move, bool)],
    (property, detail): (Property, String),
) -> Violation {
    let mut world = World::new(setup.clone(), rules);
    let mut trace = Vec::new();
    for (number, &(of, usual)) in moves.iter().enumerate() {
        let star = if usual { ' ' } else { '*' };
        trace.push(format!("{:>3}.{star} {}", number + 1, world.describe(of)));
        // the last one breaks something, and that is shown
        let _ = world.make(of);
    }
    trace.extend(world.show());
    let deviations = moves.iter().filter(|(_, usual)| !usual).count() as u32;
    Violation { property, detail, deviations, trace }
}

/// Takes all runs within the limits, those with the fewest deviations first.
pub fn explore(setup: &Setup, rules: Switched, limits: Limits) -> Report {
    let ordered = limits.deviations.is_some();
    let mut report = Report::default();
    let mut parents: Vec<(usize, Move, bool)> = vec![(0, Move::Tick, true)];
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([(World::new(setup.clone(), rules), 0_usize, 0_u32)]);
    let found = |parents: &[(usize, Move, bool)], mut at: usize, last, broken| {
        let mut moves: Vec<(Move, bool)> = Vec::from_iter(last);
        while at != 0 {
            let (parent, of, usual) = parents[at];
            moves.push((of, usual));
            at = parent;
        }
        moves.reverse();
        Some(violation(setup, rules, &moves, broken))
    };
    while let Some((world, index, deviations)) = queue.pop_front() {
        if !seen.insert(world.hash(ordered)) {
            continue;
        }
        if report.states == limits.states {
            report.capped = true;
            return report;
        }
        report.states += 1;
        let usual = world.usual();
        if usual.is_none() {
            report.ends += 1;
            report.most_commits = report.most_commits.max(world.commits());
            if let Err(broken) = world.check_end()
                && is_goal(limits.goal, broken.0)
            {
                report.violation = found(&parents, index, None, broken);
                return report;
            }
        }
        let more = limits.deviations.is_none_or(|most| deviations < most);
        let others = if more { world.moves(ordered) } else { Vec::new() };
        let others = others.into_iter().filter(|&of| Some(of) != usual).map(|of| (of, false));
        for (of, is_usual) in usual.map(|of| (of, true)).into_iter().chain(others) {
            let mut next = world.clone();
            if let Err(broken) = next.make(of) {
                if is_goal(limits.goal, broken.0) {
                    report.violation = found(&parents, index, Some((of, is_usual)), broken);
                    return report;
                }
                continue;
            }
            parents.push((index, of, is_usual));
            if is_usual {
                queue.push_front((next, parents.len() - 1, deviations));
            } else {
                queue.push_back((next, parents.len() - 1, deviations + 1));
            }
        }
    }
    report
}

/// Takes one random run.
pub fn walk(setup: &Setup, rules: Switched, seed: u64, goal: Option<Property>) -> Report {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut world = World::new(setup.clone(), rules);
    let mut moves = Vec::new();
    let mut report = Report::default();
    let often = [4, 8, 16, 32][random.random_range(0..4)];
    loop {
        report.states += 1;
        let usual = world.usual();
        let deviates = random.random_range(0..often) == 0;
        let others = if deviates { world.moves(true) } else { Vec::new() };
        let of = match (usual, others.is_empty()) {
            (None, true) => break,
            (Some(of), true) => of,
            (_, false) => others[random.random_range(0..others.len())],
        };
        moves.push((of, Some(of) == usual));
        let endless = (moves.len() > LONGEST).then(|| (Property::Stuck, "it never ends".to_string()));
        if let Err(broken) = world.make(of).and_then(|()| endless.map_or(Ok(()), Err)) {
            if is_goal(goal, broken.0) {
                report.violation = Some(violation(setup, rules, &moves, broken));
            }
            return report;
        }
    }
    report.ends = 1;
    report.most_commits = world.commits();
    if let Err(broken) = world.check_end()
        && is_goal(goal, broken.0)
    {
        report.violation = Some(violation(setup, rules, &moves, broken));
    }
    report
}
