//! How a scan finds its rows.

use super::expr::Expr;
use super::{BoundTable, IndexRef};
use scaledb_base::TableId;
use scaledb_engine::Order;

/// The values of a key column that a scan looks for.
#[derive(Debug)]
pub enum KeyValue {
    One(Expr),
    /// `IN (..)`.
    List(Vec<Expr>),
    /// `= ANY (array)`.
    Array(Expr),
}

impl KeyValue {
    /// Calls `f` with each expression that it is made of.
    pub fn exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::One(expr) | Self::Array(expr) => f(expr),
            Self::List(list) => list.iter().for_each(f),
        }
    }
}

/// An end of a range of the columns behind the equal ones.
#[derive(Debug)]
pub struct Bound {
    /// A value for each of so many columns, which are compared as a row; of one direction if they are several.
    pub values: Vec<Expr>,
    pub inclusive: bool,
}

/// How a scan finds its rows.
#[derive(Debug)]
pub enum Access {
    /// By all columns of the primary key or of a unique index.
    Point { index: TableId, key: Vec<KeyValue> },
    /// By leading columns of a key, and perhaps a range of the next ones, within all bounds; all rows if there are
    /// none.
    Range { index: TableId, key: Vec<KeyValue>, low: Vec<Bound>, high: Vec<Bound>, order: Order },
}

impl Access {
    /// What a scan is counted for: the table if it reads all of it as it is, else the index.
    pub fn counted(&self, table: &BoundTable, index: IndexRef) -> u32 {
        match self {
            Self::Range { key, low, high, order: Order::Forward, .. }
                if key.is_empty() && low.is_empty() && high.is_empty() && index == IndexRef::Primary =>
            {
                table.desc.oid
            }
            _ => table.index_oid(index),
        }
    }

    /// Calls `f` with each expression that the access is made of.
    pub fn exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        let (key, bounds) = match self {
            Self::Point { key, .. } => (key, None),
            Self::Range { key, low, high, .. } => (key, Some(low.iter().chain(high))),
        };
        key.iter().for_each(|value| value.exprs(f));
        bounds.into_iter().flatten().flat_map(|bound| &bound.values).for_each(f);
    }
}
