//! A connection to a server, by a driver of others.

use crate::client::{Client, Failure};
use crate::rows::Rows;
use crate::values::Param;
use bytes::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use postgres::{NoTls, Statement};
use smallvec::SmallVec;
use std::error::Error;
use std::io::Write;

/// A connection to ScaleDB's server, to PostgreSQL, or to any other that speaks its protocol.
pub struct Wire {
    client: postgres::Client,
    prepared: Vec<Statement>,
}

impl Wire {
    /// Connects. `parameters` are those of libpq: `host=localhost port=5432 user=postgres`.
    ///
    /// # Errors
    /// [`Failure::Connection`].
    pub fn connect(parameters: &str) -> Result<Self, Failure> {
        Ok(Self {
            client: postgres::Client::connect(parameters, NoTls).map_err(failure)?,
            prepared: Vec::new(),
        })
    }

    fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<u64, Failure> {
        rows.clear();
        let params: SmallVec<[&(dyn ToSql + Sync); 16]> =
            params.iter().map(|param| param as &(dyn ToSql + Sync)).collect();
        if statement.columns().is_empty() {
            return self.client.execute(statement, &params).map_err(failure);
        }
        let answer = self.client.query(statement, &params).map_err(failure)?;
        for row in &answer {
            rows.begin(row.len());
            for column in 0..row.len() {
                let Raw(value) = row.try_get(column).map_err(failure)?;
                rows.push(value.map(|value| |out: &mut Vec<u8>| out.extend_from_slice(value)));
            }
        }
        Ok(answer.len() as u64)
    }
}

impl Client for Wire {
    fn prepare(&mut self, statements: &[&str]) -> Result<(), Failure> {
        for sql in statements {
            self.prepared.push(self.client.prepare(sql).map_err(failure)?);
        }
        Ok(())
    }

    fn run(&mut self, statement: usize, params: &[Param<'_>], rows: &mut Rows) -> Result<u64, Failure> {
        let statement = self.prepared[statement].clone();
        self.execute(&statement, params, rows)
    }

    fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure> {
        let statement = self.client.prepare(sql).map_err(failure)?;
        self.execute(&statement, &[], rows)
    }

    fn script(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).map_err(failure)
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<(), Failure> {
        let mut writer = self.client.copy_in(sql).map_err(failure)?;
        // an error of the server's comes with the end
        let written = writer.write_all(data);
        writer.finish().map_err(failure)?;
        written.map_err(|error| Failure::Connection(error.to_string()))
    }
}

fn failure(error: postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(refused) => Failure::Refused {
            code: refused.code().code().to_owned(),
            message: refused.message().to_owned(),
            detail: refused.detail().map(str::to_owned),
        },
        None => Failure::Connection(match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }),
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(if self.write(ty.oid(), out)? { IsNull::No } else { IsNull::Yes })
    }

    fn accepts(_: &Type) -> bool {
        true // `to_sql` refuses what does not fit
    }

    postgres::types::to_sql_checked!();
}

/// The bytes of a value, whatever its type; `None` for NULL.
struct Raw<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
