//! The kinds of statements whose times are kept apart.

use super::Action;
use scaledb_parse::utility::Utility;
use scaledb_planner::plan::Kind;

/// What a statement is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    /// Changes of the catalog, and TRUNCATE.
    Ddl,
    Copy,
    /// BEGIN, COMMIT, ROLLBACK and savepoints.
    Transaction,
    Other,
}

impl StatementKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Select,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Merge,
        Self::Ddl,
        Self::Copy,
        Self::Transaction,
        Self::Other,
    ];

    /// The kind of a statement.
    pub(crate) fn of(action: &Action) -> Self {
        match action {
            Action::Plan(plan) => match plan.kind {
                Kind::Select => Self::Select,
                Kind::Insert => Self::Insert,
                Kind::Update => Self::Update,
                Kind::Delete => Self::Delete,
                Kind::Merge => Self::Merge,
            },
            Action::Ddl(_) | Action::Truncate(_) => Self::Ddl,
            Action::Utility(Utility::Copy(_)) => Self::Copy,
            Action::Utility(
                Utility::Begin { .. }
                | Utility::Commit { .. }
                | Utility::Rollback { .. }
                | Utility::Savepoint(_)
                | Utility::ReleaseSavepoint(_)
                | Utility::RollbackTo(_),
            ) => Self::Transaction,
            Action::Utility(_) | Action::Call(_) | Action::Empty => Self::Other,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::Ddl => "ddl",
            Self::Copy => "copy",
            Self::Transaction => "transaction",
            Self::Other => "other",
        }
    }
}
