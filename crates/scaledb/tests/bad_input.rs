//! Bad input of every kind: a typed error, and a database as it was.

use scaledb::engine::Worker;
use scaledb::{
    Access, Database, Error, KeyColumn, Options, Row, Session, Table, TableBuilder, TxnKind, Type, Value,
};

/// A database with three rows, and what they were.
struct Bench {
    db: Database,
    t: Table,
    session: Session,
    before: Vec<Row>,
}

fn definition() -> TableBuilder {
    Table::build("t")
        .column("id", Type::Int8)
        .column("small", Type::Int2)
        .column("name", Type::Text(2000))
        .column("note", Type::Bytes(9 << 20))
        .nullable()
        .primary_key(["id"])
        .unique_index("by_name", ["name"])
        .index("by_small", ["small"])
}

impl Bench {
    fn new() -> Self {
        Self::with(Database::in_memory())
    }

    fn with(db: Database) -> Self {
        let t = db.create_table(definition()).unwrap();
        let mut session = db.session().unwrap();
        let before = session
            .run(|txn| {
                for (id, name) in [(1, "ann"), (2, "bob"), (3, "eve")] {
                    txn.insert(&t, (id, 7, name, None::<&[u8]>))?;
                }
                txn.scan(&t).collect()
            })
            .unwrap();
        Self { db, t, session, before }
    }

    /// Runs `f`, which must fail as `expected` says, in a transaction that then goes on; nothing changed, and
    /// the database works.
    #[track_caller]
    fn refuses(
        &mut self,
        expected: impl FnOnce(&Error) -> bool,
        f: impl FnOnce(&mut scaledb::Transaction<'_>, &Table) -> scaledb::Result<()>,
    ) {
        let Self { session, t, before, .. } = self;
        let t = &*t;
        let mut txn = session.begin().unwrap();
        txn.insert(t, (4, 7, "zoe", None::<&[u8]>)).unwrap();
        let error = f(&mut txn, t).expect_err("accepted");
        assert!(expected(&error), "another error: {error:?}");
        assert!(!error.to_string().is_empty());
        assert!(txn.is_active(), "the transaction ended");
        assert!(txn.delete(t, 4).unwrap());
        assert_eq!(txn.scan(t).collect().unwrap(), *before);
        txn.commit().unwrap();
        self.works();
    }

    /// The rows are as they were, and can be changed.
    #[track_caller]
    fn works(&mut self) {
        let Self { db, session, t, before } = self;
        let t = &*t;
        let by_name = t.index("by_name").unwrap();
        let by_small = t.index("by_small").unwrap();
        let check = |txn: &mut scaledb::Transaction<'_>| {
            assert_eq!(txn.scan(t).collect()?, *before);
            assert_eq!(txn.scan(&by_name).collect()?, *before);
            assert_eq!(txn.scan(&by_small).prefix(7).collect()?, *before);
            Ok(())
        };
        session.run(check).unwrap();
        db.run_as(TxnKind::Deferrable, check).unwrap();
        session.run(|txn| txn.insert(t, (9, 9, "new", &b"x"[..]))).unwrap();
        session.run(|txn| txn.update(t, 9, |row| row.set("name", "newer"))).unwrap().unwrap();
        assert!(session.run(|txn| txn.delete(t, 9)).unwrap());
        session.run(check).unwrap();
    }
}

const NULL: Option<&[u8]> = None;

