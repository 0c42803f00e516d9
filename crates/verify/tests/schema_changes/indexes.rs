//! Indexes that are added and dropped.

use super::*;

pub(super) fn holds_what_it_should<E: Tried>() {
    for (access, background) in [(Access::Hashed, false), (Access::Ordered, true), (Access::HashOnly, false)]
    {
        let db = E::start(background);
        let table = filled(&db, access);
        let mut w = db.worker().unwrap();
        let before = w
            .run(TxnKind::ReadOnly, |w| {
                (0..3_000)
                    .map(|id| {
                        w.get(table.id, &key(id), &Projection::all(&table.schema), |_, row| {
                            ((!row.is_null(1)).then(|| row.i64(1)), row.i64(0))
                        })
                    })
                    .collect::<Result<Vec<_>>>()
            })
            .unwrap();
        let before: Vec<_> = before.into_iter().flatten().collect();
        for def in [by_a(), unique()] {
            let (name, is_unique) = (def.name.clone(), def.unique);
            let table = db.add_index(table.id, def).unwrap();
            let index = table.index(&name).unwrap();
            assert_eq!(
                (index.unique, db.table("t").unwrap().indexes.len()),
                (is_unique, table.indexes.len())
            );
            let entries = w.run(TxnKind::ReadWrite, |w| scan(w, &table, index.id)).unwrap();
            assert_eq!(entries, sorted(before.clone()), "{access:?}");
        }
        let table = db.table("t").unwrap();
        let (by_a, only_a) = (table.indexes[0].id, table.indexes[1].id);
        // both are kept from here on
        w.run(TxnKind::ReadWrite, |w| {
            insert(w, &table, 5_000, Some(-5))?;
            set(w, &table, 1, -1)?;
            w.delete(table.id, &key(2)).map(|_| ())
        })
        .unwrap();
        let found = w.run(TxnKind::ReadOnly, |w| {
            let all = Projection::all(&table.schema);
            // the column takes NULL: its keys have a marker
            let index = &table.indexes[1];
            let mut k = KeyBuf::new();
            let probe = row(&table, 0, Some(-5));
            index.key.encode(&table.schema, probe.view(&table.schema), &mut k);
            w.get(only_a, &k, &all, |_, row| row.i64(0))
        });
        assert_eq!(found.unwrap(), Some(5_000));
        let twice = w.run(TxnKind::ReadWrite, |w| insert(w, &table, 5_001, Some(-5)));
        assert!(matches!(twice, Err(Error::DuplicateKey { table, .. }) if table == only_a));
        let first = w.run(TxnKind::ReadWrite, |w| Ok(scan(w, &table, by_a)?[0])).unwrap();
        assert_eq!(first, (Some(-5), 5_000));
        // without one of them
        let table = db.drop_index(only_a).unwrap();
        assert_eq!(table.indexes.iter().map(|index| index.id).collect::<Vec<_>>(), [by_a]);
        w.run(TxnKind::ReadWrite, |w| insert(w, &table, 5_001, Some(-5))).unwrap();
        let gone = w.run(TxnKind::ReadWrite, |w| scan(w, &table, only_a));
        assert!(matches!(gone, Err(Error::NoSuchTable(_))), "{gone:?}");
        assert!(matches!(db.drop_index(only_a), Err(Error::NoSuchTable(_))));
        assert!(matches!(db.drop_index(table.id), Err(Error::NoSuchTable(_))));
        assert!(matches!(db.add_index(by_a, unique()), Err(Error::NoSuchTable(_))));
        assert!(matches!(db.add_index(table.id, self::by_a()), Err(Error::TableExists(_))));
        if access != Access::HashOnly {
            compare(&db, &table, by_a, TxnKind::ReadOnly);
            compare(&db, &table, by_a, TxnKind::Deferrable);
        }
    }
}

/// Two rows that share a key: the table is as it was, and takes the index when they do not any more.
pub(super) fn refuses_duplicates<E: Tried>() {
    let db = E::start(false);
    let table = filled(&db, Access::Hashed);
    let mut w = db.worker().unwrap();
    w.run(TxnKind::ReadWrite, |w| {
        insert(w, &table, 8_000, Some(-1))?;
        insert(w, &table, 8_001, Some(-1))
    })
    .unwrap();
    let before = db.domain().map(Domain::used);
    for _ in 0..20 {
        let refused = db.add_index(table.id, unique());
        assert!(matches!(refused, Err(Error::DuplicateKey { table: t, .. }) if t == table.id), "{refused:?}");
    }
    if let (Some(domain), Some(before)) = (db.domain(), before) {
        // what one attempt has taken serves the next one
        assert!(domain.used() < before + (4 << 20), "{} of {before}", domain.used());
    }
    assert!(db.table("t").unwrap().indexes.is_empty());
    w.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(8_001))).unwrap();
    let table = db.add_index(table.id, unique()).unwrap();
    compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
}

