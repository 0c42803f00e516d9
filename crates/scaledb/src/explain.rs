//! Errors in the words of the schema.

use crate::database::Database;
use crate::table::Table;
use crate::value::Value;
use scaledb_base::{Conflict, ConflictKind, Error, TableId};
use scaledb_engine::Engine;
use scaledb_keys::{Direction, KeyReader, Malformed};
use scaledb_row::{Column, KeyPart, KeySpec, read_key};

impl<E: Engine> Database<E> {
    /// What a transaction collided with, in the words of the schema: the table or index by name, the key
    /// by columns.
    ///
    /// ```
    /// # use scaledb::{Database, Error, Table, Type};
    /// # let db = Database::in_memory();
    /// # let t = db.create_table(Table::build("accounts").column("id", Type::Int8).column("n",
    /// Type::Int8).primary_key(["id"]))?;
    /// # db.run(|txn| txn.insert(&t, (7, 10)))?;
    /// # let mut session = db.session()?;
    /// let mut txn = session.begin()?;
    /// txn.update(&t, 7, |row| row.add("n", 1))?;
    /// db.run(|txn| txn.update(&t, 7, |row| row.add("n", 1)))?; // another one is faster
    /// let Err(Error::Conflict(conflict)) = txn.commit() else { panic!() };
    /// assert_eq!(db.explain(&conflict), "conflict (write changed) on table accounts at id = 7");
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    pub fn explain(&self, conflict: &Conflict) -> String {
        let Some((place, key)) = self.describe(conflict.table, &conflict.key) else {
            return conflict.to_string();
        };
        let at = if conflict.kind == ConflictKind::RangePhantom { "in the range from" } else { "at" };
        format!("conflict ({}) on {place} {at} {key}", conflict.kind.name())
    }

    /// An error in the words of the schema: [`Database::explain`] does that for all errors that name a table.
    pub fn explain_error(&self, error: &Error) -> String {
        let explained = match error {
            Error::Conflict(conflict) => Some(self.explain(conflict)),
            Error::DuplicateKey { table, key } => self
                .describe(*table, key)
                .map(|(place, key)| format!("{place} already holds a row with {key}")),
            Error::NotOrdered(id) => self
                .describe(*id, &[])
                .map(|(place, _)| format!("{place} has no ordered index: only point access is possible")),
            _ => None,
        };
        explained.unwrap_or_else(|| error.to_string())
    }

    /// The name of a table or index, and a key of it.
    fn describe(&self, id: TableId, key: &[u8]) -> Option<(String, String)> {
        let (table, index) = self.table_of(id)?;
        let index = index.map(|number| &table.info().indexes[number]);
        let place = match index {
            None => format!("table {}", table.name()),
            Some(index) => format!("index {} of table {}", index.name, table.name()),
        };
        let mut columns = Vec::new();
        let mut reader = KeyReader::new(key);
        let primary_key = table.schema().primary_key();
        if let Some(index) = index {
            read_columns(&table, &index.key, &mut reader, &mut columns);
        }
        if index.is_none_or(|_| !reader.rest().is_empty()) {
            read_columns(&table, primary_key, &mut reader, &mut columns);
            if primary_key.parts().is_empty()
                && let Ok(number) = reader.u64(Direction::Ascending)
            {
                columns.push(format!("row number {number}"));
            }
        }
        if !reader.rest().is_empty() {
            columns.push(Value::from(reader.rest()).to_string());
        }
        let key = if columns.is_empty() { "the first key".to_owned() } else { columns.join(", ") };
        Some((place, key))
    }
}

/// Reads the columns of a key as far as there are any.
fn read_columns(table: &Table, spec: &KeySpec, reader: &mut KeyReader<'_>, out: &mut Vec<String>) {
    for part in spec.parts() {
        let column = &table.schema().columns()[part.column];
        let mut ahead = reader.clone();
        match read(&mut ahead, column, part) {
            Ok(value) => out.push(format!("{} = {value}", column.name)),
            Err(Malformed) => return,
        }
        *reader = ahead;
    }
}

fn read(reader: &mut KeyReader<'_>, column: &Column, part: &KeyPart) -> Result<Value, Malformed> {
    if column.nullable && reader.null_marker(part.nulls)? {
        return Ok(Value::Null);
    }
    read_key(reader, column.ty, part.direction, |value| value.into())
}
