//! SQL in the library, on every engine: typed rows and parameters, transactions by closure, and errors as types.

#[macro_use]
mod support;

use scaledb::engine::FromOptions;
use scaledb::sql::{Error, FromRow, Kind, Result, Row, Sql, Value};
use scaledb::{CommitMode, Database, Options};
use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::{Duration, SystemTime};
use support::Directory;

on_every_engine! {
    rows_and_parameters_are_typed
    what_does_not_fit_is_an_error_with_a_sentence
    a_closure_is_run_again_after_a_conflict
    a_closure_that_makes_light_of_an_error_does_not_commit
    transactions_step_by_step
    rows_are_handed_out_as_they_are_found
    statements_are_prepared_once_and_follow_their_tables
    pooled_sessions_do_not_inherit_settings
    a_directory_holds_what_sql_has_committed
    rows_that_do_not_fit_lie_in_temporary_files
    what_is_awaited_runs_in_other_threads
    rows_are_pulled_one_by_one
    listeners_hear_what_commits
}

fn sql<E: FromOptions>() -> Sql<E> {
    Database::<E>::with_options(Options::new().memory_budget(256 << 20)).unwrap().sql().unwrap()
}

fn rows_and_parameters_are_typed<E: FromOptions>() {
    let sql = sql::<E>();
    sql.execute(
        "create table t (id bigint primary key, small smallint, word int, single real, double double precision, \
         yes boolean, name text, data bytea, key uuid, at timestamptz, day date, price numeric(8, 2))",
        (),
    )
    .unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_164_800);
    let insert = "insert into t values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let full =
        (1, 2_i16, 3, 4.5_f32, 5.5, true, "ann", &[1_u8, 2][..], [7_u8; 16], at, "2024-02-29", "12.50");
    assert_eq!(sql.execute(insert, full).unwrap(), 1);
    let nothing = (2, None::<i16>, None::<i32>, None::<f32>, None::<f64>, None::<bool>, None::<&str>);
    sql.execute("insert into t values ($1, $2, $3, $4, $5, $6, $7)", nothing).unwrap();

    type Full = (i64, i16, i32, f32, f64, bool, String, Vec<u8>, [u8; 16], SystemTime, String, String);
    let row: Full = sql.query_one("select * from t where id = $1", 1).unwrap();
    let (name, day, price) = ("ann".to_owned(), "2024-02-29".to_owned(), "12.50".to_owned());
    assert_eq!(row, (1, 2, 3, 4.5, 5.5, true, name, vec![1, 2], [7; 16], at, day, price));
    type Nothing = (Option<i16>, Option<String>, Option<SystemTime>, Value);
    let row: Nothing = sql.query_one("select small, name, at, price from t where id = $1", 2_i64).unwrap();
    assert_eq!(row, (None, None, None, Value::Null));

    // numbers widen and are checked, text is read as a literal would be
    assert_eq!(sql.query_opt::<i64>("select id from t where id = $1", 1_i16).unwrap(), Some(1));
    assert_eq!(sql.query_opt::<i64>("select id from t where price = $1", 12.5).unwrap(), Some(1));
    assert_eq!(sql.query_opt::<i64>("select id from t where day = $1", "29 Feb 2024").unwrap(), Some(1));
    assert_eq!(sql.query::<i64>("select id from t where id = $1", "2").unwrap(), [2]);
    let days: i32 = sql.query_one("select day from t where id = 1", ()).unwrap();
    assert_eq!(sql.query::<i64>("select id from t where day = $1", days).unwrap(), [1]);
    // times before the epoch, to the microsecond
    let early = SystemTime::UNIX_EPOCH - Duration::from_micros(1);
    assert_eq!(sql.query_one::<SystemTime>("select $1::timestamptz", early).unwrap(), early);

    struct Account {
        id: i64,
        name: Option<String>,
    }
    scaledb::from_row!(Account { id, name });
    let all: Vec<Account> = sql.query("select name, id from t order by id", ()).unwrap();
    assert_eq!(
        (all[0].id, all[0].name.as_deref(), all[1].id, all[1].name.as_deref()),
        (1, Some("ann"), 2, None)
    );
    struct Width(usize);
    impl FromRow for Width {
        fn from_row(row: &Row<'_>) -> Result<Self> {
            Ok(Self(row.len()))
        }
    }
    assert_eq!(sql.query_one::<Width>("select 1, 2, 3", ()).unwrap().0, 3);
    // statements without a plan return rows as well
    assert_eq!(sql.query_one::<String>("show server_version_num", ()).unwrap().len(), 6);
    assert!(!sql.query::<String>("explain select * from t where id = 1", ()).unwrap().is_empty());
    assert_eq!(sql.query::<i64>("delete from t returning id;", ()).unwrap().len(), 2);
}

