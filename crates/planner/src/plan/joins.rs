//! Tables and their joins as a query names them: what is bound, before it is planned.

use super::expr::Expr;
use super::{BoundTable, Locked, Node, Slot};
use scaledb_types::Value;
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
    /// Of a query in FROM, what is left to plan of it.
    pub open: Option<Box<Open>>,
    /// Of a table, what policies say of the rows that are seen: nothing that may tell of a row is asked of others.
    pub secured: Vec<Expr>,
    /// A slot more, that is true in every row: an outer join that leaves the row out makes it NULL. Few leaves have it.
    pub there: Option<Box<Slot>>,
}

/// What is left to plan of a query in FROM until the conditions from outside are known: some of them hold of its rows
/// as well before these are grouped, or put together with others.
#[derive(Debug)]
pub struct Open {
    /// The slots that such conditions may read.
    pub pushable: HashSet<Slot>,
    /// Whether only those may be checked in it that tell nothing of a row.
    pub barrier: bool,
    pub part: OpenPart,
}

/// What is not planned yet: it goes to the bottom of the operators that there are.
#[derive(Debug)]
pub enum OpenPart {
    /// The rows of these tables under these conditions.
    Rows(Box<Tree>, Vec<Expr>),
    /// The two sides of a set operation, whose slots conditions read.
    Sides([Option<Box<Open>>; 2]),
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
        Self {
            kind,
            slots,
            outer: Vec::new(),
            partial: Vec::new(),
            computed: Vec::new(),
            open: None,
            secured: Vec::new(),
            there: None,
        }
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
        Self {
            kind,
            slots,
            outer: Vec::new(),
            partial: Vec::new(),
            computed: Vec::new(),
            open: None,
            secured: Vec::new(),
            there: None,
        }
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

/// A query in FROM that filters rows of its tables and computes of them, and does nothing else.
#[derive(Debug)]
pub struct Derived {
    pub tree: Tree,
    /// Conditions on rows of the tree.
    pub conditions: Vec<Expr>,
    /// What is computed of them, in this order, and the slots that it goes to.
    pub exprs: Vec<(Expr, Slot)>,
    /// Slots of its surroundings or neighbours that it reads.
    pub outer: Vec<Slot>,
}

impl Derived {
    /// The slots of its surroundings that its conditions read, and what it computes.
    pub fn reads_around(&self) -> Vec<Slot> {
        let mut own = Vec::new();
        self.tree.slots(&mut own);
        own.extend(self.exprs.iter().map(|(_, slot)| *slot));
        let own: HashSet<Slot> = own.into_iter().collect();
        let mut around = Vec::new();
        let exprs = self.conditions.iter().chain(self.exprs.iter().map(|(expr, _)| expr));
        exprs.for_each(|expr| expr.slots(&mut |slot| around.push(slot)));
        self.tree.outer(&mut around);
        around.retain(|slot| !own.contains(slot));
        around.sort_unstable();
        around.dedup();
        around
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
    Derived(Box<Derived>),
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
                Self::Leaf(Leaf { partial, computed, secured: leaf.secured.clone(), ..copy })
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
            Self::Derived(_) => return None,
        })
    }

    /// Whether there is a query in it.
    pub fn has_derived(&self) -> bool {
        match self {
            Self::Leaf(_) => false,
            Self::Inner(parts, _) => parts.iter().any(Self::has_derived),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.has_derived() || right.has_derived()
            }
            Self::Derived(_) => true,
        }
    }

    /// The table factor that it is, or that it filters and computes of.
    pub fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Derived(derived) => derived.tree.leaf(),
            Self::Inner(parts, on) if parts.len() == 1 && on.is_empty() => parts[0].leaf(),
            _ => None,
        }
    }

    /// Calls `f` with each condition of a join or query in it, and with what is computed.
    pub fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Self::Leaf(_) => {}
            Self::Inner(parts, on) => {
                on.iter().for_each(&mut *f);
                parts.iter().for_each(|part| part.each_expr(f));
            }
            Self::Left(left, right, on) | Self::Full(left, right, on) => {
                on.iter().for_each(&mut *f);
                left.each_expr(f);
                right.each_expr(f);
            }
            Self::Derived(derived) => {
                derived.conditions.iter().for_each(&mut *f);
                derived.exprs.iter().for_each(|(expr, _)| f(expr));
                derived.tree.each_expr(f);
            }
        }
    }

    /// The same, to change them.
    pub fn each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Leaf(_) => {}
            Self::Inner(parts, on) => {
                on.iter_mut().for_each(&mut *f);
                parts.iter_mut().for_each(|part| part.each_expr_mut(f));
            }
            Self::Left(left, right, on) | Self::Full(left, right, on) => {
                on.iter_mut().for_each(&mut *f);
                left.each_expr_mut(f);
                right.each_expr_mut(f);
            }
            Self::Derived(derived) => {
                derived.conditions.iter_mut().for_each(&mut *f);
                derived.exprs.iter_mut().for_each(|(expr, _)| f(expr));
                derived.tree.each_expr_mut(f);
            }
        }
    }

    /// The slots of surroundings and neighbours that its table factors read.
    pub fn outer_of_leaves(&self, out: &mut Vec<Slot>) {
        match self {
            Self::Leaf(leaf) => out.extend(&leaf.outer),
            Self::Inner(parts, _) => parts.iter().for_each(|part| part.outer_of_leaves(out)),
            Self::Left(left, right, _) | Self::Full(left, right, _) => {
                left.outer_of_leaves(out);
                right.outer_of_leaves(out);
            }
            Self::Derived(derived) => derived.tree.outer_of_leaves(out),
        }
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
            Self::Derived(derived) => derived.outer.iter().any(|slot| !own.contains(slot)),
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
            Self::Derived(derived) => {
                let mut slots = Vec::new();
                derived.tree.slots(&mut slots);
                let has = slots.contains(&column) || derived.exprs.iter().any(|(_, slot)| *slot == column);
                if has {
                    derived.exprs.push((Expr::Const(Value::Bool(true)), there));
                }
                has
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
            Self::Derived(derived) => {
                derived.tree.slots(out);
                out.extend(derived.exprs.iter().map(|(_, slot)| *slot));
            }
        }
    }

    /// Slots of surroundings and neighbours that are read in it: by table factors, and by conditions that came in with
    /// queries that read their neighbours.
    pub fn outer(&self, out: &mut Vec<Slot>) {
        let mut read = |on: &[Expr]| {
            let mut own = Vec::new();
            self.slots(&mut own);
            let own: HashSet<Slot> = own.into_iter().collect();
            on.iter()
                .for_each(|expr| expr.slots(&mut |slot| out.extend((!own.contains(&slot)).then_some(slot))));
        };
        match self {
            Self::Leaf(leaf) => out.extend(&leaf.outer),
            Self::Inner(parts, on) => {
                read(on);
                parts.iter().for_each(|part| part.outer(out));
            }
            Self::Left(left, right, on) | Self::Full(left, right, on) => {
                read(on);
                left.outer(out);
                right.outer(out);
            }
            Self::Derived(derived) => out.extend(&derived.outer),
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
            Self::Derived(derived) => derived.tree.nullable(out),
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
            Self::Derived(derived) => derived.tree.scans(out),
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
            Self::Derived(derived) => derived.tree.contains(scan),
        }
    }
}
