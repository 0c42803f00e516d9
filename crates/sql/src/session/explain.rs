//! EXPLAIN: a statement's plan, and with ANALYZE its run.

use super::Session;
use super::run::Target;
use crate::api::{Column, Executed, RowSink, Severity, Tag};
use crate::compiled::{Action, Held};
use crate::exec::measure::Measures;
use crate::explain::{Explained, Reaching, Summary, describe};
use scaledb_engine::{Engine, Keys};
use scaledb_parse::create_as;
use scaledb_parse::explain::{Format, Options};
use scaledb_parse::materialized::Materialized;
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::names::{fold, split};
use scaledb_planner::plan::Plan;
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::Statement;
use std::time::Instant;

/// A run that is measured.
pub(crate) struct Explaining {
    options: Options,
    /// The plan that was run, and what it did.
    explained: Option<Explained>,
    /// How often it was run again.
    again: u64,
}

impl Explaining {
    fn new(options: Options) -> Self {
        Self { options, explained: None, again: 0 }
    }

    /// Where the next run puts what it does.
    pub(super) fn measures(&self) -> Box<Measures> {
        Box::new(Measures::new(self.options.timing))
    }

    /// A plan was run.
    #[cold]
    pub(super) fn has_run(
        &mut self,
        plan: &Plan,
        env: &Env,
        reach: &Reaching<'_>,
        measures: Option<Box<Measures>>,
    ) {
        self.explained = Some(describe(plan, env, reach, self.options.verbose, measures.as_deref()));
    }

    /// The statement is run again in another way, and not because of a conflict.
    pub(super) fn change_way(&mut self) {
        self.again = self.again.saturating_sub(1);
    }

    /// The statement is run again.
    pub(super) fn again(&mut self) {
        self.again += 1;
    }
}

impl<E: Engine> Session<E> {
    /// EXPLAIN.
    pub(super) fn explain(
        &mut self,
        text: &str,
        options: Options,
        (types, values): (&[Type], &[Value]),
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let begin = Instant::now();
        let types: Vec<u32> = types.iter().map(|ty| ty.oid()).collect();
        if self.makes_what_is_there(text, &types)? {
            return self.explain_without_plan(("CREATE TABLE AS", None), options, alone, sink);
        }
        let (compiled, params) = self.explained(text, &types, values)?;
        if compiled.is_without_plan() {
            let shown = ("Utility Statement", Some("Utility statements have no plan structure"));
            return self.explain_without_plan(shown, options, alone, sink);
        }
        let Action::Plan(plan) = &compiled.action else { return Err(unexplained()) };
        self.state.check_needs(plan)?;
        let mut summary =
            Summary { planning: options.summary.then(|| begin.elapsed()), ..Summary::default() };
        let explained = if options.analyze {
            let (begin, reruns) = (Instant::now(), self.reruns);
            let (explained, again) = self.analyzed((text, &types), &compiled, &params, options, alone)?;
            if options.summary {
                let conflicts = self.reruns - reruns;
                summary.execution = Some(begin.elapsed());
                summary.conflicts = Some(conflicts);
                summary.waits = Some(again.saturating_sub(conflicts));
            }
            explained
        } else {
            let reach = |id, keys: Keys<'_>| self.state.shared.engine.reach(id, keys);
            describe(plan, &self.env, &reach, options.verbose, None)
        };
        let columns = [column(options)];
        let rows = explained.values(options.format, &summary);
        rows.iter().try_for_each(|row| super::run::replay(&self.env, row, &columns, sink))?;
        if alone && !options.analyze {
            self.commit()?;
        }
        Ok(Executed::Complete(Tag::plain("EXPLAIN")))
    }

    /// EXPLAIN in a routine that no query calls.
    pub(super) fn explain_in_routine(
        &mut self,
        explained: &Held,
        options: Options,
        params: &[Value],
    ) -> Result<Vec<Box<[Value]>>> {
        let Action::Plan(plan) = &explained.action else { return Err(unexplained()) };
        let mut summary = Summary::default();
        let shown = if options.analyze {
            let begin = Instant::now();
            let mut explaining = Explaining::new(options);
            self.run_plan(explained, params, false, Target::Explain(&mut explaining))?;
            summary.execution = options.summary.then(|| begin.elapsed());
            explaining.explained.ok_or_else(|| SqlError::internal("a plan that was not run"))?
        } else {
            self.state.check_needs(plan)?;
            let reach = |id, keys: Keys<'_>| self.state.shared.engine.reach(id, keys);
            describe(plan, &self.env, &reach, options.verbose, None)
        };
        Ok(shown.values(options.format, &summary))
    }

