//! SEATS and Epinions: each transaction comes as often as specified, and the checks see what is wrong.

use crate::common::options;
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_row::Projection;
use scaledb_sync::Arc;
use scaledb_verify::reference::{Reference, ReferenceWorker};
use scaledb_workloads::driver::{Client, Outcome, Workload, run};
use scaledb_workloads::epinions::{self, Epinions};
use scaledb_workloads::report::Report;
use scaledb_workloads::seats::{self, Seats};
use scaledb_workloads::table::WorkloadTable;
use std::collections::HashSet;
use std::ops::ControlFlow;

const NOW: i64 = 800_000_000_000_000;

/// Of 100 transactions that were prepared, how many were of each class.
fn shares<L: Workload>(workload: &L, worker: &mut ReferenceWorker) -> Vec<f64> {
    let mut counts = vec![0u32; workload.classes().len()];
    let mut client = workload.client(0, 1);
    for _ in 0..20_000 {
        let transaction = client.prepare(NOW);
        counts[transaction.class] += 1;
        worker.begin(transaction.kind).unwrap();
        match client.execute(worker) {
            Ok(()) => {
                worker.commit().unwrap();
                client.committed();
            }
            Err(_) => worker.rollback(),
        }
    }
    counts.iter().map(|&count| f64::from(count) / 200.0).collect()
}

fn ran(report: &Report) {
    assert!(report.classes.iter().all(|class| class.commits > 0), "{report:#?}");
}

/// The keys of some rows.
fn keys(worker: &mut ReferenceWorker, table: &WorkloadTable) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    worker.begin(TxnKind::ReadOnly).unwrap();
    let (all, none) = (scaledb_engine::Range::ALL, Projection::existence());
    worker
        .scan(table.id, all, scaledb_engine::Order::Forward, &none, |_, key, _| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    worker.commit().unwrap();
    keys
}

/// Sets a column of a row behind the workload's back.
fn set(
    worker: &mut ReferenceWorker,
    table: &WorkloadTable,
    key: &[u8],
    f: impl Fn(&mut scaledb_row::RowMut<'_>),
) {
    let all = Projection::all(table.schema());
    let set = worker.run(TxnKind::ReadWrite, |worker| {
        worker.update(table.id, key, &all, |row| {
            f(row);
            Ok(())
        })
    });
    assert!(set.unwrap().is_some());
}

fn load_seats(customers: u32) -> (Reference, Arc<seats::Tables>, Seats) {
    let (engine, config) = (Reference::new(), seats::Config { customers });
    let tables = Arc::new(seats::Tables::create(&engine, false).unwrap());
    tables.load(&engine, config, 7, 2, NOW).unwrap();
    let mut worker = engine.worker().unwrap();
    let seats = Seats::new(config, tables.clone(), 7, false, NOW, &mut worker).unwrap();
    (engine, tables, seats)
}

#[test]
fn seats_keeps_flights_and_customers() -> Outcome {
    let (engine, tables, workload) = load_seats(1_000);
    let mut worker = engine.worker()?;
    let before = seats::Facts::of(&tables, &mut worker)?;
    assert_eq!(before.rows[1], 1_000);
    assert!((51 * 12..=51 * 19).contains(&before.rows[0]), "{before:?}");
    assert!(before.reservations > before.rows[0] && before.on_cards == 0, "{before:?}");
    assert_eq!(seats::check(&tables, before, seats::Done::default(), &mut worker)?, Ok(()));
    let (report, travellers) = run(&engine, &workload, &options(2, 1_500), |_| {})?;
    ran(&report);
    let done = travellers.iter().map(|traveller| traveller.done()).sum();
    assert_eq!(seats::check(&tables, before, done, &mut worker)?, Ok(()));
    assert!(done.made > 0 && done.deleted > 0 && done.refunded > 0 && done.on_cards != 0, "{done:?}");
    // what the check is for
    let more = seats::Done { made: done.made + 1, ..done };
    assert!(seats::check(&tables, before, more, &mut worker)?.is_err());
    let flight = keys(&mut worker, &tables.flight)[0].clone();
    let left = |by: i64| {
        move |row: &mut scaledb_row::RowMut<'_>| {
            let left = row.view().i64(seats::flight::F_SEATS_LEFT);
            row.set_i64(seats::flight::F_SEATS_LEFT, left + by);
        }
    };
    set(&mut worker, &tables.flight, &flight, left(1));
    assert!(seats::check(&tables, before, done, &mut worker)?.unwrap_err().contains("seats left"));
    set(&mut worker, &tables.flight, &flight, left(-1));
    assert_eq!(seats::check(&tables, before, done, &mut worker)?, Ok(()));
    let customer = keys(&mut worker, &tables.customer)[0].clone();
    set(&mut worker, &tables.customer, &customer, |row| {
        row.set_i64(seats::customer::C_IATTR + 10, 77);
    });
    assert!(seats::check(&tables, before, done, &mut worker)?.unwrap_err().contains("counts 77"));
    Ok(())
}

