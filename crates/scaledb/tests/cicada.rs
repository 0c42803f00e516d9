//! The library on the Cicada engine: the same calls, the same answers.

use scaledb::{Access, Database, Error, KeyColumn, Options, Row, Table, TxnKind, Type};
use scaledb_cicada::{Cicada, Clocks, Config};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

fn databases() -> [Database<Cicada>; 2] {
    let loose = Config { clocks: Clocks::Loose, ..Config::default() };
    [Config::default(), loose].map(|config| Database::with_engine(Cicada::open(config).unwrap()))
}

fn cities(db: &Database<Cicada>, access: Access) -> Table {
    let t = db
        .create_table(
            Table::build("cities")
                .column("country", Type::Text(2))
                .column("people", Type::Int4)
                .column("name", Type::Text(50))
                .column("mayor", Type::Text(50))
                .nullable()
                .primary_key(["country".into(), KeyColumn::desc("people")])
                .index("by_name", ["name"])
                .unique_index("by_mayor", ["mayor"])
                .access(access),
        )
        .unwrap();
    let rows = [
        ("de", 3_600, "Berlin", Some("kai")),
        ("de", 1_900, "Hamburg", Some("peter")),
        ("de", 1_500, "Munich", None),
        ("fr", 2_100, "Paris", Some("anne")),
        ("fr", 900, "Marseille", None),
    ];
    db.run(|txn| rows.iter().try_for_each(|&row| txn.insert(&t, row))).unwrap();
    t
}

fn names(rows: Vec<Row>) -> Vec<String> {
    rows.iter().map(|row| row.get("name").unwrap()).collect()
}

#[test]
fn rows_are_found_changed_and_deleted() {
    for access in [Access::Hashed, Access::Ordered] {
        for db in databases() {
            let t = cities(&db, access);
            let (by_name, by_mayor) = (t.index("by_name").unwrap(), t.index("by_mayor").unwrap());
            db.run(|txn| {
                assert_eq!(names(txn.scan(&t).prefix("de").collect()?), ["Berlin", "Hamburg", "Munich"]);
                assert_eq!(names(txn.scan(&t).prefix("de").reverse().limit(1).collect()?), ["Munich"]);
                assert_eq!(names(txn.scan(&by_name).from("H").collect()?).len(), 4);
                assert_eq!(txn.get_by(&by_mayor, "anne")?.unwrap().get::<String>("name")?, "Paris");
                let taken = txn.insert(&t, ("it", 2_800, "Rome", Some("kai")));
                assert!(matches!(taken, Err(Error::DuplicateKey { .. })), "{taken:?}");
                txn.update(&t, ("fr", 2_100), |row| row.set("mayor", "emmanuel"))?;
                assert!(txn.get_by(&by_mayor, "anne")?.is_none());
                assert!(txn.get_by(&by_mayor, "emmanuel")?.is_some());
                assert_eq!(txn.scan(&t).prefix("de").delete()?, 3);
                txn.insert(&t, ("it", 2_800, "Rome", Some("kai")))
            })
            .unwrap();
            let left = db.run_as(TxnKind::Deferrable, |txn| txn.scan(&by_name).collect()).unwrap();
            assert_eq!(names(left), ["Marseille", "Paris", "Rome"]);
        }
    }
}

#[test]
fn savepoints_undo_writes_and_rollbacks_all() {
    for db in databases() {
        let t = cities(&db, Access::Hashed);
        let mut session = db.session().unwrap();
        let mut txn = session.begin().unwrap();
        txn.insert(&t, ("it", 2_800, "Rome", Some("roberto"))).unwrap();
        let savepoint = txn.savepoint().unwrap();
        assert_eq!(txn.scan(&t).prefix("de").delete().unwrap(), 3);
        txn.update(&t, ("it", 2_800), |row| row.set("name", "Roma")).unwrap();
        txn.rollback_to(savepoint).unwrap();
        assert_eq!(txn.count(&t).unwrap(), 6);
        assert_eq!(txn.get(&t, ("it", 2_800)).unwrap().unwrap().get::<String>("name").unwrap(), "Rome");
        txn.rollback();
        assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), 5);
    }
}

#[test]
fn a_snapshot_does_not_see_what_comes_and_the_present_does() {
    for db in databases() {
        let t = cities(&db, Access::Ordered);
        let mut session = db.session().unwrap();
        let mut old = session.begin_as(TxnKind::Deferrable).unwrap();
        db.run(|txn| txn.scan(&t).prefix("de").delete()).unwrap();
        assert_eq!(old.count(&t).unwrap(), 5);
        assert!(matches!(old.delete(&t, ("fr", 900)), Err(Error::ReadOnlyTransaction)));
        assert_eq!(db.run_as(TxnKind::ReadOnly, |txn| txn.count(&t)).unwrap(), 2);
        old.commit().unwrap();
    }
}

