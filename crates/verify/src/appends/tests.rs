//! Broken histories: the checker finds what is wrong with each.

use super::Step::{Append, Read};
use super::{Anomaly, Step, Transaction, check};

/// Transactions at the same time: only what they read and write orders them.
fn concurrent(all: &[&[Step]]) -> Vec<Transaction> {
    let transaction =
        |steps: &&[Step]| Transaction { steps: steps.to_vec(), time: (0, 100), committed: true };
    all.iter().map(transaction).collect()
}

/// Transactions one after the other.
fn serial(all: &[&[Step]]) -> Vec<Transaction> {
    let mut history = concurrent(all);
    for (transaction, time) in history.iter_mut().zip(0..) {
        transaction.time = (time * 2, time * 2 + 1);
    }
    history
}

#[test]
fn a_serial_history_passes() {
    let history = serial(&[
        &[Append(1, 1), Append(2, 10)],
        &[Read(1, vec![1]), Append(1, 2), Read(1, vec![1, 2])],
        &[Read(2, vec![10]), Append(2, 11), Append(2, 12)],
        &[Read(1, vec![1, 2]), Read(2, vec![10, 11, 12]), Read(3, vec![])],
    ]);
    assert_eq!(check(&history), Ok(()));
}

#[test]
fn a_cycle_of_writes_is_g0() {
    let history = concurrent(&[
        &[Append(1, 1), Append(2, 1)],
        &[Append(1, 2), Append(2, 2)],
        &[Read(1, vec![1, 2])],
        &[Read(2, vec![2, 1])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::G0(cycle)) if cycle.len() == 2));
}

#[test]
fn a_cycle_of_writes_and_reads_is_g1c() {
    let history = concurrent(&[
        &[Append(1, 1), Read(2, vec![2])],
        &[Append(2, 2), Read(1, vec![1])],
        &[Read(1, vec![1])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::G1c(cycle)) if cycle.len() == 2));
}

#[test]
fn a_torn_read_is_g_single() {
    // it reads before one append of a transaction and after the other
    let history = concurrent(&[
        &[Append(1, 1), Append(2, 1)],
        &[Read(1, vec![]), Read(2, vec![1])],
        &[Read(1, vec![1]), Read(2, vec![1])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::GSingle(cycle)) if cycle.len() == 2));
}

#[test]
fn a_lost_update_is_g_single() {
    let history = concurrent(&[
        &[Read(1, vec![]), Append(1, 1)],
        &[Read(1, vec![]), Append(1, 2)],
        &[Read(1, vec![1, 2])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::GSingle(_))));
}

#[test]
fn write_skew_is_g2() {
    let history = concurrent(&[
        &[Read(1, vec![]), Append(2, 1)],
        &[Read(2, vec![]), Append(1, 1)],
        &[Read(1, vec![1]), Read(2, vec![1])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::G2(cycle)) if cycle.len() == 2));
}

#[test]
fn the_read_only_anomaly_is_found() {
    // Fekete, O'Neil and O'Neil: the reader sees the second write, and not the first, which the second had to follow
    let history = concurrent(&[
        &[Read(1, vec![]), Read(2, vec![]), Append(1, 1)],
        &[Read(2, vec![]), Append(2, 2)],
        &[Read(1, vec![]), Read(2, vec![2])],
        &[Read(1, vec![1]), Read(2, vec![2])],
    ]);
    assert!(matches!(check(&history), Err(Anomaly::G2(_))));
}

#[test]
fn a_stale_read_is_against_real_time() {
    let mut history = serial(&[&[Append(1, 1)], &[Read(1, vec![])], &[Read(1, vec![1])]]);
    assert!(matches!(check(&history), Err(Anomaly::RealTime(cycle)) if cycle.len() == 2));
    // at the same time it may be stale
    history[1].time.0 = 0;
    assert_eq!(check(&history), Ok(()));
}

#[test]
fn an_append_that_vanishes_is_found() {
    let history = serial(&[&[Append(1, 1)], &[Append(1, 2)], &[Read(1, vec![1])]]);
    assert!(matches!(check(&history), Err(Anomaly::RealTime(_))));
    let history = serial(&[&[Append(1, 1)], &[Read(1, vec![])]]);
    assert!(matches!(check(&history), Err(Anomaly::RealTime(_))));
}

#[test]
fn what_did_not_commit_may_not_be_seen() {
    let mut history = concurrent(&[&[Append(1, 1)], &[Read(1, vec![1])]]);
    history[0].committed = false;
    assert_eq!(check(&history), Err(Anomaly::AbortedRead { reader: 1, list: 1, value: 1 }));
    let history = concurrent(&[&[Read(1, vec![7])]]);
    assert_eq!(check(&history), Err(Anomaly::AbortedRead { reader: 0, list: 1, value: 7 }));
}

#[test]
fn no_list_is_seen_between_two_appends_of_one() {
    let history = concurrent(&[&[Append(1, 1), Append(1, 2)], &[Read(1, vec![1])], &[Read(1, vec![1, 2])]]);
    assert_eq!(check(&history), Err(Anomaly::IntermediateRead { reader: 1, list: 1 }));
}

#[test]
fn lists_that_contradict_each_other_are_found() {
    let history =
        concurrent(&[&[Append(1, 1)], &[Append(1, 2)], &[Read(1, vec![1, 2])], &[Read(1, vec![2])]]);
    assert_eq!(check(&history), Err(Anomaly::Incompatible { list: 1, reader: 3 }));
    let history = concurrent(&[&[Append(1, 1)], &[Read(1, vec![1, 1])]]);
    assert_eq!(check(&history), Err(Anomaly::Duplicate { list: 1, value: 1 }));
}

#[test]
fn a_transaction_sees_itself() {
    let history = concurrent(&[&[Append(1, 1), Read(1, vec![])]]);
    assert_eq!(check(&history), Err(Anomaly::Internal { reader: 0, list: 1 }));
    let history = concurrent(&[&[Read(1, vec![]), Read(1, vec![1])], &[Append(1, 1)]]);
    assert_eq!(check(&history), Err(Anomaly::Internal { reader: 0, list: 1 }));
}

#[test]
fn a_long_history_is_no_deep_recursion() {
    let all: Vec<[Step; 1]> = (0..200_000).map(|n| [Append(1, n)]).collect();
    let last = [Read(1, (0..200_000).collect())];
    let steps: Vec<&[Step]> = all.iter().map(<[Step; 1]>::as_slice).chain([&last[..]]).collect();
    assert_eq!(check(&serial(&steps)), Ok(()));
}
