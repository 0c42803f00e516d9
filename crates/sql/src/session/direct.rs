//! Statements of the process that the database is in: values go in and come out as they are, without the formats of
//! the protocol.

use super::Session;
use super::run::Target;
use crate::api::{Column, CopyInfo, Description, Executed, RowSink, Status, Step, Tag};
use crate::compiled::{Action, Held};
use crate::memory::Reservation;
use scaledb_engine::Engine;
use scaledb_planner::plan::expr::type_of;
use scaledb_types::weight;
use scaledb_types::{Base, Context, Env, Result, SqlError, SqlState, Type, Value, find_cast};
use std::ops::ControlFlow;

/// Values whose memory is not worth counting.
const SMALL: usize = 16 << 10;

/// The receiver of the rows of a statement, each as it is found.
///
/// What a transaction has read may not fit together until it has committed: of rows that were handed out nothing
/// follows before [`Session::run`] has returned, and within a block before its commit has.
pub trait Rows {
    /// The next row. The rest is not wanted if it breaks: a query ends then, and what writes goes on unseen.
    ///
    /// # Errors
    /// The taker's; they end the statement.
    fn row(&mut self, env: &Env, columns: &[Column], values: &[Value]) -> Result<ControlFlow<()>>;

    /// Forgets all rows: the statement is run again. False if it cannot: the statement fails then.
    fn rewind(&mut self) -> bool;

    /// Whether it keeps all rows, so that it can always forget them.
    fn keeps(&self) -> bool {
        false
    }
}

impl<E: Engine> Session<E> {
    /// Runs one statement. Its parameters take the values, which become values of the types that the statement has
    /// for them: numbers widen and are checked, text is read as what it has to be.
    ///
    /// # Errors
    /// The statement's; 08P01 for another number of values; 42804, 22003, 22P02 and others for values that do not fit.
    pub fn run(&mut self, text: &str, values: &[Value], rows: &mut dyn Rows) -> Result<Tag> {
        self.begin_batch();
        let result = self.run_direct(text, values, rows).map_err(|error| self.state.with_other(error));
        self.in_batch = false;
        if result.is_err() {
            self.fail();
        }
        self.activity.rest(self.status());
        result
    }

    /// Runs a text of one statement or more, and drops their rows.
    ///
    /// # Errors
    /// The first statement's that fails; those behind it are not run.
    pub fn batch(&mut self, text: &str) -> Result<()> {
        let mut sink = Collector { rows: &mut Dropped, columns: &[], row: Vec::new(), enough: true };
        match self.simple(text, &mut sink)? {
            Step::Done => Ok(()),
            Step::CopyIn(_) => {
                self.copy_fail("");
                Err(no_copy())
            }
        }
    }

