//! Databases on each engine, and a sink that keeps rows as text.

pub(crate) mod serial;
pub(crate) mod steps;

use scaledb_acc::{Acc, Config, Durability};
use scaledb_cicada::Cicada;
use scaledb_engine::Engine;
use scaledb_sql::{Column, CopyInfo, Database, RowSink, Session, Tag};
use scaledb_types::{Env, Result, SqlError, Type, Value};
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

/// The database on a disk.
pub(crate) fn opened(disk: &SimDisk) -> Database<Acc> {
    let durability = Durability { recovery_threads: 1, ..Durability::new(Arc::new(disk.clone())) };
    let config = Config { durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// What a statement has answered.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    pub(crate) tags: Vec<String>,
    pub(crate) copied: Vec<u8>,
    mark: usize,
}

impl RowSink for Rows {
    fn describe(&mut self, columns: &[Column]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {
        self.rows.push(Vec::new());
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        let text = value.to_text(ty, env).map(|text| text.to_string());
        self.rows.last_mut().expect("a row has begun").push(text);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, tag: &Tag) {
        self.tags.push(tag.to_string());
    }

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.copied.extend_from_slice(data);
        Ok(())
    }

    fn mark(&mut self) {
        self.mark = self.rows.len();
    }

    fn hold(&mut self, _: bool) -> bool {
        true
    }

    fn rewind(&mut self) -> bool {
        self.rows.truncate(self.mark);
        true
    }
}

/// An empty database in memory on ACC.
pub(crate) fn acc() -> Database<Acc> {
    Database::open(Acc::open(scaledb_acc::Config::default()).expect("an engine")).expect("a database")
}

/// An empty database in memory on Cicada.
pub(crate) fn cicada() -> Database<Cicada> {
    let engine = Cicada::open(scaledb_cicada::Config::default()).expect("an engine");
    Database::open(engine).expect("a database")
}

/// Makes tests of functions that take an empty database: one for each engine.
#[macro_export]
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        mod acc {
            $(#[test] fn $test() { super::$test($crate::common::acc()) })*
        }
        mod cicada {
            $(#[test] fn $test() { super::$test($crate::common::cicada()) })*
        }
    };
}

pub(crate) fn session<E: Engine>(db: &Database<E>) -> Session<E> {
    // a server makes verifiers; nobody logs in here
    db.set_password_hash(|_| Some("SCRAM-SHA-256$4096:c2FsdA==$a:b".to_owned()));
    db.session("postgres", "postgres")
}

pub(crate) fn run<E: Engine>(session: &mut Session<E>, sql: &str) -> Result<Rows> {
    let mut rows = Rows::default();
    session.simple(sql, &mut rows)?;
    Ok(rows)
}

/// The client hears of each conflict of its blocks: the session does not run them again.
pub(crate) fn hears_of_conflicts<E: Engine>(session: &mut Session<E>) {
    ok(session, "set repeat_blocks = off");
}

/// Runs what must succeed.
pub(crate) fn ok<E: Engine>(session: &mut Session<E>, sql: &str) -> Rows {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// Rows as text: columns by `|`, rows by spaces.
pub(crate) fn text<E: Engine>(session: &mut Session<E>, sql: &str) -> String {
    let rows = ok(session, sql).rows;
    let row = |row: &Vec<Option<String>>| {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
        values.collect::<Vec<_>>().join("|")
    };
    rows.iter().map(row).collect::<Vec<_>>().join(" ")
}

/// Runs what must fail; the SQLSTATE.
pub(crate) fn code<E: Engine>(session: &mut Session<E>, sql: &str) -> String {
    match run(session, sql) {
        Ok(rows) => panic!("{sql}: succeeded with {:?}", rows.rows),
        Err(error) => error.code().as_str().to_owned(),
    }
}

/// Of two transactions that would take one unique key, the one that commits first does, and the other is refused.
pub(crate) fn one_of_two_commits<E: Engine>(
    a: &mut Session<E>,
    b: &mut Session<E>,
    first: &str,
    second: &str,
) {
    ok(a, &format!("begin; {first}"));
    ok(b, &format!("begin; {second}"));
    ok(a, "commit");
    let refused = code(b, "commit");
    assert!(["40001", "23505"].contains(&refused.as_str()), "{first}; {second}: {refused}");
    ok(b, "rollback");
}

pub(crate) fn failure<E: Engine>(session: &mut Session<E>, sql: &str) -> SqlError {
    run(session, sql).expect_err(sql)
}
