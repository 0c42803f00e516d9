//! Which look-ups follow on the rows of a scan: the scan then asks for their memory a few rows ahead.
//!
//! ```text
//!   Nested Loop                 what is found with the values of a row of a
//!     Nested Loop
//!       Scan a        ◄──── b where b.x = a.x     many rows of a: the look-ups in b wait for memory one after
//!       Scan b        ◄──── c where c.y = b.y     the other, unless they are known before
//!     Scan c
//! ```

use crate::plan::expr::Expr;
use crate::plan::{Access, KeyValue, Node, Scan, Slot, Upcoming};
use scaledb_row::Projection;

/// Tables of fewer rows stay in caches anyway. Tests have small tables.
const LARGE: f64 = if cfg!(debug_assertions) { 1.0 } else { 100_000.0 };

/// Notes at the scan whose rows give it its keys that the scan `inner` of a table of `rows` rows follows.
pub(super) fn foresee(outer: &mut Node, inner: &Node, rows: f64) {
    let Node::Scan(scan) = inner else { return };
    if rows < LARGE || scan.locked.is_some() {
        return;
    }
    let (key, whole) = match &scan.access {
        Access::Point { key, .. } => (key, true),
        Access::Range { key, .. } => (key, false),
    };
    let one = |value: &KeyValue| match value {
        KeyValue::One(expr) if is_plain(expr) => Some(expr.clone()),
        _ => None,
    };
    let Some(key) = key.iter().map(one).collect::<Option<Vec<Expr>>>() else { return };
    let mut slots = Vec::new();
    key.iter().for_each(|expr| expr.slots(&mut |slot| slots.push(slot)));
    if slots.is_empty() {
        return;
    }
    if let Some(from) = source(outer, &slots) {
        let (table, index) = (scan.table.clone(), scan.index);
        let projection = Projection::all(&table.info.schema);
        from.upcoming.push(Upcoming { table, index, key, whole, projection });
    }
}

/// Whether an expression may be computed once more, and before its turn.
fn is_plain(expr: &Expr) -> bool {
    let mut plain = matches!(expr, Expr::Slot(_) | Expr::Const(_) | Expr::Param(_) | Expr::Call(_));
    expr.children(&mut |part| plain &= is_plain(part));
    plain && !expr.is_volatile()
}

/// The scan whose rows have these slots, if its rows go by one after the other.
fn source<'n>(node: &'n mut Node, slots: &[Slot]) -> Option<&'n mut Scan> {
    match node {
        Node::Scan(scan) => {
            let has = |slot: &Slot| scan.loads.slots().any(|of| of == *slot);
            if slots.iter().all(has) { Some(scan) } else { None }
        }
        Node::NestedLoop(join) => {
            let outer = source(&mut join.outer, slots);
            if outer.is_some() { outer } else { source(&mut join.inner, slots) }
        }
        Node::HashJoin(join) => source(&mut join.outer, slots),
        Node::Filter { input, .. } | Node::Project { input, .. } => source(input, slots),
        _ => None,
    }
}