#[test]
fn values_of_the_wrong_type() {
    let mut bench = Bench::new();
    let wrong = |error: &Error| matches!(error, Error::WrongType { column, .. } if column == "name");
    bench.refuses(wrong, |txn, t| txn.insert(t, (5, 7, 5, NULL)));
    bench.refuses(wrong, |txn, t| txn.insert(t, (5, 7, "n".repeat(2001), NULL)));
    bench.refuses(wrong, |txn, t| txn.update(t, 1, |row| row.set("name", true)).map(drop));
    bench.refuses(wrong, |txn, t| txn.update(t, 1, |row| row.add("name", 1)).map(drop));
    bench.refuses(wrong, |txn, t| txn.scan(t).update(|row| row.set("name", 5)).map(drop));
    bench.refuses(wrong, |txn, t| txn.get(t, 1)?.unwrap().get::<i64>("name").map(drop));
    bench.refuses(wrong, |txn, t| txn.get_by(&t.index("by_name")?, 5).map(drop));
    bench.refuses(wrong, |txn, t| txn.scan(&t.index("by_name")?).from(5).count().map(drop));
    let key = |error: &Error| matches!(error, Error::WrongType { column, .. } if column == "id");
    bench.refuses(key, |txn, t| txn.get(t, "one").map(drop));
    bench.refuses(key, |txn, t| txn.update(t, "one", |_| Ok(())).map(drop));
    bench.refuses(key, |txn, t| txn.delete(t, 1.5).map(drop));
    bench.refuses(key, |txn, t| txn.contains(t, Value::Uuid([7; 16])).map(drop));
    bench.refuses(key, |txn, t| txn.scan(t).prefix("one").delete().map(drop));
    let read = |error: &Error| matches!(error, Error::WrongType { got, .. } if got == "null");
    bench.refuses(read, |txn, t| txn.get_with(t, 1, |row| row.get::<&[u8]>("note").map(drop)).map(drop));
}

#[test]
fn integers_out_of_range() {
    let mut bench = Bench::new();
    let out = |error: &Error| matches!(error, Error::OutOfRange(column) if column == "small");
    bench.refuses(out, |txn, t| txn.insert(t, (5, 40_000, "x", NULL)));
    bench.refuses(out, |txn, t| txn.update(t, 1, |row| row.set("small", i64::MIN)).map(drop));
    bench.refuses(out, |txn, t| txn.update(t, 1, |row| row.add("small", 40_000)).map(drop));
    bench.refuses(out, |txn, t| txn.update(t, 1, |row| row.add("small", i64::MAX)).map(drop));
    bench.refuses(out, |txn, t| txn.scan(&t.index("by_small")?).to(40_000).delete().map(drop));
}

#[test]
fn null_where_none_is_taken() {
    let mut bench = Bench::new();
    let null = |error: &Error| matches!(error, Error::NullValue(column) if column == "name");
    bench.refuses(null, |txn, t| txn.insert(t, (5, 7, None::<&str>, NULL)));
    bench.refuses(null, |txn, t| txn.update(t, 1, |row| row.set("name", Value::Null)).map(drop));
    bench.refuses(|e| matches!(e, Error::NullValue(_)), |txn, t| txn.get(t, Value::Null).map(drop));
}

#[test]
fn too_few_or_too_many_values() {
    let mut bench = Bench::new();
    let arity = |expected, got| move |e: &Error| matches!(e, Error::WrongArity { expected: a, got: b } if (*a, *b) == (expected, got));
    bench.refuses(arity(4, 2), |txn, t| txn.insert(t, (5, 7)));
    bench.refuses(arity(4, 0), |txn, t| txn.insert(t, ()));
    bench.refuses(arity(4, 5), |txn, t| txn.insert(t, (5, 7, "x", NULL, 1)));
    bench.refuses(arity(1, 0), |txn, t| txn.get(t, ()).map(drop));
    bench.refuses(arity(1, 2), |txn, t| txn.update(t, (1, 2), |_| Ok(())).map(drop));
    bench.refuses(arity(1, 2), |txn, t| txn.delete(t, (1, 2)).map(drop));
    bench.refuses(arity(1, 2), |txn, t| txn.scan(t).from((1, 2)).delete().map(drop));
}

