//! What a session takes and gives: the words of the interface to the layers above.

use scaledb_types::{Env, Result, SqlError, Type, Value};
use std::fmt;

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The oid of the table that it comes from, or 0.
    pub table: u32,
    /// Its number in that table, or 0.
    pub attnum: i16,
}

/// What a prepared statement takes and returns.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// The columns of its result; `None` if it returns no rows.
    pub columns: Option<Vec<Column>>,
}

/// What a statement has done: what `CommandComplete` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The words: `SELECT`, `INSERT 0`, `CREATE TABLE`.
    pub words: &'static str,
    /// The number of rows, for those that count them.
    pub rows: Option<u64>,
}

impl Tag {
    /// A tag that counts rows.
    pub(crate) fn rows(words: &'static str, rows: u64) -> Self {
        Self { words, rows: Some(rows) }
    }

    /// A tag that does not.
    pub(crate) fn plain(words: &'static str) -> Self {
        Self { words, rows: None }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words)?;
        self.rows.map_or(Ok(()), |rows| write!(f, " {rows}"))
    }
}

/// The format of a COPY, and how many columns a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyInfo {
    /// Binary rather than text or csv.
    pub binary: bool,
    /// Columns of a row.
    pub columns: usize,
}

/// Where results go. Everything is in the order of the protocol: `describe` (simple queries only), rows,
/// `complete`; or `copy_out`, data, `complete`.
pub trait RowSink {
    /// The columns of the rows to come. Called for simple queries only; extended ones ask before.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn describe(&mut self, columns: &[Column]) -> Result<()>;

    /// A row of so many columns begins.
    fn begin_row(&mut self, columns: usize);

    /// The next value of the row, NULL included.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()>;

    /// The next value of the row, if it is text (see [`Type::is_text`]): spares a copy.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn text(&mut self, env: &Env, ty: Type, text: &str) -> Result<()> {
        self.value(env, ty, &Value::text(text))
    }

    /// The next value of the row, if it is the oid of something that has a name: `name` is its text.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn named(&mut self, env: &Env, ty: Type, oid: &Value, name: &Value) -> Result<()> {
        let _ = oid;
        self.value(env, ty, name)
    }

    /// The row is complete.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn end_row(&mut self) -> Result<()>;

    /// A statement of a simple query is complete; for an extended one, [`Executed`] says so.
    fn complete(&mut self, tag: &Tag);

    /// The last statement's completion was not the truth: the commit behind it has failed.
    fn take_back_complete(&mut self) {}

    /// A simple query had no statement.
    fn empty(&mut self);

    /// COPY TO STDOUT begins.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn copy_out(&mut self, info: CopyInfo) -> Result<()>;

    /// Data of COPY TO STDOUT.
    ///
    /// # Errors
    /// The sink's; they end the statement.
    fn copy_data(&mut self, data: &[u8]) -> Result<()>;

    /// Notes a place to come back to: the statement that begins now may be run again.
    fn mark(&mut self);

    /// Keeps what comes from here on to itself, so that it can be rewound, or lets it go again. False if it does not:
    /// what it gets may be sent at once.
    fn hold(&mut self, on: bool) -> bool {
        let _ = on;
        false
    }

    /// Whether it has so much that it would have to be sent by now. Asked of one that keeps rows to itself.
    fn is_full(&self) -> bool {
        false
    }

    /// Forgets all since the mark. False if it cannot, because some of it was sent: the statement is not run
    /// again then.
    fn rewind(&mut self) -> bool;
}

/// How far a simple query got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To its end.
    Done,
    /// It is a COPY FROM STDIN: data is to come, by [`Session::copy_data`](crate::Session::copy_data).
    CopyIn(CopyInfo),
}

/// How far a portal got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// To its end.
    Complete(Tag),
    /// The portal has more rows.
    Suspended,
    /// The text contained no statement.
    Empty,
    /// It is a COPY FROM STDIN: data is to come, by [`Session::copy_data`](crate::Session::copy_data).
    CopyIn(CopyInfo),
}

/// The state of a session's transaction: what `ReadyForQuery` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// None.
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a transaction block that has failed.
    Failed,
}

impl Status {
    /// The byte of the protocol.
    pub fn byte(self) -> u8 {
        match self {
            Self::Idle => b'I',
            Self::InTransaction => b'T',
            Self::Failed => b'E',
        }
    }
}

/// How serious a notice is, in the order of `client_min_messages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is for those who look for a mistake.
    Debug,
    /// Something is for who runs the server.
    Log,
    /// Something is worth knowing.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something was asked for: it is told whatever `client_min_messages` is.
    Info,
}

/// What a statement says beside its result.
#[derive(Clone, Debug)]
pub struct Notice {
    /// How serious it is.
    pub severity: Severity,
    /// The fields, as those of an error.
    pub fields: SqlError,
}
