//! One database, two ways: tables of SQL under the library, tables of the library under SQL, on every engine.

#[macro_use]
mod support;

use scaledb::engine::FromOptions;
use scaledb::sql::{Kind, Result, Value};
use scaledb::{Access, Database, Datum, Error, KeyColumn, Options, Table, Type};
use support::Directory;

on_every_engine! {
    tables_of_sql_have_their_names_in_the_library
    what_the_library_cannot_have_is_said_in_a_sentence
    a_materialized_view_is_read_and_not_written
    a_table_that_the_library_uses_keeps_its_definition
    tables_of_the_library_are_tables_of_sql
    sql_does_not_change_tables_of_the_library
    a_name_is_given_once
    both_ways_change_the_same_rows
    values_that_sql_has_no_words_for_do_no_harm
    a_directory_has_one_catalog
    a_column_that_has_become_not_null_takes_no_null
    indexes_made_without_sql_are_known_to_it
    a_dropped_table_is_gone_for_both
    tables_dropped_without_sql_are_gone_for_it
}

fn open<E: FromOptions>() -> Database<E> {
    Database::with_options(Options::new().memory_budget(256 << 20)).unwrap()
}

fn kind<T>(result: Result<T>) -> Kind {
    result.map(|_| ()).unwrap_err().kind()
}

fn tables_of_sql_have_their_names_in_the_library<E: FromOptions>() {
    let db = open::<E>();
    let sql = db.sql().unwrap();
    sql.batch(
        "create table people (id bigint primary key, name text not null, born date, seen timestamptz, data bytea);
         create unique index by_name on people (name desc);
         insert into people values (1, 'ann', '2000-01-03', '2000-01-01 00:00:01Z', '\\x01');
         insert into people values (2, 'bob');
         alter table people rename column name to called;
         alter index by_name rename to by_call",
    )
    .unwrap();
    let people = db.table("people").unwrap();
    let by_call = people.index("by_call").unwrap();
    assert_eq!((people.name(), people.column("called").unwrap()), ("people", 1));
    assert!(people.column("name").is_err() && people.index("by_name").is_err());
    db.run(|txn| {
        let ann = txn.get(&people, 1)?.expect("ann is there");
        assert_eq!(ann.get::<String>("called")?, "ann");
        assert_eq!((ann.get::<i32>("born")?, ann.get::<i64>("seen")?), (2, 1_000_000));
        assert_eq!(txn.get(&by_call, "bob")?.expect("bob is there").get::<Option<i32>>("born")?, None);
        txn.insert(&people, (3, "eve", None::<i32>, Datum::Null, Datum::Null))?;
        txn.update(&people, 2, |row| row.set("called", "rob"))?;
        assert!(matches!(
            txn.insert(&people, (4, None::<&str>, None::<i32>, Datum::Null, Datum::Null)),
            Err(Error::NullValue(_))
        ));
        let names: Vec<String> = txn
            .scan(&by_call)
            .collect()?
            .iter()
            .map(|row| row.get("called"))
            .collect::<std::result::Result<_, _>>()?;
        assert_eq!(names, ["rob", "eve", "ann"]);
        Ok(())
    })
    .unwrap();
    let names: Vec<String> = sql.query("select called from people order by called desc", ()).unwrap();
    assert_eq!(names, ["rob", "eve", "ann"]);
    assert_eq!(sql.query_one::<i64>("select id from people where called = 'eve'", ()).unwrap(), 3);
    assert!(matches!(db.table("nobody"), Err(Error::NoSuchTable(_))));

    // what stands in the way has SQL's names
    let mut session = db.session().unwrap();
    let mut txn = session.begin().unwrap();
    txn.update(&people, 3, |row| row.set("called", "eva")).unwrap();
    sql.execute("update people set called = 'evi' where id = 3", ()).unwrap();
    let Err(Error::Conflict(conflict)) = txn.commit() else { panic!("no conflict") };
    let sentence = db.explain(&conflict);
    assert!(sentence.ends_with("on table people at id = 3"), "{sentence}");
}