/// Who wrote to the table before does not commit; who wrote to another one, or only read, does.
pub(super) fn wrote_before<E: Tried>() {
    let db = E::start(false);
    let table = filled(&db, Access::Hashed);
    let other = db.create_table(TableDef { name: "other".into(), ..def(Access::Hashed) }).unwrap();
    let is_conflict =
        |result: Result<()>| assert!(matches!(&result, Err(error) if error.is_conflict()), "{result:?}");
    let mut workers: Vec<_> = (0..5).map(|_| db.worker().unwrap()).collect();
    for w in &mut workers {
        w.begin(TxnKind::ReadWrite).unwrap();
    }
    insert(&mut workers[0], &table, 9_000, Some(1)).unwrap();
    set(&mut workers[1], &table, 1, 1).unwrap();
    workers[2].delete(table.id, &key(3)).unwrap();
    insert(&mut workers[3], &other, 9_000, Some(1)).unwrap();
    scan(&mut workers[4], &table, table.id).unwrap();
    let with = db.add_index(table.id, by_a()).unwrap();
    for (number, w) in workers.iter_mut().enumerate() {
        let result = w.commit().map(|_| ());
        if number < 3 { is_conflict(result) } else { result.unwrap() }
    }
    let by_a = with.indexes[0].id;
    compare(&db, &with, by_a, TxnKind::ReadOnly);
    // and when it goes
    for w in &mut workers {
        w.begin(TxnKind::ReadWrite).unwrap();
    }
    insert(&mut workers[0], &table, 9_000, Some(1)).unwrap();
    set(&mut workers[1], &table, 1, 1).unwrap();
    workers[2].delete(table.id, &key(3)).unwrap();
    scan(&mut workers[3], &table, by_a).unwrap();
    scan(&mut workers[4], &table, table.id).unwrap();
    let without = db.drop_index(by_a).unwrap();
    let mut fresh = db.worker().unwrap();
    fresh.run(TxnKind::ReadWrite, |w| insert(w, &without, 9_001, Some(-9))).unwrap();
    for w in &mut workers[..3] {
        is_conflict(w.commit().map(|_| ()));
    }
    // it has read through the index, without the new row, and would come behind it with a write
    insert(&mut workers[3], &other, 9_002, Some(1)).unwrap();
    let all = workers[3].read_mark();
    is_conflict(workers[3].refresh(all).and_then(|_| workers[3].commit().map(|_| ())));
    let (rows, index) = (
        workers[4].commit().map(|_| ()),
        db.worker().unwrap().run(TxnKind::ReadOnly, |w| scan(w, &without, by_a)),
    );
    let _ = rows;
    assert!(matches!(index, Err(Error::NoSuchTable(_))));
}

/// A snapshot from before the index was there either is right, or says that it cannot be.
pub(super) fn snapshots<E: Tried>() {
    let db = E::start(false);
    let table = filled(&db, Access::Hashed);
    let (mut old, mut w) = (db.worker().unwrap(), db.worker().unwrap());
    old.begin(TxnKind::Deferrable).unwrap();
    let before = scan(&mut old, &table, table.id).unwrap();
    w.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(before[0].1)).map(|_| ())).unwrap();
    w.run(TxnKind::ReadWrite, |w| set(w, &table, before[1].1, -7).map(|_| ())).unwrap();
    let table = db.add_index(table.id, by_a()).unwrap();
    let by_a = table.indexes[0].id;
    let late = scan(&mut old, &table, by_a);
    assert!(matches!(&late, Err(error) if error.is_conflict()), "{late:?}");
    let mut new = db.worker().unwrap();
    new.begin(TxnKind::Deferrable).unwrap();
    let rows = sorted(scan(&mut new, &table, table.id).unwrap());
    w.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(before[1].1)).map(|_| ())).unwrap();
    assert_eq!(scan(&mut new, &table, by_a).unwrap(), rows);
    // one that has it keeps it when it goes
    db.drop_index(by_a).unwrap();
    w.run(TxnKind::ReadWrite, |w| w.delete(table.id, &key(before[2].1)).map(|_| ())).unwrap();
    assert_eq!(scan(&mut new, &table, by_a).unwrap(), rows);
    new.commit().unwrap();
    new.begin(TxnKind::Deferrable).unwrap();
    assert!(matches!(scan(&mut new, &table, by_a), Err(Error::NoSuchTable(_))));
}

