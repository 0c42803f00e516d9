//! A session in process.

use crate::client::{Client, Failure};
use crate::rows::Rows;
use crate::values::Param;
use scaledb_engine::Engine;
use scaledb_sql::{Column, CopyInfo, Database, Executed, RowSink, Session, Step, Tag};
use scaledb_types::{Env, SqlError, Type, Value};
use smallvec::SmallVec;

/// A session of a database in this process, used as the server uses one.
pub struct Embedded<E: Engine> {
    session: Session<E>,
    prepared: Vec<Prepared>,
    batch: Batch,
}

struct Prepared {
    name: String,
    parameters: Vec<u32>,
}

/// Statements that wait to be run.
#[derive(Default)]
struct Batch {
    /// Each statement, and where its last parameter is in `ends`.
    asked: Vec<(usize, usize)>,
    /// Where each parameter ends in `bytes`; `None` for NULL.
    ends: Vec<Option<usize>>,
    bytes: Vec<u8>,
}

impl Batch {
    fn clear(&mut self) {
        self.asked.clear();
        self.ends.clear();
        self.bytes.clear();
    }
}

impl<E: Engine> Embedded<E> {
    /// A new session.
    pub fn new(database: &Database<E>) -> Self {
        Self { session: database.session("bench", "bench"), prepared: Vec::new(), batch: Batch::default() }
    }

    /// Runs a named statement; `last` says that a sync stands behind it.
    fn execute(
        session: &mut Session<E>,
        statement: &str,
        values: &[Option<&[u8]>],
        last: bool,
        rows: &mut Rows,
    ) -> Result<(), SqlError> {
        session.bind("", statement, &[1], values)?;
        let affected = match session.execute("", 0, last, &mut Sink { rows })? {
            Executed::Complete(tag) => tag.rows.unwrap_or(0),
            Executed::Suspended | Executed::Empty | Executed::CopyIn(_) => 0,
        };
        rows.complete(affected);
        Ok(())
    }
}

impl<E: Engine> Client for Embedded<E>
where
    Session<E>: Send,
{
    fn prepare(&mut self, statements: &[&str]) -> Result<(), Failure> {
        for sql in statements {
            let name = format!("s{}", self.prepared.len());
            let described =
                self.session.parse(&name, sql, &[]).and_then(|()| self.session.describe_statement(&name));
            self.session.sync().map_err(failure)?;
            let parameters = described.map_err(failure)?.parameters.iter().map(|ty| ty.oid()).collect();
            self.prepared.push(Prepared { name, parameters });
        }
        Ok(())
    }

    fn ask(&mut self, statement: usize, params: &[Param<'_>]) -> Result<(), Failure> {
        let Batch { asked, ends, bytes } = &mut self.batch;
        let written =
            params.iter().zip(&self.prepared[statement].parameters).try_for_each(|(param, &oid)| {
                let some = param.write(oid, bytes)?;
                ends.push(some.then_some(bytes.len()));
                Ok(())
            });
        asked.push((statement, ends.len()));
        written.inspect_err(|_| self.batch.clear())
    }

    fn answers(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.clear();
        let Batch { asked, ends, bytes } = &self.batch;
        let (mut first, mut start) = (0, 0);
        let count = asked.len();
        let done = asked.iter().zip(1..).try_for_each(|(&(statement, end), number)| {
            let value = |end: &Option<usize>| {
                let value = &bytes[start..(*end)?];
                start += value.len();
                Some(value)
            };
            let values: SmallVec<[Option<&[u8]>; 16]> = ends[first..end].iter().map(value).collect();
            first = end;
            let name = &self.prepared[statement].name;
            Self::execute(&mut self.session, name, &values, number == count, rows)
        });
        self.batch.clear();
        // what a statement fails with is left behind
        let synced = self.session.sync();
        done.and(synced).map_err(failure)
    }

    fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        let parsed = self.session.parse("", sql, &[]);
        if let Err(error) = parsed {
            self.session.sync().map_err(failure)?;
            return Err(failure(error));
        }
        rows.clear();
        let done = Self::execute(&mut self.session, "", &[], true, rows);
        let synced = self.session.sync();
        done.and(synced).map_err(failure)?;
        Ok(rows.answer(0).affected())
    }

    fn script(&mut self, sql: &str) -> Result<(), Failure> {
        let mut rows = Rows::default();
        self.session.simple(sql, &mut Sink { rows: &mut rows }).map(drop).map_err(failure)
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<(), Failure> {
        let mut rows = Rows::default();
        let mut sink = Sink { rows: &mut rows };
        if let Step::CopyIn(_) = self.session.simple(sql, &mut sink).map_err(failure)? {
            self.session.copy_data(data).map_err(failure)?;
            self.session.copy_done(&mut sink).map_err(failure)?;
        }
        Ok(())
    }
}

fn failure(error: SqlError) -> Failure {
    Failure::Refused {
        code: error.code().as_str().to_owned(),
        message: error.message().to_owned(),
        detail: error.fields().detail.clone(),
    }
}

/// Writes values as the server does when asked for the binary format.
struct Sink<'a> {
    rows: &'a mut Rows,
}

impl RowSink for Sink<'_> {
    fn describe(&mut self, _: &[Column]) -> Result<(), SqlError> {
        Ok(())
    }

    fn begin_row(&mut self, columns: usize) {
        self.rows.begin(columns);
    }

    fn value(&mut self, _: &Env, ty: Type, value: &Value) -> Result<(), SqlError> {
        let write = |out: &mut Vec<u8>| value.write_binary(ty, out);
        self.rows.push((!value.is_null()).then_some(write));
        Ok(())
    }

    fn text(&mut self, _: &Env, _: Type, text: &str) -> Result<(), SqlError> {
        self.rows.push(Some(|out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes())));
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<(), SqlError> {
        Err(SqlError::unsupported("COPY TO STDOUT has no reader here: use a query"))
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<(), SqlError> {
        Ok(())
    }

    fn mark(&mut self) {
        self.rows.mark();
    }

    fn rewind(&mut self) -> bool {
        self.rows.rewind();
        true
    }
}
