//! Compiling statements, and those that have names.

use super::compile::Compiling;
use super::cursor::{PORTAL, Portal};
use super::run::Target;
use super::state::Said;
use super::{Places, Session};
use crate::api::{Column, Description, Executed, Notice, RowSink, Severity, Step, Tag};
use crate::compiled::{Action, Compiled, Held, Key};
use crate::memory::Reservation;
use crate::patience::{CHANGE_ATTEMPTS, runs_again};
use scaledb_catalog::Catalog;
use scaledb_engine::Engine;
use scaledb_parse::lex::MAX_NAME;
use scaledb_parse::{self as parse, normalize, utility};
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::plan::secured::Reader;
use scaledb_types::weight;
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::Statement as Ast;
use std::sync::Arc;

/// A statement that was prepared under a name.
#[derive(Clone)]
pub(super) struct Statement {
    pub(super) compiled: Held,
    /// The number of the search path that it was compiled with. None for what a transaction has compiled that has
    /// changed the catalog: no other statement may run it, for the change may be rolled back.
    path: Option<u64>,
    /// The types that were given for its parameters.
    pub(super) types: Box<[u32]>,
    /// Made by PREPARE rather than by the protocol.
    pub(super) by_sql: bool,
    /// When, as `timestamptz`; and the text of PREPARE, if that made it.
    pub(super) time: i64,
    pub(super) whole: Option<Arc<str>>,
    /// The memory of the statement.
    _reserved: Option<Arc<Reservation>>,
}

impl Statement {
    /// The text that made it.
    pub(super) fn shown(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.compiled.text)
    }
}

/// Statements with names that a session may have.
const MAX_STATEMENTS: usize = 10_000;
/// What a compiled statement takes per byte of its text: its tree, and its plan.
const BYTES_PER_BYTE: usize = 16;
/// What a statement takes at least.
const STATEMENT: usize = 1_024;
/// The longest text whose plan is cached, and the largest values of the unnamed portal that are not worth counting.
const SHORT: usize = 16 << 10;

impl<E: Engine> Session<E> {
    /// The compiled statement of a text: from a cache, or compiled now.
    pub(super) fn compile(&mut self, text: &str, types: &[u32]) -> Result<Held> {
        self.refresh();
        self.use_newest_catalog();
        let version = self.state.catalog.version;
        // what the transaction has changed is for it alone
        let private = self.transaction.changed;
        if !private
            && let Some(held) = self.cache.get(text, types)
            && held.version == version
        {
            if !self.is_outdated(held) {
                return Ok(held.clone());
            }
            self.cache.clear();
        }
        let mut key = Key { text: Arc::from(text), types: types.into(), settings: self.settings_key.clone() };
        let mut known = if private { None } else { self.state.database.plans.get(&key, version) };
        if known.as_ref().is_some_and(|known| self.is_for_another(known)) {
            // those for others have places of their own
            let Reader { role, row_security, defines } = self.state.reader();
            key.settings = Arc::from(format!("{}\nas {role} {row_security} {defines}", self.settings_key));
            known = self.state.database.plans.get(&key, version);
        }
        if let Some(compiled) = known
            && !self.is_outdated(&compiled)
        {
            let held = Held::new(compiled);
            self.cache.put(types, held.clone());
            return Ok(held);
        }
        let known: Vec<Option<Type>> = types
            .iter()
            .map(|&oid| if oid == 0 { Ok(None) } else { parameter_type(&self.state.catalog, oid).map(Some) })
            .collect::<Result<_>>()?;
        let compiled = Arc::new(parse::with_stack(text, || self.compile_text(text, known))?);
        let held = Held::new(compiled.clone());
        // a cache counts plans, so that each must be small
        if !private && text.len() <= SHORT && is_lasting(&compiled.action) {
            self.cache.put(types, held.clone());
            self.state.database.plans.put(key, compiled);
        }
        Ok(held)
    }

    /// Whether a plan was made for tables that were much smaller or larger, or for another role.
    #[inline]
    fn is_outdated(&self, compiled: &Compiled) -> bool {
        match &compiled.action {
            // most statements join nothing
            Action::Plan(plan) if plan.is_conditional => {
                self.is_for_another(compiled) || self.state.shared.is_outdated(plan)
            }
            Action::Call(_) => self.is_for_another(compiled),
            _ => false,
        }
    }

