//! Tables: columns of several types, keys, constraints, indexes, and their first rows.

use super::{Column, Generator, Statement, plain};
use crate::tree::{Node, Ty};

/// A table.
#[derive(Clone, Debug)]
pub(super) struct RandomTable {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Sets of columns that are unique; the first is the primary key, if there is one.
    pub(super) unique: Vec<Vec<usize>>,
}

impl Generator {
    /// The statements that make tables, indexes and rows.
    pub(super) fn schema(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        for number in 0..2 + self.below(3) {
            let statement = self.table(number);
            statements.push(plain(statement));
        }
        for table in self.tables.clone() {
            for number in 0..self.below(3) {
                let unique = if self.one_in(6) { "unique " } else { "" };
                let mut columns: Vec<String> = Vec::new();
                for _ in 0..1 + self.below(2) {
                    let column = self.pick(&table.columns);
                    let named = columns.iter().any(|other| other.split(' ').next() == Some(&column.name));
                    if !named && !matches!(column.ty, Ty::Ints | Ty::Json) {
                        columns.push(format!(
                            "{}{}",
                            column.name,
                            self.pick(&["", "", " desc", " nulls first"])
                        ));
                    }
                }
                if columns.is_empty() {
                    continue;
                }
                let text = format!(
                    "create {unique}index {0}_i{number} on {0} ({1})",
                    table.name,
                    columns.join(", ")
                );
                // a unique index is a constraint: answers depend on it
                statements.push(Statement {
                    tree: Node::text(text),
                    ordered: false,
                    query: false,
                    index: unique.is_empty(),
                });
            }
        }
        for number in 0..self.tables.len() {
            for _ in 0..1 + self.below(3) {
                let rows = 1 + self.below(5);
                let statement = self.insert_rows(number, rows);
                statements.push(plain(Node::Seq(statement)));
            }
        }
        for number in 0..self.below(2) {
            self.names = 0;
            let view = self.view(number);
            statements.push(plain(view));
        }
        statements
    }

    fn table(&mut self, number: usize) -> Node {
        let name = format!("t{number}");
        let mut table = RandomTable { name: name.clone(), columns: Vec::new(), unique: Vec::new() };
        let mut items = Vec::new();
        for at in 0..2 + self.below(4) {
            let ty = if at == 0 { Ty::Int4 } else { self.ty() };
            let column = Column { name: format!("{}{number}", ["a", "b", "c", "d", "e"][at]), ty };
            let mut parts = vec![Node::text(format!("{} {}", column.name, ty.name()))];
            if at == 0 && !self.one_in(4) {
                parts.push(Node::maybe(vec![Node::text("primary key")]));
                table.unique.push(vec![0]);
            } else {
                if self.one_in(5) {
                    parts.push(Node::maybe(vec![Node::text("not null")]));
                }
                if self.one_in(4) {
                    parts.push(Node::maybe(vec![Node::text("default"), self.literal(ty)]));
                }
                if self.one_in(8) && !matches!(ty, Ty::Json | Ty::Ints | Ty::Bool) {
                    let late = self.pick(&["unique", "unique", "unique", "unique deferrable"]);
                    parts.push(Node::maybe(vec![Node::text(late)]));
                    table.unique.push(vec![at]);
                }
                if self.one_in(8) && ty == Ty::Int4 {
                    let check = self.pick(&["<> 3", "< 50", "> -5", "in (0, 1, 2, 3, 4, 5)", "is not null"]);
                    parts.push(Node::maybe(vec![Node::text(format!("check ({} {check})", column.name))]));
                }
                let parents: Vec<String> = self
                    .tables
                    .iter()
                    .filter(|t| t.unique.first() == Some(&vec![0]))
                    .map(|t| t.name.clone())
                    .collect();
                let integer = matches!(ty, Ty::Int2 | Ty::Int4 | Ty::Int8);
                if integer && !parents.is_empty() && self.one_in(3) {
                    let parent = self.pick(&parents);
                    let action = self.pick(&[
                        "",
                        "",
                        "on delete cascade",
                        "on delete set null",
                        "on update cascade",
                        "on delete set default",
                        "on delete cascade on update set null",
                        "deferrable initially deferred",
                    ]);
                    parts.push(Node::maybe(vec![Node::text(format!("references {parent} {action}"))]));
                }
            }
            table.columns.push(column);
            items.push(Node::Seq(parts));
        }
        let keys: Vec<usize> = (1..table.columns.len())
            .filter(|&at| matches!(table.columns[at].ty, Ty::Int4 | Ty::Text | Ty::Int2 | Ty::Date))
            .collect();
        if keys.len() > 1 && self.one_in(5) {
            items.push(Node::text(format!(
                "unique ({}, {})",
                table.columns[keys[0]].name, table.columns[keys[1]].name
            )));
            table.unique.push(vec![keys[0], keys[1]]);
        }
        self.tables.push(table);
        let parts = vec![Node::text(format!("create table {name} (")), Node::list(1, items), Node::text(")")];
        Node::Fixed(Box::new(Node::Seq(parts)))
    }
}
