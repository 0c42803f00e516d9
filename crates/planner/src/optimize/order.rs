//! In which order tables are joined, and how each: what costs least, as far as statistics tell.
//!
//! Tables are joined one after another to what is there. For each set of tables that has been joined, the cheapest way
//! to it is kept, and each way is continued by each table that is not in it; of many tables, only the cheapest way
//! is continued. The unit of costs is a row that a scan passes.

use crate::plan::expr::{Compare, Expr, Test};
use crate::plan::statistics::ColumnStatistics;

/// A set of tables, as bits; what is not one of them and not there either is [`NEVER`].
pub(super) type Mask = u64;
pub(super) const NEVER: Mask = 1 << 63;
/// Tables that are ordered at all.
pub(super) const MOST: usize = 60;
/// Tables whose orders are all looked at.
const ALL_ORDERS: usize = 10;

/// An index is asked, a row that it finds, a row that goes into a hash table, one that looks into it, a pair that a
/// nested loop tries, a row that comes out.
const SEEK: f64 = 4.0;
const FOUND: f64 = 1.5;
const BUILD: f64 = 3.0;
const PROBE: f64 = 1.2;
const PAIR: f64 = 0.4;
const OUT: f64 = 0.3;

/// How a table is joined to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// By an index of it, or anew for each row.
    Loop,
    /// By a hash table, or by trying all pairs.
    Hash,
}

/// A column of an index: conditions that give it a value, and the tables that they take it from.
pub(super) type Giving = Vec<(usize, Mask)>;

/// An index of a table.
#[derive(Debug)]
pub(super) struct Index {
    pub unique: bool,
    pub columns: Vec<Giving>,
}

impl Index {
    /// What it costs to read what conditions on the table alone find.
    pub(super) fn cost_alone(&self, conditions: &[Condition], raw: f64) -> f64 {
        let mut share = 1.0;
        for (at, column) in self.columns.iter().enumerate() {
            let Some((condition, _)) = column.iter().find(|(_, needs)| *needs == 0) else {
                return if at == 0 { f64::MAX } else { SEEK + raw * share * FOUND };
            };
            share *= conditions[*condition].share;
        }
        SEEK + if self.unique { 1.0 } else { raw * share } * FOUND
    }
}

/// A table, or a tree of joins that stays together.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The part's rows, and how many of them conditions on it alone leave.
    pub raw: f64,
    pub rows: f64,
    /// What it costs to read the part.
    pub cost: f64,
    /// The slots of other parts that it reads: LATERAL.
    pub needs: Mask,
    pub indexes: Vec<Index>,
    /// If it is no table: the parts that indexes in it serve conditions with, and what it costs to read it for one row
    /// of theirs.
    pub within: Option<(Mask, f64)>,
    /// Whether it may come first, and gives the order that is wished for.
    pub first: bool,
    pub ordered: bool,
}

/// A condition on several parts.
#[derive(Debug)]
pub(super) struct Condition {
    pub needs: Mask,
    /// The share of rows that it leaves.
    pub share: f64,
    /// What the sides of an equality need.
    pub sides: Option<(Mask, Mask)>,
}

/// A way to join some of the parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub steps: Vec<(usize, Method)>,
    pub rows: f64,
    pub cost: f64,
}

/// What order is worth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    pub wished: bool,
    /// Only the first rows are wanted.
    pub few: bool,
}

/// The best way to join all parts.
pub(super) fn best(parts: &[Part], conditions: &[Condition], order: Order) -> Option<Way> {
    if parts.len() > MOST {
        return None;
    }
    let mut best: Option<Way> = None;
    for ordered in [false, true] {
        let first = |part: &Part| part.first && part.needs == 0 && (!ordered || part.ordered);
        if ordered && !(order.wished && parts.iter().any(first)) {
            continue;
        }
        let Some(mut way) = search(parts, conditions, &first) else { continue };
        if order.wished && !ordered {
            // each is kept and compared with some others
            way.cost += way.rows * (BUILD + way.rows.max(2.0).log2() * 0.2);
        } else if ordered && order.few {
            way.cost *= 0.05;
        }
        if best.as_ref().is_none_or(|best| way.cost < best.cost) {
            best = Some(way);
        }
    }
    best
}