    /// Whether policies of tables have made a plan what it is, and it was made for another role.
    fn is_for_another(&self, compiled: &Compiled) -> bool {
        compiled.reader().is_some_and(|reader| reader != self.state.reader())
    }

    /// Outside of a transaction, the catalog is the newest.
    fn use_newest_catalog(&mut self) {
        if self.transaction.has_begun() {
            return;
        }
        if self.state.shared.is_shared {
            self.state.shared.look_for_changes(&self.state.database);
        }
        let version = self.state.database.version();
        if self.state.catalog.version != version {
            let catalog = self.state.database.catalog();
            self.state.use_catalog(catalog);
        }
        if self.cache_version != version {
            self.cache.clear();
            self.cache_version = version;
        }
    }

    fn compile_text(&mut self, text: &str, types: Vec<Option<Type>>) -> Result<Compiled> {
        let version = self.state.catalog.version;
        let number = self.state.shared.trace.number(&parse::passwords::for_others(text));
        let serial = self.state.shared.collected.serial();
        let compiled = |action: Action, params: Vec<Type>, columns: Option<Vec<Column>>| {
            super::compile::compiled(text, number, serial, action, params, columns, version)
        };
        if parse::lex::Lexer::new(text).next().is_none() {
            return Ok(compiled(Action::Empty, Vec::new(), None));
        }
        self.tell_of_long_names(text);
        if let Some(utility) = utility::parse(text) {
            let utility = utility?;
            let columns = self.utility_columns(&utility)?;
            // the parameters of a cursor are those of its query
            let params = match &utility {
                utility::Utility::Declare { text, .. } if !self.transaction.is_failed() => {
                    let types: Vec<u32> = types.iter().map(|ty| ty.map_or(0, Type::oid)).collect();
                    self.compile(text, &types)?.params.clone()
                }
                // and those of EXPLAIN of its statement, if that is one with a plan of its own
                utility::Utility::Explain { text, .. }
                    if !self.transaction.is_failed() && utility::parse(text).is_none() =>
                {
                    let types: Vec<u32> = types.iter().map(|ty| ty.map_or(0, Type::oid)).collect();
                    self.compile(text, &types)?.params.clone()
                }
                _ => Vec::new(),
            };
            return Ok(compiled(Action::Utility(utility), params, columns));
        }
        let ast = parse::statement(text)?;
        // in a block that has failed nothing but the grammar is looked at
        self.refuse_failed()?;
        if matches!(ast, Ast::Truncate(_)) {
            return Ok(compiled(Action::Truncate(Box::new(ast)), Vec::new(), None));
        }
        let compiling = Compiling {
            catalog: &self.state.catalog,
            lookup: &self.state,
            env: &self.env,
            text,
            types,
            variables: None,
        };
        Ok(match compiling.statement(&ast)? {
            Some(planned) => compiled(planned.action, planned.params, planned.columns),
            None => compiled(Action::Ddl(Box::new(ast)), Vec::new(), None),
        })
    }

    /// Tells of the names in a text that are cut.
    fn tell_of_long_names(&self, text: &str) {
        if text.len() <= MAX_NAME {
            return;
        }
        for token in parse::lex::Lexer::new(text) {
            let Some(whole) = parse::lex::whole_name_of(token, text).filter(|name| name.len() > MAX_NAME)
            else {
                continue;
            };
            let cut = parse::lex::cut(whole.clone());
            let what = format!("identifier \"{whole}\" will be truncated to \"{cut}\"");
            // a text may be compiled twice
            let told = |notice: &Notice| notice.fields.message() == what;
            if !self.state.notices.borrow().iter().any(told) {
                self.state.notice(Severity::Notice, SqlError::new(SqlState::NAME_TOO_LONG, what));
            }
        }
    }

    /// The statement compiled anew, if the catalog has changed since.
    pub(super) fn fresh(&mut self, compiled: &Held) -> Result<Option<Held>> {
        self.refresh();
        self.use_newest_catalog();
        if compiled.version == self.state.catalog.version
            && !self.transaction.changed
            && !self.is_for_another(compiled)
            || !matches!(compiled.action, Action::Plan(_) | Action::Call(_))
        {
            return Ok(None);
        }
        let types: Vec<u32> = compiled.params.iter().map(|ty| ty.oid()).collect();
        let fresh = self.compile(&compiled.text, &types)?;
        if !is_same_result(fresh.columns.as_deref(), compiled.columns.as_deref()) {
            return Err(other_result());
        }
        Ok(Some(fresh))
    }

