//! SQL as text: lexed, parsed, bound, planned and run.

use crate::database::{Discard, session};
use scaledb_sql::{Status, Step};

/// Runs a text as a simple query, and prepares it as an extended one.
pub fn sql(input: &[u8]) {
    let Ok(text) = scaledb_types::utf8(input) else { return };
    let mut session = session();
    let sink = &mut Discard::default();
    let _ = session.parse("p", text, &[]);
    let _ = session.describe_statement("p");
    let _ = session.sync();
    if let Ok(Step::CopyIn(_)) = session.simple(text, sink) {
        session.copy_fail("");
    }
    if session.status() != Status::Idle {
        let _ = session.simple("rollback", sink);
    }
    assert_eq!(session.status(), Status::Idle, "ROLLBACK ends every transaction");
    // whatever happened, the session is usable
    let left = session.simple("select 1", sink);
    assert!(left.is_ok(), "{left:?}");
}
