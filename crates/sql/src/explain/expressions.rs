//! Expressions as SQL, as PostgreSQL writes them in plans: every operation in parentheses, constants with their types.

use super::names::Meaning;
use super::nodes::Describer;
use scaledb_parse::lex::quoted;
use scaledb_planner::plan::expr::{Ask, Compare, Expr, Test, type_of};
use scaledb_planner::plan::{Aggregate, Slot, SortKey, Window, WindowFn};
use scaledb_types::{Array, Type, Value};
use std::sync::Arc;

/// Expressions within one that are shown at most: what is computed from what is computed would have no end otherwise.
const MAX_PARTS: usize = 20_000;
/// How deep they are shown.
const MAX_DEPTH: usize = 1_000;

/// How far the expression at hand has come.
#[derive(Debug, Default)]
pub(super) struct Extent {
    parts: usize,
    depth: usize,
}

/// The relation whose columns need no table before them; `None` above scans, where that depends on how many there are.
pub(super) type Own = Option<usize>;

impl<'p> Describer<'p> {
    /// An expression.
    pub(super) fn expr(&mut self, expr: &'p Expr, own: Own) -> String {
        self.extent = Extent::default();
        self.part(expr, own)
    }

    /// Several, as one condition.
    pub(super) fn all(mut parts: Vec<String>) -> String {
        if parts.len() == 1 { parts.remove(0) } else { format!("({})", parts.join(" AND ")) }
    }

    /// A key of a sort: what is computed below is in parentheses.
    pub(super) fn sort_key(&mut self, key: &'p SortKey) -> String {
        let text = self.unsorted_key(&key.expr);
        format!("{text}{}", direction(key))
    }

    /// A key without its direction.
    pub(super) fn unsorted_key(&mut self, expr: &'p Expr) -> String {
        let text = self.expr(expr, None);
        if self.is_computed(expr) { format!("({text})") } else { text }
    }