fn kind<T>(result: Result<T>) -> Kind {
    result.map(|_| ()).unwrap_err().kind()
}

fn what_does_not_fit_is_an_error_with_a_sentence<E: FromOptions>() {
    let sql = sql::<E>();
    sql.batch(
        "create table o (id int primary key, name text not null unique);
         create table i (id int primary key check (id > 0), o int references o, small smallint);
         insert into o values (1, 'one')",
    )
    .unwrap();
    assert_eq!(kind(sql.execute("selec 1", ())), Kind::Syntax);
    assert_eq!(kind(sql.execute("select 1; select 2", ())), Kind::Syntax);
    assert_eq!(kind(sql.execute("select * from nowhere", ())), Kind::UndefinedTable);
    assert_eq!(kind(sql.execute("select nothing from o", ())), Kind::UndefinedColumn);
    assert_eq!(kind(sql.execute("create table o (id int)", ())), Kind::DuplicateTable);
    assert_eq!(kind(sql.execute("insert into o values (1, 'two')", ())), Kind::UniqueViolation);
    assert_eq!(kind(sql.execute("insert into o values (2, $1)", None::<&str>)), Kind::NotNullViolation);
    assert_eq!(kind(sql.execute("insert into i values (0, 1)", ())), Kind::CheckViolation);
    assert_eq!(kind(sql.execute("insert into i values (1, 7)", ())), Kind::ForeignKeyViolation);
    assert_eq!(kind(sql.execute("select 1 / 0", ())), Kind::Data);
    assert_eq!(kind(sql.execute("insert into i values (1, 1, $1)", 40_000)), Kind::Data);
    assert_eq!(kind(sql.execute("insert into i values (1, 1, $1)", "many")), Kind::Data);
    assert_eq!(kind(sql.execute("insert into i values (1, 1, $1)", 1.5)), Kind::WrongType);
    assert_eq!(kind(sql.execute("insert into i values (1, 1, $1)", true)), Kind::WrongType);
    assert_eq!(kind(sql.execute("insert into i values (1, 1, $1)", ())), Kind::WrongArity);
    assert_eq!(kind(sql.execute("copy o from stdin", ())), Kind::Unsupported);
    assert_eq!(kind(sql.execute("copy o to stdout", ())), Kind::Unsupported);
    assert_eq!(kind(sql.batch("copy o from stdin")), Kind::Unsupported);
    assert_eq!(kind(sql.query_one::<i32>("select id from o where id = 9", ())), Kind::NoRows);
    assert_eq!(kind(sql.query_one::<i32>("values (1), (2)", ())), Kind::TooManyRows);
    assert_eq!(kind(sql.query_opt::<i32>("values (1), (2)", ())), Kind::TooManyRows);
    assert_eq!(kind(sql.run_read_only(|txn| txn.execute("delete from o", ()))), Kind::ReadOnly);

    let text = |result: Result<Vec<i32>>| result.unwrap_err().to_string();
    assert_eq!(
        text(sql.query("select name from o", ())),
        "column 0 (\"name\") is of type text, which does not fit i32"
    );
    assert_eq!(
        text(sql.query("select o from (values (null::int)) as v (o)", ())),
        "column 0 (\"o\") is NULL, which i32 does not take: read Option<i32>"
    );
    assert_eq!(text(sql.query("select 1, 2", ())), "a row of 2 columns cannot be read as 1 values");
    assert_eq!(
        sql.execute("insert into i values (1, 1, $1)", 1.5).unwrap_err().to_string(),
        "parameter $1 is of type smallint, and was given a double precision"
    );
    let error = sql.execute("insert into o values (2, 'one')", ()).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.table(), error.constraint()),
        ("23505", Some("o"), Some("o_name_key"))
    );
    assert_eq!(
        error.to_string(),
        "duplicate key value violates unique constraint \"o_name_key\": Key (name)=(one) already exists."
    );
    assert_eq!(sql.execute("select 1 frm o where", ()).unwrap_err().position(), Some(14));
    // the library's own errors have a state as well
    assert_eq!(Error::from(scaledb::Error::ReadOnlyTransaction).kind(), Kind::ReadOnly);
    // nothing of all that has happened
    assert_eq!(
        sql.query_one::<(i64, i64)>("select (select count(*) from o), (select count(*) from i)", ()).unwrap(),
        (1, 0)
    );
}

