//! The checker of recorded histories sees each kind of anomaly, and none where there is none.

use scaledb_occult_sim::history::{Fate, History, Id, Key, Kind, Op};

fn read(key: Key, saw: impl Into<Option<Id>>) -> Op {
    Op::Read { key, saw: saw.into() }
}

fn write(key: Key, id: Id) -> Op {
    Op::Write { key, id, fate: Fate::Done }
}

fn transaction(reads: &[(Key, Option<Id>)], writes: &[(Key, Id)], fate: Fate) -> Op {
    Op::Transaction { reads: reads.to_vec(), writes: writes.to_vec(), fate }
}

fn kinds(sessions: &[Vec<Op>]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> =
        History { sessions: sessions.to_vec() }.check().into_iter().map(|anomaly| anomaly.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn a_history_without_anomalies_has_none() {
    let unknown = Op::Write { key: 3, id: 9, fate: Fate::Unknown };
    let sessions = [
        vec![write(0, 1), write(1, 2), unknown, read(3, None), write(0, 3)],
        vec![read(1, 2), read(0, 1), read(0, 3), read(3, 9), read(3, 9)],
        vec![transaction(&[(0, Some(1)), (2, None)], &[(2, 4), (2, 5)], Fate::Done), read(1, None)],
        vec![transaction(&[(2, Some(5))], &[(2, 6)], Fate::Done), read(2, 6)],
        vec![transaction(&[(2, Some(5))], &[(2, 7)], Fate::Aborted), read(2, 5)],
    ];
    assert_eq!(History { sessions: sessions.to_vec() }.check(), []);
}

#[test]
fn an_effect_without_its_cause_is_seen() {
    assert_eq!(kinds(&[vec![write(0, 1), write(1, 2)], vec![read(1, 2), read(0, None)]]), [Kind::Causality]);
    // through a third session
    let sessions =
        [vec![write(0, 1), write(0, 2)], vec![read(0, 2), write(1, 3)], vec![read(1, 3), read(0, 1)]];
    assert_eq!(kinds(&sessions), [Kind::Causality]);
    // back in time, and without an own write
    assert_eq!(kinds(&[vec![write(0, 1), write(0, 2)], vec![read(0, 2), read(0, 1)]]), [Kind::Causality]);
    assert_eq!(kinds(&[vec![write(0, 1), read(0, None)]]), [Kind::Causality]);
    // who was told of a loss may see less
    let told = Op::Told { keys: vec![0] };
    assert_eq!(kinds(&[vec![write(0, 1), told, read(0, None)]]), []);
}

#[test]
fn an_aborted_read_is_seen() {
    let aborted = transaction(&[], &[(0, 1)], Fate::Aborted);
    assert_eq!(kinds(&[vec![aborted], vec![read(0, 1)]]), [Kind::AbortedRead]);
    assert_eq!(kinds(&[vec![read(0, 77)]]), [Kind::AbortedRead]);
}

#[test]
fn an_intermediate_read_is_seen() {
    let twice = transaction(&[], &[(0, 1), (0, 2)], Fate::Done);
    assert_eq!(kinds(&[vec![twice], vec![read(0, 1)]]), [Kind::IntermediateRead]);
}

#[test]
fn a_circular_flow_is_seen() {
    let sessions = [
        vec![transaction(&[(1, Some(2))], &[(0, 1)], Fate::Done)],
        vec![transaction(&[(0, Some(1))], &[(1, 2)], Fate::Done)],
    ];
    assert_eq!(kinds(&sessions), [Kind::CircularFlow]);
    assert_eq!(kinds(&[vec![read(0, 1), write(0, 1)]]), [Kind::CircularFlow]);
}

#[test]
fn half_of_a_transaction_is_seen() {
    let both = transaction(&[], &[(0, 1), (1, 2)], Fate::Done);
    let half = transaction(&[(0, None), (1, Some(2))], &[], Fate::Done);
    assert_eq!(kinds(&[vec![both], vec![half]]), [Kind::MissedEffects]);
}

#[test]
fn a_lost_update_is_seen() {
    let one = transaction(&[(0, None)], &[(0, 1)], Fate::Done);
    let two = transaction(&[(0, None)], &[(0, 2)], Fate::Done);
    assert_eq!(kinds(&[vec![one], vec![two]]), [Kind::LostUpdate]);
}