    /// Whether a statement makes a table or a materialized view of a query that is there, and so does nothing.
    ///
    /// # Errors
    /// 42P07 if it does not say IF NOT EXISTS; what is wrong with its name.
    fn makes_what_is_there(&mut self, text: &str, types: &[u32]) -> Result<bool> {
        let compiled = self.compile(text, types)?;
        let (schema, name, if_not_exists, temporary) = match &compiled.action {
            Action::Ddl(statement) => {
                let Statement::CreateTable(create) = &**statement else { return Ok(false) };
                let (schema, name) = split(&create.name)?;
                (schema, name, create.if_not_exists, create.temporary)
            }
            Action::Utility(Utility::Materialized(statement)) => {
                let Materialized::Create(create) = &**statement else { return Ok(false) };
                let name = scaledb_parse::lex::cut(create.name.clone());
                (create.schema.clone(), name, create.if_not_exists, false)
            }
            _ => return Ok(false),
        };
        self.ensure_begun()?;
        let Some(taken) = self.taken_for_new(schema, &name, temporary)? else { return Ok(false) };
        if !if_not_exists || taken.code() != SqlState::DUPLICATE_TABLE {
            return Err(taken);
        }
        self.state.notice(Severity::Notice, SqlError::new(taken.code(), format!("{taken}, skipping")));
        Ok(true)
    }

    /// What EXPLAIN shows of a statement that has no plan, or does nothing: a word, and as text perhaps a line.
    fn explain_without_plan(
        &mut self,
        (word, line): (&str, Option<&str>),
        options: Options,
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let shown = match options.format {
            Format::Text => line.map(str::to_owned),
            Format::Json => Some(format!("[\n  \"{word}\"\n]")),
            Format::Yaml => Some(format!("- \"{word}\"")),
        };
        let rows: Vec<Box<[Value]>> = shown.map(|line| Box::from([Value::text(line)])).into_iter().collect();
        let columns = [column(options)];
        rows.iter().try_for_each(|row| super::run::replay(&self.env, row, &columns, sink))?;
        if alone {
            self.commit()?;
        }
        Ok(Executed::Complete(Tag::plain("EXPLAIN")))
    }

    /// Runs a statement: its plan with what it did, and how often it was run again.
    fn analyzed(
        &mut self,
        (text, types): (&str, &[u32]),
        compiled: &Held,
        params: &[Value],
        options: Options,
        alone: bool,
    ) -> Result<(Explained, u64)> {
        let not_run = || SqlError::internal("a plan that was not run");
        let whole = self.compile(text, types)?;
        let is_change = match &whole.action {
            Action::Ddl(_) => true,
            Action::Utility(utility) => matches!(utility, Utility::Materialized(_)),
            _ => false,
        };
        if is_change {
            self.explaining = Some(Box::new(Explaining::new(options)));
            let result = self.run_change(alone, |session| match &whole.action {
                Action::Ddl(statement) => session.change(statement),
                Action::Utility(Utility::Materialized(statement)) => session.change_materialized(statement),
                _ => Err(unexplained()),
            });
            let explaining = self.explaining.take();
            result?;
            let Explaining { explained, again, .. } = *explaining.ok_or_else(not_run)?;
            if let Some(explained) = explained {
                return Ok((explained.into_query(), again));
            }
            // WITH NO DATA: its query was not run
            let Action::Plan(plan) = &compiled.action else { return Err(unexplained()) };
            let reach = |id, keys: Keys<'_>| self.state.shared.engine.reach(id, keys);
            let measures = Measures::new(options.timing);
            return Ok((describe(plan, &self.env, &reach, options.verbose, Some(&measures)), again));
        }
        let mut explaining = Explaining::new(options);
        self.run_plan(compiled, params, alone, Target::Explain(&mut explaining))?;
        Ok((explaining.explained.ok_or_else(not_run)?, explaining.again))
    }

    /// The statement whose plan is shown: that of an EXECUTE, or the query of a CREATE TABLE AS, has its own.
    fn explained(&mut self, text: &str, types: &[u32], values: &[Value]) -> Result<(Held, Vec<Value>)> {
        let compiled = self.compile(text, types)?;
        match &compiled.action {
            Action::Plan(_) => Ok((compiled, values.to_vec())),
            Action::Utility(Utility::Execute { name, arguments }) => {
                let (name, arguments) = (name.clone(), arguments.clone());
                self.bound_by_name(&name, &arguments)
            }
            Action::Utility(Utility::Declare { text, .. }) => {
                let text = text.clone();
                Ok((self.compile(&text, &[])?, Vec::new()))
            }
            Action::Utility(Utility::Materialized(statement)) => match &**statement {
                Materialized::Create(create) => Ok((self.query_of(create)?, Vec::new())),
                _ => Err(unexplained()),
            },
            Action::Ddl(statement) => match &**statement {
                Statement::CreateTable(create) => {
                    if let Some((name, arguments)) = create_as::executed(create) {
                        return self.bound_by_name(&fold(name), &arguments);
                    }
                    let query = create.query.as_ref().ok_or_else(unexplained)?;
                    Ok((self.compile(&query.to_string(), &[])?, Vec::new()))
                }
                _ => Err(unexplained()),
            },
            _ => Err(unexplained()),
        }
    }
}

/// The column that EXPLAIN returns.
pub(super) fn column(options: Options) -> Column {
    let ty = if options.format == Format::Json { Type::JSON } else { Type::TEXT };
    super::run::column("QUERY PLAN", ty)
}

fn unexplained() -> SqlError {
    SqlError::unsupported("EXPLAIN of this statement is not supported: it has no plan")
}
