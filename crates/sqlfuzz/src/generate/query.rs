//! Queries: what stands in FROM, subqueries that are correlated or lateral, groups, windows, set operations, WITH.

use super::{Column, Generator};
use crate::tree::{Class, Node, Ty};

const INTEGERS: [Ty; 2] = [Ty::Int4, Ty::Int8];

fn t(text: &'static str) -> Node {
    Node::text(text)
}

/// `1, 2, 3`: an order by all columns.
fn positions(count: usize) -> String {
    (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

fn query(types: &[Ty], parts: Vec<Node>) -> Node {
    Node::Of(Class::Query(types.to_vec()), Box::new(Node::Seq(parts)))
}

/// The name of a column that one source on each side has, with the same type.
fn shared(left: &[Column], right: &[Column]) -> Option<String> {
    let short = |column: &Column| column.name.split('.').nth(1).map(str::to_owned);
    let once = |all: &[Column], name: &str| {
        let mut found = all.iter().filter(|column| short(column).as_deref() == Some(name));
        found.next().map(|column| column.ty).filter(|_| found.next().is_none())
    };
    let mut names = left.iter().filter(|column| column.ty != Ty::Json).filter_map(short);
    names.find(|name| once(left, name).is_some() && once(left, name) == once(right, name))
}

impl Generator {
    /// A whole statement, and whether its rows have an order.
    pub(super) fn top_query(&mut self) -> (Node, bool) {
        self.outer.clear();
        self.common.clear();
        let types: Vec<Ty> = (0..1 + self.below(4)).map(|_| self.ty()).collect();
        let mut parts = Vec::new();
        if self.one_in(6) {
            parts.push(self.with());
        }
        // nobody reads the columns by their names
        self.unnamed = self.one_in(3);
        let unnamed = self.unnamed;
        let (select, columns) = self.query(&types, 3);
        let sorts = !types.contains(&Ty::Json) || self.one_in(2);
        let ordered = sorts && self.one_in(3);
        if ordered {
            // in parentheses it would be a second order of the same query
            let alias = self.name("x");
            parts.extend([t("select * from ("), select, Node::text(format!(") {alias}"))]);
            parts.push(t("order by"));
            if self.one_in(3) {
                let scope: Vec<Column> = columns
                    .iter()
                    .map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty })
                    .collect();
                let by = self.ty_in_sight(&scope);
                if by != Ty::Json && !unnamed {
                    let direction = self.pick(&[",", "desc,", "nulls first,", "desc nulls last,"]);
                    // a constant would be the number of a column, which a parameter is not
                    let key = Node::Fixed(Box::new(self.value(by, &scope, 2)));
                    parts.push(Node::maybe(vec![t("("), key, t(")"), t(direction)]));
                }
            }
            parts.push(Node::text(positions(columns.len())));
            let limit = self.below(6);
            if self.one_in(2) {
                let mut tail = vec![Node::text(format!("limit {limit}"))];
                if self.one_in(4) {
                    tail = vec![t("limit abs("), self.value(Ty::Int4, &[], 2), t(")")];
                } else if self.one_in(4) {
                    tail = vec![Node::text(format!("fetch first {limit} rows only"))];
                }
                parts.push(Node::maybe(tail));
            }
            if self.one_in(3) {
                parts.push(Node::maybe(vec![t("offset 1")]));
            }
        } else {
            parts.push(select);
        }
        self.common.clear();
        (Node::Seq(parts), ordered)
    }

    /// A view over what there is.
    pub(super) fn view(&mut self, number: usize) -> Node {
        let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
        let (select, columns) = self.query(&types, 2);
        let name = format!("v{number}");
        let names: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
        let list = names.join(", ");
        let columns = names.into_iter().zip(types).map(|(name, ty)| Column { name, ty }).collect();
        self.views.push((name.clone(), columns));
        Node::Fixed(Box::new(Node::Seq(vec![Node::text(format!("create view {name} ({list}) as")), select])))
    }

    /// WITH, whose names are in `common` from here on.
    fn with(&mut self) -> Node {
        let mut items = Vec::new();
        let mut recursive = "";
        for _ in 0..1 + self.below(2) {
            let name = self.name("w");
            let columns = if self.one_in(3) {
                recursive = "recursive";
                let (node, columns) = self.recursion(&name);
                items.push(node);
                columns
            } else {
                let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
                let (select, columns) = self.query(&types, 2);
                let kept = self.pick(&["as (", "as (", "as materialized (", "as not materialized ("]);
                items.push(Node::Seq(vec![Node::text(name.clone()), Node::text(kept), select, t(")")]));
                columns
            };
            self.common.push((name, columns));
        }
        Node::Seq(vec![Node::text(format!("with {recursive}")), Node::list(1, items)])
    }

    /// A recursive query that ends: it counts.
    fn recursion(&mut self, name: &str) -> (Node, Vec<Column>) {
        let ty = self.pick(&[Ty::Int4, Ty::Text, Ty::Int8]);
        let columns = vec![Column { name: "n".into(), ty: Ty::Int4 }, Column { name: "v".into(), ty }];
        let scope: Vec<Column> =
            columns.iter().map(|c| Column { name: format!("{name}.{}", c.name), ty: c.ty }).collect();
        let all = self.pick(&["union all", "union"]);
        let limit = 2 + self.below(3);
        let mut parts = vec![
            Node::text(format!("{name}(n, v) as (select 0,")),
            self.literal(ty),
            Node::text(format!("{all} select {name}.n + 1,")),
        ];
        // the recursive reference must not be in a subquery
        let kept = std::mem::take(&mut self.tables);
        let value = self.value(ty, &scope, 1);
        self.tables = kept;
        parts.extend([value, Node::text(format!("from {name}"))]);
        if self.one_in(2) {
            let (source, inner) = self.table_source();
            let mut both = scope.clone();
            both.extend(inner);
            let join = self.pick(&["join", "left join"]);
            parts.push(Node::maybe(vec![t(join), source, t("on"), self.comparison(&both, 0)]));
        }
        parts.push(Node::text(format!("where {name}.n < {limit})")));
        (Node::Seq(parts), columns)
    }

    /// A query below another one: the columns of that are in sight.
    pub(super) fn inner_query(
        &mut self,
        types: &[Ty],
        scope: &[Column],
        depth: usize,
        correlated: bool,
    ) -> (Node, Vec<Column>) {
        let kept = self.outer.len();
        if correlated {
            self.outer.extend(scope.iter().cloned());
        }
        let made = self.query(types, depth);
        self.outer.truncate(kept);
        made
    }

    /// A query of one row, most of the time.
    pub(super) fn scalar_query(&mut self, ty: Ty, scope: &[Column], depth: usize) -> (Node, Vec<Column>) {
        if self.tables.is_empty() {
            return (Node::Seq(vec![t("select"), self.literal(ty)]), Vec::new());
        }
        let kept = self.outer.len();
        self.outer.extend(scope.iter().cloned());
        let made = match self.below(8) {
            0 => self.query(&[ty], depth),
            1 | 2 => {
                let (inner, columns) = self.query(&[ty], depth);
                let descending = self.pick(&[
                    "order by 1 limit 1",
                    "order by 1 desc limit 1",
                    "order by 1 nulls first limit 1",
                ]);
                let alias = self.name("x");
                (
                    query(
                        &[ty],
                        vec![t("select * from ("), inner, Node::text(format!(") {alias}")), t(descending)],
                    ),
                    columns,
                )
            }
            _ => {
                let (from, columns) = self.from(depth);
                let mut parts =
                    vec![t("select"), self.aggregate(ty, &columns, depth.min(1)), t("from"), from];
                if !self.one_in(4) {
                    parts.push(Node::maybe(vec![t("where"), self.condition(&columns, depth.min(1))]));
                }
                (query(&[ty], parts), Vec::new())
            }
        };
        self.outer.truncate(kept);
        made
    }

    /// A query with columns of these types.
    pub(super) fn query(&mut self, types: &[Ty], depth: usize) -> (Node, Vec<Column>) {
        let unnamed = std::mem::take(&mut self.unnamed);
        let sets = !types.contains(&Ty::Json) || depth > 0;
        match self.below(14) {
            0 if depth > 0 && sets => {
                let operator =
                    self.pick(&["union", "union all", "intersect", "except", "intersect all", "except all"]);
                let (one, columns) = self.query(types, depth - 1);
                let others: Vec<Ty> =
                    types.iter().map(|&ty| if self.one_in(4) { self.narrower(ty) } else { ty }).collect();
                let (two, _) = self.query(&others, depth - 1);
                (query(types, vec![t("("), one, t(")"), t(operator), t("("), two, t(")")]), columns)
            }
            1 => {
                let row = |g: &mut Self| {
                    let values = types.iter().map(|&ty| g.value(ty, &[], depth.min(1))).collect();
                    Node::Seq(vec![t("("), Node::list(1, values), t(")")])
                };
                let rows = (0..1 + self.below(3)).map(|_| row(self)).collect();
                let columns =
                    types.iter().enumerate().map(|(i, &ty)| Column { name: format!("column{}", i + 1), ty });
                (query(types, vec![t("values"), Node::list(1, rows)]), columns.collect())
            }
            2 if depth > 0 => {
                // the best of a sorted query
                let (inner, columns) = self.query(types, depth - 1);
                let alias = self.name("x");
                let tail =
                    Node::text(format!("order by {} limit {}", positions(types.len()), 1 + self.below(3)));
                (
                    query(types, vec![t("select * from ("), inner, Node::text(format!(") {alias}")), tail]),
                    columns,
                )
            }
            3..=5 => self.grouped(types, depth, unnamed),
            6 if depth > 0 && self.one_in(2) && !types.contains(&Ty::Json) => {
                // the first row of each value, of a sorted query
                let (inner, columns) = self.query(types, depth - 1);
                let alias = self.name("x");
                let head = Node::text(format!("select distinct on ({}) * from (", columns[0].name));
                let tail = Node::text(format!(") {alias} order by {}", positions(types.len())));
                (query(types, vec![head, inner, tail]), columns)
            }
            _ => self.select(types, depth, unnamed),
        }
    }

    /// A type that becomes this one where both meet.
    fn narrower(&mut self, ty: Ty) -> Ty {
        match ty {
            Ty::Int4 => Ty::Int2,
            Ty::Int8 => Ty::Int4,
            Ty::Numeric => self.pick(&[Ty::Int2, Ty::Int4, Ty::Int8]),
            Ty::Float8 => self.pick(&[Ty::Int4, Ty::Numeric]),
            Ty::Timestamp => Ty::Date,
            other => other,
        }
    }

    fn list(&mut self, values: Vec<Node>, types: &[Ty], unnamed: bool) -> (Node, Vec<Column>) {
        let mut columns = Vec::new();
        let mut items = Vec::new();
        for (value, &ty) in values.into_iter().zip(types) {
            let name = self.name("c");
            let named = if unnamed { String::new() } else { format!("as {name}") };
            items.push(Node::Seq(vec![value, Node::text(named)]));
            columns.push(Column { name, ty });
        }
        (Node::list(1, items), columns)
    }

    /// A query without groups.
    fn select(&mut self, types: &[Ty], depth: usize, unnamed: bool) -> (Node, Vec<Column>) {
        let (from, scope) = self.from(depth);
        let windows = self.one_in(8);
        let sets = !windows && self.one_in(8);
        // subqueries have windows of their own
        let named = std::mem::take(&mut self.windows);
        let values = types.iter().map(|&ty| match ty {
            _ if windows && self.one_in(2) => self.window(ty, &scope),
            Ty::Int4 if sets && self.one_in(2) => self.set_of_rows(&scope),
            _ => self.value(ty, &scope, depth.min(2)),
        });
        let values: Vec<Node> = values.collect();
        let own = std::mem::replace(&mut self.windows, named);
        let (list, columns) = self.list(values, types, unnamed);
        let mut parts = vec![t("select")];
        if self.one_in(6) {
            parts.push(Node::maybe(vec![t("distinct")]));
        }
        parts.extend([list, t("from"), from]);
        if !self.one_in(3) {
            parts.push(Node::maybe(vec![t("where"), self.condition(&scope, depth.min(2))]));
        }
        if !own.is_empty() {
            parts.extend([t("window"), Node::list(1, own)]);
        }
        (query(types, parts), columns)
    }

    /// A call that returns rows of integers.
    fn set_of_rows(&mut self, scope: &[Column]) -> Node {
        let parts = if self.one_in(2) {
            vec![t("generate_series(1, least("), self.value(Ty::Int4, scope, 1), t(", 3))")]
        } else {
            vec![t("unnest("), self.value(Ty::Ints, scope, 1), t(")")]
        };
        Node::value(Ty::Int4, parts)
    }

    /// A query with GROUP BY, or with aggregates alone.
    fn grouped(&mut self, types: &[Ty], depth: usize, unnamed: bool) -> (Node, Vec<Column>) {
        let (from, scope) = self.from(depth);
        let mut keys: Vec<(Node, Ty)> = Vec::new();
        for _ in 0..self.below(3) {
            let ty = self.ty_in_sight(&scope);
            let key = if self.one_in(4) {
                // the select list repeats it, constants included
                Some(Node::Fixed(Box::new(self.value(ty, &scope, 1))))
            } else {
                self.column(ty, &scope)
            };
            let constant = key.as_ref().is_some_and(|key| !scope.iter().any(|c| key.sql().contains(&c.name)));
            if let Some(key) = key.filter(|_| !constant) {
                keys.push((key, ty));
            }
        }
        let mut values = Vec::new();
        for &ty in types {
            let fits: Vec<Node> =
                keys.iter().filter(|(_, key)| *key == ty).map(|(key, _)| key.clone()).collect();
            let over = match ty {
                Ty::Int8 if self.one_in(8) => self.window_over_groups(&keys),
                Ty::Int4 if !keys.is_empty() && self.one_in(8) => {
                    let key = self.pick(&keys).0;
                    Some(Node::value(ty, vec![t("grouping("), key, t(")")]))
                }
                _ => None,
            };
            if let Some(over) = over {
                values.push(over);
            } else if fits.is_empty() || self.one_in(2) {
                let value = self.aggregate(ty, &scope, depth.min(1));
                values.push(value);
            } else {
                let key = self.pick(&fits);
                values.push(key);
            }
        }
        let (list, columns) = self.list(values, types, unnamed);
        let mut parts = vec![t("select"), list, t("from"), from];
        if self.one_in(2) {
            parts.push(Node::maybe(vec![t("where"), self.condition(&scope, depth.min(1))]));
        }
        if !keys.is_empty() {
            let items: Vec<Node> = keys.iter().cloned().map(|(key, _)| Node::Fixed(Box::new(key))).collect();
            let lone = |item: &Node| Node::Seq(vec![t("("), item.clone(), t(")")]);
            // PostgreSQL 15 computes a subquery anew where the key is NULL, as it is not of the set
            let sets = !keys.iter().any(|(key, _)| key.sql().contains("select"));
            let by = match self.below(6) {
                _ if !sets => vec![Node::list(1, items)],
                0 => vec![t("rollup ("), Node::list(1, items.iter().map(lone).collect()), t(")")],
                1 => vec![t("cube ("), Node::list(1, items.iter().map(lone).collect()), t(")")],
                2 => vec![
                    t("grouping sets (("),
                    Node::list(1, items.clone()),
                    t("), (), ("),
                    items[0].clone(),
                    t("))"),
                ],
                _ => vec![Node::list(1, items)],
            };
            parts.push(Node::maybe(vec![t("group by"), Node::Seq(by)]));
        }
        let condition = keys.first().filter(|(_, ty)| *ty != Ty::Json).cloned();
        if let Some((key, ty)) = condition
            && self.one_in(4)
        {
            // of a key alone, or beside an aggregate
            let operator = self.pick(&["<", ">", "=", "<>", "is distinct from"]);
            let mut having = vec![t("having"), Node::Fixed(Box::new(key)), t(operator), self.literal(ty)];
            if self.one_in(2) {
                let word = self.pick(&["and", "or"]);
                let limit = Node::text(format!("> {}", self.below(3)));
                having.extend([t(word), self.aggregate(Ty::Int8, &scope, 1), limit]);
            }
            parts.push(Node::maybe(having));
        } else if self.one_in(4) {
            let one = self.aggregate(Ty::Int8, &scope, 1);
            let operator = self.pick(&["<", ">", "=", "is distinct from"]);
            // a query here sees no column of this one, which would have to be grouped
            let two = if self.one_in(3) { self.value(Ty::Int8, &[], 2) } else { self.literal(Ty::Int8) };
            parts.push(Node::maybe(vec![t("having"), one, t(operator), two]));
        }
        (query(types, parts), columns)
    }

    /// A window function of integers over the rows that groups are.
    fn window_over_groups(&mut self, keys: &[(Node, Ty)]) -> Option<Node> {
        let key = keys.iter().find(|(_, ty)| *ty != Ty::Json).map(|(key, _)| key.clone());
        let by =
            |key: Option<Node>, words: &'static str| key.map(|key| vec![t(words), key]).unwrap_or_default();
        let (call, over) = match self.below(4) {
            0 => ("count(*)", by(key, "partition by")),
            1 => ("rank()", by(key, "order by")),
            2 => ("dense_rank()", vec![t("order by count(*)")]),
            _ => {
                let mut over = by(key, "partition by");
                over.push(t("order by count(*) desc"));
                ("rank()", over)
            }
        };
        let mut parts = vec![t(call), t("over (")];
        parts.extend(over);
        parts.push(t(")"));
        Some(Node::value(Ty::Int8, parts))
    }

    /// An aggregate of a type. One whose columns are all of an outer query would belong to that query: it names one of
    /// its own, or none at all.
    pub(super) fn aggregate(&mut self, ty: Ty, scope: &[Column], depth: usize) -> Node {
        if self.one_in(3) {
            let made = self.any_aggregate(ty, scope, depth);
            let sql = made.sql();
            if scope.iter().any(|column| sql.contains(&column.name)) {
                return made;
            }
        }
        let kept = std::mem::take(&mut self.outer);
        let made = self.any_aggregate(ty, scope, depth);
        self.outer = kept;
        made
    }

    fn any_aggregate(&mut self, ty: Ty, scope: &[Column], depth: usize) -> Node {
        let distinct = self.pick(&["", "", "", "distinct"]);
        if self.one_in(4)
            && let Some(call) = self.aggregate_call(ty, scope, depth)
        {
            return call;
        }
        let mut parts = match ty {
            Ty::Bool => {
                let function = self.pick(&["bool_and(", "bool_or(", "every("]);
                vec![t(function), self.condition(scope, depth), t(")")]
            }
            Ty::Int8 => match self.below(4) {
                0 => vec![t("count(*)")],
                1 => {
                    let of = self.ty_in_sight(scope);
                    vec![
                        Node::text(format!("count({}", if of == Ty::Json { "" } else { distinct })),
                        self.value(of, scope, depth),
                        t(")"),
                    ]
                }
                2 => vec![Node::text(format!("sum({distinct}")), self.value(Ty::Int4, scope, depth), t(")")],
                _ => vec![t("max("), self.value(ty, scope, depth), t(")")],
            },
            Ty::Numeric if self.one_in(5) => {
                let function = self.pick(&["variance(", "stddev_pop(", "var_pop(", "stddev("]);
                vec![t(function), self.value(Ty::Int4, scope, depth), t(")")]
            }
            Ty::Numeric => {
                let function = self.pick(&["sum(", "avg(", "min(", "max("]);
                let of = if function == "sum(" { Ty::Int8 } else { ty };
                vec![t(function), self.value(of, scope, depth), t(")")]
            }
            Ty::Bytea | Ty::Uuid | Ty::Span | Ty::Numbers | Ty::Bits => {
                let value = self.value(ty, scope, depth);
                vec![t("(array_agg("), value.clone(), t("order by"), value, t("))[1]")]
            }
            Ty::Interval => {
                let function = self.pick(&["sum(", "avg(", "min(", "max("]);
                vec![t(function), self.value(ty, scope, depth), t(")")]
            }
            Ty::Int2 | Ty::Int4 if self.one_in(4) => {
                let function = self.pick(&["bit_and(", "bit_or("]);
                vec![t(function), self.value(ty, scope, depth), t(")")]
            }
            Ty::Json => vec![t("to_jsonb(count("), self.value(Ty::Int4, scope, depth), t("))")],
            Ty::Ints => {
                let value = self.value(Ty::Int4, scope, depth);
                vec![t("array_agg("), value.clone(), t("order by"), value, t(")")]
            }
            Ty::Text if self.one_in(3) => {
                let value = self.value(Ty::Text, scope, depth);
                vec![t("string_agg("), value.clone(), t(", ',' order by"), value, t(")")]
            }
            _ => {
                let function = self.pick(&["min(", "max("]);
                vec![t(function), self.value(ty, scope, depth), t(")")]
            }
        };
        if self.one_in(6)
            && !matches!(ty, Ty::Json | Ty::Bytea | Ty::Uuid | Ty::Span | Ty::Numbers | Ty::Bits)
        {
            parts.push(Node::maybe(vec![t("filter (where"), self.condition(scope, 0), t(")")]));
        }
        Node::value(ty, parts)
    }

    pub(super) fn leaf_of(&mut self, ty: Ty, scope: &[Column]) -> Node {
        self.value(ty, scope, 0)
    }

    fn table_source(&mut self) -> (Node, Vec<Column>) {
        if !self.views.is_empty() && self.one_in(6) {
            let (name, columns) = self.pick(&self.views.clone());
            let alias = self.name("x");
            let columns =
                columns.iter().map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty }).collect();
            return (Node::text(format!("{name} {alias}")), columns);
        }
        let table = self.pick(&self.tables.clone());
        let alias = self.name("x");
        let columns = table.all().map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty });
        let columns = columns.collect();
        (Node::text(format!("{} {alias}", table.name)), columns)
    }

    /// What stands behind FROM, and its columns.
    pub(super) fn from(&mut self, depth: usize) -> (Node, Vec<Column>) {
        if self.tables.is_empty() {
            return (t("(values (1)) x0(c)"), vec![Column { name: "x0.c".into(), ty: Ty::Int4 }]);
        }
        let count = self.pick(&[1, 1, 1, 2, 2, 2, 3]);
        let (mut node, mut scope) = self.source(&[], depth);
        // JOIN binds tighter than a comma: with both, conditions would see less than what stands to the left
        let commas = self.one_in(6);
        for _ in 1..count {
            (node, scope) = self.join(node, scope, depth, commas);
        }
        (node, scope)
    }

    fn join(&mut self, left: Node, mut scope: Vec<Column>, depth: usize, comma: bool) -> (Node, Vec<Column>) {
        let kinds =
            ["join", "join", "left join", "left join", "left join", "right join", "full join", "cross join"];
        let kind = if comma { "," } else { self.pick(&kinds) };
        let sideways = !matches!(kind, "right join" | "full join");
        let (right, columns) = self.source(if sideways { &scope } else { &[] }, depth);
        let left_columns = scope.clone();
        let shared = shared(&left_columns, &columns);
        scope.extend(columns.iter().cloned());
        let mut parts = vec![left, t(kind), right];
        match kind {
            "cross join" | "," => {}
            "join" | "left join" if self.one_in(20) && shared.is_some() => {
                parts[1] = t(if kind == "join" { "natural join" } else { "natural left join" });
            }
            _ if kind != "full join" && self.one_in(10) && shared.is_some() => {
                parts.push(Node::text(format!("using ({})", shared.unwrap_or_default())));
            }
            "full join" => {
                // only what can be merged or hashed
                let pairs: Vec<(String, String)> = left_columns
                    .iter()
                    .flat_map(|l| {
                        columns.iter().filter(|r| r.ty == l.ty).map(|r| (l.name.clone(), r.name.clone()))
                    })
                    .collect();
                let on = if pairs.is_empty() {
                    "true".to_owned()
                } else {
                    let (l, r) = self.pick(&pairs);
                    format!("{l} = {r}")
                };
                parts.push(Node::text(format!("on {on}")));
            }
            _ => {
                parts.push(t("on"));
                let on = match self.below(4) {
                    0 => t("true"),
                    1 => self.condition(&scope, depth.min(1)),
                    _ => self.comparison(&scope, depth.min(1)),
                };
                parts.push(on);
            }
        }
        (Node::Of(Class::Source, Box::new(Node::Seq(parts))), scope)
    }

    /// One source; `beside` are the columns that it may name if it is lateral.
    fn source(&mut self, beside: &[Column], depth: usize) -> (Node, Vec<Column>) {
        let (node, columns) = match self.below(12) {
            0..=1 if depth > 0 => {
                let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
                let (inner, columns) = self.inner_query(&types, &[], depth - 1, false);
                let alias = self.name("x");
                let columns =
                    columns.into_iter().map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty });
                let columns = columns.collect();
                (Node::Seq(vec![t("("), inner, t(")"), Node::text(alias)]), columns)
            }
            2..=4 if depth > 0 && !beside.is_empty() => {
                let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
                let (inner, columns) = self.inner_query(&types, beside, depth - 1, true);
                let alias = self.name("x");
                let columns =
                    columns.into_iter().map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty });
                let columns = columns.collect();
                (Node::Seq(vec![t("lateral ("), inner, t(")"), Node::text(alias)]), columns)
            }
            5 if self.one_in(2) => {
                let alias = self.name("x");
                let ty = self.pick(&INTEGERS);
                let call = match self.below(2) {
                    0 => {
                        let to = self.value(ty, beside, 0);
                        vec![
                            t("generate_series("),
                            Node::Literal(ty, Some("1".into())),
                            t(", least("),
                            to,
                            t(", 4))"),
                        ]
                    }
                    _ => vec![t("unnest("), self.value(Ty::Ints, beside, 0), t(")")],
                };
                let ty = if call.len() == 3 { Ty::Int4 } else { ty };
                let mut parts = call;
                parts.push(Node::text(format!("as {alias}(c)")));
                (Node::Seq(parts), vec![Column { name: format!("{alias}.c"), ty }])
            }
            5 => {
                let alias = self.name("x");
                let (call, columns) = self.call_source(beside, &alias);
                (Node::Seq(call), columns)
            }
            6..=7 if !self.common.is_empty() => {
                let (name, columns) = self.pick(&self.common.clone());
                let alias = self.name("x");
                let columns = columns
                    .iter()
                    .map(|c| Column { name: format!("{alias}.{}", c.name), ty: c.ty })
                    .collect();
                (Node::text(format!("{name} {alias}")), columns)
            }
            8 if depth > 0 && self.one_in(2) => {
                let (left, scope) = self.source(&[], depth - 1);
                let (join, scope) = self.join(left, scope, depth - 1, false);
                (Node::Seq(vec![t("("), join, t(")")]), scope)
            }
            _ => self.table_source(),
        };
        (Node::Of(Class::Source, Box::new(node)), columns)
    }

    /// A function in FROM that returns several columns, or numbers its rows.
    fn call_source(&mut self, beside: &[Column], alias: &str) -> (Vec<Node>, Vec<Column>) {
        let column = |name: &str, ty| Column { name: format!("{alias}.{name}"), ty };
        match self.below(4) {
            0 => {
                let (one, two) = (self.value(Ty::Ints, beside, 1), self.value(Ty::Ints, beside, 1));
                let tail = Node::text(format!(") with ordinality as {alias}(c, d, o)"));
                let columns = vec![column("c", Ty::Int4), column("d", Ty::Int4), column("o", Ty::Int8)];
                (vec![t("unnest("), one, t(","), two, tail], columns)
            }
            1 => {
                let to = self.value(Ty::Int4, beside, 1);
                let tail = Node::text(format!(", 3)) with ordinality as {alias}(c, o)"));
                (
                    vec![
                        t("generate_series(least("),
                        to,
                        t(", 1), least("),
                        self.value(Ty::Int4, beside, 1),
                        tail,
                    ],
                    vec![column("c", Ty::Int4), column("o", Ty::Int8)],
                )
            }
            2 => {
                let array = self.value(Ty::Ints, beside, 1);
                let tail = Node::text(format!("), generate_series(1, 2)) as {alias}(c, d)"));
                (
                    vec![t("rows from (unnest("), array, tail],
                    vec![column("c", Ty::Int4), column("d", Ty::Int4)],
                )
            }
            _ => {
                let (one, two) = (self.ty(), self.ty());
                let mut parts = vec![t("(values")];
                for row in 0..1 + self.below(3) {
                    parts.push(t(if row == 0 { "(" } else { ", (" }));
                    parts.extend([self.literal(one), t(","), self.literal(two), t(")")]);
                }
                parts.push(Node::text(format!(") as {alias}(c, d)")));
                (parts, vec![column("c", one), column("d", two)])
            }
        }
    }
}
