//! Databases in directories.

use scaledb::{CommitMode, Database, Error, Options, Table, TableBuilder, Type};
use std::path::{Path, PathBuf};
use std::thread;

/// A directory of its own for each test, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("scaledb-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn accounts() -> TableBuilder {
    Table::build("accounts")
        .column("id", Type::Int8)
        .column("owner", Type::Text(50))
        .column("balance", Type::Int8)
        .primary_key(["id"])
        .unique_index("by_owner", ["owner"])
        .index("by_balance", ["balance"])
}

#[test]
fn a_second_life_has_all_rows_by_every_index() {
    let directory = Directory::new("second-life");
    for checkpoint in [false, true] {
        let db = Database::open_directory(directory.path()).unwrap();
        let t = db.table("accounts").or_else(|_| db.create_table(accounts())).unwrap();
        let first = i64::from(checkpoint) * 1_000;
        for id in first..first + 500 {
            db.run(|txn| txn.insert(&t, (id, format!("owner {id}").as_str(), 1_000_000 - id))).unwrap();
        }
        if checkpoint {
            db.checkpoint().unwrap();
        }
        db.run(|txn| txn.delete(&t, first)).unwrap();
        db.run(|txn| txn.update(&t, first + 1, |row| row.set("owner", "a new owner, with a longer name")))
            .unwrap();
        // moves for the second round
        db.run(|txn| txn.update(&t, first + 1, |row| row.set("owner", format!("moved {first}").as_str())))
            .unwrap();
    }
    let db = Database::open_directory(directory.path()).unwrap();
    let t = db.table("accounts").unwrap();
    let (by_owner, by_balance) = (t.index("by_owner").unwrap(), t.index("by_balance").unwrap());
    db.run(|txn| {
        assert_eq!(txn.count(&t)?, 998);
        assert_eq!(txn.count(&by_balance)?, 998);
        assert!(!txn.contains(&t, 0)? && !txn.contains(&t, 1_000)?);
        for id in (1..500).chain(1_001..1_500) {
            let owner = if id % 1_000 == 1 { format!("moved {}", id - 1) } else { format!("owner {id}") };
            let row = txn.get_by(&by_owner, owner.as_str())?.expect("by its owner");
            assert_eq!((row.get::<i64>("id")?, row.get::<i64>("balance")?), (id, 1_000_000 - id));
        }
        let least = txn.scan(&by_balance).first()?.expect("a row");
        assert_eq!(least.get::<i64>("id")?, 1_499);
        Ok(())
    })
    .unwrap();
    // and it takes new ones
    assert!(matches!(db.run(|txn| txn.insert(&t, (1, "x", 0))), Err(Error::DuplicateKey { .. })));
    assert!(matches!(db.run(|txn| txn.insert(&t, (9_999, "owner 2", 0))), Err(Error::DuplicateKey { .. })));
    db.run(|txn| txn.insert(&t, (0, "owner 0", 5))).unwrap();
}

#[test]
fn rows_that_the_engine_numbers_are_not_numbered_twice() {
    let directory = Directory::new("numbers");
    for life in 1..=3 {
        let db = Database::open_directory(directory.path()).unwrap();
        let log = Table::build("log").column("life", Type::Int4);
        let t = db.table("log").or_else(|_| db.create_table(log)).unwrap();
        for _ in 0..20 {
            db.run(|txn| txn.insert(&t, life)).unwrap();
        }
        assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), 20 * life as usize);
    }
}

#[test]
fn one_opening_at_a_time() {
    let directory = Directory::new("twice");
    let db = Database::open_directory(directory.path()).unwrap();
    assert!(matches!(Database::open_directory(directory.path()), Err(Error::DirectoryInUse(_))));
    drop(db);
    Database::open_directory(directory.path()).unwrap();
}

#[test]
fn what_is_no_database_is_refused() {
    let directory = Directory::new("foreign");
    std::fs::create_dir_all(directory.path()).unwrap();
    std::fs::write(directory.path().join("letter.txt"), "dear ann").unwrap();
    let refused = Database::open_directory(directory.path()).err().expect("refused").to_string();
    assert!(refused.contains("letter.txt"), "{refused}");
    assert_eq!(std::fs::read(directory.path().join("letter.txt")).unwrap(), b"dear ann");
}

#[test]
fn asynchronous_commits_are_there_after_a_wait_and_after_a_close() {
    let directory = Directory::new("asynchronous");
    let options =
        || Options::new().directory(directory.path()).unwrap().commit_mode(CommitMode::Asynchronous);
    let db = Database::open(options()).unwrap();
    let t = db.create_table(accounts()).unwrap();
    let mut session = db.session().unwrap();
    for id in 0..1_000 {
        session.run(|txn| txn.insert(&t, (id, id.to_string().as_str(), 0))).unwrap();
    }
    session.wait_durable().unwrap();
    let mut txn = session.begin().unwrap();
    txn.insert(&t, (1_000, "durable by itself", 0)).unwrap();
    txn.commit_as(CommitMode::Durable).unwrap();
    session.run(|txn| txn.insert(&t, (1_001, "closed in good order", 0))).unwrap();
    drop((session, db));
    let db = Database::open(options()).unwrap();
    assert_eq!(db.run(|txn| txn.count(&db.table("accounts")?)).unwrap(), 1_002);
}

#[test]
fn threads_that_come_and_go_share_the_log() {
    let directory = Directory::new("threads");
    let db = Database::open_directory(directory.path()).unwrap();
    let t = db.create_table(accounts()).unwrap();
    for round in 0..10 {
        thread::scope(|scope| {
            for thread in 0..8 {
                let (db, t) = (&db, &t);
                scope.spawn(move || {
                    // a session of its own each time: worker ids are used again and again
                    let mut session = db.session().unwrap();
                    for i in 0..5 {
                        let id = round * 100 + thread * 10 + i;
                        session.run(|txn| txn.insert(t, (id, id.to_string().as_str(), 1))).unwrap();
                    }
                });
            }
        });
    }
    drop(db);
    let db = Database::open_directory(directory.path()).unwrap();
    assert_eq!(db.run(|txn| txn.count(&db.table("accounts")?)).unwrap(), 400);
}