fn what_the_library_cannot_have_is_said_in_a_sentence<E: FromOptions>() {
    let db = open::<E>();
    let sql = db.sql().unwrap();
    sql.batch(
        "create table priced (id int primary key, price numeric(8, 2));
         create table spans (id int primary key, span interval);
         create table lists (id int primary key, list int[]);
         create view seen as select 1 as one;
         create table checked (id int primary key check (id > 0));
         create table owner (id int primary key);
         create table owned (id int primary key, owner int references owner);
         create table short (id int primary key, name varchar(3));
         create table late (id int primary key, n int unique deferrable);
         insert into late values (1, 1);
         insert into checked values (1); insert into owner values (1); insert into owned values (1, 1);
         insert into short values (1, 'abc')",
    )
    .unwrap();
    let refusal = |name: &str| db.table(name).unwrap_err().to_string();
    let numeric =
        "table priced has a column \"price\" of type numeric(8,2), which rows of the library do not have";
    assert_eq!(refusal("priced"), numeric);
    assert!(refusal("spans").contains("type interval"));
    assert!(refusal("lists").contains("type integer[]"));
    assert_eq!(refusal("seen"), "table seen is a view of SQL, not a table");
    for (name, why) in [
        ("checked", "it has the CHECK constraint \"checked_id_check\""),
        ("owner", "the foreign key \"owned_owner_fkey\" of table \"owned\" refers to it"),
        ("owned", "it has the foreign key \"owned_owner_fkey\""),
        ("late", "its constraint \"late_n_key\" is deferrable"),
        ("short", "values of its column \"name\" are checked against character varying(3)"),
    ] {
        let table = db.table(name).unwrap();
        let expected = format!("table {name} is written by SQL alone: {why}");
        db.run(|txn| {
            assert!(txn.contains(&table, 1)?);
            let row = vec![scaledb::Value::Int4(2); table.schema().columns().len()];
            let insert = txn.insert(&table, row.as_slice()).unwrap_err();
            let update = txn.update(&table, 1, |_| Ok(())).unwrap_err();
            let delete = txn.delete(&table, 1).unwrap_err();
            let scan = txn.scan(&table).delete().unwrap_err();
            for error in [insert, update, delete, scan] {
                assert!(matches!(error, Error::NotShared { .. }));
                assert_eq!(error.to_string(), expected);
            }
            Ok(())
        })
        .unwrap();
    }
    // nor does it reach behind the names
    for name in ["#descriptors", "#sequences", "#16387"] {
        assert!(matches!(db.table(name), Err(Error::NoSuchTable(_))));
        let made = db.create_table(Table::build(name).column("id", Type::Int8).primary_key(["id"]));
        assert!(matches!(made, Err(Error::BadDefinition(_))));
    }
}

fn a_materialized_view_is_read_and_not_written<E: FromOptions>() {
    let db = open::<E>();
    let sql = db.sql().unwrap();
    sql.batch(
        "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20);
         create materialized view m as select id, n from t; create materialized view e as select id from t with no data",
    )
    .unwrap();
    let refused = db.table("e").unwrap_err().to_string();
    assert_eq!(refused, "table e is a materialized view that has not been populated");
    let m = db.table("m").unwrap();
    assert_eq!(db.run(|txn| txn.count(&m)).unwrap(), 2);
    let error = db.run(|txn| txn.insert(&m, (3, 30))).unwrap_err();
    assert_eq!(error.to_string(), "table m is written by SQL alone: it is a materialized view");
    sql.batch("insert into t values (3, 30); refresh materialized view m").unwrap();
    assert_eq!(db.run(|txn| txn.count(&m)).unwrap(), 3);
    let changed = sql.execute("refresh materialized view m with no data", ()).unwrap_err();
    assert_eq!(changed.sqlstate(), "55006");
    drop(m);
    sql.execute("refresh materialized view m with no data", ()).unwrap();
    assert!(db.table("m").is_err());
}

