//! The row that a statement looks for or makes, as far as its parameters alone tell the key.
//!
//! A session that knows statements before it runs them asks for the memory of their rows ahead: see
//! `session::ahead`.

use super::expr::Expr;
use super::{Access, BoundTable, IndexColumn, IndexRef, KeyValue, Modify, Node, Scan};
use scaledb_base::TableId;
use scaledb_row::Projection;
use scaledb_types::{Base, Type, Value};
use std::sync::Arc;

/// Columns of a key that is worth being computed ahead.
pub const MOST_COLUMNS: usize = 6;

/// The key of one row.
#[derive(Debug)]
pub struct PointKey {
    pub table: Arc<BoundTable>,
    /// The table's id, or the unique index's.
    pub index: TableId,
    pub columns: Vec<(IndexColumn, Source)>,
    /// What is read or written of the row.
    pub projection: Projection,
}

/// Where a key column's value comes from.
#[derive(Debug)]
pub enum Source {
    Param(usize),
    Const(Value),
}

impl PointKey {
    /// The key of a plan whose parameters have these types, if it has one.
    pub fn of(root: &Node, params: &[Type]) -> Option<Self> {
        match root {
            Node::Scan(scan) => Self::of_scan(scan, &[], params),
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Sort { input, .. }
            | Node::LockRows { input, .. }
            | Node::Limit { input, .. } => Self::of(input, params),
            Node::ModifyTable(modify) => match &**modify {
                Modify::Update(update) => match &update.source {
                    Node::Scan(scan) => Self::of_scan(scan, &update.columns, params),
                    _ => None,
                },
                Modify::Delete(delete) => Self::of(&delete.source, params),
                // its key comes from a join
                Modify::Merge(_) => None,
                Modify::Insert(insert) => {
                    let Node::Result = insert.source else { return None };
                    let column =
                        |column: &IndexColumn| source(&insert.values[column.position], column, params);
                    let projection = Projection::existence();
                    Self::new(&insert.table, IndexRef::Primary, projection, |_, of| column(of))
                }
            },
            _ => None,
        }
    }

    fn of_scan(scan: &Scan, written: &[usize], params: &[Type]) -> Option<Self> {
        let Access::Point { key, .. } = &scan.access else { return None };
        let written = written.iter().filter_map(|&position| scan.table.engine_column(position));
        let columns = scan.loads.engine_columns(&scan.table).chain(written);
        let projection = Projection::new(&scan.table.info.schema, columns);
        Self::new(&scan.table, scan.index, projection, |number, column| match &key[number] {
            KeyValue::One(expr) => source(expr, column, params),
            KeyValue::List(_) | KeyValue::Array(_) => None,
        })
    }

    fn new(
        table: &Arc<BoundTable>,
        index: IndexRef,
        projection: Projection,
        mut source: impl FnMut(usize, &IndexColumn) -> Option<Source>,
    ) -> Option<Self> {
        let columns = table.index_columns(index).iter().enumerate();
        let columns: Vec<_> = columns
            .map(|(number, column)| Some((*column, source(number, column)?)))
            .collect::<Option<_>>()?;
        if !(1..=MOST_COLUMNS).contains(&columns.len()) {
            return None;
        }
        Some(Self { table: table.clone(), index: table.index_id(index), columns, projection })
    }
}

/// Whether a value of the first type has the same key as one of the second.
fn has_keys_of(a: Type, b: Type) -> bool {
    let texts = a.is_text() && b.is_text() && a.base != Base::Bpchar && b.base != Base::Bpchar;
    (a.base == b.base || texts) && !a.array && !b.array
}

/// The value of a key column, if it needs no evaluation.
fn source(expr: &Expr, column: &IndexColumn, params: &[Type]) -> Option<Source> {
    match expr {
        Expr::Param(number) => {
            let ty = params.get(*number)?;
            has_keys_of(*ty, column.ty).then_some(Source::Param(*number))
        }
        Expr::Const(value) if !value.is_null() => Some(Source::Const(value.clone())),
        _ => None,
    }
}
