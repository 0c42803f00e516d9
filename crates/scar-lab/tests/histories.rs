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

fn contended(competitor: Competitor) -> Measured {
    run(&setup(competitor, Arc::new(Ycsb::contended(6, 8, 0.6, 50)), 6)).unwrap()
}

fn holds(competitor: Competitor, least: Option<u32>) {
    let measured = contended(competitor);
    assert!(measured.history.0.len() > 20, "{competitor:?}: {} transactions", measured.history.0.len());
    assert!(measured.aborts > 0.0, "{competitor:?} has met no conflict");
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
    let weaker = contended(Competitor::Optimistic(Protocol::READ_COMMITTED));
    assert!(matches!(check(&weaker.history, None), Err(Anomaly::Cycle(..))));
}

#[test]
fn new_orders_are_serializable() {
    for everywhere in [true, false] {
        let workload = TpcC::new(3, everywhere);
        let partitions = workload.partitions();
        let setup = setup(Competitor::Optimistic(Protocol::SCAR), Arc::new(workload), partitions);
        let measured = run(&setup).unwrap();
        assert!(measured.history.0.len() > 20);
        assert_eq!(check(&measured.history, None), Ok(()));
    }
}