#[test]
fn unknown_and_unread_columns() {
    let mut bench = Bench::new();
    let wrong = |error: &Error| matches!(error, Error::WrongType { column, .. } if column == "nmae");
    bench.refuses(wrong, |txn, t| txn.get(t, 1)?.unwrap().get::<&str>("nmae").map(drop));
    bench.refuses(wrong, |txn, t| txn.get_with(t, 1, |row| row.get::<&str>("nmae").map(drop)).map(drop));
    bench.refuses(wrong, |txn, t| txn.update(t, 1, |row| row.set("nmae", "x")).map(drop));
    bench.refuses(wrong, |_, t| t.select(["id", "nmae"]).map(drop));
    bench.refuses(wrong, |_, t| t.column("nmae").map(drop));
    let number = |e: &Error| matches!(e, Error::WrongType { column, .. } if column == "99");
    bench.refuses(number, |txn, t| txn.get(t, 1)?.unwrap().get::<&str>(99).map(drop));
    bench.refuses(number, |txn, t| txn.update(t, 1, |row| row.set(99, 1)).map(drop));
    let unread = |e: &Error| matches!(e, Error::WrongType { column, got, .. } if column == "name" && got.contains("not read"));
    bench.refuses(unread, |txn, t| txn.get(&t.select(["small"])?, 1)?.unwrap().get::<&str>("name").map(drop));
    bench
        .refuses(unread, |txn, t| txn.update(&t.select(["small"])?, 1, |row| row.set("name", "x")).map(drop));
    bench.refuses(unread, |txn, t| txn.scan(&t.select(["id"])?).update(|row| row.set("name", "x")).map(drop));
}

#[test]
fn unknown_tables_and_indexes() {
    let mut bench = Bench::new();
    let none = |error: &Error| matches!(error, Error::NoSuchTable(_));
    bench.refuses(none, |_, t| t.index("by_nmae").map(drop));
    let db = bench.db.clone();
    bench.refuses(none, |_, _| db.table("nowhere").map(drop));
    // a table of another database
    let other = Database::in_memory();
    let theirs = other.create_table(Table::build("o").column("id", Type::Int4).primary_key(["id"])).unwrap();
    bench.refuses(none, |txn, _| txn.insert(&theirs, 1));
    bench.refuses(none, |txn, _| txn.get(&theirs, 1).map(drop));
    bench.refuses(none, |txn, _| txn.scan(&theirs).delete().map(drop));
}

#[test]
fn oversize_keys_and_rows() {
    let mut bench = Bench::new();
    let key = |error: &Error| matches!(error, Error::KeyTooLarge { .. });
    bench.refuses(key, |txn, t| txn.insert(t, (5, 7, "n".repeat(1100), NULL)));
    bench.refuses(key, |txn, t| txn.update(t, 1, |row| row.set("name", "n".repeat(1100))).map(drop));
    bench
        .refuses(key, |txn, t| txn.scan(t).from(2).update(|row| row.set("name", "n".repeat(1100))).map(drop));
    bench.refuses(key, |txn, t| txn.get_by(&t.index("by_name")?, "n".repeat(1100)).map(drop));
    let row = |error: &Error| matches!(error, Error::RowTooLarge { .. });
    let huge = vec![1_u8; (8 << 20) + 1];
    bench.refuses(row, |txn, t| txn.insert(t, (5, 7, "x", &huge)));
    bench.refuses(row, |txn, t| txn.update(t, 1, |row| row.set("note", &huge)).map(drop));
    // the largest that fits
    let large = vec![1_u8; (8 << 20) - 256];
    bench.session.run(|txn| txn.update(&bench.t, 1, |row| row.set("note", &large))).unwrap().unwrap();
    bench.session.run(|txn| txn.update(&bench.t, 1, |row| row.set("note", NULL))).unwrap().unwrap();
    bench.works();
}

#[test]
fn duplicates() {
    let mut bench = Bench::new();
    let duplicate = |error: &Error| matches!(error, Error::DuplicateKey { .. });
    bench.refuses(duplicate, |txn, t| txn.insert(t, (1, 7, "x", NULL)));
    bench.refuses(duplicate, |txn, t| txn.insert(t, (5, 7, "ann", NULL)));
    bench.refuses(duplicate, |txn, t| txn.insert(t, (4, 7, "own insert", NULL)));
    bench.refuses(duplicate, |txn, t| txn.update(t, 1, |row| row.set("name", "bob")).map(drop));
    bench.refuses(duplicate, |txn, t| txn.scan(t).update(|row| row.set("name", "same")).map(drop));
    let Err(error) = bench.db.run(|txn| txn.insert(&bench.t, (5, 7, "ann", NULL))) else { panic!() };
    assert_eq!(
        bench.db.explain_error(&error),
        "index by_name of table t already holds a row with name = 'ann'"
    );
    bench.works();
}

