//! Row-level security in plans: whom a plan was made for, and what policies say of rows that are written.

use super::expr::Expr;

/// For whom policies are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The role that runs the statement.
    pub role: u32,
    /// The setting `row_security`: off if a statement is to fail rather than be answered without hidden rows.
    pub row_security: bool,
    /// Whether no policy is looked at: a definition is made, and no row is read.
    pub defines: bool,
}

/// What a plan has of row-level security: it is for one reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    pub reader: Reader,
    /// The tables whose policies were looked at, be it that none of them is for the reader.
    pub tables: Vec<u32>,
}

/// What policies say of a row that is there already, or that is to be, over its slots: anything but true is an error.
#[derive(Clone, Debug)]
pub struct PolicyCheck {
    /// The policy, if it is one that must hold; else it is all of those of which one must.
    pub policy: Option<String>,
    pub about: About,
    pub condition: Expr,
}

/// Which row a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A new row.
    New,
    /// The row that is in the way of an INSERT, and is to be updated.
    InTheWay,
    /// A row that MERGE updates or deletes.
    Merged,
}
