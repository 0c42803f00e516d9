//! What each protocol promises, its transactions have: real nodes, few keys, many clients.

use scaledb_scar::Protocol;
use scaledb_scar_lab::{Anomaly, Competitor, Measured, Setup, TpcC, Workload, Ycsb, check, run};
use scaledb_sync::Arc;
use std::time::Duration;

const SNAPSHOT_ISOLATION: Option<u32> = Some(1);
const READ_COMMITTED: Option<u32> = Some(0);

fn setup(competitor: Competitor, workload: Arc<dyn Workload>, partitions: u16) -> Setup {
    Setup {
        competitor,
        workload,
        nodes: 3,
        partitions,
        replicas: 2,
        clients: 8,
        delays: vec![vec![Duration::from_micros(200); 3]; 3],
        epoch: Duration::from_millis(10),
        warm_up: Duration::ZERO,
        measured: Duration::from_millis(500),
        seed: 1,
        keep_history: true,
    }
}

/// A run that has met what is asked for. A busy machine takes its time: later runs are longer.
fn until(setup: &mut Setup, met: impl Fn(&Measured) -> bool) -> Measured {
    for _ in 0..5 {
        let measured = run(setup).unwrap();
        if met(&measured) {
            return measured;
        }
        setup.measured *= 2;
    }
    panic!("{:?} does not meet what it should", setup.competitor);
}

fn contended(competitor: Competitor) -> Setup {
    setup(competitor, Arc::new(Ycsb::contended(6, 8, 0.6, 50)), 6)
}

fn holds(competitor: Competitor, least: Option<u32>) {
    let measured =
        until(&mut contended(competitor), |found| found.history.0.len() > 20 && found.aborts > 0.0);
    assert_eq!(check(&measured.history, least), Ok(()), "{competitor:?}");
}

#[test]
fn serializable_protocols_have_no_cycle() {
    let off = |f: fn(&mut Protocol)| {
        let mut protocol = Protocol::SCAR;
        f(&mut protocol);
        protocol
    };
    for protocol in [
        Protocol::SCAR,
        Protocol::OCC,
        off(|p| p.local_reads = false),
        off(|p| (p.local_validation, p.time_sync) = (false, false)),
        off(|p| p.parallel = false),
        off(|p| p.ahead = 5),
    ] {
        holds(Competitor::Optimistic(protocol), None);
    }
    holds(Competitor::Locking, None);
}

#[test]
fn snapshot_isolation_has_no_cycle_of_one_antidependency() {
    holds(Competitor::SnapshotIsolation(Protocol::SCAR), SNAPSHOT_ISOLATION);
    holds(Competitor::SnapshotIsolation(Protocol { parallel: false, ..Protocol::SCAR }), SNAPSHOT_ISOLATION);
}

#[test]
fn read_committed_reads_what_was_committed_and_no_more() {
    holds(Competitor::Optimistic(Protocol::READ_COMMITTED), READ_COMMITTED);
    // or the checks above would check nothing
    until(&mut contended(Competitor::Optimistic(Protocol::READ_COMMITTED)), |weaker| {
        matches!(check(&weaker.history, None), Err(Anomaly::Cycle(..)))
    });
}

#[test]
fn new_orders_are_serializable() {
    for everywhere in [true, false] {
        let workload = TpcC::new(3, everywhere);
        let partitions = workload.partitions();
        let mut setup = setup(Competitor::Optimistic(Protocol::SCAR), Arc::new(workload), partitions);
        let measured = until(&mut setup, |found| found.history.0.len() > 20);
        assert_eq!(check(&measured.history, None), Ok(()));
    }
}
