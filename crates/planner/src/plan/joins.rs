//! Tables and their joins as a query names them: what is bound, before it is planned.

use super::expr::Expr;
use super::{BoundTable, Locked, Node, Slot};
use std::collections::HashSet;
use std::sync::Arc;

/// A table factor.
#[derive(Debug)]
pub struct Leaf {
    pub kind: LeafKind,
    /// The slots of its columns.
    pub slots: Vec<Slot>,
    /// Slots of its surroundings or neighbours that it reads.
    pub outer: Vec<Slot>,
    /// Of a table, the numbers of its indexes of some rows, and which rows these are.
    pub partial: Vec<(usize, Expr)>,
    /// Of a table, the expressions whose values it has for its indexes.
    pub computed: Vec<Held>,
    /// A slot more, that is true in every row: an outer join that leaves the row out makes it NULL. Few leaves have it.
    pub there: Option<Box<Slot>>,
}

/// An expression whose values a column has.
#[derive(Clone, Debug)]
pub struct Held {
    pub slot: Slot,
    pub expr: Expr,
    /// The condition of the rows in which it has them, if these are not all.
    pub only: Option<Expr>,
}

/// What a table factor is.
#[derive(Debug)]
pub enum LeafKind {
    Table { table: Arc<BoundTable>, alias: String, number: usize, locked: Option<Locked> },
    Other(Node),
}

impl Leaf {
    /// A table of the engine.
    pub fn table(table: Arc<BoundTable>, alias: String, number: usize, slots: Vec<Slot>) -> Self {
        let kind = LeafKind::Table { table, alias, number, locked: None };
        Self { kind, slots, outer: Vec::new(), partial: Vec::new(), computed: Vec::new(), there: None }
    }

    /// Its rows are locked: the scan fills one slot more, behind those of the columns.
    pub fn lock(&mut self, how: Locked) {
        if let LeafKind::Table { locked, .. } = &mut self.kind {
            *locked = Some(how);
            self.slots.push(how.name);
        }
    }

    /// Anything else.
    pub fn other(node: Node, slots: Vec<Slot>) -> Self {
        let kind = LeafKind::Other(node);
        Self { kind, slots, outer: Vec::new(), partial: Vec::new(), computed: Vec::new(), there: None }
    }

    /// What reads slots of its surroundings.
    pub fn lateral(node: Node, slots: Vec<Slot>, outer: Vec<Slot>) -> Self {
        Self { outer, ..Self::other(node, slots) }
    }

    /// The operator, if it is not a table of the engine.
    pub fn node(&self) -> Option<&Node> {
        match &self.kind {
            LeafKind::Table { .. } => None,
            LeafKind::Other(node) => Some(node),
        }
    }

    /// The table, if it is one of the engine.
    pub fn scanned(&self) -> Option<&Arc<BoundTable>> {
        match &self.kind {
            LeafKind::Table { table, .. } => Some(table),
            LeafKind::Other(_) => None,
        }
    }

    /// The number of the scan.
    pub fn number(&self) -> usize {
        match &self.kind {
            LeafKind::Table { number, .. } => *number,
            LeafKind::Other(_) => usize::MAX,
        }
    }
}

/// Tables and their joins.
#[expect(clippy::large_enum_variant, reason = "most of a tree are leaves")]
#[derive(Debug)]
pub enum Tree {
    Leaf(Leaf),
    Inner(Vec<Tree>, Vec<Expr>),
    Left(Box<Tree>, Box<Tree>, Vec<Expr>),
    Full(Box<Tree>, Box<Tree>, Vec<Expr>),
}

impl Tree {
    /// The same tree, if it is one of tables only.
    pub fn copy(&self) -> Option<Tree> {
        Some(match self {
            Self::Leaf(leaf) => {
                let LeafKind::Table { table, alias, number, locked: None } = &leaf.kind else { return None };
                if leaf.there.is_some() {
                    return None;
                }
                let copy = Leaf::table(table.clone(), alias.clone(), *number, leaf.slots.clone());
                let (partial, computed) = (leaf.partial.clone(), leaf.computed.clone());
                Self::Leaf(Leaf { partial, computed, ..copy })
            }
            Self::Inner(parts, on) => {
                Self::Inner(parts.iter().map(Self::copy).collect::<Option<_>>()?, on.clone())
            }
            Self::Left(left, right, on) => {
                Self::Left(Box::new(left.copy()?), Box::new(right.copy()?), on.clone())
            }
            Self::Full(left, right, on) => {
                Self::Full(Box::new(left.copy()?), Box::new(right.copy()?), on.clone())
            }
        })
    }

    /// Whether a condition of a join in it reads other slots than these.
    pub fn reads_others(&self, own: &HashSet<Slot>) -> bool {
        let others = |on: &[Expr]| {
            let mut others = false;
            on.iter().for_each(|expr| expr.slots(&mut |slot| others |= !own.contains(&slot)));
            others
        };
        match self {
            Self::Leaf(leaf) => leaf.outer.iter().any(|slot| !own.contains(slot)),
            Self::Inner(parts, on) => others(on) || parts.iter().any(|part| part.reads_others(own)),
            Self::Left(left, right, on) | Self::Full(left, right, on) => {
                others(on) || left.reads_others(own) || right.reads_others(own)
            }
        }
    }

    /// Lets a slot be true in every row of the table that has a column; false if there is no such table.
    pub fn tell_rows(&mut self, column: Slot, there: Slot) -> bool {
        match self {
            Self::Leaf(leaf) if leaf.slots.contains(&column) && leaf.there.is_none() => {
                leaf.there = Some(Box::new(there));
                leaf.slots.push(there);
                true
            }
            Self::Leaf(_) => false,
            Self::Inner(parts, _) => parts.iter_mut().any(|part| part.tell_rows(column, there)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.tell_rows(column, there) || right.tell_rows(column, there)
            }
        }
    }

    pub fn slots(&self, out: &mut Vec<Slot>) {
        match self {
            Self::Leaf(leaf) => out.extend(&leaf.slots),
            Self::Inner(parts, _) => parts.iter().for_each(|part| part.slots(out)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.slots(out);
                right.slots(out);
            }
        }
    }

    pub fn outer(&self, out: &mut Vec<Slot>) {
        match self {
            Self::Leaf(leaf) => out.extend(&leaf.outer),
            Self::Inner(parts, _) => parts.iter().for_each(|part| part.outer(out)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.outer(out);
                right.outer(out);
            }
        }
    }

    /// Scans whose rows may be missing where those of other tables are there.
    pub fn nullable(&self, out: &mut Vec<usize>) {
        match self {
            Self::Leaf(_) => {}
            Self::Inner(parts, _) => parts.iter().for_each(|part| part.nullable(out)),
            Self::Left(left, right, _) => {
                left.nullable(out);
                right.scans(out);
            }
            Self::Full(left, right, _) => {
                left.scans(out);
                right.scans(out);
            }
        }
    }

    fn scans(&self, out: &mut Vec<usize>) {
        match self {
            Self::Leaf(leaf) => out.push(leaf.number()),
            Self::Inner(parts, _) => parts.iter().for_each(|part| part.scans(out)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.scans(out);
                right.scans(out);
            }
        }
    }

    /// Whether the tree contains the scan of this number.
    pub fn contains(&self, scan: usize) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.number() == scan,
            Self::Inner(parts, _) => parts.iter().any(|part| part.contains(scan)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.contains(scan) || right.contains(scan)
            }
        }
    }
}
