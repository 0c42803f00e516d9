//! What the workloads need of a connection.

use crate::rows::Rows;
use crate::values::Param;

/// What went wrong with a statement.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The database refused it.
    #[error("{message} ({code}){}", detail.as_ref().map(|detail| format!("; {detail}")).unwrap_or_default())]
    Refused {
        /// The SQLSTATE.
        code: String,
        /// What is wrong.
        message: String,
        /// More of it.
        detail: Option<String>,
    },
    /// The connection does not work, or cannot be made.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The result is not what any consistent database answers.
    #[error("inconsistent: {0}")]
    Inconsistent(&'static str),
}

impl Failure {
    /// The SQLSTATE, if the database gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// A connection to a database, in process or not.
pub trait Client: Send {
    /// Prepares statements, for all of the connection's life: [`ask`](Self::ask) names them by their place.
    ///
    /// # Errors
    /// The database's.
    fn prepare(&mut self, statements: &[&str]) -> Result<(), Failure>;

    /// Adds a prepared statement, named by its place, to the batch.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the parameters do not fit; the batch is empty then.
    fn ask(&mut self, statement: usize, params: &[Param<'_>]) -> Result<(), Failure>;

    /// Runs the batch, in order, up to the first statement that fails: one round trip, however many they are.
    /// `rows` holds their answers, and nothing else, afterwards.
    ///
    /// # Errors
    /// The database's.
    fn answers(&mut self, rows: &mut Rows) -> Result<(), Failure>;

    /// Runs a prepared statement alone. Returns the number of rows that it returned or changed.
    ///
    /// # Errors
    /// The database's.
    fn run(&mut self, statement: usize, params: &[Param<'_>], rows: &mut Rows) -> Result<u64, Failure> {
        self.ask(statement, params)?;
        self.answers(rows)?;
        Ok(rows.answer(0).affected())
    }

    /// Runs a statement that is not prepared.
    ///
    /// # Errors
    /// The database's.
    fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<u64, Failure>;

    /// Runs statements whose results do not matter.
    ///
    /// # Errors
    /// The database's.
    fn script(&mut self, sql: &str) -> Result<(), Failure>;

    /// Runs a `COPY ... FROM STDIN` with this data.
    ///
    /// # Errors
    /// The database's.
    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<(), Failure>;
}