fn a_table_that_the_library_uses_keeps_its_definition<E: FromOptions>() {
    let db = open::<E>();
    let sql = db.sql().unwrap();
    sql.batch(
        "create table t (id int primary key, n int); insert into t values (1, 1); create table u (id int)",
    )
    .unwrap();
    let changes = [
        "alter table t add column more int default 7",
        "create index by_n on t (n)",
        "alter table t rename to s",
        "alter table t add check (n > 0)",
        "create table r (t int references t)",
        "drop table t",
    ];
    let handle = db.table("t").unwrap();
    let again = handle.clone();
    drop(handle);
    for change in changes {
        assert_eq!(kind(sql.execute(change, ())), Kind::InUse, "{change}");
    }
    // a change that has begun before
    let mut session = sql.session().unwrap();
    drop(again);
    let mut txn = session.begin().unwrap();
    txn.execute(changes[0], ()).unwrap();
    let handle = db.table("t").unwrap();
    assert_eq!(handle.schema().columns().len(), 2);
    assert_eq!(kind(txn.commit()), Kind::InUse);
    // its rows are no part of that, and other tables are free
    sql.batch("truncate t; insert into t values (2, 2); drop table u; create table v as select * from t")
        .unwrap();
    db.run(|txn| txn.insert(&handle, (3, 3))).unwrap();
    drop(handle);
    sql.execute(changes[0], ()).unwrap();
    let error = db.table("t").unwrap_err().to_string();
    assert!(error.starts_with("table t has had columns added or dropped"), "{error}");
    sql.execute(changes[1], ()).unwrap();
    let handle = db.table("t").unwrap();
    let row = db.run(|txn| txn.get(&handle, 3)).unwrap().unwrap();
    assert_eq!((row.get::<i32>("n").unwrap(), row.get::<i32>("more").unwrap()), (3, 7));
}

