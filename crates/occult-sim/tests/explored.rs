//! Every order of small programs: two shards, two clients, one key each.

use scaledb_occult::{Rule, Rules};
use scaledb_occult_sim::explore::{explore, small};
use scaledb_occult_sim::world::Act;

const X: usize = 0;
const Y: usize = 1;

fn read(key: usize) -> Act {
    Act::Read(vec![key])
}

fn write(key: usize) -> Act {
    Act::Write(key, false)
}

fn transaction(reads: &[usize], writes: &[usize]) -> Act {
    Act::Transaction(reads.to_vec(), writes.iter().map(|key| (*key, false)).collect())
}

/// What one client does, and what the other one does.
fn programs() -> Vec<[Vec<Act>; 2]> {
    let first = [vec![write(X), write(Y)], vec![transaction(&[], &[X, Y])], vec![transaction(&[X], &[Y])]];
    let second = [
        vec![read(X), read(Y)],
        vec![read(Y), read(X)],
        vec![read(Y), write(X)],
        vec![write(Y), read(X)],
        vec![transaction(&[X, Y], &[])],
        vec![transaction(&[Y], &[X])],
        vec![transaction(&[], &[Y])],
    ];
    first.iter().flat_map(|a| second.iter().map(move |b| [a.clone(), b.clone()])).collect()
}

/// The orders that were run, how many programs have more, and the first violation.
fn search(rules: Rules, datacenters: usize, losses: u32, limit: u64) -> (u64, usize, Option<String>) {
    let (mut runs, mut incomplete) = (0, 0);
    for program in programs() {
        let explored = explore(&small(rules, datacenters), &program, losses, limit);
        runs += explored.runs;
        incomplete += usize::from(!explored.complete);
        if let Some((broken, what)) = explored.broken {
            return (runs, incomplete, Some(format!("{broken:?}: {what} in {program:?}")));
        }
    }
    (runs, incomplete, None)
}

/// Datacenters, lost answers, and how many orders of each program are run at most.
const SEARCHES: [(usize, u32, u64); 3] = [(1, 0, 10_000), (1, 1, 2_000), (2, 0, 3_000)];

#[test]
fn no_order_breaks_a_promise() {
    for (datacenters, losses, limit) in SEARCHES {
        let (runs, incomplete, broken) = search(Rules::ours(), datacenters, losses, limit);
        println!(
            "{datacenters} datacenters, {losses} answers lost: {runs} orders; {incomplete} programs have more"
        );
        assert_eq!(broken, None);
    }
}

/// The holes a to d of docs/occult/protocol.md, each by its rules.
#[test]
fn the_published_protocol_has_each_of_its_holes() {
    let noticed = |rules: Rules| {
        SEARCHES
            .into_iter()
            .find_map(|(datacenters, losses, limit)| search(rules, datacenters, losses, limit).2)
    };
    assert!(noticed(Rules::published()).is_some());
    let mut unnoticed = Vec::new();
    for rule in [
        Rule::MasterReadsAreChecked,
        Rule::LockKnowsTransaction,
        Rule::CommitTakesItsStamp,
        Rule::DecisionAtHome,
        Rule::HomeFirst,
        Rule::LateCommitRefused,
        Rule::LeaseAsksHome,
    ] {
        let broken = noticed(Rules::ours().without(rule));
        println!("{rule:?}: {broken:?}");
        if broken.is_none() {
            unnoticed.push(rule);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