    /// Compiles one statement of a simple query: with its literals taken out, if that works.
    fn compile_simple(&mut self, text: &str) -> Result<(Held, Vec<Value>)> {
        self.refresh();
        self.look_at_clock();
        parse::refuse_empty_names(text)?;
        if let Some(found) = normalize::normalize(text, &self.env)
            && let Ok(compiled) = self.compile(&found.text, &types_of(&found))
            && !matches!(&compiled.action, Action::Plan(plan) if plan.wants_values)
            && let Ok(values) = self.literals(&compiled, found.values)
        {
            return Ok((compiled, values));
        }
        Ok((self.compile(text, &[])?, Vec::new()))
    }

    /// Refuses a batch of statements one of which is none: those in front of it, a COMMIT among them, must not have
    /// been run by the time that it is read. What is merely not supported waits for its turn.
    pub(super) fn look_at_grammar(&mut self, text: &str, statements: &[&str]) -> Result<()> {
        let mut places = Places::new(text);
        // dumps have one statement with ever other literals
        let mut last = String::new();
        for &part in statements {
            let normalized = normalize::normalize(part, &self.env);
            if let Some(found) = normalized {
                if found.text == last || self.has_plan(&found) {
                    continue;
                }
                last = found.text;
            }
            if let Err(error) = grammar_of(part)
                && error.code() == SqlState::SYNTAX_ERROR
            {
                return Err(error.shift(places.of(part)));
            }
        }
        Ok(())
    }

    /// Whether the session has a plan for a text without its literals, which is a statement then.
    fn has_plan(&self, found: &normalize::Normalized) -> bool {
        self.cache.get(&found.text, &types_of(found)).is_some()
    }

    /// Literals as the types that the statement has found for them.
    fn literals(&self, compiled: &Compiled, values: Vec<Value>) -> Result<Vec<Value>> {
        let typed = values.into_iter().zip(&compiled.params).map(|(value, &ty)| match value {
            Value::Text(text) if !ty.takes_any_text() => Value::parse(&text, ty, &self.env),
            value if value.fits(ty) => Ok(value),
            _ => Err(SqlError::internal("a literal of another type")),
        });
        typed.collect()
    }

    /// Runs one statement of a simple query.
    pub(super) fn simple_statement(&mut self, text: &str, sink: &mut dyn RowSink) -> Result<Step> {
        self.refresh();
        let mut logged = self.log_begin();
        let (compiled, params) = match self.compile_simple(text) {
            Ok(compiled) => compiled,
            Err(error) => {
                let error = self.unless_cut_off(error);
                if logged.is_some() {
                    self.log_refused(text, &error);
                }
                return Err(error);
            }
        };
        if let Some(run) = &mut logged {
            self.log_simple(run, &compiled, text);
        }
        if matches!(compiled.action, Action::Plan(_) | Action::Call(_)) {
            // the time that its literals were read at
            self.transaction.time.get_or_insert(self.env.transaction_time);
        }
        let alone = self.transaction.is_alone();
        if let Some(columns) = &compiled.columns
            && !self.transaction.is_failed()
        {
            sink.describe(columns)?;
        }
        let result = self.run_compiled(&compiled, &params, alone, sink);
        match logged {
            Some(run) if matches!(result, Ok(Executed::CopyIn(_))) => self.log_later(run, text),
            Some(run) => self.log_simple_end(&run, text, result.as_ref().err()),
            None => {}
        }
        match result {
            Ok(Executed::CopyIn(info)) => Ok(Step::CopyIn(info)),
            Ok(Executed::Complete(tag)) => {
                sink.complete(&tag);
                Ok(Step::Done)
            }
            Ok(Executed::Empty | Executed::Suspended) => Ok(Step::Done),
            Err(error) => {
                self.fail();
                Err(error)
            }
        }
    }

    /// Runs a compiled statement to its end.
    pub(super) fn run_compiled(
        &mut self,
        compiled: &Held,
        params: &[Value],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let Some(begun) = self.count_begin(compiled) else {
            return self.run_uncounted(compiled, params, alone, sink);
        };
        let result = self.run_uncounted(compiled, params, alone, sink);
        match &result {
            Ok(Executed::Complete(tag)) => self.count_end(compiled, begun, Ok(tag.rows.unwrap_or(0))),
            Ok(Executed::CopyIn(_)) => self.count_later(compiled, begun),
            Ok(Executed::Empty | Executed::Suspended) => {}
            Err(error) => self.count_end(compiled, begun, Err(error)),
        }
        result
    }