fn tables_of_the_library_are_tables_of_sql<E: FromOptions>() {
    let db = open::<E>();
    let build = |name: &str| {
        Table::build(name)
            .column("id", Type::Int8)
            .column("yes", Type::Bool)
            .nullable()
            .column("small", Type::Int2)
            .nullable()
            .column("word", Type::Int4)
            .column("single", Type::Float4)
            .nullable()
            .column("double", Type::Float8)
            .nullable()
            .column("day", Type::Date)
            .nullable()
            .column("noon", Type::Time)
            .nullable()
            .column("at", Type::Timestamp)
            .nullable()
            .column("key", Type::Uuid)
            .nullable()
            .column("Name", Type::Text(5))
            .column("data", Type::Bytes(3))
            .nullable()
            .primary_key(["id"])
            .unique_index(&format!("{name}_by_name"), ["Name"])
            .index(&format!("{name}_by_word"), [KeyColumn::desc("word"), "small".into()])
            .conflict_group("double", 1)
    };
    // one before there is SQL, one behind
    let before = db.create_table(build("before")).unwrap();
    let sql = db.sql().unwrap();
    let behind = db.create_table(build("behind")).unwrap();
    for (name, table) in [("before", &before), ("behind", &behind)] {
        let null = Datum::Null;
        db.run(|txn| {
            let full = (1, true, 2_i16, 3, 4.5_f32, 5.5, Datum::Date(1), Datum::Time(1), Datum::Timestamp(1));
            let (id, yes, small, word, single, double, day, noon, at) = full;
            let row = (id, yes, small, word, single, double, day, noon, at, [7_u8; 16], "ann", &[1_u8][..]);
            txn.insert(table, row)?;
            txn.insert(table, (2, null, null, 30, null, null, null, null, null, null, "bob", null))
        })
        .unwrap();
        let columns: Vec<(String, String, String)> = sql
            .query(
                "select column_name, data_type, is_nullable from information_schema.columns where table_name = $1 \
                 order by ordinal_position",
                name,
            )
            .unwrap();
        let types: Vec<&str> = columns.iter().map(|(_, ty, _)| ty.as_str()).collect();
        let expected = [
            "bigint",
            "boolean",
            "smallint",
            "integer",
            "real",
            "double precision",
            "date",
            "time without time zone",
            "timestamp without time zone",
            "uuid",
            "text",
            "bytea",
        ];
        assert_eq!(types, expected);
        assert_eq!((columns[0].2.as_str(), columns[1].2.as_str()), ("NO", "YES"));
        type Full = (i64, bool, i16, i32, f32, f64, String, String, i64, [u8; 16], String, Vec<u8>);
        let row: Full = sql.query_one(format!("select * from {name} where \"Name\" = 'ann'"), ()).unwrap();
        let (day, noon, ann) = ("2000-01-02".to_owned(), "00:00:00.000001".to_owned(), "ann".to_owned());
        assert_eq!(row, (1, true, 2, 3, 4.5, 5.5, day, noon, 1, [7; 16], ann, vec![1]));
        let empty: Vec<Value> = sql.query(format!("select yes from {name} where yes is null"), ()).unwrap();
        assert_eq!(empty, [Value::Null]);

        // rows of SQL are rows of the library
        let insert = format!("insert into {name} (id, word, \"Name\") values ($1, $2, $3)");
        sql.execute(&insert, (3, 10, "eve")).unwrap();
        sql.execute(format!("update {name} set double = 9, word = 20 where word = 3"), ()).unwrap();
        assert_eq!(sql.execute(format!("delete from {name} where \"Name\" = 'bob'"), ()).unwrap(), 1);
        let by_word = table.index(&format!("{name}_by_word")).unwrap();
        let rows = db.run(|txn| txn.scan(&by_word).collect()).unwrap();
        let words: Vec<i32> = rows.iter().map(|row| row.get("word").unwrap()).collect();
        assert_eq!(words, [20, 10]);
        assert_eq!(rows[0].get::<f64>("double").unwrap(), 9.0);

        // what the library says of values holds
        let error = sql.execute(&insert, (4, 1, "ann")).unwrap_err();
        assert_eq!(
            (error.kind(), error.constraint()),
            (Kind::UniqueViolation, Some(&*format!("{name}_by_name")))
        );
        let error = sql.execute(&insert, (3, 1, "new")).unwrap_err();
        assert_eq!(
            (error.kind(), error.constraint()),
            (Kind::UniqueViolation, Some(&*format!("{name}_pkey")))
        );
        assert_eq!(kind(sql.execute(&insert, (4, 1, None::<&str>))), Kind::NotNullViolation);
        let error = sql.execute(&insert, (4, 1, "too long")).unwrap_err();
        assert_eq!(error.sqlstate(), "22001", "{error}");
    }
    let both: i64 = sql.query_one("select count(*) from before join behind using (id)", ()).unwrap();
    assert_eq!(both, 2);
    sql.execute("create view all_of as select * from before union all select * from behind", ()).unwrap();
    assert_eq!(sql.query_one::<i64>("select count(*) from all_of", ()).unwrap(), 4);
    // the index serves: no row is looked at that is not asked for
    let plan: Vec<String> = sql.query("explain select * from behind where \"Name\" = 'ann'", ()).unwrap();
    assert!(plan.iter().any(|line| line.contains("behind_by_name")), "{plan:?}");
}

fn sql_does_not_change_tables_of_the_library<E: FromOptions>() {
    let db = open::<E>();
    let build =
        |name: &str| Table::build(name).column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]);
    let t = db.create_table(build("t")).unwrap();
    let sql = db.sql().unwrap();
    for change in [
        "drop table t",
        "alter table t add column more int",
        "alter table t drop column n",
        "alter table t rename to s",
        "alter table t rename column n to m",
        "alter table t add check (n > 0)",
        "alter table t alter column n set default 7",
        "create index by_n on t (n)",
        "create table r (t bigint references t)",
    ] {
        let error = sql.execute(change, ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{change}: {error}");
    }
    db.run(|txn| txn.insert(&t, (1, 1))).unwrap();
    sql.execute("truncate t", ()).unwrap();
    assert_eq!(db.run(|txn| txn.count(&t)).unwrap(), 0);
    // what SQL cannot show, it explains
    let fixed = build("fixed").column("code", Type::Fixed(4));
    db.create_table(fixed).unwrap();
    db.create_table(build("points").access(Access::HashOnly)).unwrap();
    let error = sql.execute("select * from fixed", ()).unwrap_err();
    assert_eq!(error.kind(), Kind::UndefinedTable);
    assert_eq!(
        error.to_string(),
        "relation \"fixed\" does not exist: There is a table of this name that SQL cannot show: its column \"code\" is of \
         type fixed(4)."
    );
    let error = sql.execute("insert into points values (1, 1)", ()).unwrap_err();
    assert!(error.to_string().contains("Access::HashOnly"), "{error}");
}