/// Indexes come and go beside writers of their column, and are what the table is each time that somebody looks.
pub(super) fn beside_writers<E: Tried>() {
    const ROWS: i64 = 400;
    let db = Arc::new(E::start(true));
    let table = db.create_table(def(Access::Hashed)).unwrap();
    let mut w = db.worker().unwrap();
    w.run(TxnKind::ReadWrite, |w| (0..ROWS).step_by(2).try_for_each(|id| insert(w, &table, id, Some(id))))
        .unwrap();
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        for number in 0..3_i64 {
            let (db, table, stop, commits) = (&db, &table, &stop, &commits);
            s.spawn(move || {
                let mut w = db.worker().unwrap();
                let mut at = 1 + number;
                while !stop.load(Ordering::SeqCst) {
                    at = at * 1_103 % 65_537;
                    let (id, a) = (at % ROWS, at % 101);
                    w.run(TxnKind::ReadWrite, |w| {
                        if w.get(table.id, &key(id), &Projection::existence(), |_, _| ())?.is_none() {
                            return insert(w, table, id, Some(a));
                        }
                        if a % 3 == 0 {
                            w.delete(table.id, &key(id)).map(|_| ())
                        } else {
                            set(w, table, id, a).map(|_| ())
                        }
                    })
                    .unwrap();
                    commits.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for round in 0..25 {
            let mut def = by_a();
            def.name = format!("by_a_{round}");
            if round % 2 == 0 {
                def.options.access = Access::Hashed;
            }
            let with = db.add_index(table.id, def).unwrap();
            let index = with.indexes.last().unwrap().id;
            compare(&*db, &with, index, TxnKind::ReadWrite);
            let seen = commits.load(Ordering::SeqCst);
            while commits.load(Ordering::SeqCst) < seen + 20 {
                thread::yield_now();
            }
            compare(&*db, &with, index, TxnKind::ReadOnly);
            compare(&*db, &with, index, TxnKind::Deferrable);
            if round % 3 != 0 {
                db.drop_index(index).unwrap();
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
    for index in &db.table("t").unwrap().indexes {
        compare(&*db, &table, index.id, TxnKind::ReadOnly);
    }
}

/// Whenever the caller has enough: the table is as it was, nothing is left behind, and the next attempt goes well.
pub(super) fn stops_when_told<E: Tried>() {
    for index in [by_a(), unique()] {
        let db = E::start(false);
        let table = filled(&db, Access::Hashed);
        let (mut stopped, mut used) = (0, None);
        loop {
            let asked = Cell::new(0);
            let go_on = || asked.replace(asked.get() + 1) < stopped;
            match db.add_index_while(table.id, index.clone(), &go_on) {
                Ok(_) => break,
                Err(Error::Stopped) => stopped += 1,
                Err(other) => panic!("{other}"),
            }
            assert!(db.table("t").unwrap().indexes.is_empty());
            let mut w = db.worker().unwrap();
            w.run(TxnKind::ReadWrite, |w| set(w, &table, 1, -stopped - 10).map(|_| ())).unwrap();
            if stopped == 10 {
                used = db.domain().map(Domain::used);
            }
        }
        if let (Some(domain), Some(used)) = (db.domain(), used) {
            assert!(stopped > 20, "{stopped}");
            assert!(domain.used() < used + (6 << 20), "{} of {used}", domain.used());
        }
        let table = db.table("t").unwrap();
        compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
    }
}

/// Whichever allocation fails: the table is as it was, nothing is left behind, and the next attempt goes well.
pub(super) fn out_of_memory<E: Tried>() {
    for index in [by_a(), unique()] {
        let db = E::start(false);
        let table = filled(&db, Access::Hashed);
        let Some(domain) = db.domain() else { return };
        let (mut failures, mut after, mut used) = (0, 0, 0);
        loop {
            domain.fail_allocations(after, u64::MAX);
            let result = db.add_index(table.id, index.clone());
            domain.stop_failing();
            match result {
                Ok(_) => break,
                Err(Error::OutOfMemory { .. }) => failures += 1,
                Err(other) => panic!("{other}"),
            }
            assert!(db.table("t").unwrap().indexes.is_empty());
            let mut w = db.worker().unwrap();
            w.run(TxnKind::ReadWrite, |w| set(w, &table, 1, after as i64).map(|_| ())).unwrap();
            if failures == 10 {
                used = domain.used();
            }
            after += 1 + after / 5;
        }
        assert!(failures > 30, "{failures}");
        assert!(domain.used() < used + (6 << 20), "{} of {used}", domain.used());
        let table = db.table("t").unwrap();
        compare(&db, &table, table.indexes[0].id, TxnKind::ReadOnly);
    }
}

/// The memory of an index that went serves others; and a new index touches no record and makes no table.
pub(super) fn costs_what_it_should<E: Tried>() {
    let db = E::start(false);
    let table = filled(&db, Access::Hashed);
    let Some(domain) = db.domain() else { return };
    let stats = db.stats();
    let before = (stats.commits, stats.tables.len());
    let with = db.add_index(table.id, by_a()).unwrap();
    let stats = db.stats();
    assert_eq!(
        (stats.commits, stats.tables.len()),
        (before.0, before.1 + 1),
        "no transaction, one structure"
    );
    let mut used = 0;
    let mut index = with.indexes[0].id;
    for round in 0..12 {
        db.drop_index(index).unwrap();
        // whoever runs transactions cleans up
        let mut w = db.worker().unwrap();
        for _ in 0..2_000 {
            w.run(TxnKind::ReadWrite, |w| set(w, &table, 1, 1).map(|_| ())).unwrap();
        }
        drop(w);
        index = db.add_index(table.id, by_a()).unwrap().indexes[0].id;
        if round == 3 {
            used = domain.used();
        }
    }
    assert!(domain.used() <= used + (2 << 20), "{} of {used}", domain.used());
}

/// Wherever power fails, what opens has the index whole or not at all, and every row that was acknowledged.
pub(super) fn crashes<E: Kept>() {
    let disk = SimDisk::new(5).recording();
    let db = E::open(&disk).unwrap();
    let table = filled(&db, Access::Hashed);
    let mut w = db.worker().unwrap();
    let durable = |w: &E::Worker| w.wait_durable().unwrap();
    durable(&w);
    let from = disk.crash_points();
    let with = db.add_index(table.id, by_a()).unwrap();
    let (added, index) = (disk.crash_points(), with.indexes[0].id);
    w.run(TxnKind::ReadWrite, |w| insert(w, &table, 7_000, Some(-1))).unwrap();
    durable(&w);
    let kept = disk.crash_points();
    db.checkpoint().unwrap();
    db.drop_index(index).unwrap();
    let dropped = disk.crash_points();
    let second = db.add_index(table.id, unique()).unwrap().indexes[0].id;
    assert_ne!(index, second);
    db.create_table(TableDef { name: "later".into(), ..def(Access::Ordered) }).unwrap();
    db.checkpoint().unwrap();
    let end = disk.crash_points();
    drop((w, db));
    for at in (from..=end.min(disk.crash_points() - 1)).chain([disk.crash_points() - 1]) {
        for luck in 0..2 {
            let image = if luck == 0 { disk.killed(at) } else { disk.image(at, at as u64) };
            E::inspect(&image).unwrap_or_else(|error| panic!("after operation {at}: {error}"));
            let db = E::open(&image).unwrap();
            let table = db.table("t").unwrap();
            let names: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
            let may: &[&[&str]] = match at {
                _ if at < added => &[&[], &["by_a"]],
                _ if at < dropped => &[&["by_a"], &[]],
                _ if at < end => &[&[], &["only_a"]],
                _ => &[&["only_a"]],
            };
            assert!(may.contains(&&names[..]), "after operation {at}: {names:?}");
            let mut w = db.worker().unwrap();
            let rows = w.run(TxnKind::ReadOnly, |w| scan(w, &table, table.id)).unwrap();
            assert!(at < kept || rows.iter().any(|row| row.1 == 7_000), "after operation {at}");
            // it goes on: with another index, and one less
            for other in &table.indexes {
                compare(&db, &table, other.id, TxnKind::ReadOnly);
            }
            if at % 7 == 0 {
                let again = IndexDef { name: "again".into(), ..by_a() };
                let more = db.add_index(table.id, again).unwrap();
                compare(&db, &more, more.index("again").unwrap().id, TxnKind::ReadOnly);
                drop((w, db));
                let db = E::open(&image).unwrap();
                let table = db.table("t").unwrap();
                assert!(table.index("again").is_some());
                table.indexes.iter().for_each(|index| drop(db.drop_index(index.id).unwrap()));
                assert!(db.table("t").unwrap().indexes.is_empty());
            }
        }
    }
}
