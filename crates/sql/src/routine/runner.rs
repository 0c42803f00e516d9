//! What an interpreter needs of who runs its pieces of SQL.

use super::{Piece, Planned};
use crate::api::Severity;
use crate::compiled::{Compiled, Held};
use scaledb_planner::plan::secured::Reader;
use scaledb_types::{Result, SqlError, Type, Value};

/// What a piece of SQL has done.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) rows: Vec<Box<[Value]>>,
    /// Rows that were written, or returned.
    pub(crate) affected: u64,
}

/// Who runs pieces of SQL.
pub(crate) trait Runner {
    /// A part of what it does that may be undone.
    type Part;

    /// Changes with whatever compiled pieces depend on, if that may change while a routine runs.
    fn generation(&self) -> u64;

    /// For whom policies of tables are chosen.
    fn reader(&self) -> Reader;

    /// # Errors
    /// What is wrong with the text.
    fn compile(&mut self, piece: &Piece<'_>) -> Result<Compiled>;

    /// Runs a piece: at most so many of its rows are kept, and a query ends with them.
    ///
    /// # Errors
    /// Its own.
    fn run(&mut self, compiled: &Held, params: &[Value], most: usize) -> Result<Ran>;

    /// The value of an expression.
    ///
    /// # Errors
    /// Its own.
    fn value(&mut self, piece: &Planned, params: &[Value]) -> Result<Value>;

    /// A value of one type as one of another, as an assignment has it.
    ///
    /// # Errors
    /// 42804 if there is no such cast, and those of the cast.
    fn convert(&mut self, value: Value, from: Type, to: Type) -> Result<Value>;

    /// A value as text; `None` for NULL.
    fn text(&mut self, value: &Value, ty: Type) -> Option<String>;

    /// Begins what may be undone.
    ///
    /// # Errors
    /// 40001 if a conflict has ended the transaction.
    fn begin_part(&mut self) -> Result<Self::Part>;

    /// Ends a part, whose changes stay.
    fn end_part(&mut self, part: Self::Part);

    /// Undoes a part, and ends it.
    ///
    /// # Errors
    /// 40001 if a conflict has ended the transaction.
    fn undo_part(&mut self, part: Self::Part) -> Result<()>;

    /// Tells the client something.
    fn notice(&mut self, severity: Severity, fields: SqlError);

    /// Takes memory for as long as the statement runs.
    ///
    /// # Errors
    /// 53200.
    fn take(&mut self, bytes: usize) -> Result<()>;

    /// Gives memory back.
    fn give(&mut self, bytes: usize);

    /// Looks whether the statement was cancelled.
    ///
    /// # Errors
    /// 57014.
    fn check(&mut self) -> Result<()>;
}
