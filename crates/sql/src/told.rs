//! What system catalogs tell of the session that reads them.

use scaledb_types::Type;

/// A statement that the session has prepared.
#[derive(Clone, Debug)]
pub(crate) struct PreparedStatement {
    pub(crate) name: String,
    pub(crate) text: String,
    /// When, as `timestamptz`.
    pub(crate) time: i64,
    /// The types of its parameters.
    pub(crate) types: Vec<Type>,
    /// By PREPARE rather than by the protocol.
    pub(crate) by_sql: bool,
}

/// A cursor that the session has opened.
#[derive(Clone, Debug)]
pub(crate) struct OpenCursor {
    pub(crate) name: String,
    pub(crate) text: String,
    /// When, as `timestamptz`.
    pub(crate) time: i64,
    pub(crate) hold: bool,
    pub(crate) scroll: bool,
}

/// What statements and cursors the session had when its statement began.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) prepared: Vec<PreparedStatement>,
    pub(crate) cursors: Vec<OpenCursor>,
}

/// A setting, but for its value.
#[derive(Clone, Debug)]
pub(crate) struct DescribedSetting {
    /// What it takes, in PostgreSQL's word.
    pub(crate) kind: &'static str,
    /// The least and the greatest number that it takes.
    pub(crate) bounds: Option<(String, String)>,
    /// The words that it takes.
    pub(crate) choices: &'static [&'static str],
    pub(crate) default: &'static str,
    /// What RESET goes back to.
    pub(crate) reset: String,
    /// Whether nobody can set it.
    pub(crate) is_fixed: bool,
}
