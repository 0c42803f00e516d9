//! Operators that read: tables, catalogs, VALUES, functions and WITH queries.

use super::expressions::{Own, compared};
use super::nodes::{Describer, relation, text};
use super::{Detail, Shown};
use scaledb_engine::Order;
use scaledb_parse::lex::quoted;
use scaledb_planner::plan::expr::{Compare, Expr};
use scaledb_planner::plan::{Access, Computed, IndexRef, KeyValue, Label, Node, Scan, SetCall, Slot};

impl<'p> Describer<'p> {
    pub(super) fn scan(&mut self, node: &'p Node, scan: &'p Scan) -> Shown {
        let own = self.names.scan(scan.number);
        let alias = own.map_or(scan.alias.clone(), |at| self.names.alias(at).to_owned());
        let conditions = self.index_conditions(scan, own);
        let backward = matches!(scan.access, Access::Range { order: Order::Backward, .. });
        let whole = conditions.is_empty() && scan.index == IndexRef::Primary && !backward;
        let desc = &scan.table.desc;
        let names = (&desc.schema[..], &desc.name[..]);
        let mut shown = if whole {
            let mut shown = Shown::new("Seq Scan");
            relation("Seq Scan on", names, &alias, self.verbose, &mut shown);
            shown
        } else {
            let index = scan.table.index_name(scan.index);
            let mut shown = Shown::new("Index Scan");
            let direction = if backward { "Backward" } else { "Forward" };
            shown.about = vec![("Scan Direction", text(direction)), ("Index Name", text(index))];
            let words = if backward { "Index Scan Backward" } else { "Index Scan" };
            let head = format!("{words} using {} on", quoted(index));
            relation(&head, names, &alias, self.verbose, &mut shown);
            shown
        };
        if !conditions.is_empty() {
            shown.details.push(Detail::text("Index Cond", Self::all(conditions)));
        }
        shown.details.extend(self.sites_of_scan(scan));
        self.condition("Filter", scan.filter.as_ref(), own, &mut shown);
        if let Some(filter) = &scan.filter {
            self.removed("Rows Removed by Filter", filter, self.loops(node), &mut shown);
        }
        self.finish(shown.filtering(), &[])
    }

    pub(super) fn index_conditions(&mut self, scan: &'p Scan, own: Own) -> Vec<String> {
        let columns = scan.table.index_columns(scan.index);
        let name = |at: usize| match columns.get(at) {
            Some(column) if scan.table.desc.columns[column.position].hidden => {
                scan.table.key_name(column).into_owned()
            }
            Some(column) => quoted(&scan.table.desc.columns[column.position].name),
            None => String::new(),
        };
        let mut conditions = Vec::new();
        let (key, low, high) = match &scan.access {
            Access::Point { key, .. } => (key, &[][..], &[][..]),
            Access::Range { key, low, high, .. } => (key, &low[..], &high[..]),
        };
        for (at, value) in key.iter().enumerate().skip(scan.table.hidden_columns(scan.index)) {
            let name = self.qualified(own, &name(at));
            conditions.push(match value {
                KeyValue::One(expr) => compared(&name, Compare::Eq, &self.operand(expr, own)),
                KeyValue::List(list) => format!("({name} = ANY ({}))", self.any_list(list, own)),
                KeyValue::Array(expr) => format!("({name} = ANY ({}))", self.expr(expr, own)),
            });
        }
        for (bounds, inclusive, exclusive) in
            [(low, Compare::Ge, Compare::Gt), (high, Compare::Le, Compare::Lt)]
        {
            for bound in bounds {
                let op = if bound.inclusive { inclusive } else { exclusive };
                let names = (key.len()..).take(bound.values.len());
                let names: Vec<String> = names.map(|at| self.qualified(own, &name(at))).collect();
                conditions.push(match &bound.values[..] {
                    [value] => compared(&names.join(""), op, &self.operand(value, own)),
                    values => {
                        let values: Vec<String> = values.iter().map(|value| self.expr(value, own)).collect();
                        let row = |fields: &[String]| format!("ROW({})", fields.join(", "));
                        compared(&row(&names), op, &row(&values))
                    }
                });
            }
        }
        conditions
    }

    /// The name of a column of the relation at hand.
    pub(super) fn qualified(&self, own: Own, name: &str) -> String {
        match own {
            Some(own) if self.verbose => format!("{}.{name}", quoted(self.names.alias(own))),
            _ => name.to_owned(),
        }
    }

    /// The relation that an operator reads itself.
    pub(super) fn own_of(&self, node: &'p Node) -> Own {
        match node {
            Node::Scan(scan) => self.names.scan(scan.number),
            Node::ComputedScan { slots, .. }
            | Node::FunctionScan { slots, .. }
            | Node::CteScan { slots, .. }
            | Node::ValuesScan { slots, .. } => self.names.other(slots),
            Node::Project { input, .. } | Node::With { input, .. } => self.own_of(input),
            _ => None,
        }
    }

    /// A system catalog, as if it were a table.
    pub(super) fn computed_scan(&mut self, rows: Computed, label: &Label, slots: &[Slot]) -> Shown {
        let mut shown = Shown::new("Seq Scan").filtering();
        let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
        let alias = alias.to_owned();
        relation("Seq Scan on", (rows.schema(), rows.name()), &alias, self.verbose, &mut shown);
        shown
    }

    /// VALUES; of one row, a Result.
    pub(super) fn values_scan(&mut self, rows: &'p [Vec<Expr>]) -> Shown {
        rows.iter().flatten().for_each(|expr| self.place(expr));
        let shown = match rows.len() {
            1 => Shown::new("Result"),
            _ => {
                let mut shown = Shown::new("Values Scan").titled("Values Scan on \"*VALUES*\"");
                shown.about.push(("Alias", text("*VALUES*")));
                shown
            }
        };
        self.finish(shown.filtering(), &[])
    }

    /// A function in FROM.
    pub(super) fn function_scan(&mut self, call: &'p SetCall, label: &Label, slots: &[Slot]) -> Shown {
        call.args().iter().for_each(|arg| self.place(arg));
        let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
        let mut shown = Shown::new("Function Scan").filtering();
        shown.title = on("Function Scan on", call.name(), alias);
        shown.about.push(("Function Name", text(call.name())));
        shown.about.push(("Alias", text(alias)));
        self.finish(shown, &[])
    }

    /// A reference to a WITH query.
    pub(super) fn cte_scan(&mut self, number: usize, label: &Label, slots: &[Slot]) -> Shown {
        let name = self.names.cte(number);
        let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
        let kind = if self.growing.contains(&number) { "WorkTable Scan" } else { "CTE Scan" };
        let mut shown = Shown::new(kind).filtering();
        shown.title = on(&format!("{kind} on"), name, alias);
        shown.about.push(("CTE Name", text(name)));
        shown.about.push(("Alias", text(alias)));
        shown
    }
}

/// `Seq Scan on t a`.
fn on(head: &str, name: &str, alias: &str) -> String {
    if name == alias {
        format!("{head} {}", quoted(name))
    } else {
        format!("{head} {} {}", quoted(name), quoted(alias))
    }
}
