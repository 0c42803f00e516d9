//! EXPLAIN: a plan as text.

use super::expr::{Compare, Expr};
use super::{Access, IndexRef, JoinKind, KeyValue, Modify, Node, Plan, Scan};
use scaledb_engine::Order;
use scaledb_types::Value;

/// The lines of a plan.
pub(crate) fn explain(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    node(&plan.root, 0, &mut lines);
    lines
}

fn line(depth: usize, text: String, lines: &mut Vec<String>) {
    let indent = if depth == 0 { String::new() } else { format!("{}->  ", "      ".repeat(depth - 1)) };
    lines.push(format!("{indent}{text}"));
}

fn note(depth: usize, text: String, lines: &mut Vec<String>) {
    lines.push(format!("{}  {text}", "      ".repeat(depth)));
}

fn node(at: &Node, depth: usize, lines: &mut Vec<String>) {
    match at {
        Node::One => line(depth, "Result".to_owned(), lines),
        Node::Scan(scan) => scan_lines(scan, depth, lines),
        Node::Virtual { rows, .. } => line(depth, format!("Catalog Scan on {}", rows.name()), lines),
        Node::Values { rows, .. } => line(depth, format!("Values Scan ({} rows)", rows.len()), lines),
        Node::Function { call, .. } => line(depth, format!("Function Scan on {}", call.name()), lines),
        Node::Filter { input, predicate } => {
            line(depth, "Filter".to_owned(), lines);
            note(depth, format!("Filter: {}", shown(predicate)), lines);
            node(input, depth + 1, lines);
        }
        Node::Loop(join) => {
            line(depth, format!("Nested Loop{}", kind(join.kind)), lines);
            if let Some(on) = &join.on {
                note(depth, format!("Join Filter: {}", shown(on)), lines);
            }
            node(&join.outer, depth + 1, lines);
            node(&join.inner, depth + 1, lines);
        }
        Node::Hash(join) => {
            let full = if join.full { " Full" } else { kind(join.kind) };
            line(depth, format!("Hash{full} Join"), lines);
            let pairs = join.outer_keys.iter().zip(&join.inner_keys);
            let pairs: Vec<String> = pairs.map(|(a, b)| format!("({} = {})", shown(a), shown(b))).collect();
            note(depth, format!("Hash Cond: {}", pairs.join(" AND ")), lines);
            node(&join.outer, depth + 1, lines);
            node(&join.inner, depth + 1, lines);
        }
        Node::Project { input, .. } => node(input, depth, lines),
        Node::Aggregate { input, keys, .. } => {
            let name = if keys.is_empty() { "Aggregate" } else { "HashAggregate" };
            line(depth, name.to_owned(), lines);
            if !keys.is_empty() {
                let keys: Vec<String> = keys.iter().map(|(expr, _)| shown(expr)).collect();
                note(depth, format!("Group Key: {}", keys.join(", ")), lines);
            }
            node(input, depth + 1, lines);
        }
        Node::Sort { input, keys, .. } => {
            line(depth, "Sort".to_owned(), lines);
            let keys: Vec<String> = keys
                .iter()
                .map(|key| format!("{}{}", shown(&key.expr), if key.descending { " DESC" } else { "" }))
                .collect();
            note(depth, format!("Sort Key: {}", keys.join(", ")), lines);
            node(input, depth + 1, lines);
        }
        Node::Distinct { input, .. } => {
            line(depth, "Unique".to_owned(), lines);
            node(input, depth + 1, lines);
        }
        Node::Limit { input, .. } => {
            line(depth, "Limit".to_owned(), lines);
            node(input, depth + 1, lines);
        }
        Node::Lock { input, .. } => {
            line(depth, "LockRows".to_owned(), lines);
            node(input, depth + 1, lines);
        }
        Node::Append { inputs, .. } => {
            line(depth, "Append".to_owned(), lines);
            inputs.iter().for_each(|(input, _)| node(input, depth + 1, lines));
        }
        Node::Set { kind, left, right, .. } => {
            line(depth, format!("HashSetOp {kind:?}"), lines);
            node(&left.0, depth + 1, lines);
            node(&right.0, depth + 1, lines);
        }
        Node::Keep { input, .. } => {
            line(depth, "Materialize".to_owned(), lines);
            node(input, depth + 1, lines);
        }
        Node::With { ctes, input } => {
            node(input, depth, lines);
            for cte in ctes {
                note(depth, format!("CTE {}", cte.name), lines);
                node(&cte.node, depth + 1, lines);
                if let Some(recursive) = &cte.recursive {
                    node(&recursive.node, depth + 1, lines);
                }
            }
        }
        Node::CteScan { .. } => line(depth, "CTE Scan".to_owned(), lines),
        Node::Modify(modify) => {
            let (word, table, source) = match &**modify {
                Modify::Insert(insert) => ("Insert", &insert.table, &insert.source),
                Modify::Update(update) => ("Update", &update.table, &update.source),
                Modify::Delete(delete) => ("Delete", &delete.table, &delete.source),
            };
            line(depth, format!("{word} on {}", table.desc.name), lines);
            node(source, depth + 1, lines);
        }
        Node::Sets { input, .. } => {
            line(depth, "ProjectSet".to_owned(), lines);
            node(input, depth + 1, lines);
        }
        Node::Window { input, .. } => {
            line(depth, "WindowAgg".to_owned(), lines);
            node(input, depth + 1, lines);
        }
    }
}