fn search(parts: &[Part], conditions: &[Condition], first: &dyn Fn(&Part) -> bool) -> Option<Way> {
    let all: Mask = (1 << parts.len()) - 1;
    let mut ways: Vec<(Mask, Way)> = Vec::new();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| first(part)) {
        let way = Way { steps: vec![(number, Method::Hash)], rows: part.rows, cost: part.cost };
        ways.push((1 << number, way));
    }
    for _ in 1..parts.len() {
        if parts.len() > ALL_ORDERS {
            // a start is as good as what can follow it
            let last = ways.first().is_some_and(|(mask, _)| mask.count_ones() > 1);
            let ahead = |(mask, way): &(Mask, Way)| {
                let next = next_ways(parts, conditions, *mask, way);
                next.into_iter().map(|(_, way)| way.cost).fold(f64::MAX, f64::min)
            };
            let value = |entry: &(Mask, Way)| if last { entry.1.cost } else { ahead(entry) };
            let cheapest = ways.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?.clone();
            ways = vec![cheapest];
        }
        let mut longer: std::collections::BTreeMap<Mask, Way> = std::collections::BTreeMap::new();
        for (mask, way) in &ways {
            for (mask, way) in next_ways(parts, conditions, *mask, way) {
                if longer.get(&mask).is_none_or(|known| way.cost < known.cost) {
                    longer.insert(mask, way);
                }
            }
        }
        ways = longer.into_iter().collect();
    }
    ways.into_iter().filter(|(mask, _)| *mask == all).map(|(_, way)| way).next()
}

/// The way continued by each part that can follow.
fn next_ways(parts: &[Part], conditions: &[Condition], mask: Mask, way: &Way) -> Vec<(Mask, Way)> {
    let mut ways = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let bit = 1 << number;
        if mask & bit != 0 || part.needs & !mask != 0 {
            continue;
        }
        let (cost, method) = step(part, bit, conditions, mask, way.rows);
        let rows = way.rows * joined(parts, number, conditions, mask);
        let mut steps = way.steps.clone();
        steps.push((number, method));
        ways.push((mask | bit, Way { steps, rows, cost: way.cost + cost + rows * OUT }));
    }
    ways
}

/// What it costs to join a part to so many rows, and how.
pub(super) fn step(part: &Part, bit: Mask, conditions: &[Condition], mask: Mask, rows: f64) -> (f64, Method) {
    if part.needs != 0 {
        return (rows * (SEEK + part.cost), Method::Loop);
    }
    let is_key = |condition: &Condition| match condition.sides {
        Some((a, b)) => {
            let pair = |a: Mask, b: Mask| a & !mask == 0 && b == bit;
            pair(a, b) || pair(b, a)
        }
        None => false,
    };
    let keyed = conditions.iter().any(is_key);
    let hashed = if keyed {
        part.cost + part.rows * BUILD + rows * PROBE
    } else {
        part.cost + part.rows * BUILD + rows * part.rows * PAIR
    };
    let looped = part.indexes.iter().filter_map(|index| found(index, conditions, mask, part.raw));
    let looped = looped.map(|(found, _)| rows * (SEEK + found * FOUND));
    let within = part.within.iter().filter(|(needs, _)| needs & !mask == 0);
    // more rows than were thought must not cost much more than the hash table does
    let within = within.map(|(_, cost)| rows.max(1.0) * 2.0 * (SEEK + cost));
    let looped = looped.chain(within).fold(f64::MAX, f64::min);
    if looped < hashed { (looped, Method::Loop) } else { (hashed, Method::Hash) }
}

