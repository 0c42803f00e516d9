//! One session, one step at a time: every operation does what it says.

use scaledb::engine::{Acc, Config};
use scaledb::{Access, Database, Datum, Error, KeyColumn, Row, Session, Table, TxnKind, Type, Value};

/// Cities by country (ascending) and population (descending).
fn cities() -> (Database, Table, Session) {
    let db = Database::in_memory();
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
                .unique_index("by_mayor", ["mayor"]),
        )
        .unwrap();
    let mut session = db.session().unwrap();
    let rows = [
        ("de", 3_600, "Berlin", Some("kai")),
        ("de", 1_900, "Hamburg", Some("peter")),
        ("de", 1_500, "Munich", None),
        ("fr", 2_100, "Paris", Some("anne")),
        ("fr", 900, "Marseille", None),
        ("it", 2_800, "Rome", Some("roberto")),
    ];
    session.run(|txn| rows.iter().try_for_each(|&row| txn.insert(&t, row))).unwrap();
    (db, t, session)
}

fn names(rows: Vec<Row>) -> Vec<String> {
    rows.iter().map(|row| row.get("name").unwrap()).collect()
}

#[test]
fn scans_follow_the_bounds() {
    let (_db, t, mut session) = cities();
    let mut txn = session.begin_read_only().unwrap();
    let all = ["Berlin", "Hamburg", "Munich", "Paris", "Marseille", "Rome"];
    assert_eq!(names(txn.scan(&t).collect().unwrap()), all);
    assert_eq!(names(txn.scan(&t).prefix("fr").collect().unwrap()), ["Paris", "Marseille"]);
    assert_eq!(names(txn.scan(&t).prefix("fr").reverse().collect().unwrap()), ["Marseille", "Paris"]);
    // people descend: from the larger to the smaller
    assert_eq!(
        names(txn.scan(&t).from(("de", 1_900)).before("fr").collect().unwrap()),
        ["Hamburg", "Munich"]
    );
    assert_eq!(
        names(txn.scan(&t).from(("de", 2_000)).to(("de", 1_500)).collect().unwrap()),
        ["Hamburg", "Munich"]
    );
    assert_eq!(
        names(txn.scan(&t).after(("de", 1_900)).to("fr").limit(2).collect().unwrap()),
        ["Munich", "Paris"]
    );
    assert_eq!(names(txn.scan(&t).after("de").collect().unwrap()), ["Paris", "Marseille", "Rome"]);
    assert_eq!(names(txn.scan(&t).to("fr").reverse().limit(1).collect().unwrap()), ["Marseille"]);
    assert_eq!(names(txn.scan(&t).prefix(()).limit(1).collect().unwrap()), ["Berlin"]);
    assert!(txn.scan(&t).from("it").before("de").collect().unwrap().is_empty());
    assert!(txn.scan(&t).after(()).collect().unwrap().is_empty());
    assert!(txn.scan(&t).limit(0).collect().unwrap().is_empty());
    assert!(txn.scan(&t).prefix("xx").first().unwrap().is_none());
    let by_name = t.index("by_name").unwrap();
    let between = txn.scan(&by_name).from("C").before("N").collect().unwrap();
    assert_eq!(names(between), ["Hamburg", "Marseille", "Munich"]);
    assert_eq!(txn.count(&by_name).unwrap(), 6);
    // NULLs last
    let by_mayor = t.index("by_mayor").unwrap();
    let all = txn.scan(&by_mayor).collect().unwrap();
    assert_eq!(names(all), ["Paris", "Berlin", "Hamburg", "Rome", "Munich", "Marseille"]);
    assert_eq!(txn.scan(&by_mayor).prefix(None::<&str>).count().unwrap(), 2);
    txn.commit().unwrap();
}