    fn run_uncounted(
        &mut self,
        compiled: &Held,
        params: &[Value],
        alone: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        if !matches!(compiled.action, Action::Plan(_)) {
            self.state.running.set(compiled.number);
            self.activity.run(compiled.number);
        }
        if !compiled.keeps_whole() {
            self.transaction.record.end_whole();
        }
        if let Action::Utility(utility) = &compiled.action {
            let result = self.utility(utility, compiled, params, alone, sink);
            return result.map_err(|error| self.unless_cut_off(error));
        }
        self.refuse_failed()?;
        self.start_statement();
        match &compiled.action {
            Action::Empty => Ok(Executed::Empty),
            Action::Plan(plan) => {
                if plan.calls && self.is_call_alone(plan)? {
                    return self.call_function(compiled, params, alone, sink);
                }
                let rows = self.run_plan(compiled, params, alone, Target::Sink(sink))?;
                Ok(Executed::Complete(Self::tag(plan, rows)))
            }
            Action::Ddl(statement) => self.run_change(alone, |session| session.change(statement)),
            Action::Truncate(statement) => self.run_change(alone, |session| session.truncate(statement)),
            Action::Call(_) => self.call(compiled, params, alone, sink),
            Action::Utility(_) => Err(SqlError::internal("a utility statement")),
        }
    }

    /// Runs a change of the catalog; again after a conflict if it is alone.
    pub(super) fn run_change(
        &mut self,
        alone: bool,
        f: impl FnMut(&mut Self) -> Result<Tag>,
    ) -> Result<Executed> {
        let said = self.state.said();
        let done = self.run_change_since(said, alone, f);
        self.state.settle(said);
        done
    }

    fn run_change_since(
        &mut self,
        said: Said,
        alone: bool,
        mut f: impl FnMut(&mut Self) -> Result<Tag>,
    ) -> Result<Executed> {
        let mut attempt = 0;
        let is_shared = self.state.shared.is_shared;
        // tables that it has read, of which others have changed something: they wait for the next attempt to end
        let mut bars: Vec<u32> = Vec::new();
        loop {
            // what is skipped, as it is there or is not, is answered with an epoch, too
            let begun = if is_shared || !bars.is_empty() { self.ensure_begun() } else { Ok(()) };
            let begun =
                begun.and_then(|()| if bars.is_empty() { Ok(()) } else { self.bar_everywhere(&bars) });
            let done = begun.and_then(|()| f(self));
            let used: Vec<u32> = self.transaction.touched.iter().map(|(table, ..)| *table).collect();
            let result = match done {
                Ok(tag) if alone => self.commit().map(|()| Executed::Complete(tag)),
                Ok(tag) => Ok(Executed::Complete(tag)),
                Err(error) => Err(self.unless_stale(error)),
            };
            match result {
                Err(error) if alone => {
                    self.rollback();
                    attempt += 1;
                    if !runs_again(&error, attempt, CHANGE_ATTEMPTS) {
                        return Err(error);
                    }
                    bars.extend(used);
                    // they will be said again
                    self.state.unsay(said);
                }
                other => return other,
            }
        }
    }