/// How many rows an index finds, and by which conditions; `None` if none gives its first column a value.
fn found(index: &Index, conditions: &[Condition], mask: Mask, raw: f64) -> Option<(f64, Vec<usize>)> {
    let mut used = Vec::new();
    let mut share = 1.0;
    for column in &index.columns {
        let Some((condition, _)) = column.iter().find(|(_, needs)| needs & !mask == 0) else { break };
        share *= conditions[*condition].share;
        used.push(*condition);
    }
    // conditions on the table alone would find as many without what is there
    if !used.iter().any(|&condition| conditions[condition].needs & mask != 0) {
        return None;
    }
    let whole = index.unique && used.len() == index.columns.len();
    Some((if whole { 1.0 } else { raw * share }, used))
}

/// How many rows of a part each row that is there meets.
pub(super) fn joined(parts: &[Part], number: usize, conditions: &[Condition], mask: Mask) -> f64 {
    let (part, bit) = (&parts[number], 1 << number);
    let with = mask | bit;
    let is_new = |condition: &Condition| {
        condition.needs & !with == 0 && condition.needs & bit != 0 && condition.needs & mask != 0
    };
    // the columns of a whole key say together what they do not say one by one
    let mut rows = part.rows;
    let mut by_key: Vec<usize> = Vec::new();
    let mut keyed = |of: &Part, of_bit: Mask, with: Mask, share: f64| {
        for index in of.indexes.iter().filter(|index| index.unique) {
            if !by_key.is_empty() {
                return;
            }
            let giving = index.columns.iter().map(|column| {
                column.iter().find(|(condition, needs)| {
                    needs & !with == 0 && is_new(&conditions[*condition]) && needs & of_bit == 0
                })
            });
            let giving: Option<Vec<usize>> = giving.map(|found| found.map(|(c, _)| *c)).collect();
            if let Some(used) = giving {
                rows = rows.min(share);
                by_key = used;
            }
        }
    };
    keyed(part, bit, mask, part.rows / part.raw.max(1.0));
    for (other, of) in parts.iter().enumerate().filter(|(other, _)| mask & (1 << other) != 0) {
        keyed(of, 1 << other, bit, part.rows / of.raw.max(1.0));
    }
    for (at, condition) in conditions.iter().enumerate() {
        if is_new(condition) && !by_key.contains(&at) {
            rows *= condition.share;
        }
    }
    rows
}

/// What is known of the column that an expression is.
pub(super) type Known<'k> = &'k dyn Fn(&Expr) -> Option<&'k ColumnStatistics>;

/// The share of rows that a condition leaves.
pub(super) fn share(expr: &Expr, column: Known<'_>) -> f64 {
    let distinct = |expr: &Expr| column(expr).map(|known| known.distinct.max(1.0));
    if let Some((op, left, right)) = comparison(expr) {
        let equal = match (distinct(left), distinct(right)) {
            (Some(a), Some(b)) => 1.0 / a.max(b),
            (Some(a), None) | (None, Some(a)) => 1.0 / a,
            (None, None) => 0.05,
        };
        let share = match op {
            Compare::Eq => equal,
            Compare::Ne => 1.0 - equal,
            _ => ranged(expr, column).map_or(1.0 / 3.0, |range| range.to - range.from),
        };
        return share.clamp(1e-9, 1.0);
    }
    let share: f64 = match expr {
        Expr::Const(value) => f64::from(u8::from(value.is_true())),
        Expr::And(parts) => share_of_all(parts, column),
        Expr::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - share(part, column)).product::<f64>(),
        Expr::Not(inner) => 1.0 - share(inner, column),
        Expr::In(value, list) => list.len() as f64 / distinct(value).unwrap_or(20.0),
        Expr::Test(test, inner) => {
            let nulls = column(inner).map_or(0.05, |known| known.nulls);
            match test {
                Test::Null => nulls.max(0.000_1),
                Test::NotNull => 1.0 - nulls,
                Test::True | Test::False => 0.5,
                Test::NotTrue | Test::NotFalse => 0.5,
            }
        }
        Expr::Call(_) => 0.1,
        Expr::Quantified(..) => 0.2,
        Expr::Subquery(_) => 0.3,
        _ => 0.5,
    };
    share.clamp(1e-9, 1.0)
}

