//! `FOR UPDATE` and its like: which tables' rows are locked, and how.

use super::Binder;
use super::names::fold;
use crate::plan::joins::{Leaf, Tree};
use crate::plan::place::Loads;
use crate::plan::{BoundTable, Locked, Node, Policy, RowLock, Slot};
use scaledb_locks::Mode;
use scaledb_parse::locking::{self, Strength};
use scaledb_row::Projection;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{LockClause, NonBlock};
use std::sync::Arc;

/// A clause that locks rows.
#[derive(Clone, Debug)]
pub struct Clause {
    strength: Strength,
    policy: Policy,
    /// The tables; all of the query if there are none.
    of: Option<Vec<String>>,
}

/// A table whose rows are locked.
#[derive(Clone, Debug)]
struct Target {
    table: Arc<BoundTable>,
    scan: usize,
    name: Slot,
    slots: Vec<Slot>,
    strength: Strength,
    policy: Policy,
}

/// The clauses of a query, and the tables that they have found.
#[derive(Debug, Default)]
pub struct Locking {
    clauses: Vec<Clause>,
    targets: Vec<Target>,
}

/// What a query has that its rows cannot be locked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub distinct: bool,
    pub groups: bool,
    pub having: bool,
    pub aggregates: bool,
    pub windows: bool,
    pub sets: bool,
}

/// The clauses of a query, as they are written.
///
/// # Errors
/// 42601.
pub(super) fn clauses(locks: &[LockClause]) -> Result<Vec<Clause>> {
    let clause = |clause| {
        let (strength, of, nonblock) = locking::clause(clause)?;
        let policy = match nonblock {
            None => Policy::Wait,
            Some(NonBlock::SkipLocked) => Policy::Skip,
            Some(NonBlock::Nowait) => Policy::NoWait,
        };
        let of: Vec<String> = of.into_iter().map(fold).collect();
        Ok(Clause { strength, policy, of: (!of.is_empty()).then_some(of) })
    };
    locks.iter().map(clause).collect()
}

/// Refuses clauses where there are no rows to lock.
///
/// # Errors
/// 0A000.
pub(super) fn refuse(clauses: &[Clause], with: &str) -> Result<()> {
    match clauses.first() {
        Some(clause) => {
            let what = format!("{} is not allowed with {with}", clause.strength.words());
            Err(SqlError::unsupported(what))
        }
        None => Ok(()),
    }
}

impl Locking {
    pub(super) fn new(clauses: Vec<Clause>) -> Self {
        Self { clauses, targets: Vec::new() }
    }

    /// What the clauses say together about a table: the strongest counts.
    fn of(&self, alias: &str) -> Option<(Strength, Policy)> {
        let names =
            |clause: &&Clause| clause.of.as_ref().is_none_or(|of| of.iter().any(|name| name == alias));
        let own = self.clauses.iter().filter(names);
        own.map(|clause| (clause.strength, clause.policy)).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Whether the clauses lock rows of a table.
    pub(super) fn locks(&self, alias: &str) -> bool {
        self.of(alias).is_some()
    }

    /// Whether no rows are locked.
    pub(super) fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The clauses for a query that stands in FROM under this name.
    pub(super) fn within(&self, alias: &str) -> Vec<Clause> {
        self.of(alias).map(|(strength, policy)| Clause { strength, policy, of: None }).into_iter().collect()
    }

    /// Refuses queries whose rows are not those of tables.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn check_shape(&self, shape: Shape) -> Result<()> {
        let with = [
            (shape.distinct, "DISTINCT clause"),
            (shape.groups, "GROUP BY clause"),
            (shape.having, "HAVING clause"),
            (shape.aggregates, "aggregate functions"),
            (shape.windows, "window functions"),
            (shape.sets, "set-returning functions in the target list"),
        ];
        with.iter().filter(|(has, _)| *has).try_for_each(|(_, what)| refuse(&self.clauses, what))
    }

    /// The tables of a query in FROM, which are locked where its rows come out of the query around it.
    pub(super) fn take_over(&mut self, inner: Self) {
        self.targets.extend(inner.targets);
    }

    /// How many tables there are.
    pub(super) fn count(&self) -> usize {
        self.targets.len()
    }

    /// The slots that the rows of the tables behind the first ones need further up.
    pub(super) fn carry_from(&self, first: usize, out: &mut Vec<Slot>) {
        for target in &self.targets[first..] {
            out.push(target.name);
            out.extend(&target.slots);
        }
    }

    /// What a sort must keep, so that rows can be locked behind it.
    pub(super) fn carry(&self, out: &mut Vec<Slot>) {
        for target in &self.targets {
            out.push(target.name);
            if target.policy == Policy::Skip {
                out.extend(&target.slots);
            }
        }
    }
}

impl Binder<'_> {
    /// The rows of a table in FROM are locked, if a clause says so.
    pub(super) fn lock_leaf(&mut self, leaf: &mut Leaf, alias: &str) {
        let Some((strength, policy)) = self.locking.of(alias) else { return };
        let Some(table) = leaf.scanned().cloned() else { return };
        let name = self.slot();
        self.used[name] = true;
        let slots = leaf.slots.clone();
        leaf.lock(Locked { name, loose: policy == Policy::Skip });
        self.locks = Some(self.locks.map_or(strength, |known| known.max(strength)));
        self.locking.targets.push(Target { table, scan: leaf.number(), name, slots, strength, policy });
    }

    /// Looks whether the clauses of a query name its tables.
    ///
    /// # Errors
    /// 42P01, 0A000.
    pub(super) fn check_locking(&mut self, tree: &Tree) -> Result<()> {
        let mut nullable = Vec::new();
        tree.nullable(&mut nullable);
        for target in &self.locking.targets {
            if nullable.contains(&target.scan) {
                return Err(SqlError::unsupported(format!(
                    "{} cannot be applied to the nullable side of an outer join",
                    target.strength.words()
                )));
            }
        }
        let clauses = &self.locking.clauses;
        let named =
            clauses.iter().flat_map(|clause| clause.of.iter().flatten().map(move |name| (clause, name)));
        let Some(scope) = self.scopes.last() else { return Ok(()) };
        for (clause, name) in named {
            if scope.tables.iter().any(|table| table.name == *name) {
                continue;
            }
            let words = clause.strength.words();
            let what = format!("relation \"{name}\" in {words} clause not found in FROM clause");
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
        }
        Ok(())
    }

    /// Locks the rows that come out of a node.
    pub(super) fn lock_node(&self, locking: Locking, input: Node) -> Node {
        if locking.targets.is_empty() {
            return input;
        }
        let lock = |target: Target| {
            // only where the row is compared with what the scan has found
            let compared = if target.policy == Policy::Skip { &target.slots[..] } else { &[] };
            RowLock {
                name: target.name,
                loads: Loads::new(&target.table, compared),
                projection: Projection::existence(),
                mode: mode(target.strength),
                policy: target.policy,
                table: target.table,
            }
        };
        Node::LockRows { input: Box::new(input), locks: locking.targets.into_iter().map(lock).collect() }
    }
}

/// The mode of a row's lock.
fn mode(strength: Strength) -> Mode {
    match strength {
        Strength::KeyShare => Mode::AccessShare,
        Strength::Share => Mode::RowShare,
        Strength::NoKeyUpdate => Mode::Exclusive,
        Strength::Update => Mode::AccessExclusive,
    }
}