#[test]
fn seats_does_not_depend_on_the_number_of_loaders() {
    let facts = |threads| {
        let (engine, config) = (Reference::new(), seats::Config { customers: 300 });
        let tables = seats::Tables::create(&engine, false).unwrap();
        tables.load(&engine, config, 3, threads, NOW).unwrap();
        let mut worker = engine.worker().unwrap();
        (seats::Facts::of(&tables, &mut worker).unwrap(), keys(&mut worker, &tables.reservation_by_seat))
    };
    assert_eq!(facts(1), facts(3));
}

#[test]
fn seats_has_the_specified_mix() {
    let (engine, _, workload) = load_seats(500);
    let shares = shares(&workload, &mut engine.worker().unwrap());
    // Delete-, New- and Update-Reservation wait for others: what they miss, the others have
    for (share, specified) in shares.iter().zip([10.0, 10.0, 35.0, 20.0, 10.0, 15.0]) {
        assert!((share - specified).abs() < 5.0, "{shares:?}");
    }
}

fn load_epinions(users: u32) -> (Reference, Arc<epinions::Tables>, Epinions) {
    let (engine, config) = (Reference::new(), epinions::Config { users });
    let tables = Arc::new(epinions::Tables::create(&engine, false).unwrap());
    tables.load(&engine, config, 7, 2, NOW).unwrap();
    let workload = Epinions { config, tables: tables.clone(), seed: 7, snapshot_reads: false };
    (engine, tables, workload)
}

#[test]
fn epinions_keeps_reviews_and_trust() -> Outcome {
    let (engine, tables, workload) = load_epinions(400);
    let mut worker = engine.worker()?;
    let before = epinions::Counts::of(&tables, &mut worker)?;
    assert_eq!((before.users, before.items), (400, 200));
    assert!(before.reviews > 200 && before.trust > 50, "{before:?}");
    // nobody reviews an item twice
    let pairs: Vec<_> = keys(&mut worker, &tables.review_by_item);
    assert_eq!(pairs.iter().collect::<HashSet<_>>().len() as u64, before.reviews);
    assert_eq!(epinions::check(&tables, before, &mut worker)?, Ok(()));
    let (report, _) = run(&engine, &workload, &options(2, 1_500), |_| {})?;
    ran(&report);
    assert_eq!(epinions::check(&tables, before, &mut worker)?, Ok(()));
    // what the check is for
    let item = keys(&mut worker, &tables.item)[3].clone();
    set(&mut worker, &tables.item, &item, |row| {
        row.set_bytes(epinions::item::TITLE, b"aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb");
    });
    assert!(epinions::check(&tables, before, &mut worker)?.unwrap_err().contains("torn"));
    let fewer = epinions::Counts { trust: before.trust - 1, ..before };
    assert!(epinions::check(&tables, fewer, &mut worker)?.is_err());
    Ok(())
}

#[test]
fn epinions_has_the_specified_mix() {
    let (engine, _, workload) = load_epinions(300);
    let shares = shares(&workload, &mut engine.worker().unwrap());
    for (share, specified) in shares.iter().zip([10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 20.0]) {
        assert!((share - specified).abs() < 1.5, "{shares:?}");
    }
}
