//! Calls of window functions, and the windows that they are over.

use super::{Column, Generator};
use crate::tree::{Node, Ty};

fn t(text: &'static str) -> Node {
    Node::text(text)
}

/// The keys of a window.
struct Keys {
    /// PARTITION BY and ORDER BY, each of which may be left out if no other part needs it.
    parts: Vec<Node>,
    /// The type of the only key of the order.
    only: Option<Ty>,
    /// Some order.
    ordered: bool,
    /// All columns are keys: rows that are equal are the same.
    whole: bool,
}

impl Generator {
    /// A call whose value does not depend on the order of equal rows.
    pub(super) fn window(&mut self, ty: Ty, scope: &[Column]) -> Node {
        let mut keys = self.keys(scope);
        let whole = keys.whole;
        let mut framed = true;
        let mut parts = match ty {
            Ty::Int8 if whole && self.one_in(3) => vec![t("row_number()")],
            Ty::Int4 if whole && self.one_in(3) => vec![Node::text(format!("ntile({})", 1 + self.below(4)))],
            Ty::Int8 if self.one_in(2) => {
                let function = self.pick(&["rank()", "dense_rank()", "count(*)"]);
                vec![t(function)]
            }
            Ty::Json | Ty::Ints | Ty::Texts => return self.leaf_of(ty, scope),
            Ty::Float8 if self.one_in(2) => {
                let function = self.pick(&["percent_rank()", "cume_dist()"]);
                vec![t(function)]
            }
            // the row before, behind, and at a place: with all columns in the order it is determined
            _ if whole && self.one_in(2) => {
                let function = self.pick(&["lag(", "lead(", "first_value(", "last_value(", "nth_value("]);
                framed = !matches!(function, "lag(" | "lead(");
                self.neighbour(function, ty, scope)
            }
            _ => {
                let inner = self.aggregate(ty, scope, 0);
                // a window knows neither DISTINCT nor ORDER BY in the call, and stands behind a call only
                let text = inner.sql();
                let is_call = !text.starts_with('(') && text.trim_end().ends_with(')');
                if text.contains("distinct") || text.contains("order by") || !is_call {
                    return self.leaf_of(ty, scope);
                }
                vec![inner]
            }
        };
        let frame = if framed && !self.one_in(3) { self.frame(&mut keys) } else { None };
        let name = self.name("o");
        match self.below(5) {
            0 => {
                let mut window = vec![Node::text(format!("{name} as ("))];
                window.extend(keys.parts.into_iter().chain(frame));
                window.push(t(")"));
                self.windows.push(Node::Seq(window));
                parts.push(Node::text(format!("over {name}")));
            }
            1 => {
                let mut window = vec![Node::text(format!("{name} as ("))];
                window.extend(keys.parts);
                window.push(t(")"));
                self.windows.push(Node::Seq(window));
                parts.push(Node::text(format!("over ({name}")));
                parts.extend(frame);
                parts.push(t(")"));
            }
            _ => {
                parts.push(t("over ("));
                parts.extend(keys.parts.into_iter().chain(frame));
                parts.push(t(")"));
            }
        }
        Node::value(ty, parts)
    }

    fn neighbour(&mut self, function: &'static str, ty: Ty, scope: &[Column]) -> Vec<Node> {
        let value = self.value(ty, scope, 1);
        let mut call = vec![t(function), value];
        match function {
            "lag(" | "lead(" if self.one_in(2) => {
                let distance = self.pick(&["0", "1", "2", "-1"]);
                call.push(Node::text(format!(", {distance}")));
                if self.one_in(2) {
                    call.extend([t(","), self.value(ty, scope, 0)]);
                }
            }
            "nth_value(" => call.push(Node::text(format!(", {}", 1 + self.below(3)))),
            _ => {}
        }
        call.push(t(")"));
        call
    }

    fn keys(&mut self, scope: &[Column]) -> Keys {
        let sortable: Vec<Column> = scope.iter().filter(|c| c.ty != Ty::Json).cloned().collect();
        let mut keys = Keys { parts: Vec::new(), only: None, ordered: false, whole: false };
        if self.one_in(2) && !sortable.is_empty() {
            let by = self.pick(&sortable).name;
            keys.parts.push(Node::maybe(vec![Node::text(format!("partition by {by}"))]));
        }
        if self.one_in(4) || sortable.is_empty() {
            return keys;
        }
        keys.ordered = true;
        if self.one_in(2) {
            let names: Vec<String> = sortable.iter().map(|c| c.name.clone()).collect();
            keys.parts.push(Node::text(format!("order by {}", names.join(", "))));
            keys.whole = sortable.len() == scope.len();
            keys.only = (sortable.len() == 1).then(|| sortable[0].ty);
            return keys;
        }
        let by = self.pick(&sortable);
        let direction = self.pick(&["", "", "desc", "nulls first", "desc nulls last"]);
        keys.parts.push(Node::text(format!("order by {} {direction}", by.name)));
        keys.only = Some(by.ty);
        keys
    }

    /// A frame that holds the same rows whatever the order of equal ones.
    fn frame(&mut self, keys: &mut Keys) -> Option<Node> {
        let (units, distance) = match self.below(3) {
            0 if keys.whole => ("rows", Some(None)),
            1 if keys.ordered => ("groups", Some(None)),
            _ => ("range", keys.only.and_then(Self::distance).map(Some)),
        };
        // what cannot be left out: whether there is an order, or which, decides what the frame may be
        let mut edge = |starts: bool| -> (String, i32) {
            let far = if starts { ("unbounded preceding", -9) } else { ("unbounded following", 9) };
            let Some(of) = distance else {
                let (text, at) = self.pick(&[far, ("current row", 0)]);
                return (text.to_owned(), at);
            };
            let distance = match of {
                None => self.below(3).to_string(),
                Some(distances) => self.pick(distances).to_owned(),
            };
            match self.below(4) {
                0 => (far.0.to_owned(), far.1),
                1 => ("current row".to_owned(), 0),
                2 => (format!("{distance} preceding"), -1),
                _ => (format!("{distance} following"), 1),
            }
        };
        let (mut start, mut end) = (edge(true), edge(false));
        if start.1 > end.1 {
            (start, end) = (("unbounded preceding".to_owned(), -9), ("current row".to_owned(), 0));
        }
        let (start, end) = (start.0, end.0);
        let excluded = self.pick(&["", "", "", "current row", "group", "ties", "no others"]);
        let exclude = if excluded.is_empty() { String::new() } else { format!("exclude {excluded}") };
        Some(Node::maybe(vec![Node::text(format!("{units} between {start} and {end} {exclude}"))]))
    }

    /// Distances between keys of a type.
    fn distance(ty: Ty) -> Option<&'static [&'static str]> {
        Some(match ty {
            Ty::Int2 | Ty::Int4 | Ty::Int8 => &["0", "1", "2", "'3'", "-1"],
            Ty::Numeric => &["0", "0.5", "1", "'2.25'", "'nan'", "'infinity'"],
            Ty::Float8 => &["0", "0.5", "1", "'infinity'"],
            Ty::Date | Ty::Timestamp => &["'1 day'", "interval '1 mon'", "'12 hours'", "'0'", "'-1 day'"],
            Ty::Interval => &["'1 day'", "interval '1 mon'", "'2 hours'", "'0'"],
            Ty::Time => &["'1 hour'", "interval '6 hours'", "'1 day'", "'0'"],
            _ => return None,
        })
    }
}
