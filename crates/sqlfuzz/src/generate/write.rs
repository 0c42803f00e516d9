//! Statements that write, and transactions around them.

use super::schema::RandomTable;
use super::{Column, Generator, Statement, plain};
use crate::tree::{Node, Ty};

fn t(text: &'static str) -> Node {
    Node::text(text)
}

impl Generator {
    /// One statement that writes, or a transaction of some.
    pub(super) fn write(&mut self, statements: &mut Vec<Statement>) {
        self.outer.clear();
        self.common.clear();
        if !self.one_in(4) {
            let tree = self.writing();
            statements.push(plain(tree));
            return;
        }
        statements.push(plain(t("begin")));
        for _ in 0..2 + self.below(6) {
            let tree = match self.below(10) {
                0 | 1 => t("savepoint s"),
                2 => t("rollback to s"),
                3 => t("release s"),
                4 | 5 => {
                    let (tree, ordered) = self.top_query();
                    statements.push(Statement { tree, ordered, query: true, index: false });
                    continue;
                }
                _ => self.writing(),
            };
            statements.push(plain(tree));
        }
        let end = self.pick(&["commit", "commit", "rollback"]);
        statements.push(plain(t(end)));
        for table in self.tables.clone() {
            statements.push(plain(Node::text(format!("select * from {}", table.name))));
        }
    }

    pub(super) fn writing(&mut self) -> Node {
        self.outer.clear();
        self.common.clear();
        let number = self.below(self.tables.len());
        if self.one_in(5) {
            return self.writing_with(number);
        }
        let table = self.written(number);
        if self.one_in(8)
            && let Some(parts) = self.merge(&self.tables[number].clone())
        {
            return Node::Seq(parts);
        }
        let mut parts = self.change(&table);
        if self.one_in(2) {
            let returning = if self.one_in(2) {
                // of the other table it may meet several rows
                vec![Node::text(format!("returning {}.*", table.name))]
            } else {
                let scope: Vec<Column> = own(&table);
                let ty = self.ty_in_sight(&scope);
                vec![t("returning"), self.value(ty, &scope, 2), t("as r")]
            };
            parts.push(Node::maybe(returning));
        }
        Node::Seq(parts)
    }

    /// A statement whose WITH changes a table, and that reads what has changed: the others are as they were.
    fn writing_with(&mut self, number: usize) -> Node {
        let table = self.written(number);
        let mut inner = self.change(&table);
        let mut columns = Vec::new();
        let mut items = Vec::new();
        for column in own(&table) {
            let name = self.name("r");
            items.push(Node::text(format!("{} as {name}", column.name)));
            columns.push(Column { name, ty: column.ty });
        }
        inner.extend([t("returning"), Node::List { separator: ", ", least: items.len(), items }]);
        let name = self.name("w");
        let mut parts = vec![Node::text(format!("with {name} as (")), Node::Seq(inner), t(")")];
        self.common.push((name, columns));
        let other = self.below(self.tables.len());
        // which of two changes of a row is made is open
        if other == number || self.one_in(2) {
            let types: Vec<Ty> = (0..1 + self.below(3)).map(|_| self.ty()).collect();
            parts.push(self.query(&types, 2).0);
        } else {
            let other = self.written(other);
            parts.extend(self.change(&other));
        }
        self.common.clear();
        Node::Seq(parts)
    }

    /// INSERT, UPDATE or DELETE without RETURNING.
    fn change(&mut self, table: &RandomTable) -> Vec<Node> {
        match self.below(7) {
            0 => {
                let rows = 1 + self.below(3);
                self.insert_rows(table, rows)
            }
            1 => {
                let types: Vec<Ty> = table.columns.iter().map(|c| c.ty).collect();
                let (query, _) = self.query(&types, 2);
                let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
                vec![Node::text(format!("insert into {} ({})", table.name, names.join(", "))), query]
            }
            2 => self.upsert(table),
            3 | 4 => self.update(table),
            _ => self.delete(table),
        }
    }

    /// INSERT of rows of constants.
    pub(super) fn insert_rows(&mut self, table: &RandomTable, rows: usize) -> Vec<Node> {
        let mut columns = table.columns.clone();
        if self.one_in(4) && columns.len() > 1 {
            let at = self.below(columns.len());
            columns.remove(at);
        }
        let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let mut items = Vec::new();
        for _ in 0..rows {
            let values = columns.iter().map(|c| match c.ty {
                // keys that collide now and then only
                Ty::Int4 if !self.one_in(3) => {
                    let n = self.below(40);
                    Node::value(Ty::Int4, vec![Node::Literal(Ty::Int4, Some(n.to_string()))])
                }
                _ if self.one_in(12) => t("default"),
                ty => self.literal(ty),
            });
            let values = values.collect();
            items.push(Node::Seq(vec![
                t("("),
                Node::List { separator: ", ", least: names.len(), items: values },
                t(")"),
            ]));
        }
        vec![
            Node::text(format!("insert into {} ({}) values", table.name, names.join(", "))),
            Node::list(1, items),
        ]
    }