    /// What a statement takes and returns. It is compiled by this, and kept for the next run.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn describe(&mut self, text: &str) -> Result<Description> {
        self.begin_batch();
        let result = self.compile(one(text), &[]);
        self.in_batch = false;
        let compiled = self.noting(result)?;
        Ok(Description { parameters: compiled.params.clone(), columns: compiled.columns.clone() })
    }

    /// Waits before a transaction is run again after a conflict: the backoff of the engine; `attempt` counts from 1.
    pub fn pause(&mut self, attempt: u32) {
        self.back_off(attempt);
    }

    /// Whether the session is as a new one, but for its settings: no transaction, no locks.
    pub fn is_idle(&self) -> bool {
        self.status() == Status::Idle
            && self.state.owner.borrow().kept() == 0
            && self.state.portals.len() == 0
    }

    fn run_direct(&mut self, text: &str, values: &[Value], rows: &mut dyn Rows) -> Result<Tag> {
        self.look_at_clock();
        let compiled = self.compile(one(text), &[])?;
        if values.len() != compiled.params.len() {
            let (given, takes) = (values.len(), compiled.params.len());
            let what = format!("the statement takes {takes} parameters, and was given {given}");
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, what));
        }
        let mut params = Vec::with_capacity(values.len());
        for (number, (value, &ty)) in values.iter().zip(&compiled.params).enumerate() {
            params.push(self.fit(number, value, ty)?);
        }
        let bytes = params.iter().map(weight).sum::<usize>();
        let reserved = (bytes > SMALL).then(|| Reservation::new(&self.state.shared.memory, bytes));
        let _reserved = reserved.transpose()?;
        let mut logged = self.log_begin();
        if let Some(run) = &mut logged {
            self.log_portal(run, "", &compiled, &params);
        }
        let result = self.run_fitted(&compiled, &params, rows);
        if let Some(run) = logged {
            self.log_portal_end(&run, "", &compiled, &params, result.as_ref().err());
        }
        result
    }

    fn run_fitted(&mut self, compiled: &Held, params: &[Value], rows: &mut dyn Rows) -> Result<Tag> {
        let alone = self.transaction.is_alone();
        if let Action::Plan(plan) = &compiled.action {
            self.refuse_failed()?;
            self.start_statement();
            let begun = self.count_begin(compiled);
            let count = self.run_plan(compiled, params, alone, Target::Rows(rows));
            if let Some(begun) = begun {
                self.count_end(compiled, begun, count.as_ref().copied());
            }
            return Ok(Self::tag(plan, count?));
        }
        let columns = compiled.columns.as_deref().unwrap_or_default();
        let mut sink = Collector { rows, columns, row: Vec::new(), enough: false };
        match self.run_compiled(compiled, params, alone, &mut sink)? {
            Executed::Complete(tag) => Ok(tag),
            Executed::Empty | Executed::Suspended => Ok(Tag::plain("")),
            Executed::CopyIn(_) => {
                self.copying = None;
                Err(no_copy())
            }
        }
    }

    /// A value as one of the type of a parameter.
    fn fit(&self, number: usize, value: &Value, ty: Type) -> Result<Value> {
        let fitted = self.fitted(number, value, ty)?;
        // the value comes from the program, so that SQL has not checked it yet
        fitted.check()?;
        Ok(fitted)
    }

    fn fitted(&self, number: usize, value: &Value, ty: Type) -> Result<Value> {
        // a name is cut, and JSON checked
        let is_read = !ty.array && matches!(ty.base, Base::Name | Base::Json);
        if value.fits(ty) && ty.typmod < 0 && !is_read {
            return Ok(value.clone());
        }
        match (value, ty.base) {
            (Value::Text(text), _) if is_read || ty.array || !ty.is_text() => {
                return self.parse_parameter(text, ty);
            }
            // as the engine's own interface has them
            (Value::Int4(v), Base::Date) if !ty.array => return Ok(Value::Date(*v)),
            (Value::Int8(v), Base::Time) if !ty.array => return Ok(Value::Time(*v)),
            (Value::Int8(v), Base::Timestamp) if !ty.array => return Ok(Value::Timestamp(*v)),
            (Value::Int8(v), Base::Timestamptz) if !ty.array => return Ok(Value::Timestamptz(*v)),
            _ => {}
        }
        value.check()?;
        let from = type_of(value);
        let whole = |ty: Type| matches!(ty.base, Base::Int2 | Base::Int4 | Base::Int8) && !ty.array;
        // a fraction is not rounded unseen
        let loses = whole(ty) && !whole(from);
        // what is not in doubt may become text, as the library's values have no type until they are used
        let cast = find_cast(from, ty, Context::Assignment).filter(|_| !loses);
        let cast = cast.ok_or_else(|| {
            let (takes, got) = (ty.sql_name(), from.sql_name());
            let what = format!("parameter ${} is of type {takes}, and was given a {got}", number + 1);
            SqlError::new(SqlState::DATATYPE_MISMATCH, what)
        })?;
        cast.apply(value, &self.env)
    }
}

/// The statement without what may stand behind it.
fn one(text: &str) -> &str {
    // the end of a comment may be cut as well, and that of a literal that does not end is an error either way
    text.trim_end().trim_end_matches(';')
}

fn no_copy() -> SqlError {
    SqlError::unsupported("COPY FROM STDIN needs a connection that the data comes over")
        .hint("Insert rows, several with one INSERT.")
}

/// A sink for rows that are not needed.
struct Dropped;

impl Rows for Dropped {
    fn row(&mut self, _: &Env, _: &[Column], _: &[Value]) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Break(()))
    }

    fn rewind(&mut self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }
}

/// Rows of statements that have no plan, such as SHOW.
struct Collector<'r> {
    rows: &'r mut dyn Rows,
    columns: &'r [Column],
    row: Vec<Value>,
    enough: bool,
}

impl RowSink for Collector<'_> {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {
        self.row.clear();
    }

    fn value(&mut self, _: &Env, _: Type, value: &Value) -> Result<()> {
        if !self.enough {
            self.row.push(value.clone());
        }
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        if !self.enough {
            self.enough = self.rows.row(&Env::default(), self.columns, &self.row)?.is_break();
        }
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Err(SqlError::unsupported("COPY TO STDOUT needs a connection that the data goes over")
            .hint("A query has the same rows."))
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn mark(&mut self) {}

    fn rewind(&mut self) -> bool {
        self.rows.rewind()
    }
}
