//! MERGE.
//!
//! The source is a table that is joined by its key, so that no row is met twice. Which rows come first is open: clauses
//! that change keys or take rows away do not stand beside those that insert.

use super::schema::RandomTable;
use super::{Column, Generator};
use crate::tree::{Node, Ty};

impl Generator {
    /// MERGE into a table; `None` if no table has a key of one column.
    pub(super) fn merge(&mut self, table: &RandomTable) -> Option<Vec<Node>> {
        let keyed = self.tables.iter().filter(|other| other.unique.first() == Some(&vec![0]));
        let keyed: Vec<RandomTable> = keyed.cloned().collect();
        let integers: Vec<Column> = table.columns.iter().filter(|c| c.ty == Ty::Int4).cloned().collect();
        if keyed.is_empty() || integers.is_empty() {
            return None;
        }
        let other = self.pick(&keyed);
        let (key, mine) = (other.columns[0].name.clone(), self.pick(&integers).name);
        let columns = |alias: &str, table: &RandomTable| -> Vec<Column> {
            let named = |c: &Column| Column { name: format!("{alias}.{}", c.name), ty: c.ty };
            table.columns.iter().map(named).collect()
        };
        let source = columns("o", &other);
        let mut both = columns(&table.name, table);
        both.extend(source.iter().cloned());
        let head =
            format!("merge into {} using {} o on o.{key} = {}.{mine}", table.name, other.name, table.name);
        let mut parts = vec![Node::text(head)];
        if self.one_in(4) {
            parts.push(Node::maybe(vec![Node::text("and"), self.condition(&both, 1)]));
        }
        let inserts = self.one_in(2);
        for _ in 0..self.below(3) {
            let when = vec![Node::text("when matched and"), self.condition(&both, 1), Node::text("then")];
            let action = self.matched(table, &both, inserts);
            parts.push(Node::maybe(when.into_iter().chain(action).collect()));
        }
        parts.push(Node::text("when matched then"));
        parts.extend(self.matched(table, &both, inserts));
        if inserts {
            let first = self.one_in(2).then(|| self.condition(&source, 1));
            if let Some(condition) = first {
                let when = vec![Node::text("when not matched and"), condition, Node::text("then do nothing")];
                parts.push(Node::maybe(when));
            }
            let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
            parts.push(Node::text(format!("when not matched then insert ({}) values (", names.join(", "))));
            let values: Vec<Node> = table.columns.iter().map(|c| self.value(c.ty, &source, 1)).collect();
            parts.push(Node::List { separator: ", ", least: names.len(), items: values });
            parts.push(Node::text(")"));
        }
        Some(parts)
    }

    /// What is done with a row that matches.
    fn matched(&mut self, table: &RandomTable, scope: &[Column], inserts: bool) -> Vec<Node> {
        let in_key = |at: &usize| table.unique.iter().any(|key| key.contains(at));
        let free: Vec<Column> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| !in_key(at))
            .map(|(_, column)| column.clone())
            .collect();
        match self.below(4) {
            0 if !inserts => vec![Node::text("delete")],
            1 => vec![Node::text("do nothing")],
            _ if free.is_empty() => vec![Node::text("do nothing")],
            _ => {
                let column = self.pick(&free);
                let value = self.value(column.ty, scope, 2);
                vec![Node::text(format!("update set {} =", column.name)), value]
            }
        }
    }
}