#[test]
fn a_unique_index_finds_changes_and_deletes_rows() {
    let (_db, t, mut session) = cities();
    let by_mayor = t.index("by_mayor").unwrap();
    let mut txn = session.begin().unwrap();
    assert_eq!(txn.get_by(&by_mayor, "anne").unwrap().unwrap().get::<i64>("people").unwrap(), 2_100);
    assert!(txn.get_by(&by_mayor, "nobody").unwrap().is_none());
    assert!(txn.get_by(&by_mayor, None::<&str>).unwrap().is_none());
    txn.update(&by_mayor, "kai", |row| row.set("mayor", "franziska")).unwrap().unwrap();
    assert!(!txn.contains(&by_mayor, "kai").unwrap());
    assert!(txn.contains(&by_mayor, "franziska").unwrap());
    assert!(txn.update(&by_mayor, "kai", |_| Ok(())).unwrap().is_none());
    assert!(txn.delete(&by_mayor, "roberto").unwrap());
    assert!(!txn.delete(&by_mayor, "roberto").unwrap());
    assert!(!txn.contains(&t, ("it", 2_800)).unwrap());
    txn.commit().unwrap();
    let rows = session.run(|txn| txn.scan(&by_mayor).to("z").collect()).unwrap();
    assert_eq!(names(rows), ["Paris", "Berlin", "Hamburg"]);
}

#[test]
fn ranges_are_updated_and_deleted() {
    let (_db, t, mut session) = cities();
    let by_name = t.index("by_name").unwrap();
    session
        .run(|txn| {
            // moves the rows within the index that is scanned
            let changed = txn.scan(&by_name).from("M").update(|row| {
                let name: String = row.get("name")?;
                row.set("name", format!("Z {name}"))
            })?;
            assert_eq!(changed, 4);
            assert_eq!(
                names(txn.scan(&by_name).from("M").collect()?),
                ["Z Marseille", "Z Munich", "Z Paris", "Z Rome"]
            );
            assert_eq!(txn.scan(&t).prefix("de").limit(2).delete()?, 2);
            assert_eq!(txn.scan(&by_name).reverse().limit(1).delete()?, 1);
            Ok(())
        })
        .unwrap();
    let rows = session.run(|txn| txn.scan(&t).collect()).unwrap();
    assert_eq!(names(rows), ["Z Munich", "Z Paris", "Z Marseille"]);
}

#[test]
fn all_types_come_back() {
    let db = Database::in_memory();
    let types = [
        ("bool", Type::Bool, Value::Bool(true)),
        ("int2", Type::Int2, Value::Int2(-2)),
        ("int4", Type::Int4, Value::Int4(-4)),
        ("int8", Type::Int8, Value::Int8(i64::MIN)),
        ("float4", Type::Float4, Value::Float4(0.5)),
        ("float8", Type::Float8, Value::Float8(-1e300)),
        ("date", Type::Date, Value::Date(9_000)),
        ("time", Type::Time, Value::Time(1)),
        ("timestamp", Type::Timestamp, Value::Timestamp(-1)),
        ("uuid", Type::Uuid, Value::Uuid([9; 16])),
        ("fixed", Type::Fixed(3), Value::Bytes(vec![1, 0, 0])),
        ("text", Type::Text(9), Value::from("na\u{ef}ve")),
        ("bytes", Type::Bytes(9), Value::Bytes(vec![0, 255])),
    ];
    let mut builder = Table::build("t").column("id", Type::Int4).primary_key(["id"]);
    for (name, ty, _) in &types {
        builder = builder.column(name, *ty).nullable().index(&format!("by_{name}"), [*name]);
    }
    let t = db.create_table(builder).unwrap();
    let row: Vec<Value> = [1.into()].into_iter().chain(types.iter().map(|t| t.2.clone())).collect();
    let nulls: Vec<Value> = [2.into()].into_iter().chain(types.iter().map(|_| Value::Null)).collect();
    db.run(|txn| {
        txn.insert(&t, &row)?;
        txn.insert(&t, &nulls)?;
        let read = txn.get(&t, 1)?.unwrap();
        assert_eq!((read.values(), txn.get(&t, 2)?.unwrap().into_values()), (&row[..], nulls.clone()));
        assert_eq!(read.get::<&str>("text")?, "na\u{ef}ve");
        assert_eq!(read.get::<Vec<u8>>("fixed")?, [1, 0, 0]);
        assert_eq!(read.get::<i32>("date")?, 9_000);
        assert_eq!(read.get::<f64>("float4")?, 0.5);
        assert_eq!(read.get::<Datum>("uuid")?, Datum::Uuid([9; 16]));
        assert!(matches!(read.get::<i32>("int8"), Err(Error::WrongType { .. })));
        for (name, _, value) in &types {
            let by = t.index(&format!("by_{name}"))?;
            assert_eq!(txn.scan(&by).prefix(value).first()?.unwrap(), read, "{name}");
            assert_eq!(txn.scan(&by).prefix(Value::Null).first()?.unwrap().get::<i32>("id")?, 2);
        }
        Ok(())
    })
    .unwrap();
    // back from a key, as an explanation shows it
    let error = db.run(|txn| txn.insert(&t, &row)).unwrap_err();
    assert_eq!(db.explain_error(&error), "table t already holds a row with id = 1");
}

