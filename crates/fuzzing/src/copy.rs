//! The data of COPY FROM STDIN.

use crate::database::{Discard, session};
use scaledb_sql::{Status, Step};

/// Formats and tables: the first byte of an input chooses.
const COPIES: &[&str] = &[
    "copy t from stdin",
    "copy t (id, n, x) from stdin with (format csv, header true)",
    "copy c from stdin with (format csv, null 'x', quote '''', escape '\\')",
    "copy w from stdin",
    "copy w from stdin with (format csv, delimiter ';')",
    "copy t from stdin with (format binary)",
    "copy c from stdin with (format binary)",
    "copy w from stdin with (format binary)",
];

/// Feeds data to a COPY, cut into pieces of the size that the second byte says.
pub fn copy(input: &[u8]) {
    let &[which, cut, ref data @ ..] = input else { return };
    let mut session = session();
    let sink = &mut Discard::default();
    let _ = session.simple("begin", sink);
    let begun = session.simple(COPIES[usize::from(which) % COPIES.len()], sink);
    if let Ok(Step::CopyIn(_)) = begun {
        let fed = data.chunks(usize::from(cut).max(1)).try_for_each(|piece| session.copy_data(piece));
        if fed.is_ok() {
            let _ = session.copy_done(sink);
        }
    }
    let _ = session.simple("rollback", sink);
    assert_eq!(session.status(), Status::Idle);
}
