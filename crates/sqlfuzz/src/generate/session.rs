//! What a session does beside single statements: cursors, prepared statements whose parameters say no types, and
//! tables that change while there are rows.

use super::{Column, Generator, Statement, plain};
use crate::tree::{Node, Ty};

fn ordered(text: String) -> Statement {
    Statement { tree: Node::text(text), ordered: true, query: false, index: false }
}

impl Generator {
    /// A cursor over a sorted query, moved back and forth.
    pub(super) fn cursor(&mut self, statements: &mut Vec<Statement>) {
        let (query, sorted) = self.top_query();
        if !sorted {
            statements.push(Statement { tree: query, ordered: false, query: true, index: false });
            return;
        }
        statements.push(plain(Node::text("begin")));
        let head = Node::text("declare cur scroll cursor for");
        statements.push(plain(Node::Seq(vec![head, query])));
        for _ in 0..2 + self.below(5) {
            let verb = self.pick(&["fetch", "fetch", "fetch", "move"]);
            let what = self.pick(&[
                "2",
                "1",
                "all",
                "next",
                "prior",
                "first",
                "last",
                "backward 2",
                "backward all",
                "absolute 2",
                "absolute -1",
                "relative -1",
                "relative 2",
                "0",
                "forward all",
                "absolute 0",
                "relative 0",
            ]);
            statements.push(ordered(format!("{verb} {what} from cur")));
        }
        statements.push(plain(Node::text("close cur")));
        statements.push(plain(Node::text("commit")));
    }

    /// A statement prepared with parameters, some of which have the type that their place gives them.
    pub(super) fn prepared(&mut self, statements: &mut Vec<Statement>) {
        let writes = self.one_in(3);
        let (query, sorted) = if writes { (self.writing(), false) } else { self.top_query() };
        let (mut text, parameters) = query.with_parameters();
        for (at, (ty, _)) in parameters.iter().enumerate() {
            let cast = format!("${}::{}", at + 1, ty.name());
            if self.one_in(3) && text.contains(&cast) {
                text = text.replace(&cast, &format!("${}", at + 1));
            }
        }
        let values: Vec<String> = parameters
            .iter()
            .map(|(_, value)| {
                value.as_ref().map_or("null".to_owned(), |v| format!("'{}'", v.replace('\'', "''")))
            })
            .collect();
        let list = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        statements.push(plain(Node::text(format!("prepare p as {text}"))));
        for _ in 0..2 {
            // the words behind it say what may be open about the answer
            let words = if writes { "from update on conflict" } else { "from" };
            let tree = Node::text(format!("execute p{list} -- {words}"));
            statements.push(Statement { tree, ordered: sorted, query: !writes, index: false });
        }
        statements.push(plain(Node::text("deallocate p")));
    }

    /// A change of a table.
    pub(super) fn alteration(&mut self, statements: &mut Vec<Statement>) {
        let number = self.below(self.tables.len());
        let table = self.tables[number].clone();
        let name = &table.name;
        let at = self.below(table.columns.len());
        let column = table.columns[at].clone();
        let tree = match self.below(8) {
            0 | 1 if table.columns.len() < 7 => {
                let ty = self.ty();
                let new = Column { name: self.name(&format!("f{number}_{}_", statements.len())), ty };
                let mut parts =
                    vec![Node::text(format!("alter table {name} add column {} {}", new.name, ty.name()))];
                if self.one_in(2) {
                    parts.push(Node::maybe(vec![Node::text("default"), self.value(ty, &[], 1)]));
                }
                self.tables[number].columns.push(new);
                Node::Seq(parts)
            }
            2 if at > 0 && self.views.is_empty() && table.columns.len() > 2 => {
                self.tables[number].columns.remove(at);
                let shifted = table.unique.into_iter().filter(|key| !key.contains(&at));
                let shifted =
                    shifted.map(|key| key.into_iter().map(|c| if c > at { c - 1 } else { c }).collect());
                self.tables[number].unique = shifted.collect();
                Node::text(format!("alter table {name} drop column {}", column.name))
            }
            3 if at > 0 && self.views.is_empty() => {
                let wider: &[Ty] = match column.ty {
                    Ty::Int2 => &[Ty::Int4, Ty::Int8, Ty::Numeric, Ty::Text],
                    Ty::Int4 => &[Ty::Int8, Ty::Numeric, Ty::Float8, Ty::Text],
                    Ty::Date => &[Ty::Timestamp, Ty::Text],
                    Ty::Int8 => &[Ty::Numeric, Ty::Text],
                    _ => &[Ty::Text],
                };
                let ty = self.pick(wider);
                self.tables[number].columns[at].ty = ty;
                Node::text(format!("alter table {name} alter column {} type {}", column.name, ty.name()))
            }
            4 => Node::Seq(vec![
                Node::text(format!("alter table {name} alter column {} set default", column.name)),
                self.literal(column.ty),
            ]),
            5 => {
                let word = self.pick(&["set not null", "drop not null", "drop default"]);
                Node::text(format!("alter table {name} alter column {} {word}", column.name))
            }
            6 => {
                let own = vec![Column { name: column.name.clone(), ty: column.ty }];
                let tables = std::mem::take(&mut self.tables);
                let condition = self.comparison(&own, 1);
                self.tables = tables;
                let head = Node::text(format!("alter table {name} add check ("));
                Node::Seq(vec![head, condition, Node::text(")")])
            }
            _ if matches!(column.ty, Ty::Json | Ty::Ints | Ty::Texts) => {
                Node::text(format!("truncate {name} cascade"))
            }
            _ => {
                let number = statements.len();
                Node::text(format!("create index {name}_l{number} on {name} ({})", column.name))
            }
        };
        statements.push(plain(tree));
        let tree = Node::text(format!("select * from {name}"));
        statements.push(Statement { tree, ordered: false, query: true, index: false });
    }
}