#[test]
fn a_key_column_is_not_updated() {
    let mut bench = Bench::new();
    let key = |error: &Error| matches!(error, Error::KeyUpdate(column) if column == "id");
    bench.refuses(key, |txn, t| txn.update(t, 1, |row| row.set("id", 9)).map(drop));
    bench.refuses(key, |txn, t| txn.scan(t).update(|row| row.set(0, 9)).map(drop));
}

#[test]
fn keys_that_name_no_single_row() {
    let mut bench = Bench::new();
    let bad = |error: &Error| matches!(error, Error::BadDefinition(_));
    bench.refuses(bad, |txn, t| txn.get_by(&t.index("by_small")?, 7).map(drop));
    let log = bench.db.create_table(Table::build("log").column("line", Type::Text(99))).unwrap();
    bench.refuses(bad, |txn, _| txn.get(&log, 1).map(drop));
    bench.session.run(|txn| txn.insert(&log, "a line")).unwrap();
    assert_eq!(bench.session.run(|txn| txn.count(&log)).unwrap(), 1);
}

#[test]
fn an_error_of_the_closure_leaves_the_rows() {
    let mut bench = Bench::new();
    let mine = |error: &Error| matches!(error, Error::RolledBack);
    bench.refuses(mine, |txn, t| {
        txn.update(t, 1, |row| {
            row.set("name", "changed")?;
            Err::<(), _>(Error::RolledBack)
        })
        .map(drop)
    });
    let mut rows = 0;
    bench.refuses(mine, |txn, t| {
        txn.scan(t)
            .update(|row| {
                row.set("name", format!("changed {rows}"))?;
                rows += 1;
                if rows == 3 { Err(Error::RolledBack) } else { Ok(()) }
            })
            .map(drop)
    });
}

#[test]
fn savepoints_of_other_transactions() {
    let mut bench = Bench::new();
    let mut txn = bench.session.begin().unwrap();
    let old = txn.savepoint().unwrap();
    txn.commit().unwrap();
    let none = |error: &Error| matches!(error, Error::NoSuchSavepoint);
    bench.refuses(none, |txn, _| txn.rollback_to(old));
    bench.refuses(none, |txn, _| {
        txn.savepoint()?;
        txn.rollback_to(old)
    });
    let db = bench.db.clone();
    bench.refuses(none, |txn, _| {
        txn.savepoint()?;
        let mut session = db.session()?;
        let theirs = session.begin()?.savepoint()?;
        txn.rollback_to(theirs)
    });
    bench.refuses(none, |txn, _| {
        let first = txn.savepoint()?;
        let second = txn.savepoint()?;
        txn.rollback_to(first)?;
        txn.savepoint()?;
        txn.rollback_to(second)
    });
}

#[test]
fn use_after_the_end() {
    let mut bench = Bench::new();
    let ended =
        |result: scaledb::Result<()>| assert!(matches!(result, Err(Error::TransactionEnded)), "{result:?}");
    // a conflict has ended it
    let mut txn = bench.session.begin().unwrap();
    let savepoint = txn.savepoint().unwrap();
    txn.update(&bench.t, 1, |row| row.set("name", "mine")).unwrap();
    txn.worker().rollback();
    assert!(!txn.is_active());
    ended(txn.insert(&bench.t, (5, 7, "x", NULL)));
    ended(txn.get(&bench.t, 1).map(drop));
    ended(txn.contains(&bench.t, 1).map(drop));
    ended(txn.update(&bench.t, 1, |_| Ok(())).map(drop));
    ended(txn.delete(&bench.t, 1).map(drop));
    ended(txn.count(&bench.t).map(drop));
    ended(txn.scan(&bench.t).limit(0).collect().map(drop));
    ended(txn.scan(&bench.t).update(|_| Ok(())).map(drop));
    ended(txn.scan(&bench.t).delete().map(drop));
    ended(txn.savepoint().map(drop));
    ended(txn.rollback_to(savepoint));
    ended(txn.commit().map(drop));
    // after a commit, the worker has none (a Transaction is consumed by its commit)
    bench.session.begin().unwrap().commit().unwrap();
    ended(bench.session.worker().commit().map(drop));
    ended(bench.session.worker().delete(bench.t.id(), &[]).map(drop));
    bench.works();
}