fn a_closure_is_run_again_after_a_conflict<E: FromOptions>() {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 50;
    let sql = sql::<E>();
    sql.batch("create table t (id int primary key, n bigint); insert into t values (1, 0), (2, 0)").unwrap();

    // the conflict is certain: another one is faster, twice
    let mut runs = 0;
    sql.run(|txn| {
        runs += 1;
        let n: i64 = txn.query_one("select n from t where id = 1", ())?;
        if runs <= 2 {
            sql.execute("update t set n = n + 10 where id = 1", ()).unwrap();
        }
        txn.execute("update t set n = $1 where id = 1", n + 1)
    })
    .unwrap();
    assert!(runs >= 2, "{runs} runs");
    let n: i64 = sql.query_one("select n from t where id = 1", ()).unwrap();
    // each run that met a conflict was in vain, and those beside it count once
    assert_eq!(n % 10, 1);

    // both orders of locks: deadlocks are run again, too
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let sql = &sql;
            scope.spawn(move || {
                let (first, second) = if thread % 2 == 0 { (1, 2) } else { (2, 1) };
                for _ in 0..ROUNDS {
                    sql.run(|txn| {
                        txn.execute("select n from t where id = $1 for update", first)?;
                        txn.execute("update t set n = n - 1 where id = $1", first)?;
                        txn.execute("update t set n = n + 1 where id = $1", second)
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(sql.query_one::<i64>("select sum(n)::bigint from t", ()).unwrap(), n);

    // in an explicit transaction it is the caller's
    let mut session = sql.session().unwrap();
    let mut txn = session.begin().unwrap();
    let n: i64 = txn.query_one("select n from t where id = 1", ()).unwrap();
    sql.execute("update t set n = n + 10 where id = 1", ()).unwrap();
    let late = txn.execute("update t set n = $1 where id = 1", n + 1);
    let error = match late {
        Ok(_) => txn.commit().unwrap_err(),
        Err(error) => error,
    };
    assert!(error.is_conflict());
    assert_eq!((error.kind(), error.sqlstate()), (Kind::Conflict, "40001"));
    assert!(error.to_string().contains("table \"t\""), "{error}");
}

fn a_closure_that_makes_light_of_an_error_does_not_commit<E: FromOptions>() {
    let sql = sql::<E>();
    sql.execute("create table t (id int primary key)", ()).unwrap();
    let careless = sql.run(|txn| {
        txn.execute("insert into t values (1)", ())?;
        let _ = txn.execute("insert into t values (1)", ());
        Ok(())
    });
    assert_eq!(kind(careless), Kind::TransactionFailed);
    let careful = sql.run(|txn| {
        txn.execute("insert into t values (1)", ())?;
        let again = txn.savepoint(|txn| txn.execute("insert into t values (1)", ()));
        assert_eq!(kind(again), Kind::UniqueViolation);
        let light = txn.savepoint(|txn| {
            let _ = txn.execute("select 1 / 0", ());
            Ok::<_, Error>(())
        });
        assert_eq!(kind(light), Kind::TransactionFailed);
        txn.savepoint(|txn| txn.execute("insert into t values (2)", ()))
    });
    assert_eq!(careful.unwrap(), 1);
    assert_eq!(
        kind(sql.run(|txn| {
            txn.execute("insert into t values (3)", ())?;
            Err::<(), _>(Error::rolled_back())
        })),
        Kind::RolledBack
    );

    #[derive(Debug)]
    enum Refused {
        Full,
        Sql(#[expect(dead_code, reason = "for Debug")] Error),
    }
    impl From<Error> for Refused {
        fn from(error: Error) -> Self {
            Self::Sql(error)
        }
    }
    let refused = sql.try_run(|txn| {
        txn.execute("insert into t values (4)", ())?;
        let count: i64 = txn.query_one("select count(*) from t", ())?;
        if count > 2 { Err(Refused::Full) } else { Ok(()) }
    });
    assert!(matches!(refused, Err(Refused::Full)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sql.run::<()>(|txn| {
            txn.execute("insert into t values (5)", ())?;
            panic!("of the application")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(sql.query::<i32>("select id from t order by id", ()).unwrap(), [1, 2]);
}

fn transactions_step_by_step<E: FromOptions>() {
    let sql = sql::<E>();
    sql.execute("create table t (id int primary key)", ()).unwrap();
    let mut session = sql.session().unwrap();
    let mut txn = session.begin().unwrap();
    txn.execute("insert into t values (1)", ()).unwrap();
    drop(txn);
    let mut txn = session.begin().unwrap();
    txn.execute("insert into t values (2)", ()).unwrap();
    txn.rollback();
    let mut txn = session.begin().unwrap();
    txn.execute("insert into t values (3)", ()).unwrap();
    txn.commit().unwrap();
    let mut txn = session.begin().unwrap();
    assert_eq!(kind(txn.execute("insert into t values (3)", ())), Kind::UniqueViolation);
    assert_eq!(kind(txn.execute("select 1", ())), Kind::TransactionFailed);
    assert_eq!(kind(txn.commit()), Kind::TransactionFailed);
    let mut txn = session.begin_read_only().unwrap();
    assert_eq!(txn.query::<i32>("select id from t", ()).unwrap(), [3]);
    txn.commit().unwrap();
    // a session may be sent to another thread, and handles be shared
    fn is_send<T: Send>(_: &T) {}
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_send(&session);
    is_shared(&sql);
}

fn rows_are_handed_out_as_they_are_found<E: FromOptions>() {
    let sql = sql::<E>();
    sql.batch("create table t (id int primary key); insert into t select generate_series(1, 1000)").unwrap();
    let mut seen = Vec::new();
    sql.query_each("select id from t where id > $1 order by id", 10, |id: i32| {
        seen.push(id);
        if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(seen, [11, 12, 13]);
    // a query that is left is not run to its end: this one has none in a lifetime
    let mut rows = 0_u64;
    sql.query_each("select 1 from t a, t b, t c, t d, t e, t f", (), |_: i32| {
        rows += 1;
        if rows == 5_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(rows, 5_000);
    // what writes goes on
    let mut first = None;
    sql.query_each("delete from t where id <= 500 returning id", (), |id: i32| {
        first = Some(id);
        ControlFlow::Break(())
    })
    .unwrap();
    assert!(first.is_some());
    assert_eq!(sql.query_one::<i64>("select count(*) from t", ()).unwrap(), 500);
    // the rows of a transaction go on after a loop that was left
    sql.run(|txn| {
        txn.query_each("select id from t", (), |_: i32| ControlFlow::Break(()))?;
        txn.execute("delete from t where id = 501", ())
    })
    .unwrap();
    // locked rows are handed out behind their locks
    let mut locked = 0;
    sql.query_each("select id from t for update", (), |_: i32| {
        locked += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(locked, 499);
    let wrong = sql.query_each("select id from t", (), |_: String| ControlFlow::Continue(()));
    assert_eq!(kind(wrong), Kind::WrongType);
}

fn statements_are_prepared_once_and_follow_their_tables<E: FromOptions>() {
    let sql = sql::<E>();
    sql.execute("create table t (id bigint primary key, name text)", ()).unwrap();
    let insert = sql.prepare("insert into t (id, name) values ($1, $2) returning id").unwrap();
    let names: Vec<String> = insert.parameters().iter().map(|ty| ty.to_string()).collect();
    assert_eq!(names, ["bigint", "text"]);
    let columns: Vec<_> =
        insert.columns().unwrap().map(|(name, ty)| (name.to_owned(), ty.to_string())).collect();
    assert_eq!(columns, [("id".to_owned(), "bigint".to_owned())]);
    assert!(sql.prepare("delete from t").unwrap().columns().is_none());
    assert_eq!(kind(sql.prepare("delete from u")), Kind::UndefinedTable);
    let mut session = sql.session().unwrap();
    for id in 0..10 {
        assert_eq!(sql.query_one::<i64>(&insert, (id, "a")).unwrap(), id);
        assert_eq!(session.query_one::<i64>(&insert, (100 + id, "b")).unwrap(), 100 + id);
        if id == 4 {
            sql.execute("alter table t add column extra int default 7", ()).unwrap();
        }
    }
    let sums = sql.query_one::<(i64, i64)>("select count(*), sum(extra) from t", ()).unwrap();
    assert_eq!(sums, (20, 140));
}

fn pooled_sessions_do_not_inherit_settings<E: FromOptions>() {
    let sql = sql::<E>();
    let before: String = sql.query_one("show timezone", ()).unwrap();
    sql.execute("set timezone = 'Asia/Tokyo'", ()).unwrap();
    sql.execute("begin", ()).unwrap();
    assert_eq!(sql.query_one::<String>("show timezone", ()).unwrap(), before);
    sql.execute("select pg_advisory_lock(1)", ()).unwrap();
    assert!(sql.query_one::<bool>("select pg_try_advisory_lock(1)", ()).unwrap());
    let mut session = sql.session().unwrap();
    session.execute("set timezone = 'Asia/Tokyo'", ()).unwrap();
    assert_eq!(session.query_one::<String>("show timezone", ()).unwrap(), "Asia/Tokyo");
}

fn a_directory_holds_what_sql_has_committed<E: FromOptions>() {
    let directory = Directory::new(&format!("sql-{}", std::any::type_name::<E>().replace(':', "")));
    {
        let sql = directory.open::<E>().sql().unwrap();
        sql.batch("create table t (id serial primary key, name text); insert into t (name) values ('a')")
            .unwrap();
        sql.run(|txn| txn.execute("insert into t (name) values ($1)", "b")).unwrap();
    }
    {
        let options = Options::new().memory_budget(256 << 20).directory(&directory.0).unwrap();
        let options = options.commit_mode(CommitMode::Asynchronous);
        let sql = Database::<E>::with_options(options).unwrap().sql().unwrap();
        assert_eq!(sql.query::<String>("select name from t order by id", ()).unwrap(), ["a", "b"]);
        assert_eq!(sql.query_one::<String>("show synchronous_commit", ()).unwrap(), "off");
        sql.execute("insert into t (name) values ('c')", ()).unwrap();
    }
    let db = directory.open::<E>();
    let sql = db.sql().unwrap();
    drop(db);
    assert_eq!(sql.query::<(i32, String)>("select * from t order by id", ()).unwrap().len(), 3);
    assert!(sql.query_one::<i32>("insert into t (name) values ('d') returning id", ()).unwrap() > 3);
}

/// A runtime, as small as can be.
fn rows_that_do_not_fit_lie_in_temporary_files<E: FromOptions>() {
    let directory = Directory::new(&format!("temporary-{}", std::any::type_name::<E>().replace(':', "")));
    let sorted = "select count(*), sum(n) from (select n, repeat('x', 20) from generate_series(1, 20000) n order by -n offset 0) x";
    let files = "select value from scaledb_counters where name = 'temporary files'";
    let small = || Options::new().memory_budget(256 << 20).max_query_memory(1 << 20);
    let run = |options: Options| {
        let sql = Database::<E>::with_options(options).unwrap().sql().unwrap();
        let mut session = sql.session().unwrap();
        session.execute("set work_mem = '128kB'", ()).unwrap();
        let result = session.query_one::<(i64, i64)>(sorted, ());
        (result, session.query_one::<i64>(files, ()).unwrap_or(0))
    };
    let all = (20_000, 200_010_000);
    // in memory there is no place for them, unless there is
    let (result, _) = run(small());
    assert_eq!(kind(result), Kind::OutOfMemory);
    std::fs::create_dir(&directory.0).unwrap();
    let elsewhere = directory.0.join("elsewhere");
    let (result, files) = run(small().temp_directory(&elsewhere));
    assert_eq!(result.unwrap(), all);
    assert!(files > 0);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    // in a directory, also when it is opened again, with what a process has left that was killed
    let data = directory.0.join("data");
    for _ in 0..2 {
        let (result, files) = run(small().directory(&data).unwrap());
        assert_eq!(result.unwrap(), all);
        assert!(files > 0);
        assert_eq!(std::fs::read_dir(data.join("temporary")).unwrap().count(), 0);
        std::fs::write(data.join("temporary").join("rows-1-2-3"), "left behind").unwrap();
    }
    // a place that cannot be
    let file = directory.0.join("file");
    std::fs::write(&file, "").unwrap();
    let sql = Database::<E>::with_options(small().temp_directory(file.join("x"))).unwrap().sql();
    assert_eq!(kind(sql.map(drop)), Kind::Disk);
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn what_is_awaited_runs_in_other_threads<E: FromOptions>() {
    const TASKS: i64 = 40;
    let sql = sql::<E>();
    let there = sql.background_with(3);
    block_on(async {
        there.execute("create table t (id bigint primary key, n bigint)", ()).await.unwrap();
        let insert = sql.prepare("insert into t values ($1, 0)").unwrap();
        // more than there are threads, all at once
        let tasks: Vec<_> = (0..TASKS).map(|id| there.execute(&insert, id)).collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), 1);
        }
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                there.run(|txn| {
                    let n: i64 = txn.query_one("select n from t where id = 0", ())?;
                    txn.execute("update t set n = $1 where id = 0", n + 1)
                })
            })
            .collect();
        // waited for in this thread, by turns with awaiting
        for (number, task) in tasks.into_iter().enumerate() {
            let done = if number % 2 == 0 { task.await } else { task.wait() };
            assert_eq!(done.unwrap(), 1);
        }
        assert_eq!(there.query_one::<i64>("select n from t where id = 0", ()).await.unwrap(), TASKS);
        assert_eq!(there.query_opt::<i64>("select n from t where id = -1", ()).await.unwrap(), None);
        assert_eq!(there.query::<i64>("select id from t", ()).await.unwrap().len(), 40);
        assert_eq!(kind(there.execute("insert into t values (0, 0)", ()).await), Kind::UniqueViolation);
        let here = std::thread::current().id();
        let elsewhere = there.start(move |_| Ok(std::thread::current().id() != here));
        assert!(elsewhere.await.unwrap());
        let panics = there.start(|_| -> Result<()> { panic!("of the application") });
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| panics.wait()));
        assert!(caught.is_err());
    });
    // what nobody awaits is done, too, be the handle gone or not
    drop(there.execute("delete from t", ()));
    drop(there);
    let patience = std::time::Instant::now() + Duration::from_secs(60);
    while sql.query_one::<i64>("select count(*) from t", ()).unwrap() > 0 {
        assert!(std::time::Instant::now() < patience);
        std::thread::yield_now();
    }
}

fn rows_are_pulled_one_by_one<E: FromOptions>() {
    let sql = sql::<E>();
    sql.batch("create table t (id int primary key); insert into t select generate_series(1, 1000)").unwrap();
    let there = sql.background_with(2);
    let all: Vec<i32> = there.rows("select id from t order by id", ()).collect::<Result<_>>().unwrap();
    assert_eq!(all, (1..=1000).collect::<Vec<_>>());
    let awaited = block_on(async {
        let mut rows = there.rows::<i32>("select id from t where id > $1 order by id", 500);
        let mut sum = 0_i64;
        while let Some(id) = rows.next_row().await {
            sum += i64::from(id.unwrap());
        }
        assert!(rows.next_row().await.is_none());
        sum
    });
    assert_eq!(awaited, (501..=1000).sum::<i64>());
    // these have no end in a lifetime: no list is made of them, and who has enough leaves; more often than there are
    // threads, which are free again
    for _ in 0..5 {
        let rows = there.rows::<i32>("select 1 from t a, t b, t c, t d, t e, t f", ());
        assert_eq!(rows.take(2_000).map(|row| row.unwrap()).sum::<i32>(), 2_000);
    }
    // an error is the last row
    let mut rows = there.rows::<i32>("select 10 / (3 - id) from t where id < 4 order by id", ());
    assert_eq!(rows.next().unwrap().unwrap(), 5);
    assert_eq!(rows.next().unwrap().unwrap(), 10);
    assert_eq!(kind(rows.next().unwrap()), Kind::Data);
    assert!(rows.next().is_none());
    let mut rows = there.rows::<i32>("select nothing", ());
    assert_eq!(kind(rows.next().unwrap()), Kind::UndefinedColumn);
}

fn listeners_hear_what_commits<E: FromOptions>() {
    const LONG: Duration = Duration::from_secs(60);
    let sql = sql::<E>();
    let mut listener = sql.listen(["a b", "c\"d"]).unwrap();
    assert!(listener.wait(Duration::from_millis(10)).is_none());
    std::thread::scope(|scope| {
        let speaks = scope.spawn(|| {
            for n in 0..200 {
                sql.execute("select pg_notify('a b', $1)", n.to_string()).unwrap();
            }
        });
        for n in 0..200 {
            let heard = listener.wait(LONG).unwrap();
            assert_eq!((&*heard.channel, &*heard.payload), ("a b", n.to_string().as_str()));
        }
        speaks.join().unwrap();
    });
    let failed: Result<()> = sql.run(|txn| {
        txn.execute("select pg_notify('c\"d', 'never')", ())?;
        Err(Error::rolled_back())
    });
    assert!(failed.is_err());
    listener.unlisten("a b").unwrap();
    sql.batch("notify \"a b\"; notify \"c\"\"d\", 'said'").unwrap();
    assert_eq!(&*listener.wait(LONG).unwrap().payload, "said");
    assert_eq!(listener.wait(Duration::ZERO), None);
    assert_eq!(kind(sql.execute("listen x", ())), Kind::Unsupported);
}
