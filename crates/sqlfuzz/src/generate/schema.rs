//! Tables: columns of several types, keys, constraints, indexes, and their first rows.

use super::{Column, Generator, Statement, plain};
use crate::tree::{Node, Ty};

/// A table.
#[derive(Clone, Debug)]
pub(super) struct RandomTable {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Columns that are computed from these.
    pub(super) generated: Vec<Column>,
    /// Sets of columns that are unique; the first is the primary key, if there is one.
    pub(super) unique: Vec<Vec<usize>>,
}

impl RandomTable {
    /// All columns.
    pub(super) fn all(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().chain(&self.generated)
    }
}

impl Generator {
    /// The statements that make tables, indexes and rows.
    pub(super) fn schema(&mut self) -> Vec<Statement> {
        let mood = "create type mood as enum ('sad', 'ok', 'A b', 'happy')";
        // the operators of other types for exclusion constraints
        let extension = plain(Node::text("create extension if not exists btree_gist"));
        let mut statements = vec![extension, plain(Node::text(mood))];
        for number in 0..2 + self.below(3) {
            let statement = self.table(number);
            statements.push(plain(statement));
        }
        for table in self.tables.clone() {
            for number in 0..self.below(3) {
                let unique = if self.one_in(6) { "unique " } else { "" };
                let mut columns: Vec<String> = Vec::new();
                for _ in 0..1 + self.below(2) {
                    let all: Vec<Column> = table.all().cloned().collect();
                    let column = self.pick(&all);
                    let named = columns.iter().any(|other| other.split(' ').next() == Some(&column.name));
                    let direction = self.pick(&["", "", " desc", " nulls first"]);
                    if self.one_in(4) {
                        let computed = self.computed(&column);
                        // ScaleDB takes none twice
                        if !columns.iter().any(|other| other.starts_with(&computed)) {
                            columns.push(format!("{computed}{direction}"));
                        }
                    } else if !named && !matches!(column.ty, Ty::Ints | Ty::Json | Ty::Texts) {
                        columns.push(format!("{}{direction}", column.name));
                    }
                }
                if columns.is_empty() {
                    continue;
                }
                let condition =
                    if self.one_in(3) { format!(" where {}", self.part(&table)) } else { String::new() };
                let text = format!(
                    "create {unique}index {0}_i{number} on {0} ({1}){condition}",
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
                let table = self.tables[number].clone();
                let statement = self.insert_rows(&table, rows);
                statements.push(plain(Node::Seq(statement)));
            }
        }
        self.views_to_write(&mut statements);
        for number in 0..self.below(2) {
            self.names = 0;
            let view = self.view(number);
            statements.push(plain(view));
        }
        statements
    }

    /// An expression for an index, which fails for no row.
    fn computed(&mut self, column: &Column) -> String {
        let expr = match column.ty {
            Ty::Int2 | Ty::Int4 | Ty::Int8 => self.pick(&["(? % 5)", "coalesce(?, 0)", "(? is null)"]),
            Ty::Text => self.pick(&["lower(?)", "length(?)", "(? || 'x')", "coalesce(?, 'b')"]),
            Ty::Bool => self.pick(&["(not ?)", "(? is true)"]),
            _ => "(? is null)",
        };
        expr.replace('?', &column.name)
    }

    /// A condition that tells which rows of a table are in an index.
    pub(super) fn part(&mut self, table: &RandomTable) -> String {
        let all: Vec<Column> = table.all().cloned().collect();
        let column = self.pick(&all);
        let test = match column.ty {
            Ty::Int2 | Ty::Int4 | Ty::Int8 => {
                self.pick(&["< 20", "> 5", "= 3", "<> 3", "is null", "is not null", "in (1, 2, 3)"])
            }
            Ty::Bool => self.pick(&["", "= false", "is not true", "is not null"]),
            Ty::Mood => self.pick(&["> 'sad'", "<> 'ok'", "in ('ok', 'happy')", "is null"]),
            Ty::Text => self.pick(&["> 'b'", "<> ''", "is null"]),
            _ => self.pick(&["is null", "is not null"]),
        };
        format!("{} {test}", column.name)
    }

    /// A generated column of a table.
    fn generated(&mut self, table: &mut RandomTable, number: usize) -> Node {
        let of = self.pick(&table.columns);
        let (from, first) = (&of.name, &table.columns[0].name);
        let (ty, computed) = match of.ty {
            Ty::Int2 | Ty::Int4 => (Ty::Int4, self.pick(&["% 5", "* 2", "- 100", "/ 3"])),
            Ty::Text => (Ty::Text, self.pick(&["|| 'x'", "|| b", "collate \"C\""])),
            _ => (Ty::Bool, "is null"),
        };
        let computed = if computed == "|| b" { format!("|| {from}") } else { computed.to_owned() };
        let expr = match self.below(3) {
            0 => format!("case when {first} > 10 then {from} {computed} end"),
            _ => format!("{from} {computed}"),
        };
        let name = format!("f{number}");
        let text = format!("{name} {} generated always as ({expr}) stored", ty.name());
        table.generated.push(Column { name, ty });
        Node::text(text)
    }

    fn table(&mut self, number: usize) -> Node {
        let name = format!("t{number}");
        let mut table = RandomTable {
            name: name.clone(),
            columns: Vec::new(),
            generated: Vec::new(),
            unique: Vec::new(),
        };
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
                if self.one_in(8) && !matches!(ty, Ty::Json | Ty::Ints | Ty::Texts | Ty::Bool) {
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
        if self.one_in(3) {
            items.push(self.generated(&mut table, number));
        }
        let keys: Vec<usize> = (1..table.columns.len())
            .filter(|&at| {
                matches!(table.columns[at].ty, Ty::Int4 | Ty::Text | Ty::Int2 | Ty::Date | Ty::Mood)
            })
            .collect();
        if keys.len() > 1 && self.one_in(5) {
            items.push(Node::text(format!(
                "unique ({}, {})",
                table.columns[keys[0]].name, table.columns[keys[1]].name
            )));
            table.unique.push(vec![keys[0], keys[1]]);
        }
        let ranges = table.columns.iter().find(|column| matches!(column.ty, Ty::Span | Ty::Numbers));
        if let Some(range) = ranges.cloned()
            && self.one_in(2)
        {
            let equal = self.pick(&table.columns);
            let first = match equal.ty {
                Ty::Int2 | Ty::Int4 | Ty::Text if self.one_in(2) => format!("{} with =, ", equal.name),
                _ => String::new(),
            };
            let behind = self.pick(&["", "", " deferrable", " deferrable initially deferred"]);
            let part = if self.one_in(4) { format!(" where ({})", self.part(&table)) } else { String::new() };
            let text = format!("exclude using gist ({first}{} with &&){part}{behind}", range.name);
            items.push(Node::maybe(vec![Node::text(text)]));
        }
        self.tables.push(table);
        let parts = vec![Node::text(format!("create table {name} (")), Node::list(1, items), Node::text(")")];
        Node::Fixed(Box::new(Node::Seq(parts)))
    }
}
