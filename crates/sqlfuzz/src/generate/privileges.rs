//! Another role, which may do some of what the statements do.

use super::{Generator, Statement, plain};
use crate::tree::Node;

/// The role that is there besides the one that makes everything.
pub const READER: &str = "sqlfuzz_reader";

impl Generator {
    /// Statements follow of a role that may do something with each table; or those of the first one go on.
    pub(super) fn role(&mut self, statements: &mut Vec<Statement>) {
        self.as_reader = !self.as_reader;
        if !self.as_reader {
            statements.push(plain(Node::text("reset role")));
            return;
        }
        for table in self.tables.clone() {
            let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
            self.grants(&table.name, &columns, statements);
        }
        for (name, columns) in self.views.clone() {
            let columns: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
            self.grants(&name, &columns, statements);
        }
        statements.push(plain(Node::text(format!("set role {READER}"))));
    }

    /// Grants some privileges on a relation, and takes away others.
    fn grants(&mut self, name: &str, columns: &[String], statements: &mut Vec<Statement>) {
        if self.one_in(2) {
            statements.push(plain(Node::text(format!("revoke all on {name} from {READER}"))));
        }
        for privilege in ["select", "insert", "update", "delete"] {
            let some: Vec<&str> = columns.iter().filter(|_| self.below(4) > 0).map(String::as_str).collect();
            let on = match self.below(6) {
                0 => continue,
                1 | 2 if privilege != "delete" && !some.is_empty() => format!(" ({})", some.join(", ")),
                _ => String::new(),
            };
            statements.push(plain(Node::text(format!("grant {privilege}{on} on {name} to {READER}"))));
        }
    }
}