#[test]
fn a_closure_that_hides_a_conflict_does_not_commit() {
    let mut bench = Bench::new();
    let result = bench.session.run(|txn| {
        txn.delete(&bench.t, 1)?;
        txn.worker().rollback(); // as a conflict does
        Ok(())
    });
    assert!(matches!(result, Err(Error::TransactionEnded)));
    bench.works();
}

#[test]
fn writes_in_read_only_transactions() {
    let mut bench = Bench::new();
    for kind in [TxnKind::ReadOnly, TxnKind::Snapshot, TxnKind::Deferrable] {
        let refused = |result: scaledb::Result<()>| {
            assert!(matches!(result, Err(Error::ReadOnlyTransaction)), "{result:?}")
        };
        let t = bench.t.clone();
        let mut txn = bench.session.begin_as(TxnKind::Deferrable).unwrap();
        assert_eq!(txn.count(&t).unwrap(), 3);
        drop(txn);
        let mut txn = bench.session.begin_as(kind).unwrap();
        refused(txn.insert(&t, (5, 7, "x", NULL)));
        refused(txn.update(&t, 1, |row| row.set("name", "x")).map(drop));
        refused(txn.update(&t.index("by_name").unwrap(), "ann", |row| row.set("name", "x")).map(drop));
        refused(txn.delete(&t, 1).map(drop));
        refused(txn.scan(&t).update(|row| row.set("name", "x")).map(drop));
        refused(txn.scan(&t).delete().map(drop));
        txn.commit().unwrap();
        bench.works();
    }
}

#[test]
fn scans_of_hash_only_tables() {
    let mut bench = Bench::new();
    let points = Table::build("points").column("id", Type::Int4).primary_key(["id"]).access(Access::HashOnly);
    let points = bench.db.create_table(points).unwrap();
    let not = |error: &Error| matches!(error, Error::NotOrdered(_));
    bench.refuses(not, |txn, _| txn.count(&points).map(drop));
    bench.refuses(not, |txn, _| txn.scan(&points).from(1).delete().map(drop));
    let Err(error) = bench.db.run(|txn| txn.count(&points)) else { panic!() };
    assert!(bench.db.explain_error(&error).starts_with("table points has no ordered index"));
    bench.session.run(|txn| txn.insert(&points, 1)).unwrap();
    assert!(bench.session.run(|txn| txn.contains(&points, 1)).unwrap());
}

