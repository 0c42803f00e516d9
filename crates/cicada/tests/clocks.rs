//! What timestamps promise, with either clock.
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, Clocks, Config, Consistency};
use scaledb_engine::{Access, TxnKind, Worker};
use scaledb_verify::history::{Kind, Stage};

fn stage(config: Config) -> Stage<Cicada> {
    Stage::new(Cicada::open(config).unwrap(), Kind::new(Access::Hashed, None))
}

#[test]
fn a_worker_comes_after_what_it_was_told_of() {
    for clocks in [Clocks::Synchronized, Clocks::Loose] {
        let config = Config { clocks, consistency: Consistency::Causal, ..Config::default() };
        let db = stage(config);
        let (mut a, mut b) = (db.worker(), db.worker());
        for round in 0..100 {
            a.begin(TxnKind::ReadWrite).unwrap();
            db.set(&mut a, 0, round);
            let ts = a.commit().unwrap();
            b.observe(ts);
            b.begin(TxnKind::ReadOnly).unwrap();
            assert_eq!(db.get(&mut b, 0), Some(round));
            assert!(b.commit().unwrap() > ts);
        }
    }
}

#[test]
fn loose_clocks_are_externally_consistent_if_asked() {
    let db = stage(Config { clocks: Clocks::Loose, ..Config::default() });
    let mut workers: Vec<_> = (0..4).map(|_| db.worker()).collect();
    let mut last = None;
    for round in 0..400 {
        let w = &mut workers[round % 4];
        w.begin(TxnKind::ReadWrite).unwrap();
        // rows that have nothing to do with each other
        db.set(w, 10 * (round % 4) as i32, round as i64);
        let ts = w.commit().unwrap();
        assert!(last < Some(ts), "{last:?} {ts:?}");
        last = Some(ts);
    }
}