    fn upsert(&mut self, table: &RandomTable) -> Vec<Node> {
        let rows = 1 + self.below(3);
        let mut parts = self.insert_rows(table, rows);
        if table.unique.is_empty() || self.one_in(4) {
            parts.push(t("on conflict do nothing"));
            return parts;
        }
        let set = self.pick(&table.unique);
        let names: Vec<String> = set.iter().map(|&c| table.columns[c].name.clone()).collect();
        parts.push(Node::text(format!("on conflict ({})", names.join(", "))));
        if self.one_in(3) {
            parts.push(t("do nothing"));
            return parts;
        }
        let mut scope = own(table);
        scope.extend(table.all().map(|c| Column { name: format!("excluded.{}", c.name), ty: c.ty }));
        let column = self.pick(&table.columns);
        let second = self.pick(&table.columns);
        if second.name != column.name && self.one_in(3) {
            parts.push(Node::text(format!("do update set ({}, {}) = row(", column.name, second.name)));
            parts.extend([
                self.value(column.ty, &scope, 2),
                t(","),
                self.value(second.ty, &scope, 1),
                t(")"),
            ]);
        } else {
            parts.push(Node::text(format!("do update set {} =", column.name)));
            parts.push(self.value(column.ty, &scope, 2));
        }
        if self.one_in(3) {
            parts.push(Node::maybe(vec![t("where"), self.condition(&scope, 1)]));
        }
        parts
    }

    fn update(&mut self, table: &RandomTable) -> Vec<Node> {
        let scope = own(table);
        let mut parts = vec![Node::text(format!("update {} set", table.name))];
        let mut items = Vec::new();
        let mut named: Vec<String> = Vec::new();
        for _ in 0..1 + self.below(2) {
            let column = self.pick(&table.columns);
            if named.contains(&column.name) {
                continue;
            }
            named.push(column.name.clone());
            items.push(Node::Seq(vec![
                Node::text(format!("{} =", column.name)),
                self.value(column.ty, &scope, 2),
            ]));
        }
        parts.push(Node::list(1, items));
        parts.extend(self.which(table, "from"));
        parts
    }

    fn delete(&mut self, table: &RandomTable) -> Vec<Node> {
        let mut parts = vec![Node::text(format!("delete from {}", table.name))];
        parts.extend(self.which(table, "using"));
        parts
    }

    /// Which rows are written: of another table as well, by its key, so that each row meets one.
    fn which(&mut self, table: &RandomTable, word: &'static str) -> Vec<Node> {
        let mut scope = own(table);
        let keyed: Vec<RandomTable> =
            self.tables.iter().filter(|other| other.unique.first() == Some(&vec![0])).cloned().collect();
        let integers: Vec<Column> = table.columns.iter().filter(|c| c.ty == Ty::Int4).cloned().collect();
        if !keyed.is_empty() && self.one_in(5) {
            let other = self.pick(&keyed);
            let key = other.columns[0].name.clone();
            let mine = self.pick(&integers).name;
            scope.extend(other.columns.iter().map(|c| Column { name: format!("o.{}", c.name), ty: c.ty }));
            let from = Node::text(format!("{word} {} o where o.{key} = {}.{mine}", other.name, table.name));
            return vec![from, Node::maybe(vec![t("and"), self.condition(&scope, 2)])];
        }
        if word == "using" && self.one_in(4) {
            // whichever row of the other table it meets: it goes
            let other = self.pick(&self.tables.clone());
            scope.extend(other.columns.iter().map(|c| Column { name: format!("o.{}", c.name), ty: c.ty }));
            let from = Node::text(format!("{word} {} o where", other.name));
            return vec![from, self.condition(&scope, 2)];
        }
        if word == "using" || !self.one_in(3) {
            return vec![t("where"), self.condition(&scope, 2)];
        }
        Vec::new()
    }
}

/// The columns of a table as its own statements name them.
fn own(table: &RandomTable) -> Vec<Column> {
    table.all().map(|c| Column { name: format!("{}.{}", table.name, c.name), ty: c.ty }).collect()
}