#[test]
fn an_explicit_transaction_ends_as_told() {
    let (db, t, mut session) = cities();
    let count = |db: &Database| db.run(|txn| txn.count(&t)).unwrap();
    let mut txn = session.begin().unwrap();
    txn.delete(&t, ("de", 3_600)).unwrap();
    drop(txn);
    let mut txn = session.begin().unwrap();
    txn.delete(&t, ("de", 3_600)).unwrap();
    txn.rollback();
    assert_eq!(count(&db), 6);
    let mut txn = session.begin().unwrap();
    txn.delete(&t, ("de", 3_600)).unwrap();
    let first = txn.commit().unwrap();
    assert_eq!(count(&db), 5);
    let mut txn = session.begin().unwrap();
    txn.delete(&t, ("de", 1_900)).unwrap();
    assert!(txn.commit().unwrap() > first);
    assert_eq!(count(&db), 4);
}

#[test]
fn a_panic_rolls_back_and_spares_the_session() {
    let (db, t, mut session) = cities();
    let panics = |run: &mut dyn FnMut()| {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    };
    panics(&mut || {
        let _ = session.run(|txn| -> scaledb::Result<()> {
            txn.scan(&t).delete()?;
            panic!("expected");
        });
    });
    panics(&mut || {
        let _ = db.run(|txn| txn.scan(&t).update(|_| panic!("expected")));
    });
    panics(&mut || {
        let _ = db.run(|txn| txn.scan(&t).for_each(|_| panic!("expected")));
    });
    assert_eq!(session.run(|txn| txn.count(&t)).unwrap(), 6);
    db.run(|txn| txn.scan(&t).delete()).unwrap();
    assert_eq!(session.run(|txn| txn.count(&t)).unwrap(), 0);
}

#[test]
fn savepoints_undo_writes() {
    let (_db, t, mut session) = cities();
    let mut txn = session.begin().unwrap();
    let before = txn.scan(&t).collect().unwrap();
    let all = txn.savepoint().unwrap();
    txn.scan(&t).prefix("de").delete().unwrap();
    let germany_gone = txn.savepoint().unwrap();
    txn.insert(&t, ("es", 3_300, "Madrid", None::<&str>)).unwrap();
    txn.update(&t, ("fr", 2_100), |row| row.set("name", "Lutetia")).unwrap();
    txn.rollback_to(germany_gone).unwrap();
    assert_eq!(names(txn.scan(&t).collect().unwrap()), ["Paris", "Marseille", "Rome"]);
    txn.rollback_to(all).unwrap();
    assert_eq!(txn.scan(&t).collect().unwrap(), before);
    assert!(matches!(txn.rollback_to(germany_gone), Err(Error::NoSuchSavepoint)));
    txn.rollback_to(all).unwrap();
    txn.commit().unwrap();
}

#[test]
fn conflicts_name_what_they_are_about() {
    let (db, t, mut session) = cities();
    let conflict = |result: scaledb::Result<scaledb::Timestamp>| match result {
        Err(Error::Conflict(conflict)) => db.explain(&conflict),
        other => panic!("{other:?}"),
    };
    let mut txn = session.begin().unwrap();
    txn.get(&t, ("de", 3_600)).unwrap();
    txn.insert(&t, ("xx", 1, "X", None::<&str>)).unwrap();
    db.run(|txn| txn.update(&t, ("de", 3_600), |row| row.set("name", "B"))).unwrap();
    let said = conflict(txn.commit());
    assert_eq!(said, "conflict (read changed) on table cities at country = 'de', people = 3600");
    // a phantom in a range of an index
    let by_name = t.index("by_name").unwrap();
    let mut txn = session.begin().unwrap();
    assert_eq!(txn.scan(&by_name).from("O").before("Q").count().unwrap(), 1);
    txn.insert(&t, ("xx", 1, "X", None::<&str>)).unwrap();
    db.run(|txn| txn.insert(&t, ("no", 700, "Oslo", None::<&str>))).unwrap();
    let said = conflict(txn.commit());
    assert!(
        said.starts_with(
            "conflict (range phantom) on index by_name of table cities in the range from name = 'O"
        ),
        "{said}"
    );
    assert_eq!(db.stats().conflicts.iter().sum::<u64>(), 2);
}

