//! What runs scripts: anything that answers SQL, and ScaleDB within this process.

use crate::answer::Answer;
use crate::generate::{READER, Statement};
use scaledb_engine::Engine;
use scaledb_engines::{Acc, Cicada, Open, Settings};
use scaledb_sql::{Column, CopyInfo, Database, Executed, RowSink, Session, Tag};
use scaledb_types::{Env, Result, SqlError, Type, Value};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A server of SQL.
pub trait Server {
    /// What it is.
    fn name(&self) -> String;
    /// Makes its database empty.
    fn reset(&mut self);
    /// Runs a statement.
    fn run(&mut self, statement: &Statement) -> Answer;
}

/// How statements are given to an embedded server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As text.
    Simple,
    /// As text, but what makes secondary indexes is passed over.
    WithoutIndexes,
    /// Prepared, with constants as parameters.
    Prepared,
}

/// ScaleDB in this process.
pub struct Embedded<E: Engine> {
    name: &'static str,
    how: How,
    open: fn() -> Database<E>,
    open_now: Option<(Session<E>, Database<E>)>,
}

/// On ACC.
pub fn acc(how: How) -> Embedded<Acc> {
    on("ACC", how)
}

/// On Cicada.
pub fn cicada(how: How) -> Embedded<Cicada> {
    on("Cicada", how)
}

fn on<E: Open>(name: &'static str, how: How) -> Embedded<E> {
    let open = || {
        let engine = E::open_with(Settings::default()).expect("an engine in memory opens");
        Database::open(engine).expect("an empty database opens")
    };
    Embedded { name, how, open, open_now: None }
}

/// What a statement has answered.
#[derive(Default)]
struct Rows {
    columns: Vec<(String, u32)>,
    rows: Vec<Vec<Option<String>>>,
    tag: String,
    mark: usize,
}

/// The oid of a type; 0 for types that scripts have made, as servers number them as they like.
pub fn comparable(oid: u32) -> u32 {
    const FIRST_OF_USERS: u32 = 16_384;
    if oid < FIRST_OF_USERS { oid } else { 0 }
}

fn described(columns: &[Column]) -> Vec<(String, u32)> {
    columns.iter().map(|column| (column.name.clone(), comparable(column.ty.oid()))).collect()
}

impl RowSink for Rows {
    fn describe(&mut self, columns: &[Column]) -> Result<()> {
        self.columns = described(columns);
        Ok(())
    }

    fn begin_row(&mut self, columns: usize) {
        self.rows.push(Vec::with_capacity(columns));
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        let text = value.to_text(ty, env).map(|text| text.to_string());
        if let Some(row) = self.rows.last_mut() {
            row.push(text);
        }
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, tag: &Tag) {
        self.tag = tag.to_string();
    }

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn mark(&mut self) {
        self.mark = self.rows.len();
    }

    fn rewind(&mut self) -> bool {
        self.rows.truncate(self.mark);
        true
    }
}

fn answer(result: std::result::Result<Result<()>, Box<dyn Any + Send>>, rows: Rows) -> Answer {
    match result {
        Ok(Ok(())) => Answer::Done { columns: rows.columns, rows: rows.rows, tag: rows.tag },
        Ok(Err(error)) => failed(&error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Answer::Failed { code: "panic".to_owned(), message: text.unwrap_or_default() }
        }
    }
}

fn failed(error: &SqlError) -> Answer {
    Answer::Failed { code: error.code().as_str().to_owned(), message: error.message().to_owned() }
}

fn prepared<E: Engine>(session: &mut Session<E>, statement: &Statement, rows: &mut Rows) -> Result<()> {
    let (text, parameters) = statement.tree.with_parameters();
    let types: Vec<u32> = parameters.iter().map(|(ty, _)| ty.oid()).collect();
    let values: Vec<Option<&[u8]>> =
        parameters.iter().map(|(_, value)| value.as_ref().map(|text| text.as_bytes())).collect();
    let result = (|| {
        session.parse("", &text, &types)?;
        session.bind("", "", &[], &values)?;
        rows.columns = session.describe_portal("")?.map(described).unwrap_or_default();
        if let Executed::Complete(tag) = session.execute("", 0, true, rows)? {
            rows.tag = tag.to_string();
        }
        Ok(())
    })();
    let end = session.sync();
    result.and(end)
}

impl<E: Engine> Server for Embedded<E> {
    fn name(&self) -> String {
        match self.how {
            How::Simple => self.name.to_owned(),
            How::WithoutIndexes => format!("{} without indexes", self.name),
            How::Prepared => format!("{} with parameters", self.name),
        }
    }

    fn reset(&mut self) {
        self.open_now = None;
        let database = (self.open)();
        let mut session = database.session("postgres", "postgres");
        let mut rows = Rows::default();
        let begin = format!("set statement_timeout = 10000; create role {READER}");
        session.simple(&begin, &mut rows).expect("a setting, and a role");
        self.open_now = Some((session, database));
    }

    fn run(&mut self, statement: &Statement) -> Answer {
        if statement.index && self.how == How::WithoutIndexes {
            let tag = "CREATE INDEX".to_owned();
            return Answer::Done { columns: Vec::new(), rows: Vec::new(), tag };
        }
        if self.open_now.is_none() {
            self.reset();
        }
        let (session, _) = self.open_now.as_mut().expect("opened above");
        let how = self.how;
        let mut rows = Rows::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let sql = statement.tree.sql();
            // statements that define something take no parameters
            if how == How::Prepared && !statement.index && !sql.starts_with("alter") {
                prepared(session, statement, &mut rows)
            } else {
                session.simple(&sql, &mut rows).map(|_| ())
            }
        }));
        answer(result, rows)
    }
}