#[test]
fn definitions_that_make_no_sense() {
    let mut bench = Bench::new();
    let int = || Table::build("x").column("a", Type::Int4);
    let text = || int().column("b", Type::Text(9));
    let bad: Vec<(&str, TableBuilder)> = vec![
        ("no columns", Table::build("x")),
        ("no name", Table::build("").column("a", Type::Int4)),
        ("a column twice", int().column("a", Type::Int4)),
        ("nullable what", Table::build("x").nullable().column("a", Type::Int4)),
        ("unknown key column", int().primary_key(["b"])),
        ("a key column twice", int().primary_key(["a", "a"])),
        ("a nullable key", int().nullable().primary_key(["a"])),
        ("unknown index column", int().index("i", ["b"])),
        ("an index of nothing", int().index("i", Vec::<KeyColumn>::new())),
        ("options of no index", int().index_options(Default::default())),
        ("a group of an unknown column", int().conflict_group("b", 1)),
        ("a group too many", int().conflict_group("a", 4)),
        ("text in a group", text().conflict_group("b", 1)),
        (
            "too many columns",
            (0..1601).fold(Table::build("x"), |t, n| t.column(&format!("c{n}"), Type::Bool)),
        ),
        ("too many indexes", (0..65).fold(int(), |t, n| t.index(&format!("i{n}"), ["a"]))),
    ];
    for (what, definition) in bad {
        let result = bench.db.create_table(definition);
        assert!(matches!(result, Err(Error::BadDefinition(_))), "{what}: {result:?}");
        assert!(matches!(bench.db.table("x"), Err(Error::NoSuchTable(_))), "{what}");
    }
    for taken in [Table::build("t"), Table::build("by_name"), Table::build("y").index("t", ["a"])] {
        let result = bench.db.create_table(taken.column("a", Type::Int4));
        assert!(matches!(result, Err(Error::TableExists(_))), "{result:?}");
    }
    assert!(matches!(bench.db.table("y"), Err(Error::NoSuchTable(_))));
    bench.works();
    bench.db.create_table(int()).unwrap();
}

#[test]
fn too_many_sessions() {
    let mut bench = Bench::new();
    bench.works(); // leaves an idle session in the pool
    let mut sessions = Vec::new();
    let error = loop {
        match bench.db.session() {
            Ok(session) => sessions.push(session),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::TooManyWorkers { .. }), "{error:?}");
    assert!(sessions.len() > 100);
    assert!(matches!(bench.db.run(|_| Ok(())), Err(Error::TooManyWorkers { .. })));
    let result = bench.db.create_table(Table::build("x").column("a", Type::Int4));
    assert!(matches!(result, Err(Error::TooManyWorkers { .. })));
    assert_eq!(sessions[0].run(|txn| txn.count(&bench.t)).unwrap(), 3);
    sessions.clear();
    bench.works();
    bench.db.create_table(Table::build("x").column("a", Type::Int4)).unwrap();
}

#[test]
fn out_of_memory() {
    let db = Database::open(Options::new().memory_budget(64 << 20)).unwrap();
    let mut bench = Bench::with(db);
    let note = vec![1_u8; 1 << 20];
    let t = bench.t.clone();
    let fill = |session: &mut Session, rows: std::ops::Range<i64>| {
        session.run(|txn| {
            for id in rows.clone() {
                txn.insert(&t, (id, 0, format!("row {id}"), &note))?;
            }
            Ok(())
        })
    };
    // one transaction that is too large: nothing of it stays, and its memory comes back
    let result = fill(&mut bench.session, 100..200);
    assert!(matches!(result, Err(Error::TransactionsTooLarge { .. })), "{result:?}");
    eventually(|| fill(&mut bench.session, 100..101).is_ok());
    // many small ones, until no more fit: each is there whole or not at all
    eventually(|| fill(&mut bench.session, 101..110).is_ok());
    let stored = 10 + (110..200).take_while(|&id| fill(&mut bench.session, id..id + 1).is_ok()).count();
    assert!(stored < 64, "{stored} rows of 1 MiB");
    assert!(matches!(fill(&mut bench.session, 300..310), Err(Error::OutOfMemory { .. })));
    let count = bench.session.run(|txn| txn.scan(&t).from(100).count()).unwrap();
    assert_eq!(count, stored);
    let count = bench.session.run(|txn| txn.scan(&t.index("by_small")?).prefix(0).count()).unwrap();
    assert_eq!(count, stored);
    // deletes are possible, and make room
    assert_eq!(bench.session.run(|txn| txn.scan(&t).from(100).delete()).unwrap(), stored);
    eventually(|| fill(&mut bench.session, 400..420).is_ok());
    assert_eq!(bench.session.run(|txn| txn.scan(&t).from(100).delete()).unwrap(), 20);
    bench.works();
}

/// Tries for a minute at most: deleted rows are removed a little later.
#[track_caller]
fn eventually(mut f: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if f() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within a minute");
}