#[test]
fn groups_do_not_collide_and_whole_rows_do() {
    let db = Database::in_memory();
    let t = db
        .create_table(
            Table::build("t")
                .column("id", Type::Int4)
                .column("name", Type::Text(9))
                .column("hits", Type::Int8)
                .primary_key(["id"])
                .conflict_group("hits", 1),
        )
        .unwrap();
    let (name, hits) = (t.select(["name"]).unwrap(), t.select(["hits"]).unwrap());
    db.run(|txn| txn.insert(&t, (1, "one", 0))).unwrap();
    let mut session = db.session().unwrap();
    let mut txn = session.begin().unwrap();
    txn.update(&name, 1, |row| row.set("name", "two")).unwrap();
    db.run(|txn| txn.update(&hits, 1, |row| row.add("hits", 1))).unwrap();
    txn.commit().unwrap();
    let mut txn = session.begin().unwrap();
    txn.update(&t, 1, |row| row.set("name", "three")).unwrap();
    db.run(|txn| txn.update(&hits, 1, |row| row.add("hits", 1))).unwrap();
    assert!(txn.commit().unwrap_err().is_conflict());
    let row = db.run(|txn| txn.get(&t, 1)).unwrap().unwrap();
    assert_eq!(row.values(), [1.into(), "two".into(), Value::Int8(2)]);
}

#[test]
fn run_tries_again_after_a_conflict() {
    let (db, t, mut session) = cities();
    let mut attempts = 0;
    let name = session
        .run(|txn| {
            attempts += 1;
            let name: String = txn.get(&t, ("it", 2_800))?.unwrap().get("name")?;
            if attempts < 4 {
                db.run(|txn| {
                    txn.update(&t, ("it", 2_800), |row| row.set("name", format!("Rome {attempts}")))
                })?;
            }
            txn.insert(&t, ("xx", attempts, "X", None::<&str>))?;
            Ok(name)
        })
        .unwrap();
    assert_eq!((attempts, name.as_str()), (4, "Rome 3"));
    assert_eq!(db.run(|txn| txn.scan(&t).prefix("xx").count()).unwrap(), 1);
}

#[test]
fn kinds_of_transactions_see_what_they_promise() {
    let (db, t, mut session) = cities();
    db.run(|txn| txn.delete(&t, ("it", 2_800))).unwrap();
    assert_eq!(session.run_as(TxnKind::ReadOnly, |txn| txn.count(&t)).unwrap(), 5);
    assert_eq!(session.run_as(TxnKind::Deferrable, |txn| txn.count(&t)).unwrap(), 5);
    let mut snapshot = session.begin_snapshot().unwrap();
    let before = snapshot.count(&t).unwrap();
    db.run(|txn| txn.scan(&t).delete()).unwrap();
    assert_eq!(snapshot.count(&t).unwrap(), before);
    snapshot.commit().unwrap();
    let mut deferrable = session.begin_deferrable().unwrap();
    assert_eq!(deferrable.count(&t).unwrap(), 0);
}

#[test]
fn all_ways_of_access_agree() {
    for access in [Access::Hashed, Access::Ordered, Access::HashOnly] {
        let db = Database::with_engine(Acc::open(Config::default()).unwrap());
        let t = Table::build("t").column("id", Type::Int4).column("n", Type::Int4).primary_key(["id"]);
        let t = db.create_table(t.index("by_n", ["n"]).access(access)).unwrap();
        db.run(|txn| (0..500).try_for_each(|id| txn.insert(&t, (id, id % 7)))).unwrap();
        db.run(|txn| {
            assert_eq!(txn.scan(&t.index("by_n")?).prefix(3).count()?, 71, "{access:?}");
            for id in (0..500).step_by(2) {
                assert!(txn.delete(&t, id)?);
            }
            assert!(txn.contains(&t, 77)? && !txn.contains(&t, 78)?);
            assert_eq!(txn.count(&t.index("by_n")?)?, 250);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn handles_outlive_the_database_handle() {
    let (db, t, mut session) = cities();
    let other = db.clone();
    assert_eq!(other.table("cities").unwrap().id(), t.id());
    drop((db, other));
    assert_eq!(session.run(|txn| txn.count(&t)).unwrap(), 6);
}