    pub(super) fn prepare_named(&mut self, name: &str, text: &str, types: &[u32]) -> Result<()> {
        self.look_at_clock();
        if !name.is_empty() && self.statements.contains_key(name) {
            let what = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_PREPARED_STATEMENT, what));
        }
        if self.statements.len() >= MAX_STATEMENTS && !name.is_empty() {
            let what = format!("a session has at most {MAX_STATEMENTS} prepared statements");
            let error = SqlError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, what);
            return Err(error.hint("DEALLOCATE some of them."));
        }
        let mut statements = parse::lex::split(text);
        if statements.len() > 1 {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let before = statements.first().map_or(0, |&part| Places::new(text).of(part));
        let text = statements.pop().unwrap_or("");
        if self.transaction.is_failed() && !text.is_empty() && !ends_transaction(text) {
            // what is no statement at all is told first
            grammar_of(text).map_err(|error| error.shift(before))?;
            self.refuse_failed()?;
        }
        let compiled = parse::refuse_empty_names(text).and_then(|()| self.compile(text, types));
        let compiled = compiled.map_err(|error| error.shift(before))?;
        let weight = STATEMENT + name.len() + size_of_val(types) + text.len() * BYTES_PER_BYTE;
        let reserved = if name.is_empty() && weight <= SHORT {
            None
        } else {
            Some(Arc::new(Reservation::new(&self.state.shared.memory, weight)?))
        };
        let path = (!self.transaction.changed).then_some(self.path_number);
        let statement = Statement {
            compiled,
            path,
            types: types.into(),
            by_sql: false,
            time: if name.is_empty() { 0 } else { scaledb_types::zone::clock() },
            whole: None,
            _reserved: reserved,
        };
        self.statements.insert(name.to_owned(), statement);
        Ok(())
    }

    pub(super) fn statement(&self, name: &str) -> Result<&Statement> {
        self.statements.get(name).ok_or_else(|| {
            let what = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            SqlError::new(SqlState::INVALID_SQL_STATEMENT_NAME, what)
        })
    }

    /// The statement, compiled for the current catalog and search path.
    pub(super) fn current(&mut self, name: &str) -> Result<Held> {
        let held = self.current_unless(name, None)?;
        held.ok_or_else(|| SqlError::internal("a statement that nobody holds"))
    }

    /// The statement, compiled for the current catalog and search path; `None` if that is the `known` one.
    fn current_unless(&mut self, name: &str, known: Option<&Held>) -> Result<Option<Held>> {
        self.refresh();
        self.use_newest_catalog();
        let statement = self.statement(name)?;
        let same = statement.compiled.version == self.state.catalog.version && !self.transaction.changed;
        let same = same && statement.path == Some(self.path_number) && !self.is_outdated(&statement.compiled);
        if same || !matches!(statement.compiled.action, Action::Plan(_) | Action::Call(_)) {
            let known = known.is_some_and(|known| known.is(&statement.compiled));
            return Ok(if known { None } else { Some(statement.compiled.clone()) });
        }
        self.compile_again(name).map(Some)
    }

    #[cold]
    fn compile_again(&mut self, name: &str) -> Result<Held> {
        let statement = self.statement(name)?.clone();
        let fresh = self.compile(&statement.compiled.text.clone(), &statement.types)?;
        if !is_same_result(fresh.columns.as_deref(), statement.compiled.columns.as_deref()) {
            return Err(other_result());
        }
        let path = (!self.transaction.changed).then_some(self.path_number);
        let statement = Statement { compiled: fresh.clone(), path, ..statement };
        self.statements.insert(name.to_owned(), statement);
        Ok(fresh)
    }

    pub(super) fn description(&mut self, name: &str) -> Result<Description> {
        let compiled = self.current(name)?;
        Ok(Description { parameters: compiled.params.clone(), columns: compiled.columns.clone() })
    }

    pub(super) fn bind_portal(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        values: &[Option<&[u8]>],
    ) -> Result<()> {
        if !values.is_empty() {
            self.look_at_clock();
        }
        // the unnamed portal's memory is used again, and its hold on the statement, if that is the same
        let old = if portal.is_empty() { self.unnamed.take() } else { None };
        let known = old.as_ref().map(|old| old.compiled());
        let compiled = match self.admit_bind(portal, statement, known, formats, values) {
            Ok(compiled) => compiled,
            Err(error) => {
                if old.is_some() {
                    self.unnamed = old;
                }
                return Err(error);
            }
        };
        let mut bound = match (old, compiled) {
            (Some(mut old), compiled) => {
                old.renew(compiled);
                old
            }
            (None, Some(compiled)) => Box::new(Portal::new(compiled, Vec::new(), None)),
            (None, None) => return Err(SqlError::internal("a portal of no statement")),
        };
        let (compiled, params) = bound.parts();
        for (number, (value, &ty)) in values.iter().zip(&compiled.params).enumerate() {
            let format = match formats {
                [] => 0,
                [one] => *one,
                many => many[number],
            };
            params.push(match (value, format) {
                (None, _) => Value::Null,
                (Some(bytes), 0) => {
                    let text = scaledb_types::utf8(bytes)?;
                    self.parse_parameter(text, ty)?
                }
                (Some(bytes), 1) => Value::from_binary(bytes, ty)?,
                (Some(_), other) => {
                    let what = format!("unsupported format code: {other}");
                    return Err(SqlError::invalid_parameter(what));
                }
            });
        }
        // not what the client has sent: a message is bounded, and values may take more than their text
        let weight = PORTAL + portal.len() + params.iter().map(weight).sum::<usize>();
        if !portal.is_empty() || weight > SHORT {
            bound.hold_memory(Some(Reservation::new(&self.state.shared.memory, weight)?));
        }
        self.put_portal(portal, bound);
        Ok(())
    }

    /// Checks that parameters may be bound to a statement, and returns it; `None` if it is the `known` one.
    #[inline]
    fn admit_bind(
        &mut self,
        portal: &str,
        statement: &str,
        known: Option<&Held>,
        formats: &[i16],
        values: &[Option<&[u8]>],
    ) -> Result<Option<Held>> {
        let held = self.current_unless(statement, known)?;
        let compiled = held.as_ref().or(known);
        let compiled = compiled.ok_or_else(|| SqlError::internal("a statement that nobody holds"))?;
        if self.transaction.is_failed() && !compiled.text.is_empty() && !ends_transaction(&compiled.text) {
            self.refuse_failed()?;
        }
        if values.len() != compiled.params.len() {
            let what = format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {}",
                values.len(),
                compiled.params.len()
            );
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, what));
        }
        if formats.len() > 1 && formats.len() != values.len() {
            let what = format!(
                "bind message has {} parameter formats but {} parameters",
                formats.len(),
                values.len()
            );
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, what));
        }
        self.state.portals.admit(portal)?;
        if !portal.is_empty() && self.state.portals.contains(portal) {
            let what = format!("cursor \"{portal}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_CURSOR, what));
        }
        Ok(held)
    }

    /// A parameter from its text; names of tables and types are looked up.
    pub(super) fn parse_parameter(&self, text: &str, ty: Type) -> Result<Value> {
        if is_named(ty) && !text.starts_with(|c: char| c.is_ascii_digit()) {
            use crate::exec::context::Host;
            let cast = scaledb_planner::functions::SessionFn::reg_cast(Type::TEXT, ty);
            return self.state.call(&cast, &[Value::text(text)]);
        }
        Value::parse(text, ty, &self.env)
    }
}

