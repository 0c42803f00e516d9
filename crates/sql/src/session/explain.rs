//! EXPLAIN: a statement's plan, and with ANALYZE its run.

use super::Session;
use super::run::{Kept, Target};
use crate::api::{Column, Executed, RowSink, Tag};
use crate::explain::describe;
use crate::parse::explain::{Format, Options};
use crate::parse::utility::Utility;
use crate::plan::cache::{Action, Held};
use scaledb_engine::Engine;
use scaledb_types::{Result, SqlError, Type, Value};
use sqlparser::ast::Statement;

impl<E: Engine> Session<E> {
    /// The column that EXPLAIN returns.
    pub(super) fn explain_column(options: Options) -> Column {
        let ty = if options.format == Format::Json { Type::JSON } else { Type::TEXT };
        super::run::column("QUERY PLAN", ty)
    }

    /// EXPLAIN.
    pub(super) fn explain(
        &mut self,
        text: &str,
        options: Options,
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let (compiled, params) = self.explained(text)?;
        let Action::Plan(plan) = &compiled.action else { return Err(unexplained()) };
        let mut lines = describe(plan, &self.env, options.verbose).rows(options.format);
        if options.analyze {
            let begin = std::time::Instant::now();
            let mut rows = Kept::default();
            let count = self.run_plan(&compiled, &params, alone, Target::Keep(&mut rows))?;
            if options.format == Format::Text {
                lines.push(format!("Rows: {count}"));
                lines.push(format!("Execution Time: {:.3} ms", begin.elapsed().as_secs_f64() * 1_000.0));
            }
        }
        let rows: Vec<Box<[Value]>> = lines.into_iter().map(|line| Box::from([Value::text(line)])).collect();
        super::run::replay(&self.env, &rows, &[Self::explain_column(options)], sink)?;
        if alone && !options.analyze {
            self.commit()?;
        }
        Ok(Executed::Complete(Tag::plain("EXPLAIN")))
    }

    /// The statement whose plan is shown: that of an EXECUTE, or the query of a CREATE TABLE AS, has its own.
    fn explained(&mut self, text: &str) -> Result<(Held, Vec<Value>)> {
        let compiled = self.compile(text, &[])?;
        match &compiled.action {
            Action::Plan(_) => Ok((compiled, Vec::new())),
            Action::Utility(Utility::Execute { name, arguments }) => {
                let (name, arguments) = (name.clone(), arguments.clone());
                self.bound_by_name(&name, &arguments)
            }
            Action::Utility(Utility::Declare { text, .. }) => {
                let text = text.clone();
                Ok((self.compile(&text, &[])?, Vec::new()))
            }
            Action::Ddl(statement) => match &**statement {
                Statement::CreateTable(create) => {
                    let query = create.query.as_ref().ok_or_else(unexplained)?;
                    Ok((self.compile(&query.to_string(), &[])?, Vec::new()))
                }
                _ => Err(unexplained()),
            },
            _ => Err(unexplained()),
        }
    }
}

fn unexplained() -> SqlError {
    SqlError::unsupported("EXPLAIN of this statement is not supported: it has no plan")
}
