//! Views that rows of tables are written through.

use super::schema::RandomTable;
use super::{Column, Generator, Statement, plain};
use crate::tree::Node;

impl Generator {
    /// Makes views of some tables, and of such views.
    pub(super) fn views_to_write(&mut self, statements: &mut Vec<Statement>) {
        for table in self.tables.clone() {
            if self.one_in(2) {
                continue;
            }
            let mut below = table.name.clone();
            for level in 0..1 + self.below(2) {
                let name = format!("{}_v{level}", table.name);
                let mut columns: Vec<String> = table.all().map(|column| column.name.clone()).collect();
                if self.one_in(3) {
                    columns.reverse();
                }
                if self.one_in(3) {
                    let computed: Vec<Column> = table.all().cloned().collect();
                    let of = self.pick(&computed);
                    columns.push(format!("{} is null as n{level}", of.name));
                }
                let condition = match self.one_in(3) {
                    true => String::new(),
                    false => format!(" where {}", self.part(&table)),
                };
                let check = self.pick(&["", "", " with check option", " with local check option"]);
                let text = format!(
                    "create view {name} as select {} from {below}{condition}{check}",
                    columns.join(", ")
                );
                statements.push(plain(Node::text(text)));
                self.written_through.push((table.name.clone(), name.clone()));
                below = name;
            }
        }
    }

    /// A table to be written, now and then through a view of it.
    pub(super) fn written(&mut self, number: usize) -> RandomTable {
        let table = self.tables[number].clone();
        let views: Vec<String> = self
            .written_through
            .iter()
            .filter(|(of, _)| *of == table.name)
            .map(|(_, view)| view.clone())
            .collect();
        if views.is_empty() || !self.one_in(3) {
            return table;
        }
        RandomTable { name: self.pick(&views), ..table }
    }
}