/// A prepared statement does not return what its client was told: drivers know the error by the name of the routine,
/// and prepare the statement again.
#[cold]
fn other_result() -> SqlError {
    let mut error = SqlError::unsupported("cached plan must not change result type");
    error.fields_mut().routine = Some("RevalidateCachedQuery");
    error
}

/// What is wrong with a text that is no statement.
fn grammar_of(text: &str) -> Result<()> {
    parse::refuse_empty_names(text)?;
    match utility::parse(text) {
        Some(parsed) => parsed.map(drop),
        None => parse::with_stack(text, || parse::statement(text)).map(drop),
    }
}

/// The types of the literals that were taken out of a statement, as a client would name them.
fn types_of(found: &normalize::Normalized) -> Vec<u32> {
    found.types.iter().map(|ty| if ty.base == Base::Unknown { 0 } else { ty.oid() }).collect()
}

/// Whether a statement means the same when it comes again, so that it may be kept.
fn is_lasting(action: &Action) -> bool {
    use utility::Utility;
    let simple = |utility: &Utility| {
        matches!(utility, Utility::Begin { .. } | Utility::Commit { .. } | Utility::Rollback { .. })
    };
    match action {
        Action::Plan(plan) => !plan.momentary,
        Action::Call(call) => is_lasting(&call.args.action),
        Action::Utility(utility) => simple(utility),
        _ => false,
    }
}

/// Whether a statement may run in a block that has failed.
fn ends_transaction(text: &str) -> bool {
    use utility::Utility;
    matches!(
        utility::parse(text),
        Some(Ok(Utility::Commit { .. } | Utility::Rollback { .. } | Utility::RollbackTo(_)))
    )
}

/// Whether results look the same to a client. An enum type may have got another label since, and another table may
/// have the name.
fn is_same_result(a: Option<&[Column]>, b: Option<&[Column]>) -> bool {
    let look = |column: &Column| (column.ty.oid(), column.ty.typmod);
    match (a, b) {
        (Some(a), Some(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && look(a) == look(b))
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn parameter_type(catalog: &Catalog, oid: u32) -> Result<Type> {
    match catalog.type_of_oid(oid) {
        // a client that does not know says so, or sends text
        Some(Type { base: Base::Unknown, .. }) => Ok(Type::TEXT),
        Some(ty) => Ok(ty),
        None => {
            let what = format!("type with OID {oid} does not exist");
            Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
        }
    }
}
