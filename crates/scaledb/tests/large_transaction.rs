//! One transaction that writes much.

use scaledb::{Database, Error, Table, Type};

/// Searching each write among all the others would take minutes.
const ROWS: i64 = 200_000;

#[test]
fn a_transaction_finds_its_own_among_many_writes() {
    let db = Database::in_memory();
    let t = db
        .create_table(
            Table::build("t")
                .column("id", Type::Int8)
                .column("n", Type::Int8)
                .primary_key(["id"])
                .index("by_n", ["n"]),
        )
        .unwrap();
    db.run(|txn| (0..100).try_for_each(|id| txn.insert(&t, (-1 - id, 0)))).unwrap();
    let mut session = db.session().unwrap();
    let mut txn = session.begin().unwrap();
    for id in 0..ROWS {
        txn.insert(&t, (id, id)).unwrap();
    }
    for id in -100..0 {
        assert_eq!(txn.update(&t, id, |row| row.add("n", -1)).unwrap(), Some(-1));
    }
    let savepoint = txn.savepoint().unwrap();
    for id in (0..ROWS).step_by(1_000).chain(-100..0) {
        assert!(matches!(txn.insert(&t, (id, 0)), Err(Error::DuplicateKey { .. })), "{id}");
        assert!(txn.delete(&t, id).unwrap() && !txn.contains(&t, id).unwrap(), "{id}");
        txn.insert(&t, (ROWS + 1_000 + id, -7)).unwrap();
    }
    txn.rollback_to(savepoint).unwrap();
    for id in (0..ROWS).step_by(777) {
        assert_eq!(txn.update(&t, id, |row| row.add("n", 1)).unwrap(), Some(id + 1));
    }
    txn.insert(&t, (ROWS + 1_000, 5)).unwrap();
    txn.commit().unwrap();
    let by_n = t.index("by_n").unwrap();
    assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), ROWS as usize + 101);
    assert_eq!(db.run(|txn| txn.count(&by_n)).unwrap(), ROWS as usize + 101);
    assert_eq!(db.run(|txn| txn.get(&t, -50)).unwrap().unwrap().get::<i64>("n").unwrap(), -1);
    assert_eq!(db.run(|txn| txn.get(&t, 777)).unwrap().unwrap().get::<i64>("n").unwrap(), 778);
}

#[test]
fn a_write_set_that_shrinks_again_finds_its_own() {
    let db = Database::in_memory();
    let t = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"])).unwrap();
    let mut session = db.session().unwrap();
    let mut txn = session.begin().unwrap();
    (0..10).for_each(|id| txn.insert(&t, id).unwrap());
    let savepoint = txn.savepoint().unwrap();
    for round in 1..4 {
        (10..100 * round).for_each(|id| txn.insert(&t, id).unwrap());
        txn.rollback_to(savepoint).unwrap();
        // few again: what is written now must be found, and what was taken back must not
        txn.insert(&t, 1_000 + round).unwrap();
        assert!(txn.contains(&t, 1_000 + round).unwrap() && !txn.contains(&t, 50).unwrap());
        assert!(matches!(txn.insert(&t, 1_000 + round), Err(Error::DuplicateKey { .. })));
    }
    assert!(!txn.contains(&t, 1_002).unwrap(), "taken back by the last rollback");
    txn.commit().unwrap();
    assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), 11);
}