fn a_name_is_given_once<E: FromOptions>() {
    let db = open::<E>();
    let build = |name: &str| Table::build(name).column("id", Type::Int8).primary_key(["id"]);
    db.create_table(build("mine")).unwrap();
    let sql = db.sql().unwrap();
    db.create_table(build("ours").index("by_id", ["id"])).unwrap();
    sql.execute("create table theirs (id int)", ()).unwrap();
    for name in ["mine", "ours", "theirs"] {
        assert!(matches!(db.create_table(build(name)), Err(Error::TableExists(_))), "{name}");
        assert_eq!(
            kind(sql.execute(format!("create table {name} (id int)"), ())),
            Kind::DuplicateTable,
            "{name}"
        );
    }
    assert_eq!(kind(sql.execute("create index by_id on theirs (id)", ())), Kind::DuplicateTable);
    let taken = db.create_table(build("other").index("theirs", ["id"]));
    assert!(matches!(taken, Err(Error::TableExists(name)) if name == "theirs"));
    assert!(matches!(db.table("other"), Err(Error::NoSuchTable(_))));
}

fn both_ways_change_the_same_rows<E: FromOptions>() {
    const ROUNDS: i64 = 200;
    let db = open::<E>();
    let sql = db.sql().unwrap();
    let own = db
        .create_table(
            Table::build("own").column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]),
        )
        .unwrap();
    sql.batch("create table its (id bigint primary key, n bigint not null); insert into its values (1, 0)")
        .unwrap();
    sql.execute("insert into own values (1, 0)", ()).unwrap();
    let its = db.table("its").unwrap();
    // one moves a unit to the one table, the other to the other: the sum stays
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    db.run(|txn| {
                        txn.update(&own, 1, |row| row.add("n", 1))?;
                        txn.update(&its, 1, |row| row.add("n", -1))
                    })
                    .unwrap();
                }
            });
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    sql.run(|txn| {
                        txn.execute("update its set n = n + 2 where id = 1", ())?;
                        txn.execute("update own set n = n - 2 where id = 1", ())
                    })
                    .unwrap();
                }
            });
        }
        // a schema that changes beside them
        scope.spawn(|| {
            for round in 0..5 {
                sql.execute(format!("create table beside_{round} (id int)"), ()).unwrap();
                db.create_table(
                    Table::build(&format!("made_{round}")).column("id", Type::Int8).primary_key(["id"]),
                )
                .unwrap();
            }
        });
        scope.spawn(|| {
            for _ in 0..20 {
                let sum: i64 = sql
                    .query_one(
                        "select (select n from own where id = 1) + (select n from its where id = 1)",
                        (),
                    )
                    .unwrap();
                assert_eq!(sum, 0);
            }
        });
    });
    let ends: (i64, i64) = sql.query_one("select own.n, its.n from own, its", ()).unwrap();
    assert_eq!(ends, (-2 * ROUNDS, 2 * ROUNDS));
    let count: i64 =
        sql.query_one("select count(*) from pg_class where relname like 'made\\__'", ()).unwrap();
    assert_eq!(count, 5);
}

