//! DO: runs a block of statements within the transaction at hand.

use super::Session;
use super::run::{Kept, Target};
use crate::api::{Column, CopyInfo, RowSink, Severity, Tag};
use crate::parse::do_block::{Block, Level, Step};
use crate::parse::utility::Utility;
use crate::plan::cache::Action;
use scaledb_engine::Engine;
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::time::Instant;

/// A DO that runs.
pub(super) struct Running {
    /// When `statement_timeout` is over.
    pub(super) deadline: Option<Instant>,
}

impl<E: Engine> Session<E> {
    /// DO.
    ///
    /// # Errors
    /// Those of its statements that none of its handlers is for.
    pub(super) fn do_block(&mut self, block: &Block, deadline: Option<Instant>) -> Result<Tag> {
        self.ensure_begun()?;
        self.running_block = Some(Running { deadline });
        let result = self.run_block(block);
        self.running_block = None;
        result.map(|()| Tag::plain("DO"))
    }

    fn run_block(&mut self, block: &Block) -> Result<()> {
        if block.handlers.is_empty() {
            return self.run_steps(&block.steps);
        }
        let part = self.begin_part()?;
        let error = match self.run_steps(&block.steps) {
            Ok(()) => {
                self.end_part(part);
                return Ok(());
            }
            Err(error) => error,
        };
        // a conflict has ended the transaction, whatever a handler says
        let caught = block.handlers.iter().find(|handler| handler.is_for(error.code()));
        let Some(handler) = caught.filter(|_| error.code().class() != SqlState::TRANSACTION_ROLLBACK.class())
        else {
            self.end_part(part);
            return Err(error);
        };
        self.undo_part(part)?;
        // the error may follow from what others change
        self.state.used.note_all();
        self.run_steps(&handler.steps)
    }

    fn run_steps(&mut self, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|step| self.run_step(step))
    }

    fn run_step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Null => Ok(()),
            Step::Block(block) => self.run_block(block),
            Step::Sql(text) => self.run_text(text, false),
            Step::Perform(rest) => self.values_of(&format!("SELECT {rest}")).map(|_| ()),
            Step::Execute(expr) => match self.text_of(expr)? {
                Some(text) => self.run_text(&text, true),
                None => {
                    let what = "query string argument of EXECUTE is null";
                    Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what))
                }
            },
            Step::If { branches, otherwise } => {
                for (condition, steps) in branches {
                    // FROM may follow the condition
                    match self.values_of(&format!("SELECT {condition}"))?.first() {
                        Some(Value::Bool(true)) => return self.run_steps(steps),
                        None | Some(Value::Bool(false) | Value::Null) => {}
                        Some(_) => {
                            let what = "the condition of an IF must be of type boolean";
                            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
                        }
                    }
                }
                self.run_steps(otherwise)
            }
            Step::Raise { level, parts, args } => {
                let mut message = String::new();
                let mut args = args.iter();
                for (number, part) in parts.iter().enumerate() {
                    if number > 0
                        && let Some(arg) = args.next()
                    {
                        message.push_str(self.text_of(arg)?.as_deref().unwrap_or("<NULL>"));
                    }
                    message.push_str(part);
                }
                match level {
                    Level::Unheard => {}
                    Level::Notice => self
                        .state
                        .notice(Severity::Notice, SqlError::new(SqlState::SUCCESSFUL_COMPLETION, message)),
                    Level::Warning => {
                        self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, message));
                    }
                    Level::Exception => return Err(SqlError::new(SqlState::RAISE_EXCEPTION, message)),
                }
                Ok(())
            }
        }
    }

    /// The text of an expression.
    fn text_of(&mut self, expr: &str) -> Result<Option<String>> {
        let row = self.values_of(&format!("SELECT ({expr})::text"))?;
        Ok(row.first().and_then(Value::as_str).map(str::to_owned))
    }

    /// The values of the first row of a query.
    fn values_of(&mut self, query: &str) -> Result<Vec<Value>> {
        let compiled = self.compile(query, &[])?;
        self.start_statement();
        let mut kept = Kept::default();
        self.run_plan(&compiled, &[], false, Target::Keep(&mut kept))?;
        Ok(kept.rows.into_iter().next().map(<[Value]>::into_vec).unwrap_or_default())
    }

    /// Runs a statement, whose rows are dropped.
    ///
    /// # Errors
    /// 42601 if it returns rows and may not; 0A000 and 2D000 for one that has no place here.
    fn run_text(&mut self, text: &str, may_return: bool) -> Result<()> {
        let compiled = self.compile(text, &[])?;
        if let Action::Utility(utility) = &compiled.action {
            let allowed = matches!(
                utility,
                Utility::AlterSequence(_)
                    | Utility::AlterType(_)
                    | Utility::SetSchema(_)
                    | Utility::Analyze(_)
                    | Utility::Comment(_)
                    | Utility::Lock { .. }
                    | Utility::Privilege(..)
                    | Utility::Reset(_)
                    | Utility::Set { .. }
                    | Utility::SetConstraints { .. }
            );
            let ends = matches!(utility, Utility::Commit { .. } | Utility::Rollback { .. });
            if ends {
                return Err(SqlError::new(
                    SqlState::INVALID_TRANSACTION_TERMINATION,
                    "invalid transaction termination",
                ));
            }
            if !allowed {
                return Err(SqlError::unsupported("this statement is not supported in a DO block"));
            }
        } else if compiled.columns.is_some() && !may_return {
            let what = "query has no destination for result data";
            let error = SqlError::new(SqlState::SYNTAX_ERROR, what);
            return Err(error.hint("If you want to discard the results of a SELECT, use PERFORM instead."));
        }
        self.run_compiled(&compiled, &[], false, &mut NoRows).map(|_| ())
    }
}

/// Where rows go that nobody asked for.
pub(super) struct NoRows;

impl RowSink for NoRows {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {}

    fn value(&mut self, _: &Env, _: Type, _: &Value) -> Result<()> {
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Err(SqlError::unsupported("COPY is not supported in a DO block"))
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Err(SqlError::unsupported("COPY is not supported in a DO block"))
    }

    fn mark(&mut self) {}

    fn rewind(&mut self) -> bool {
        true
    }
}
