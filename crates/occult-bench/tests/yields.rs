//! What simulated clusters yield: the orders that the figures show, in small.

use scaledb_occult::{Micros, Shape};
use scaledb_occult_bench::cascade::{self, Slow};
use scaledb_occult_bench::yard::{Setup, Store, Yard};
use scaledb_occult_bench::{Keys, Yield};

fn small(store: Store) -> Setup {
    Setup {
        groups: 8,
        sessions: 160,
        keys: Keys::new(100_000, true),
        warmup: Micros(150_000),
        measured: Micros(250_000),
        ..Setup::paper(store)
    }
}

fn run(setup: Setup) -> Yield {
    Yard::new(setup).run()
}

#[test]
fn a_seed_does_not_yield_something_else_the_second_time() {
    let of = || {
        let mut of = run(small(Store::Occult(Shape::Isolated(2))));
        (of.goodput, of.stale, of.reads.quantile(0.99), of.counted)
    };
    assert_eq!(of(), of());
}

/// The clocks of the second datacenter are ahead: a single timestamp dates what the first one wrote by them.
#[test]
fn a_timestamp_for_each_datacenter_does_not_take_fresh_copies_for_stale() {
    let isolated = run(small(Store::Occult(Shape::Isolated(2))));
    let single = run(small(Store::Occult(Shape::Temporal(1))));
    println!("isolated: {:?}, single: {:?}", isolated.stale, single.stale);
    println!("{} {} {} {}", isolated.goodput, single.goodput, isolated.busiest, single.busiest);
    assert!(isolated.stale.iter().all(|part| *part < 0.02), "{:?}", isolated.stale);
    assert!(single.stale[1] > 10.0 * isolated.stale[1], "{:?}", single.stale);
    assert!(isolated.goodput > single.goodput);
}

#[test]
fn conflicting_transactions_do_not_count_as_goodput() {
    let all = run(Setup { transaction: Some(8), writes: 25, ..small(Store::Occult(Shape::Isolated(2))) });
    assert!(all.counted.commits > 0 && all.counted.aborts_locked > 0, "{:?}", all.counted);
    assert!(all.abort_rate() > 0.0 && all.abort_rate() < 1.0);
    assert_eq!(all.transactions.len() as u64 * 8, (all.goodput * 0.25).round() as u64);
}

/// A slow replica makes those wait who read there; who waits for dependencies makes all wait.
#[test]
fn a_slow_replica_does_not_hold_up_other_shards() {
    let of = |waits, slow| {
        let mut setup = cascade::Setup::paper(waits, slow);
        setup.time = Micros(600_000);
        cascade::run(&setup)
    };
    let late = Slow::Late(Micros(100_000));
    let last = |queues: &[(f64, f64)]| queues.last().map_or(0.0, |(_, length)| *length);
    let (calm, slow) = (of(true, Slow::Nobody), of(true, late));
    println!("waits: {} and {}; {} {}", last(&calm.others), last(&slow.others), calm.visible, slow.visible);
    assert!(last(&slow.others) > 5.0 * last(&calm.others).max(1.0));
    assert!(slow.visible > calm.visible + 10.0);
    let (calm, slow) = (of(false, Slow::Nobody), of(false, late));
    assert!(last(&slow.others) <= 2.0 * last(&calm.others).max(1.0));
    assert!((slow.visible - calm.visible).abs() < 0.1);
    assert!(last(&slow.queues) > last(&calm.queues));
}
