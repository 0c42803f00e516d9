//! Tables of the system catalogs, and their rows.

use super::Facts;
use scaledb_engine::WriteToScan;
use scaledb_types::{Array, Base, Result, Type, Value};
use std::sync::Arc;
use std::time::Duration;

/// A system catalog.
pub(super) struct SystemCatalog {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) oid: u32,
    pub(super) columns: &'static [(&'static str, Type)],
    /// Computes its rows.
    pub(super) rows: fn(&dyn Facts) -> Result<Vec<Row>>,
}

pub(super) const INT2S: Type = Type::array_of(Base::Int2);
pub(super) const TEXTS: Type = Type::array_of(Base::Text);
pub(super) const OIDS: Type = Type::array_of(Base::Oid);
pub(super) const CHARS: Type = Type::array_of(Base::Char);

/// A row under construction: columns that are not named take what their type has for nothing.
#[derive(Clone)]
pub(super) struct Row {
    columns: &'static [(&'static str, Type)],
    pub(super) values: Vec<Value>,
}

impl Row {
    pub(super) fn of(table: &SystemCatalog) -> Self {
        let columns = table.columns;
        let values = columns
            .iter()
            .map(|(_, ty)| match ty.base {
                _ if ty.array => Value::Null,
                Base::Bool => Value::Bool(false),
                Base::Int2 => Value::Int2(0),
                Base::Int4 => Value::Int4(0),
                Base::Int8 => Value::Int8(0),
                Base::Float4 => Value::Float4(0.0),
                Base::Oid | Base::Xid | Base::Regproc | Base::Regprocedure => Value::Oid(0),
                Base::Char => Value::Char(0),
                _ => Value::Null,
            })
            .collect();
        Self { columns, values }
    }

    /// A row of nothing but NULLs, until columns are named.
    pub(super) fn empty(table: &SystemCatalog) -> Self {
        Self { columns: table.columns, values: vec![Value::Null; table.columns.len()] }
    }

    /// The value of a column.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let at = self.columns.iter().position(|(column, _)| *column == name)?;
        self.values.get(at)
    }

    pub(super) fn set(mut self, name: &str, value: Value) -> Self {
        if let Some(at) = self.columns.iter().position(|(column, _)| *column == name) {
            self.values[at] = value;
        }
        self
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.set(name, Value::text(value))
    }

    pub(super) fn oid(self, name: &str, value: u32) -> Self {
        self.set(name, Value::Oid(value))
    }

    pub(super) fn int8(self, name: &str, value: u64) -> Self {
        self.set(name, Value::Int8(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    /// The columns that say how long before scans found them rows had been written.
    pub(super) fn write_to_scan(self, found: &WriteToScan) -> Self {
        let at = |row: Self, name, part| match found.quantile(part) {
            Some(time) if time == Duration::MAX => row.float8(name, f64::INFINITY),
            Some(time) => row.float8(name, time.as_secs_f64() * 1e3),
            None => row,
        };
        let row = self.int8("sampled_rows", found.rows());
        let row = at(row, "write_to_scan_ms_p5", 0.05);
        let row = at(row, "write_to_scan_ms_p50", 0.5);
        at(row, "write_to_scan_ms_p95", 0.95)
    }

    pub(super) fn float8(self, name: &str, value: f64) -> Self {
        self.set(name, Value::Float8(value))
    }

    pub(super) fn int2(self, name: &str, value: usize) -> Self {
        self.set(name, Value::Int2(value as i16))
    }

    pub(super) fn int4(self, name: &str, value: i32) -> Self {
        self.set(name, Value::Int4(value))
    }

    pub(super) fn letter(self, name: &str, value: u8) -> Self {
        self.set(name, Value::Char(value))
    }

    pub(super) fn flag(self, name: &str, value: bool) -> Self {
        self.set(name, Value::Bool(value))
    }

    pub(super) fn yes(self, name: &str, value: bool) -> Self {
        self.text(name, if value { "YES" } else { "NO" })
    }
}

pub(super) fn int2s(values: impl Iterator<Item = i16>) -> Value {
    Value::Array(Arc::new(Array::new(Type::INT2, values.map(Value::Int2).collect())))
}

/// An `int2vector` or `oidvector`, which count from 0.
pub(super) fn vector(element: Type, values: Vec<Value>) -> Value {
    let dims = vec![scaledb_types::Dimension { len: values.len() as i32, lower: 0 }];
    Array::with_dimensions(element, dims, values).map_or(Value::Null, |array| Value::Array(Arc::new(array)))
}
