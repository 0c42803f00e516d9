//! Tables that are dropped.

use super::*;

/// What a transaction does with the table.
type Use<'a, E> = &'a dyn Fn(&mut <E as Engine>::Worker) -> Result<()>;

fn other<E: Engine>(db: &E) -> std::sync::Arc<TableInfo> {
    db.create_table(TableDef { name: "other".into(), ..def(Access::Hashed) }).unwrap()
}

fn is_conflict<R: std::fmt::Debug>(result: Result<R>) {
    assert!(matches!(&result, Err(error) if error.is_conflict()), "{result:?}");
}

fn is_missing<R: std::fmt::Debug>(result: Result<R>) {
    assert!(matches!(&result, Err(Error::NoSuchTable(_))), "{result:?}");
}

/// Who has written to the table does not commit, nor does who has read it and comes behind the drop; who has not used
/// it, does. Who began before finds at the next use that it has to begin anew, and then that the table is gone.
pub(super) fn who_used_it_does_not_commit<E: Tried>() {
    /// So many of those below write to the table.
    const WRITERS: usize = 3;
    for access in [Access::Hashed, Access::Ordered] {
        let db = E::start(false);
        let table = filled(&db, access);
        let table = db.add_index(table.id, by_a()).unwrap();
        let (by_a, other) = (table.indexes[0].id, other(&db));
        let all = Projection::all(&table.schema);
        let mut workers: Vec<_> = (0..8).map(|_| db.worker().unwrap()).collect();
        for w in &mut workers {
            w.begin(TxnKind::ReadWrite).unwrap();
        }
        let uses: [Use<'_, E>; 8] = [
            &|w| insert(w, &table, 9_000, Some(1)),
            &|w| set(w, &table, 1, 1).map(|_| ()),
            &|w| w.delete(table.id, &key(3)).map(|_| ()),
            &|w| w.get(table.id, &key(5), &all, |_, _| ()).map(|found| assert!(found.is_some())),
            &|w| w.get(table.id, &key(9_999), &all, |_, _| ()).map(|found| assert!(found.is_none())),
            &|w| scan(w, &table, table.id).map(|_| ()),
            &|w| scan(w, &table, by_a).map(|_| ()),
            &|_| Ok(()),
        ];
        for (number, (w, using)) in workers.iter_mut().zip(uses).enumerate() {
            using(w).unwrap();
            insert(w, &other, number as i64, None).unwrap();
        }
        let (mut reader, mut writer) = (db.worker().unwrap(), db.worker().unwrap());
        reader.begin(TxnKind::ReadWrite).unwrap();
        writer.begin(TxnKind::ReadWrite).unwrap();
        db.drop_table(table.id).unwrap();
        let last = workers.pop().unwrap();
        // a transaction that has its place at its begin is before the drop
        let is_before = db.serialization_point() == SerializationPoint::Begin;
        for (number, mut w) in workers.into_iter().enumerate() {
            if number >= WRITERS && is_before {
                w.commit().unwrap();
            } else {
                is_conflict(w.commit());
            }
        }
        let mut last = last;
        last.commit().unwrap();
        let read = reader.get(table.id, &key(5), &all, |_, _| ());
        if is_before {
            assert_eq!(read.unwrap(), Some(()))
        } else {
            is_conflict(read)
        }
        reader.rollback();
        is_conflict(insert(&mut writer, &table, 9_000, None));
        for w in [&mut reader, &mut writer] {
            is_missing(w.run(TxnKind::ReadWrite, |w| insert(w, &table, 9_000, None)));
            is_missing(w.run(TxnKind::ReadOnly, |w| scan(w, &table, by_a)));
            is_missing(w.run(TxnKind::ReadOnly, |w| w.get(table.id, &key(5), &all, |_, _| ())));
        }
        let rows = reader.run(TxnKind::ReadOnly, |w| scan(w, &other, other.id)).unwrap();
        let committed = if is_before { WRITERS as i64..8 } else { 7..8 };
        assert_eq!(rows, committed.map(|id| (None, id)).collect::<Vec<_>>());
    }
}

/// Snapshots from before see the table, those from behind do not.
pub(super) fn snapshots_from_before_see_it<E: Tried>() {
    for access in [Access::Hashed, Access::Ordered] {
        let db = E::start(false);
        let table = filled(&db, access);
        let table = db.add_index(table.id, by_a()).unwrap();
        let (mut old, mut new) = (db.worker().unwrap(), db.worker().unwrap());
        old.begin(TxnKind::Deferrable).unwrap();
        let before = scan(&mut old, &table, table.id).unwrap();
        db.drop_table(table.id).unwrap();
        assert_eq!(scan(&mut old, &table, table.id).unwrap(), before);
        assert_eq!(scan(&mut old, &table, table.indexes[0].id).unwrap(), sorted(before.clone()));
        let all = Projection::all(&table.schema);
        let first = old.get(table.id, &key(before[0].1), &all, |_, row| row.i64(0)).unwrap();
        assert_eq!(first, Some(before[0].1));
        old.commit().unwrap();
        is_missing(new.run(TxnKind::Deferrable, |w| scan(w, &table, table.id)));
        is_missing(old.run(TxnKind::Deferrable, |w| w.get(table.id, &key(1), &all, |_, _| ())));
    }
}