fn kind(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::Left => " Left",
    }
}

fn scan_lines(scan: &Scan, depth: usize, lines: &mut Vec<String>) {
    let table = &scan.table.desc.name;
    let on = if scan.alias == *table { table.clone() } else { format!("{table} {}", scan.alias) };
    let index = scan.table.index_name(scan.index);
    let columns = scan.table.index(scan.index);
    let name = |at: usize| {
        columns.get(at).map_or("?", |column| scan.table.desc.columns[column.position].name.as_str())
    };
    let mut conditions = Vec::new();
    let mut keys = |key: &[KeyValue]| {
        for (at, value) in key.iter().enumerate() {
            conditions.push(match value {
                KeyValue::One(expr) => format!("({} = {})", name(at), shown(expr)),
                KeyValue::List(list) => {
                    let list: Vec<String> = list.iter().map(shown).collect();
                    format!("({} = ANY ({}))", name(at), list.join(", "))
                }
                KeyValue::Array(expr) => format!("({} = ANY ({}))", name(at), shown(expr)),
            });
        }
    };
    match &scan.access {
        Access::Point { key, .. } => {
            keys(key);
            line(depth, format!("Index Lookup using {index} on {on}"), lines);
        }
        Access::Range { key, low, high, order, .. } => {
            keys(key);
            let at = key.len();
            for (bound, signs) in [(low, (">=", ">")), (high, ("<=", "<"))] {
                if let Some(bound) = bound {
                    let sign = if bound.inclusive { signs.0 } else { signs.1 };
                    conditions.push(format!("({} {sign} {})", name(at), shown(&bound.value)));
                }
            }
            let backward = if *order == Order::Backward { " Backward" } else { "" };
            let whole = conditions.is_empty() && scan.index == IndexRef::Primary && backward.is_empty();
            if whole {
                line(depth, format!("Seq Scan on {on}"), lines);
            } else {
                line(depth, format!("Index Scan{backward} using {index} on {on}"), lines);
            }
        }
    }
    if !conditions.is_empty() {
        note(depth, format!("Index Cond: {}", conditions.join(" AND ")), lines);
    }
    if let Some(filter) = &scan.filter {
        note(depth, format!("Filter: {}", shown(filter)), lines);
    }
}

fn list(parts: &[Expr], sign: &str) -> String {
    let parts: Vec<String> = parts.iter().map(shown).collect();
    format!("({})", parts.join(sign))
}

/// An expression; columns are named by their slots.
fn shown(expr: &Expr) -> String {
    match expr {
        Expr::Const(Value::Null) => "NULL".to_owned(),
        Expr::Const(Value::Text(text)) => format!("'{text}'"),
        Expr::Const(value) => match value.as_i64() {
            Some(number) => number.to_string(),
            None => value.as_bool().map_or_else(|| format!("{value:?}"), |truth| truth.to_string()),
        },
        Expr::Slot(slot) => format!("#{slot}"),
        Expr::Param(number) => format!("${}", number + 1),
        Expr::Compare(op, pair) => format!("({} {} {})", shown(&pair.0), Compare::sign(*op), shown(&pair.1)),
        Expr::Call(call) => call.0.shown(&call.1.iter().map(shown).collect::<Vec<_>>()),
        Expr::Session(call) => format!("{}{}", call.0.name, list(&call.1, ", ")),
        Expr::And(parts) => list(parts, " AND "),
        Expr::Or(parts) => list(parts, " OR "),
        Expr::Not(inner) => format!("(NOT {})", shown(inner)),
        Expr::Test(test, inner) => format!("({} IS {test:?})", shown(inner)),
        Expr::Distinct(negated, pair) => {
            let word = if *negated { "IS NOT DISTINCT FROM" } else { "IS DISTINCT FROM" };
            format!("({} {word} {})", shown(&pair.0), shown(&pair.1))
        }
        Expr::Once(_, pair) => shown(&pair.1),
        Expr::Case(..) => "CASE".to_owned(),
        Expr::Coalesce(parts) => format!("COALESCE{}", list(parts, ", ")),
        Expr::Extreme(true, parts) => format!("GREATEST{}", list(parts, ", ")),
        Expr::Extreme(false, parts) => format!("LEAST{}", list(parts, ", ")),
        Expr::In(value, parts) => format!("({} = ANY {})", shown(value), list(parts, ", ")),
        Expr::Quantified(all, op, pair) => {
            let word = if *all { "ALL" } else { "ANY" };
            format!("({} {} {word} ({}))", shown(&pair.0), Compare::sign(*op), shown(&pair.1))
        }
        Expr::QuantifiedCall(_, parts) => parts.0.shown(&[shown(&parts.1), shown(&parts.2)]),
        Expr::Array(_, parts) => format!("ARRAY{}", list(parts, ", ")),
        Expr::Subquery(_) => "(SubPlan)".to_owned(),
    }
}
