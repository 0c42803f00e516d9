//! What a shell needs of a database, in process or behind a socket.

pub(crate) use scaledb_pgwire::Report;
use scaledb_sync::Arc;
use std::io;

/// A column of a result.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The oid of its type.
    pub(crate) ty: u32,
}

/// Why a statement has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database says so.
    Report(Box<Report>),
    /// The connection is gone.
    Lost(String),
    /// The result could not be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The state of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// There is no connection.
    Idle,
    /// In a block.
    Open,
    /// In a block that has failed.
    Failed,
}

/// What is sent for COPY FROM STDIN.
pub(crate) enum CopyData {
    /// Some of it, appended to the buffer.
    More,
    /// The last of it, too.
    End,
    /// The user has given up, for this reason.
    GiveUp(String),
}

/// Takes what a statement answers.
pub(crate) trait Receiver {
    /// The columns of rows to come.
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()>;

    /// The next value of the row, as text.
    fn value(&mut self, value: Option<&[u8]>);

    /// The row is complete.
    fn end_row(&mut self) -> io::Result<()>;

    /// The statement is done: its tag.
    fn complete(&mut self, tag: &str) -> io::Result<()>;

    /// What is said beside the result.
    fn notice(&mut self, report: &Report);

    /// Data of COPY TO STDOUT.
    fn copy_out(&mut self, data: &[u8]) -> io::Result<()>;

    /// Data for COPY FROM STDIN, into an empty buffer.
    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> CopyData;

    /// Forgets the rows of the statement at hand, which is run again. False if some were written.
    fn rewind(&mut self) -> bool;
}

/// Cancels the statement that runs, from another thread.
pub(crate) type Canceller = Arc<dyn Fn() + Send + Sync>;

/// A session of a database.
pub(crate) trait Connection {
    /// Runs a text of one statement or more.
    fn run(&mut self, sql: &str, receiver: &mut dyn Receiver) -> Result<(), Failure>;

    /// The state of the transaction.
    fn transaction(&self) -> Transaction;

    /// Cancels the statement that is run next.
    fn canceller(&mut self) -> Canceller;

    /// The name of the database.
    fn database(&self) -> &str;

    /// What `\conninfo` says.
    fn info(&self) -> String;
}
