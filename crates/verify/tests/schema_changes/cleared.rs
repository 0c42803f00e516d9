//! Tables that lose all rows at once.

use super::*;

/// A cleared table has nothing left but what snapshots from before see, and serves again.
pub(super) fn clears_what_is_there<E: Tried>() {
    for access in [Access::Hashed, Access::Ordered] {
        let db = E::start(false);
        let table = filled(&db, access);
        db.add_index(table.id, by_a()).unwrap();
        let table = db.add_index(table.id, unique()).unwrap();
        let (by_a, unique) = (table.indexes[0].id, table.indexes[1].id);
        let (mut old, mut early) = (db.worker().unwrap(), db.worker().unwrap());
        old.begin(TxnKind::Deferrable).unwrap();
        let before = scan(&mut old, &table, table.id).unwrap();
        early.begin(TxnKind::ReadWrite).unwrap();
        insert(&mut early, &table, 9_000, None).unwrap();
        for index in [by_a, unique] {
            assert!(matches!(db.clear_table(index), Err(Error::NoSuchTable(_))));
        }
        assert!(db.clear_table(table.id).unwrap());
        assert!(!db.is_clearing(table.id), "without a thread of its own it is done at once");
        let late = early.commit();
        assert!(matches!(&late, Err(error) if error.is_conflict()), "{late:?}");
        assert_eq!(scan(&mut old, &table, table.id).unwrap(), before);
        assert_eq!(scan(&mut old, &table, by_a).unwrap(), sorted(before.clone()));
        old.rollback();
        let mut w = db.worker().unwrap();
        for index in [table.id, by_a, unique] {
            assert_eq!(w.run(TxnKind::ReadWrite, |w| scan(w, &table, index)).unwrap(), []);
        }
        // the same keys again
        w.run(TxnKind::ReadWrite, |w| before.iter().try_for_each(|row| insert(w, &table, row.1, row.0)))
            .unwrap();
        assert_eq!(compare(&db, &table, by_a, TxnKind::ReadWrite), before.len());
        assert_eq!(compare(&db, &table, unique, TxnKind::ReadWrite), before.len());
    }
}

/// Many rows cost the log as much as few. Of what is left in memory nothing comes back from a checkpoint, and no change
/// of indexes opens the table before it is empty.
pub(super) fn clears_at_once<E: Kept>() {
    let disk = SimDisk::new(6).recording();
    let db = E::open(&disk).unwrap();
    let table = filled(&db, Access::Hashed);
    let table = db.add_index(table.id, by_a()).unwrap();
    let mut w = db.worker().unwrap();
    let logged = || db.stats().log.unwrap().bytes;
    let before = logged();
    let domain = db.domain().unwrap();
    // Cicada's deletes take memory: emptying does not go on
    domain.fail_allocations(0, u64::MAX);
    assert!(db.clear_table(table.id).unwrap());
    let stays = db.is_clearing(table.id);
    assert_eq!(stays, db.name() == "cicada");
    if stays {
        for refused in [db.add_index(table.id, unique()), db.drop_index(table.indexes[0].id)] {
            assert!(matches!(refused, Err(Error::NoSuchTable(_))), "{refused:?}");
        }
    }
    domain.stop_failing();
    assert_eq!(stays, !w.run(TxnKind::ReadOnly, |w| scan(w, &table, table.id)).unwrap().is_empty());
    db.checkpoint().unwrap();
    assert!(logged() - before < 64 << 10, "{} bytes", logged() - before);
    drop((w, db));
    let db = E::open(&disk).unwrap();
    let mut w = db.worker().unwrap();
    for index in [table.id, table.indexes[0].id] {
        assert_eq!(w.run(TxnKind::ReadOnly, |w| scan(w, &table, index)).unwrap(), []);
    }
}

/// Wherever power fails, what opens has all old rows or none of them, and every new one that was acknowledged.
pub(super) fn crashes_while_it_clears<E: Kept>() {
    let disk = SimDisk::new(7).recording();
    let db = E::open(&disk).unwrap();
    let table = filled(&db, Access::Hashed);
    let table = db.add_index(table.id, by_a()).unwrap();
    let mut w = db.worker().unwrap();
    let old = w.run(TxnKind::ReadOnly, |w| scan(w, &table, table.id)).unwrap();
    w.wait_durable().unwrap();
    let from = disk.crash_points();
    let half = old.len() / 2;
    for (cleared, checkpoint) in [(true, false), (false, true), (true, true)] {
        if cleared {
            assert!(db.clear_table(table.id).unwrap());
        }
        let id = |round: i64| 5 + 7 * round;
        w.run(TxnKind::ReadWrite, |w| {
            let next = scan(w, &table, table.id)?.len() as i64;
            insert(w, &table, id(next), Some(-1))
        })
        .unwrap();
        w.wait_durable().unwrap();
        if checkpoint {
            db.checkpoint().unwrap();
        }
    }
    let end = disk.crash_points();
    drop((w, db));
    for at in (from..=end.min(disk.crash_points() - 1)).chain([disk.crash_points() - 1]) {
        for luck in 0..2 {
            let image = if luck == 0 { disk.killed(at) } else { disk.image(at, at as u64) };
            E::inspect(&image).unwrap_or_else(|error| panic!("after operation {at}: {error}"));
            let db = E::open(&image).unwrap();
            let table = db.table("t").unwrap();
            let rows = compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
            assert!(rows == old.len() || rows <= 2, "after operation {at}: {rows} rows");
            assert!(rows <= half || at < end, "after operation {at}");
            // a new one, again cleared, and opened
            let mut w = db.worker().unwrap();
            w.run(TxnKind::ReadWrite, |w| insert(w, &table, 100_000, None)).unwrap();
            if at % 5 == 0 {
                db.clear_table(table.id).unwrap();
                w.run(TxnKind::ReadWrite, |w| insert(w, &table, 100_001, None)).unwrap();
                w.wait_durable().unwrap();
                drop((w, db));
                let db = E::open(&image).unwrap();
                let mut w = db.worker().unwrap();
                let rows = w.run(TxnKind::ReadOnly, |w| scan(w, &table, table.id)).unwrap();
                assert_eq!(rows, [(None, 100_001)], "after operation {at}");
            }
        }
    }
}