/// The memory of rows and entries serves other tables.
pub(super) fn its_memory_serves_others<E: Tried>() {
    let db = E::start(false);
    let mut used = Vec::new();
    for _ in 0..30 {
        let table = filled(&db, Access::Ordered);
        db.add_index(table.id, by_a()).unwrap();
        db.drop_table(table.id).unwrap();
        used.push(db.domain().unwrap().used());
    }
    // a tree and a hash table that are empty are left of each
    let (early, late) = (used[10], used[29]);
    assert!(late < early + (8 << 20), "{used:?}");
}

/// Readers and writers of the table end when it is dropped, and what they wrote elsewhere is whole.
pub(super) fn beside_readers_and_writers<E: Tried>() {
    for round in 0..6 {
        let db = Arc::new(E::start(round % 2 == 0));
        let table = db.create_table(def(Access::Hashed).index(by_a())).unwrap();
        let other = other(&*db);
        let begun = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..4)
            .map(|number: i64| {
                let (db, begun) = (db.clone(), begun.clone());
                let (table, other) = (table.clone(), other.clone());
                thread::spawn(move || {
                    let mut w = db.worker().unwrap();
                    let mut written = 0;
                    loop {
                        let id = number * 1_000_000 + written;
                        let done = w.run(TxnKind::ReadWrite, |w| match number {
                            3 => scan(w, &table, table.indexes[0].id).map(|_| ()),
                            _ => insert(w, &table, id, Some(id)).and_then(|()| insert(w, &other, id, None)),
                        });
                        begun.fetch_add(1, Ordering::SeqCst);
                        match done {
                            Ok(()) => written += i64::from(number < 3),
                            Err(Error::NoSuchTable(_)) => return written,
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        while begun.load(Ordering::SeqCst) < 200 {
            thread::yield_now();
        }
        db.drop_table(table.id).unwrap();
        let written: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        let mut w = db.worker().unwrap();
        let rows = w.run(TxnKind::ReadOnly, |w| scan(w, &other, other.id)).unwrap();
        assert_eq!(rows.len() as i64, written);
    }
}

/// A drop that the log does not take changes nothing.
pub(super) fn a_drop_that_fails_changes_nothing<E: Kept>() {
    let disk = SimDisk::new(9);
    let db = E::open(&disk).unwrap();
    let table = filled(&db, Access::Hashed);
    let table = db.add_index(table.id, by_a()).unwrap();
    db.close().unwrap();
    assert!(matches!(db.drop_table(table.id), Err(Error::LogFailed(_))));
    assert_eq!(db.table("t").map(|t| (t.id, t.indexes.len())), Some((table.id, 1)));
    compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
    drop(db);
    let db = E::open(&disk).unwrap();
    compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
}

/// Wherever power fails, what opens has the table whole or not at all, and takes another one of its name.
pub(super) fn crashes_while_it_drops<E: Kept>() {
    let disk = SimDisk::new(10).recording();
    let db = E::open(&disk).unwrap();
    let table = filled(&db, Access::Hashed);
    let table = db.add_index(table.id, by_a()).unwrap();
    let mut w = db.worker().unwrap();
    let old = w.run(TxnKind::ReadOnly, |w| scan(w, &table, table.id)).unwrap();
    w.wait_durable().unwrap();
    let from = disk.crash_points();
    db.drop_table(table.id).unwrap();
    let dropped = disk.crash_points();
    db.checkpoint().unwrap();
    let again = db.create_table(def(Access::Hashed).index(by_a())).unwrap();
    w.run(TxnKind::ReadWrite, |w| insert(w, &again, 1, Some(1))).unwrap();
    w.wait_durable().unwrap();
    db.checkpoint().unwrap();
    drop((w, db));
    for at in from..disk.crash_points() {
        for luck in 0..2 {
            let image = if luck == 0 { disk.killed(at) } else { disk.image(at, at as u64) };
            E::inspect(&image).unwrap_or_else(|error| panic!("after operation {at}: {error}"));
            let db = E::open(&image).unwrap();
            if let Some(table) = db.table("t") {
                let rows = compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
                let is_old = rows == old.len() && at < dropped;
                assert!(is_old || rows <= 1 && table.id == again.id, "after operation {at}: {rows} rows");
                db.drop_table(table.id).unwrap();
            }
            let new = db.create_table(def(Access::Hashed).index(by_a())).unwrap();
            let mut w = db.worker().unwrap();
            w.run(TxnKind::ReadWrite, |w| insert(w, &new, 2, None)).unwrap();
            w.wait_durable().unwrap();
            drop((w, db));
            let db = E::open(&image).unwrap();
            assert_eq!(db.tables().len(), 1);
            assert_eq!(compare(&db, &new, new.indexes[0].id, TxnKind::ReadOnly), 1, "after operation {at}");
        }
    }
}