fn values_that_sql_has_no_words_for_do_no_harm<E: FromOptions>() {
    let db = open::<E>();
    let t = db
        .create_table(
            Table::build("t")
                .column("id", Type::Int8)
                .column("day", Type::Date)
                .column("noon", Type::Time)
                .column("at", Type::Timestamp)
                .column("name", Type::Text(10))
                .primary_key(["id"])
                .index("by_day", ["day", "noon", "at"]),
        )
        .unwrap();
    let days = [i32::MIN, i32::MIN + 1, -10_000_000, 0, 10_000_000, i32::MAX - 1, i32::MAX];
    let times = [i64::MIN, i64::MIN + 1, -1, 0, 86_400_000_001, i64::MAX - 1, i64::MAX];
    db.run(|txn| {
        (0..7).try_for_each(|at| {
            let (day, noon, when) =
                (Datum::Date(days[at]), Datum::Time(times[at]), Datum::Timestamp(times[at]));
            txn.insert(&t, (at as i64, day, noon, when, "\0"))
        })
    })
    .unwrap();
    let sql = db.sql().unwrap();
    for query in [
        "select day::text from t where id = $1",
        "select noon::text from t where id = $1",
        "select at::text from t where id = $1",
        "select (day + 1)::text from t where id = $1",
        "select (at + '1 day'::interval)::text from t where id = $1",
        "select extract(year from at)::text from t where id = $1",
        "select extract(doy from day)::text from t where id = $1",
        "select extract(hour from noon)::text from t where id = $1",
        "select to_char(at, 'YYYY-MM-DD') from t where id = $1",
        "select date_trunc('month', at)::text from t where id = $1",
        "select (noon + '1 hour'::interval)::text from t where id = $1",
        "select at::timestamptz::text from t where id = $1",
        "select name || 'x' from t where id = $1",
    ] {
        for id in 0..7 {
            // a text or an error, and no end of the process
            let _ = sql.query_opt::<Value>(query, id);
        }
    }
    assert_eq!(sql.query::<Value>("select * from t order by day, noon, at limit 0", ()).unwrap().len(), 0);
    let error = sql.query::<Value>("select day from t", ()).unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), ("22008", "date out of range"));
    let error = sql.query::<Value>("select at from t where id = 5", ()).unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), ("22008", "timestamp out of range"));
    let fit: Vec<(String, String)> =
        sql.query("select day::text, at::text from t where id in (0, 3, 6) order by id", ()).unwrap();
    let shown: Vec<(&str, &str)> = fit.iter().map(|(day, at)| (day.as_str(), at.as_str())).collect();
    let zero = ("2000-01-01", "2000-01-01 00:00:00");
    assert_eq!(shown, [("-infinity", "-infinity"), zero, ("infinity", "infinity")]);
    // nor do parameters, be they values of SQL or the numbers that the library has for them
    let refused = |query: &str, wild: Value| {
        let error = sql.query::<String>(query, wild.clone()).unwrap_err();
        assert_eq!(error.sqlstate(), "22008", "{query} of {wild:?}: {error}");
    };
    for wild in [Value::Date(i32::MAX - 1), Value::Time(-1), Value::Timestamp(i64::MAX - 1)] {
        for query in ["select $1::date::text", "select $1::time::text", "select $1::timestamp::text"] {
            refused(query, wild.clone());
        }
    }
    for day in [i32::MIN + 1, -10_000_000, i32::MAX - 1] {
        refused("select $1::date::text", Value::Int4(day));
        refused("select ($1::date + 1)::text", Value::Date(day));
    }
    for micros in [i64::MIN + 1, i64::MIN / 2, i64::MAX - 1] {
        refused("select $1::time::text", Value::Int8(micros));
        for query in ["select $1::timestamp::text", "select $1::timestamptz::text"] {
            for wild in [Value::Int8, Value::Timestamp, Value::Timestamptz] {
                refused(query, wild(micros));
            }
        }
    }
    assert_eq!(sql.query::<String>("select $1::text", "a\0").unwrap_err().sqlstate(), "22021");
    assert_eq!(
        sql.query::<i64>("select id from t where at = $1", i64::MAX - 1).unwrap_err().sqlstate(),
        "22008"
    );
}