    /// Whether an expression is not the name of something, which has its own parentheses if it needs them.
    fn is_computed(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Slot(slot) => match self.names.meaning(*slot) {
                Some(Meaning::Computed(inner)) => self.is_computed(inner),
                _ => false,
            },
            Expr::Subquery(_) => false,
            _ => true,
        }
    }

    fn part(&mut self, expr: &'p Expr, own: Own) -> String {
        self.extent.parts += 1;
        if self.extent.parts > MAX_PARTS || self.extent.depth > MAX_DEPTH {
            return "...".to_owned();
        }
        self.extent.depth += 1;
        let text = self.text(expr, own);
        self.extent.depth -= 1;
        text
    }

    fn parts(&mut self, exprs: &'p [Expr], own: Own) -> Vec<String> {
        exprs.iter().map(|expr| self.part(expr, own)).collect()
    }

    fn list(&mut self, exprs: &'p [Expr], own: Own, sign: &str) -> String {
        self.parts(exprs, own).join(sign)
    }

    /// A side of a comparison.
    pub(super) fn operand(&mut self, expr: &'p Expr, own: Own) -> String {
        self.extent = Extent::default();
        self.side(expr, own)
    }

    /// A side of an operator: those of PostgreSQL take integers of any width.
    fn side(&mut self, expr: &'p Expr, own: Own) -> String {
        match expr {
            Expr::Call(call) if call.0.is_widening() => self.side(&call.1[0], own),
            Expr::Const(value @ (Value::Int2(_) | Value::Int8(_))) => {
                let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
                self.constant(&number.map_or_else(|| value.clone(), Value::Int4))
            }
            other => self.part(other, own),
        }
    }

    /// A condition on groups, which have their aggregates themselves.
    pub(super) fn having(&mut self, expr: &'p Expr) -> String {
        self.of_groups = true;
        let text = self.expr(expr, None);
        self.of_groups = false;
        text
    }

    fn text(&mut self, expr: &'p Expr, own: Own) -> String {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Slot(slot) => self.slot(*slot, own),
            Expr::Param(number) => format!("${}", number + 1),
            Expr::Compare(op, pair) => {
                format!("({} {} {})", self.side(&pair.0, own), op.sign(), self.side(&pair.1, own))
            }
            Expr::Call(call) => {
                let args: Vec<String> = if call.0.is_operator() {
                    call.1.iter().map(|arg| self.side(arg, own)).collect()
                } else {
                    self.parts(&call.1, own)
                };
                call.0.shown(&args)
            }
            Expr::Session(call) => match call.0.cast {
                Some((_, to)) if !call.0.is_name() => {
                    format!("({})::{}", self.list(&call.1, own, ", "), to.sql_name())
                }
                Some(_) => self.list(&call.1, own, ", "),
                None => format!("{}({})", call.0.name, self.list(&call.1, own, ", ")),
            },
            Expr::Routine(call) => format!("{}({})", call.0.name, self.list(&call.1, own, ", ")),
            Expr::And(parts) => format!("({})", self.list(parts, own, " AND ")),
            Expr::Or(parts) => format!("({})", self.list(parts, own, " OR ")),
            Expr::Not(inner) => format!("(NOT {})", self.part(inner, own)),
            Expr::Test(test, inner) => {
                let words = match test {
                    Test::Null => "NULL",
                    Test::NotNull => "NOT NULL",
                    Test::True => "TRUE",
                    Test::NotTrue => "NOT TRUE",
                    Test::False => "FALSE",
                    Test::NotFalse => "NOT FALSE",
                };
                format!("({} IS {words})", self.part(inner, own))
            }
            Expr::Distinct(negated, pair) => {
                let (left, right) = (self.side(&pair.0, own), self.side(&pair.1, own));
                let distinct = format!("({left} IS DISTINCT FROM {right})");
                if *negated { format!("(NOT {distinct})") } else { distinct }
            }
            // the slot of the value means what it is computed from
            Expr::Once(_, pair) => self.part(&pair.1, own),
            Expr::Domain(domain) => {
                let input = self.side(&domain.input, own);
                match (domain.explicit, &*domain.name) {
                    (false, _) => input,
                    (true, name) if domain.elements => format!("({input})::{name}[]"),
                    (true, name) => format!("({input})::{name}"),
                }
            }
            Expr::Case(branches, other) => {
                let mut text = "CASE".to_owned();
                for (condition, result) in branches {
                    let (condition, result) = (self.part(condition, own), self.part(result, own));
                    text.push_str(&format!(" WHEN {condition} THEN {result}"));
                }
                format!("{text} ELSE {} END", self.part(other, own))
            }
            Expr::Coalesce(parts) => format!("COALESCE({})", self.list(parts, own, ", ")),
            Expr::Extreme(true, parts) => format!("GREATEST({})", self.list(parts, own, ", ")),
            Expr::Extreme(false, parts) => format!("LEAST({})", self.list(parts, own, ", ")),
            Expr::In(value, parts) => {
                format!("({} = ANY ({}))", self.side(value, own), self.any_list(parts, own))
            }
            Expr::Quantified(all, op, pair) => {
                let word = if *all { "ALL" } else { "ANY" };
                let (left, right) = (self.side(&pair.0, own), self.part(&pair.1, own));
                format!("({left} {} {word} ({right}))", op.sign())
            }
            Expr::QuantifiedCall(all, parts) => {
                let word = if *all { "ALL" } else { "ANY" };
                let right = format!("{word} ({})", self.part(&parts.2, own));
                parts.0.shown(&[self.part(&parts.1, own), right])
            }
            Expr::Array(ty, parts) => match ty.to_array() {
                Some(array) if parts.is_empty() => format!("'{{}}'::{}", array.sql_name()),
                _ => self.any_list(parts, own),
            },
            Expr::Subquery(sub) => {
                if let Ask::Any(values, _) | Ask::One(values, _) = &sub.ask {
                    values.iter().for_each(|value| self.place(value));
                }
                self.subplan(sub, true)
            }
        }
    }

    /// The values of `IN (..)` as an array.
    pub(super) fn any_list(&mut self, parts: &'p [Expr], own: Own) -> String {
        let values = parts.iter().map(|part| match part {
            Expr::Const(value) if !value.is_null() => Some(value.clone()),
            _ => None,
        });
        let values: Option<Vec<Value>> = values.collect();
        if let Some(values) = values
            && let Some(ty) = values.first().and_then(shown_type)
            && values.iter().all(|value| shown_type(value) == Some(ty))
        {
            return self.constant(&Value::Array(Arc::new(Array::new(ty, values))));
        }
        format!("ARRAY[{}]", self.list(parts, own, ", "))
    }

    pub(super) fn slot(&mut self, slot: Slot, own: Own) -> String {
        let Some(meaning) = self.names.meaning(slot) else { return "?".to_owned() };
        // what is run there belongs to the operator that computes it
        let foreign = std::mem::replace(&mut self.foreign, true);
        let text = match meaning {
            Meaning::Hidden(text) => scaledb_planner::plan::key_text(text).into_owned(),
            Meaning::Column(relation, name) => self.column(relation, name, own),
            Meaning::Numbered(relation, number) => self.column(relation, &format!("column{number}"), own),
            Meaning::Computed(expr) => self.part(expr, own),
            Meaning::Aggregate(aggregate) if self.of_groups => self.aggregate(aggregate, own),
            Meaning::Aggregate(aggregate) => format!("({})", self.aggregate(aggregate, own)),
            Meaning::Window(window) => format!("({})", self.window(window, own)),
            Meaning::Set(call) => format!("({}({}))", call.name(), self.list(call.args(), own, ", ")),
        };
        self.foreign = foreign;
        text
    }

    fn column(&self, relation: usize, name: &str, own: Own) -> String {
        let with_table = self.verbose || own.map_or(self.names.several(), |own| own != relation);
        if with_table {
            format!("{}.{}", quoted(self.names.alias(relation)), quoted(name))
        } else {
            quoted(name)
        }
    }

    /// An aggregate.
    pub(super) fn aggregate(&mut self, aggregate: &'p Aggregate, own: Own) -> String {
        let mut args = match &aggregate.args[..] {
            [] => "*".to_owned(),
            args => self.list(args, own, ", "),
        };
        if aggregate.distinct {
            args = format!("DISTINCT {args}");
        }
        let mut within = String::new();
        if !aggregate.order.is_empty() {
            let order = aggregate.order.iter();
            let order: Vec<String> =
                order.map(|key| format!("{}{}", self.part(&key.expr, own), direction(key))).collect();
            let order = format!("ORDER BY {}", order.join(", "));
            if aggregate.function.is_ordered_set() {
                args = self.list(&aggregate.direct, own, ", ");
                within = format!(" WITHIN GROUP ({order})");
            } else {
                args = format!("{args} {order}");
            }
        }
        let filter = match &aggregate.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.part(filter, own)),
            None => String::new(),
        };
        format!("{}({args}){within}{filter}", aggregate.function.name())
    }

    fn window(&mut self, window: &'p Window, own: Own) -> String {
        let (name, args) = match &window.function {
            WindowFn::Own(function, args) => (function.name(), args),
            WindowFn::Aggregate(function, args, _) => (function.name(), args),
        };
        let args = match &window.function {
            WindowFn::Aggregate(..) if args.is_empty() => "*".to_owned(),
            _ => self.list(args, own, ", "),
        };
        let filter = match &window.function {
            WindowFn::Aggregate(.., Some(filter)) => format!(" FILTER (WHERE {})", self.part(filter, own)),
            _ => String::new(),
        };
        let call = format!("{name}({args}){filter}");
        format!("{call} OVER (?)")
    }

    /// A value, with its type where it does not show.
    pub(super) fn constant(&self, value: &Value) -> String {
        let Some(ty) = shown_type(value) else { return "NULL".to_owned() };
        let text = value.to_text(ty, self.env).map_or_else(String::new, |text| text.to_string());
        let plain = match value {
            Value::Bool(truth) => return truth.to_string(),
            Value::Int4(number) => *number >= 0,
            Value::Numeric(_) => text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.'),
            _ => false,
        };
        if plain { text } else { format!("'{}'::{}", text.replace('\'', "''"), ty.sql_name()) }
    }
}

fn direction(key: &SortKey) -> &'static str {
    match (key.descending, key.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// The type that a value shows; none for NULL.
fn shown_type(value: &Value) -> Option<Type> {
    (!value.is_null()).then(|| type_of(value))
}

/// `=` and its like between two expressions that are known by other means.
pub(super) fn compared(left: &str, op: Compare, right: &str) -> String {
    format!("({left} {} {right})", op.sign())
}
