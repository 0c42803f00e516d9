//! One server asked in ways that must agree: no second server is needed.

use crate::answer::Answer;
use crate::compare::{Rows, equal_rows};
use crate::generate::{Partition, Statement};
use crate::servers::Server;

/// Whether the rows of a query are those of its three parts together, and each part as large as the values of the
/// condition say; what does not agree, if they are not. Queries that fail say nothing.
pub fn check(partition: &Partition, server: &mut dyn Server) -> Option<String> {
    let whole = rows(&partition.whole, server)?;
    let values = rows(&partition.values, server)?;
    let mut together = Vec::new();
    for (part, wanted) in partition.parts.iter().zip([Some("t"), Some("f"), None]) {
        let found = rows(part, server)?;
        let count = values.iter().filter(|row| row[0].as_deref() == wanted).count();
        if found.len() != count {
            let (sql, of) = (part.tree.sql(), partition.values.tree.sql());
            return Some(format!("{} rows, not {count}:\n{sql};\n{of};", found.len()));
        }
        together.extend(found);
    }
    if equal_rows(&whole, &together) {
        return None;
    }
    let parts: Vec<String> = partition.parts.iter().map(|part| format!("{};", part.tree.sql())).collect();
    Some(format!("not the rows of its parts:\n{};\n{}", partition.whole.tree.sql(), parts.join("\n")))
}

fn rows(statement: &Statement, server: &mut dyn Server) -> Option<Rows> {
    match server.run(statement) {
        Answer::Done { rows, .. } => Some(rows),
        Answer::Failed { .. } => None,
    }
}