fn a_directory_has_one_catalog<E: FromOptions>() {
    let directory = Directory::new(&format!("both-{}", std::any::type_name::<E>().replace(':', "")));
    let build =
        |name: &str| Table::build(name).column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]);
    {
        // without SQL at all
        let db = directory.open::<E>();
        let early = db.create_table(build("early")).unwrap();
        db.run(|txn| txn.insert(&early, (1, 10))).unwrap();
    }
    {
        let db = directory.open::<E>();
        let sql = db.sql().unwrap();
        assert_eq!(sql.query_one::<i64>("select n from early where id = 1", ()).unwrap(), 10);
        sql.batch("create table later (id bigint primary key, n bigint); insert into later values (1, 20)")
            .unwrap();
        let between = db.create_table(build("between")).unwrap();
        db.run(|txn| txn.insert(&between, (1, 30))).unwrap();
    }
    {
        // by name, without a word of SQL before
        let db = directory.open::<E>();
        let later = db.table("later").unwrap();
        assert_eq!(db.run(|txn| txn.get(&later, 1)).unwrap().unwrap().get::<i64>("n").unwrap(), 20);
        db.run(|txn| txn.update(&later, 1, |row| row.add("n", 1))).unwrap();
        assert!(matches!(db.create_table(build("later")), Err(Error::TableExists(_))));
        db.engine().checkpoint().unwrap();
    }
    let db = directory.open::<E>();
    let sql = db.sql().unwrap();
    let all: (i64, i64, i64) = sql
        .query_one("select early.n, later.n, between.n from early, later, \"between\" as between", ())
        .unwrap();
    assert_eq!(all, (10, 21, 30));
    let oids: (i64, i64) = sql.query_one("select count(*), count(distinct oid) from pg_class", ()).unwrap();
    assert_eq!(oids.0, oids.1);
    sql.execute("create table last (id int primary key)", ()).unwrap();
    assert!(db.table("last").is_ok());
}

fn a_column_that_has_become_not_null_takes_no_null<E: FromOptions>() {
    let db = open::<E>();
    let sql = db.sql().unwrap();
    sql.batch("create table t (id int primary key, n int); insert into t values (1, 1)").unwrap();
    sql.execute("alter table t alter n set not null", ()).unwrap();
    let t = db.table("t").unwrap();
    assert_eq!(db.run(|txn| txn.get(&t, 1)).unwrap().unwrap().get::<i32>("n").unwrap(), 1);
    let error = db.run(|txn| txn.insert(&t, (2, None::<i32>))).unwrap_err();
    assert!(error.to_string().contains("its column \"n\" has become NOT NULL"), "{error}");
    drop(t);
    sql.execute("alter table t alter n type int", ()).unwrap();
    let t = db.table("t").unwrap();
    db.run(|txn| txn.insert(&t, (3, 3))).unwrap();
    assert!(matches!(db.run(|txn| txn.insert(&t, (2, None::<i32>))), Err(Error::NullValue(_))));
    assert_eq!(sql.query_one::<i64>("select count(*) from t where n is not null", ()).unwrap(), 2);
}

fn indexes_made_without_sql_are_known_to_it<E: FromOptions>() {
    let directory = Directory::new(&format!("indexes-{}", std::any::type_name::<E>().replace(':', "")));
    let names = "select string_agg(indexname, ' ' order by indexname) from pg_indexes where tablename = 't'";
    {
        let db = directory.open::<E>();
        let build = Table::build("t").column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]);
        let t = db.create_table(build).unwrap();
        db.run(|txn| (0..100).try_for_each(|id| txn.insert(&t, (id, id)).map(|_| ()))).unwrap();
        let sql = db.sql().unwrap();
        let t = db.add_index(&t, "one_n", ["n"]).unwrap();
        db.add_unique_index(&t, "two_n", ["n"]).unwrap();
        assert_eq!(sql.query_one::<String>(names, ()).unwrap(), "one_n t_pkey two_n");
        sql.batch("create table three_n (id int)").unwrap();
        // as a program does that has no SQL in it, or that is killed before SQL hears of it
        let engine = db.engine();
        let n = scaledb::engine::IndexDef::unique(
            "three_n",
            t.info().index("one_n").unwrap().key.parts().to_vec(),
        );
        engine.add_index(t.id(), n).unwrap();
        engine.drop_index(t.info().index("one_n").unwrap().id).unwrap();
    }
    for _ in 0..2 {
        let db = directory.open::<E>();
        let sql = db.sql().unwrap();
        assert_eq!(sql.query_one::<String>(names, ()).unwrap(), "t_pkey three_n1 two_n");
        assert_eq!(sql.execute("insert into t values (1000, 7)", ()).unwrap_err().sqlstate(), "23505");
        assert_eq!(sql.query_one::<i64>("select id from t where n = 7", ()).unwrap(), 7);
        let t = db.table("t").unwrap();
        assert!(t.index("three_n").is_ok() && t.index("one_n").is_err());
    }
    let db = directory.open::<E>();
    let t = db.drop_index(&db.table("t").unwrap(), "three_n").unwrap();
    db.drop_index(&t, "two_n").unwrap();
    let sql = db.sql().unwrap();
    assert_eq!(sql.query_one::<String>(names, ()).unwrap(), "t_pkey");
    sql.execute("insert into t values (1000, 7)", ()).unwrap();
}