/// The share of rows that conditions leave together. Of those that bound a column at both ends, the shares are no
/// product: the rows lie between.
pub(super) fn share_of_all<'e>(conditions: impl IntoIterator<Item = &'e Expr>, column: Known<'_>) -> f64 {
    let mut rest = 1.0;
    let mut ranges: Vec<Between<'_>> = Vec::new();
    for condition in conditions {
        let Some(range) = ranged(condition, column) else {
            rest *= share(condition, column);
            continue;
        };
        match ranges.iter_mut().find(|other| std::ptr::eq(other.known, range.known)) {
            Some(other) => {
                (other.from, other.to) = (other.from.max(range.from), other.to.min(range.to));
            }
            None => ranges.push(range),
        }
    }
    let least = |range: &Between<'_>| 1.0 / range.known.distinct.max(2.0);
    let ranges = ranges.iter().map(|range| (range.to - range.from).max(least(range)));
    ranges.fold(rest, |all, range| all * range).clamp(1e-9, 1.0)
}

/// The comparison that an expression is, perhaps of different types.
fn comparison(expr: &Expr) -> Option<(Compare, &Expr, &Expr)> {
    match expr {
        Expr::Compare(op, pair) => Some((*op, &pair.0, &pair.1)),
        Expr::Call(call) => {
            let (op, [left, right]) = (Compare::named(call.0.signature()?.0)?, &call.1[..]) else {
                return None;
            };
            Some((op, left, right))
        }
        _ => None,
    }
}

/// The rows whose column is between two ends, as shares of the rows below these.
struct Between<'k> {
    known: &'k ColumnStatistics,
    from: f64,
    to: f64,
}