#[test]
fn transfers_keep_the_total() {
    const ACCOUNTS: i64 = 20;
    const TOTAL: i64 = ACCOUNTS * 100;
    for db in databases() {
        let accounts = Table::build("accounts").column("id", Type::Int8).column("balance", Type::Int8);
        let accounts = db.create_table(accounts.primary_key(["id"])).unwrap();
        db.run(|txn| (0..ACCOUNTS).try_for_each(|id| txn.insert(&accounts, (id, 100)))).unwrap();
        let (done, next) = (AtomicBool::new(false), AtomicI64::new(1));
        let (db, accounts, done, next) = (&db, &accounts, &done, &next);
        let total = |kind| {
            let sum = |rows: Vec<Row>| rows.iter().map(|row| row.get::<i64>("balance").unwrap()).sum::<i64>();
            sum(db.run_as(kind, |txn| txn.scan(accounts).collect()).unwrap())
        };
        thread::scope(|scope| {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for kind in [TxnKind::Snapshot, TxnKind::ReadOnly, TxnKind::Deferrable] {
                        assert_eq!(total(kind), TOTAL, "{kind:?}");
                    }
                }
            });
            let transfers = move || {
                let mut session = db.session().unwrap();
                for _ in 0..5_000 {
                    let n = next.fetch_add(7919, Ordering::Relaxed);
                    let transfer = |txn: &mut scaledb::Transaction<'_, Cicada>| {
                        txn.update(accounts, n % ACCOUNTS, |row| row.add("balance", -1))?;
                        txn.update(accounts, n / 3 % ACCOUNTS, |row| row.add("balance", 1))
                    };
                    session.run(transfer).unwrap();
                }
            };
            let writers: Vec<_> = (0..3).map(|_| scope.spawn(transfers)).collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(total(TxnKind::ReadWrite), TOTAL);
    }
}

#[test]
fn a_directory_is_there_again_and_the_other_engine_is_refused() {
    let path = std::env::temp_dir().join(format!("scaledb-cicada-{}", std::process::id()));
    std::fs::remove_dir_all(&path).ok();
    let open = || Options::new().directory(&path).and_then(Database::<Cicada>::with_options);
    let db = open().unwrap();
    let t = db
        .create_table(
            Table::build("t")
                .column("id", Type::Int8)
                .column("n", Type::Int8)
                .primary_key(["id"])
                .index("by_n", ["n"]),
        )
        .unwrap();
    for id in 0..100 {
        db.run(|txn| txn.insert(&t, (id, -id))).unwrap();
    }
    // a commit returns when it is durable
    assert!(db.stats().log.is_some_and(|log| log.transactions >= 100));
    assert!(matches!(open(), Err(Error::DirectoryInUse(_))));
    drop((db, t));
    let Err(Error::Directory(what)) = Database::open_directory(&path).map(|_| ()) else {
        panic!("ACC opened a directory of Cicada");
    };
    assert!(what.contains("acc") && what.contains("cicada"), "{what}");
    let db = open().unwrap();
    let t = db.table("t").unwrap();
    assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), 100);
    let by_n = t.index("by_n").unwrap();
    let first = db.run(|txn| Ok(txn.scan(&by_n).first()?.map(|row| row.get::<i64>("id")))).unwrap();
    assert_eq!(first.unwrap().unwrap(), 99);
    drop((db, t));
    std::fs::remove_dir_all(&path).unwrap();
}

/// A snapshot of the present would wait for whoever has begun before, for as long as that is left open. (With loose
/// clocks the commit of whoever reads the present waits for it all the same.)
#[test]
fn an_open_transaction_keeps_nobody_from_reading() {
    for db in databases().into_iter().take(1) {
        let t = cities(&db, Access::Ordered);
        let (mut idle, mut reader) = (db.session().unwrap(), db.session().unwrap());
        let mut open = idle.begin().unwrap();
        assert_eq!(open.count(&t).unwrap(), 5);
        let mut txn = reader.begin_read_only().unwrap();
        assert_eq!(txn.count(&t).unwrap(), 5);
        assert!(matches!(txn.insert(&t, ("it", 1, "x", None::<&str>)), Err(Error::ReadOnlyTransaction)));
        txn.commit().unwrap();
        open.commit().unwrap();
        db.run(|txn| txn.insert(&t, ("it", 2_800, "Rome", None::<&str>))).unwrap();
        let mut txn = reader.begin_read_only().unwrap();
        assert_eq!(txn.count(&t).unwrap(), 6);
        txn.commit().unwrap();
    }
}
