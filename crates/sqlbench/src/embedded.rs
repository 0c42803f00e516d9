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
    /// The bytes of parameters.
    bytes: Vec<u8>,
}

struct Prepared {
    name: String,
    parameters: Vec<u32>,
}

impl<E: Engine> Embedded<E> {
    /// A new session.
    pub fn new(database: &Database<E>) -> Self {
        Self { session: database.session("bench", "bench"), prepared: Vec::new(), bytes: Vec::new() }
    }

    /// Runs a named statement; what it fails with is left behind.
    fn extended(
        &mut self,
        statement: &str,
        formats: &[i16],
        values: &[Option<&[u8]>],
        rows: &mut Rows,
    ) -> Result<u64, Failure> {
        rows.clear();
        let mut run = |session: &mut Session<E>| {
            session.bind("", statement, formats, values)?;
            let executed = session.execute("", 0, true, &mut Sink { rows })?;
            Ok(match executed {
                Executed::Complete(tag) => tag.rows.unwrap_or(0),
                Executed::Suspended | Executed::Empty | Executed::CopyIn(_) => 0,
            })
        };
        let result = run(&mut self.session);
        let synced = self.session.sync();
        result.and_then(|count| synced.map(|()| count)).map_err(failure)
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

    fn run(&mut self, statement: usize, params: &[Param<'_>], rows: &mut Rows) -> Result<u64, Failure> {
        let prepared = std::mem::take(&mut self.prepared);
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let Prepared { name, parameters } = &prepared[statement];
        let mut ends = SmallVec::<[Option<usize>; 16]>::new();
        let written = params.iter().zip(parameters).try_for_each(|(param, &oid)| {
            let some = param.write(oid, &mut bytes)?;
            ends.push(some.then_some(bytes.len()));
            Ok(())
        });
        let result = written.and_then(|()| {
            let mut start = 0;
            let value = |end: &Option<usize>| {
                let value = &bytes[start..(*end)?];
                start += value.len();
                Some(value)
            };
            let values: SmallVec<[Option<&[u8]>; 16]> = ends.iter().map(value).collect();
            self.extended(name, &[1], &values, rows)
        });
        (self.prepared, self.bytes) = (prepared, bytes);
        result
    }

    fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        let parsed = self.session.parse("", sql, &[]);
        if let Err(error) = parsed {
            self.session.sync().map_err(failure)?;
            return Err(failure(error));
        }
        self.extended("", &[], &[], rows)
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