/// The rows whose column is on one side of a constant.
fn ranged<'k>(expr: &Expr, column: Known<'k>) -> Option<Between<'k>> {
    let (known, value, op) = match comparison(expr)? {
        (op, left, Expr::Const(value)) => (column(left)?, value, op),
        (op, Expr::Const(value), right) => (column(right)?, value, op.flip()),
        _ => return None,
    };
    let below = known.below(value)?;
    match op {
        Compare::Lt | Compare::Le => Some(Between { known, from: 0.0, to: below }),
        Compare::Gt | Compare::Ge => Some(Between { known, from: below, to: 1.0 }),
        Compare::Eq | Compare::Ne => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_types::Value;

    fn part(raw: f64, rows: f64) -> Part {
        Part { raw, rows, cost: raw, first: true, ..Part::default() }
    }

    fn equality(a: Mask, b: Mask, share: f64) -> Condition {
        Condition { needs: a | b, share, sides: Some((a, b)) }
    }

    fn steps(parts: &[Part], conditions: &[Condition]) -> Vec<(usize, Method)> {
        best(parts, conditions, Order::default()).unwrap().steps
    }

    #[test]
    fn the_smaller_side_goes_into_the_hash_table() {
        let conditions = [equality(1, 2, 0.001)];
        assert_eq!(steps(&[part(1e5, 1e5), part(1e3, 1e3)], &conditions)[1], (1, Method::Hash));
        assert_eq!(steps(&[part(1e3, 1e3), part(1e5, 1e5)], &conditions)[1], (0, Method::Hash));
    }

    #[test]
    fn an_index_is_asked_for_few_rows_and_not_for_many() {
        let keyed = |rows: f64| {
            let index = Index { unique: true, columns: vec![vec![(0, 1)]] };
            [part(rows, rows), Part { indexes: vec![index], ..part(1e5, 1e5) }]
        };
        let conditions = [equality(1, 2, 1e-5)];
        assert_eq!(steps(&keyed(10.0), &conditions), [(0, Method::Hash), (1, Method::Loop)]);
        assert!(steps(&keyed(1e6), &conditions).contains(&(1, Method::Hash)));
    }

    #[test]
    fn tables_without_a_condition_between_them_are_not_joined_first() {
        // 0 - 1 - 2
        let parts = [part(1e3, 1e3), part(1e5, 1e5), part(1e3, 1e3)];
        let conditions = [equality(1, 2, 1e-3), equality(2, 4, 1e-3)];
        let order: Vec<usize> = steps(&parts, &conditions).iter().map(|(part, _)| *part).collect();
        assert_ne!(order[..2], [0, 2]);
        assert_ne!(order[..2], [2, 0]);
    }

    #[test]
    fn two_ends_of_a_range_are_no_accident() {
        let known = ColumnStatistics {
            distinct: 1_000.0,
            ends: Some((Value::Int4(0), Value::Int4(1_000))),
            ..ColumnStatistics::default()
        };
        let other = ColumnStatistics { distinct: 10.0, ..known.clone() };
        let column = |expr: &Expr| match expr {
            Expr::Slot(0) => Some(&known),
            Expr::Slot(1) => Some(&other),
            _ => None,
        };
        let compared = |slot, op, value| {
            Expr::Compare(op, Box::new((Expr::Slot(slot), Expr::Const(Value::Int4(value)))))
        };
        let of = |conditions: &[Expr]| share_of_all(conditions, &column);
        let near = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-6, "{share}");
        let (low, high) = (compared(0, Compare::Ge, 500), compared(0, Compare::Lt, 600));
        near(of(&[low.clone(), high.clone()]), 0.1);
        near(share(&Expr::And(vec![high.clone(), low.clone()]), &column), 0.1);
        near(of(&[low.clone(), compared(1, Compare::Lt, 600), high.clone()]), 0.06);
        near(of(&[low, high, compared(0, Compare::Eq, 550)]), 0.1 / 1_000.0);
        // of ends that exclude each other, or are one, a value is left
        near(of(&[compared(0, Compare::Gt, 700), compared(0, Compare::Lt, 600)]), 1.0 / 1_000.0);
        near(of(&[compared(1, Compare::Ge, 600), compared(1, Compare::Le, 600)]), 0.1);
        near(of(&[]), 1.0);
    }

    #[test]
    fn what_is_lateral_comes_behind_what_it_reads() {
        let parts = [Part { needs: 2, ..part(10.0, 10.0) }, part(1e4, 1e4)];
        assert_eq!(steps(&parts, &[]), [(1, Method::Hash), (0, Method::Loop)]);
    }

    #[test]
    fn many_tables_are_ordered_too() {
        let parts: Vec<Part> = (0..40).map(|n| part(100.0 + f64::from(n), 100.0)).collect();
        let conditions: Vec<Condition> = (1..40).map(|n| equality(1 << (n - 1), 1 << n, 0.01)).collect();
        let order = steps(&parts, &conditions);
        assert_eq!(order.len(), 40);
        // each is next to one that is there
        let mut mask: Mask = 1 << order[0].0;
        for (number, _) in &order[1..] {
            assert!(mask & (1 << (number + 1) | (1 << number) >> 1) != 0, "{order:?}");
            mask |= 1 << number;
        }
    }

    #[test]
    fn the_columns_of_a_key_count_once() {
        // a pair of columns that has 1e5 values, each column 1e3
        let index = Index { unique: true, columns: vec![vec![(0, 1)], vec![(1, 1)]] };
        let parts = [part(1e6, 1e6), Part { indexes: vec![index], ..part(1e5, 1e5) }];
        let conditions = [equality(1, 2, 1e-3), equality(1, 2, 1e-3)];
        assert!((joined(&parts, 1, &conditions, 1) - 1.0).abs() < 1e-9);
        assert!((joined(&parts, 0, &conditions, 2) - 10.0).abs() < 1e-9);
    }
}