fn a_dropped_table_is_gone_for_both<E: FromOptions>() {
    let db = open::<E>();
    let build = || Table::build("t").column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]);
    let t = db.create_table(build().index("by_n", ["n"])).unwrap();
    let sql = db.sql().unwrap();
    sql.batch("insert into t values (1, 1); create view v as select id from t").unwrap();
    let refused = db.drop_table(&t).unwrap_err();
    assert!(matches!(&refused, Error::NotShared { why, .. } if why.contains("view \"v\"")), "{refused}");
    assert_eq!(sql.query_one::<i64>("select * from v", ()).unwrap(), 1);
    sql.batch("drop view v; create table own (id int primary key)").unwrap();
    let own = db.table("own").unwrap();
    assert!(matches!(db.drop_table(&own), Err(Error::NotShared { .. })));
    db.drop_table(&t).unwrap();
    assert!(matches!(db.drop_table(&t), Err(Error::NoSuchTable(_))));
    assert!(matches!(db.add_index(&t, "again", ["n"]), Err(Error::NoSuchTable(_))));
    assert!(matches!(db.table("t"), Err(Error::NoSuchTable(_))));
    assert!(matches!(db.run(|txn| txn.get(&t, 1)), Err(Error::NoSuchTable(_))));
    assert!(matches!(db.run(|txn| txn.insert(&t, (2, 2))), Err(Error::NoSuchTable(_))));
    assert_eq!(sql.execute("insert into t values (2, 2)", ()).unwrap_err().sqlstate(), "42P01");
    // both names are free, for either
    sql.batch("create table by_n (id int); drop table by_n").unwrap();
    let again = db.create_table(build().index("by_n", ["n"])).unwrap();
    assert!(again.id() > t.id());
    assert!(matches!(db.run(|txn| txn.get(&t, 1)), Err(Error::NoSuchTable(_))), "another one of its name");
    sql.execute("insert into t values (3, 3)", ()).unwrap();
    assert!(db.run(|txn| txn.get(&again, 3)).unwrap().is_some());
    assert!(db.run(|txn| txn.get(&db.table("t").unwrap(), 1)).unwrap().is_none());
}

fn tables_dropped_without_sql_are_gone_for_it<E: FromOptions>() {
    let directory = Directory::new(&format!("dropped-{}", std::any::type_name::<E>().replace(':', "")));
    let build = |name| Table::build(name).column("id", Type::Int8).primary_key(["id"]);
    {
        let db = directory.open::<E>();
        let (gone, stays) =
            (db.create_table(build("gone")).unwrap(), db.create_table(build("stays")).unwrap());
        db.run(|txn| txn.insert(&gone, 1).and_then(|_| txn.insert(&stays, 1))).unwrap();
        assert_eq!(db.sql().unwrap().query_one::<i64>("select id from gone", ()).unwrap(), 1);
        // as a program does that has no SQL in it
        db.engine().drop_table(gone.id()).unwrap();
    }
    for _ in 0..2 {
        let db = directory.open::<E>();
        let sql = db.sql().unwrap();
        assert_eq!(sql.query_one::<i64>("select id from stays", ()).unwrap(), 1);
        assert_eq!(sql.query_one::<i64>("select id from gone", ()).unwrap_err().sqlstate(), "42P01");
        assert!(db.table("gone").is_err());
    }
    let db = directory.open::<E>();
    db.create_table(build("gone")).unwrap();
    let sql = db.sql().unwrap();
    assert_eq!(sql.query_one::<i64>("select count(*) from gone", ()).unwrap(), 0);
    let gone = db.table("gone").unwrap();
    db.drop_table(&gone).unwrap();
    drop((db, sql));
    let db = directory.open::<E>();
    assert!(db.table("gone").is_err() && db.table("stays").is_ok());
}
