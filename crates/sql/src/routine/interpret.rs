//! Runs statements, one after the other.

use super::cursors::INVALID_CURSOR_DEFINITION;
use super::frame::Frame;
use super::names::Names;
use super::runner::{Ran, Runner};
use super::{Loaded, Piece, Planned, Returns, Said, Slot, Wanted};
use crate::api::Severity;
use crate::compiled::{Action, Held};
use scaledb_parse::lex;
use scaledb_parse::plpgsql::{
    Block, Declaration, Diagnostic, Into, Line, Query, Sql, Step, Target, VariableId, begins_plainly,
};
use scaledb_planner::plan::Kind;
use scaledb_planner::plan::routine::Fields;
use scaledb_types::array::MAX_DIMENSIONS;
use scaledb_types::func::Interrupt;
use scaledb_types::func::assign::set_element;
use scaledb_types::{Base, Record, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// Rows, kept.
type Rows = Vec<Box<[Value]>>;

/// What a routine has returned.
#[derive(Debug)]
pub(crate) enum Finished {
    Nothing,
    Value(Value),
    /// A row; `None` is a row that is NULL.
    Row(Option<Vec<Value>>),
    Rows(Vec<Box<[Value]>>),
}

/// Where to go on.
pub(super) enum Flow<'l> {
    Next,
    /// Behind the loop or block of this label, or the innermost loop.
    Exit(Option<&'l str>),
    /// With the next round of the loop of this label, or the innermost one.
    Continue(Option<&'l str>),
    Return,
}

/// Runs a routine with these values in the first places of its frame.
///
/// # Errors
/// Those of its statements that none of its handlers is for.
pub(crate) fn run<R: Runner>(runner: &mut R, loaded: &Loaded, arguments: Vec<Value>) -> Result<Finished> {
    let frame = Frame::new(loaded, arguments);
    let mut call = Interpreter {
        runner,
        loaded,
        frame,
        rows: Vec::new(),
        returned: None,
        count: 0,
        handling: Vec::new(),
        told: false,
        ticks: 0,
        at_hand: Vec::new(),
    };
    call.frame.values[loaded.found] = Value::Bool(false);
    let flow = call.block(&loaded.program.block)?;
    call.finish(matches!(flow, Flow::Return))
}

/// A call of a routine.
pub(super) struct Interpreter<'l, 'r, R> {
    pub(super) runner: &'r mut R,
    pub(super) loaded: &'l Loaded,
    pub(super) frame: Frame,
    /// Rows that it has returned so far.
    pub(super) rows: Vec<Box<[Value]>>,
    pub(super) returned: Option<Finished>,
    /// ROW_COUNT.
    count: u64,
    /// The errors that are being handled, the innermost last.
    pub(super) handling: Vec<SqlError>,
    /// The error that is on its way has the line that it comes from.
    told: bool,
    ticks: u32,
    /// Pieces of SQL that have run, by their numbers: those of a call that goes on for long.
    at_hand: Vec<Option<Arc<Planned>>>,
}

/// A call that has run so many statements keeps its pieces of SQL at hand.
const LONG: u32 = 16;

impl<'l, R: Runner> Interpreter<'l, '_, R> {
    pub(super) fn block(&mut self, block: &'l Block) -> Result<Flow<'l>> {
        for &variable in &block.declared {
            self.initialize(variable)?;
        }
        let flow = if block.handlers.is_empty() { self.steps(&block.steps)? } else { self.guarded(block)? };
        Ok(match flow {
            Flow::Exit(Some(label)) if block.label.as_deref() == Some(label) => Flow::Next,
            other => other,
        })
    }

    /// A block with handlers: what it has done is undone before one of them runs.
    fn guarded(&mut self, block: &'l Block) -> Result<Flow<'l>> {
        let part = self.runner.begin_part()?;
        let portal = self.last_portal();
        let error = match self.steps(&block.steps) {
            Ok(flow) => {
                self.runner.end_part(part);
                return Ok(flow);
            }
            Err(error) => error,
        };
        let code = error.code();
        // a conflict has ended the transaction, whatever a handler says
        let conflict = code.class() == SqlState::TRANSACTION_ROLLBACK.class();
        let handler = block.handlers.iter().find(|handler| handler.is_for(code)).filter(|_| !conflict);
        let Some(handler) = handler else {
            self.runner.end_part(part);
            return Err(error);
        };
        self.runner.undo_part(part)?;
        self.undo_portals(portal);
        self.told = false;
        for (variable, text) in [(handler.state, code.as_str()), (handler.message, error.message())] {
            let text = Value::text(text);
            self.frame.set(self.runner, self.loaded, variable, text, Type::TEXT)?;
        }
        self.handling.push(error);
        let flow = self.steps(&handler.steps);
        self.handling.pop();
        flow
    }

    /// Gives a variable its first value.
    fn initialize(&mut self, variable: VariableId) -> Result<()> {
        let declaration = &self.loaded.program.variables[variable];
        if let Slot::Record(number) = self.loaded.places[variable] {
            self.frame.records[number] = None;
        }
        match (&declaration.default, &self.loaded.places[variable]) {
            (Some(default), Slot::Value { ty, .. }) => {
                let value = self.value(default, Some(*ty))?;
                self.frame.set(self.runner, self.loaded, variable, value, *ty)
            }
            (Some(default), _) => self.assign_row_of(variable, default),
            (None, Slot::Value { at, ty, .. }) => {
                let none = Value::Null;
                // a domain may refuse NULL
                let none =
                    if ty.domain.is_some() { self.runner.convert(none, Type::UNKNOWN, *ty)? } else { none };
                self.frame.values[*at] = none;
                Ok(())
            }
            (None, Slot::Row { at, fields, .. }) => {
                self.frame.values[*at..*at + fields.len()].fill(Value::Null);
                Ok(())
            }
            (None, Slot::Record(_)) => Ok(()),
        }
    }

    pub(super) fn steps(&mut self, steps: &'l [Line]) -> Result<Flow<'l>> {
        for (number, line) in steps.iter().enumerate() {
            self.ticks += 1;
            if self.ticks & 63 == 0 {
                self.runner.check()?;
            }
            match self.step(&line.step) {
                Ok(Flow::Next) => {}
                Ok(flow) => return Ok(flow),
                Err(error) if self.told => return Err(error),
                Err(mut error) => {
                    self.told = true;
                    // it is one in another text than the client's
                    error.fields_mut().position = None;
                    let title = &self.loaded.title;
                    return Err(match title.split_once('(') {
                        None if title.is_empty() => error,
                        Some((name, _)) if self.loaded.is_sql => {
                            error.within(format!("SQL function \"{name}\" statement {}", number + 1))
                        }
                        _ => {
                            let (line, step) = (line.number, line.step.name());
                            error.within(format!("PL/pgSQL function {title} line {line} at {step}"))
                        }
                    });
                }
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &'l Step) -> Result<Flow<'l>> {
        match step {
            Step::Null => {}
            Step::Block(block) => return self.block(block),
            Step::Assign { target, value } => self.assign(target, value)?,
            Step::Copy { to, from } => self.copy(*to, *from)?,
            Step::Sql { sql, into } => self.statement(sql, into.as_ref())?,
            Step::Perform(sql) => {
                let planned = self.planned(sql, Wanted::Statement)?;
                // all of its rows are computed: what it calls may write
                let ran = self.run(&planned.held, None, 0)?;
                self.note_rows(ran.affected, ran.affected > 0);
            }
            Step::Execute { text, using, into } => self.execute(text, using, into.as_ref())?,
            Step::If { branches, otherwise } => {
                for (condition, steps) in branches {
                    if self.holds(condition)? {
                        return self.steps(steps);
                    }
                }
                return self.steps(otherwise);
            }
            Step::Case { choice, branches, otherwise } => {
                let choice = self.value(choice, Some(Type::INT4))?;
                let chosen = match choice {
                    Value::Int4(number) => usize::try_from(number).ok().and_then(|at| branches.get(at)),
                    _ => None,
                };
                return match chosen.or(otherwise.as_ref()) {
                    Some(steps) => self.steps(steps),
                    None => Err(SqlError::new(SqlState::CASE_NOT_FOUND, "case not found")
                        .hint("CASE statement is missing ELSE part.")),
                };
            }
            Step::Loop { label, steps } => return self.forever(label.as_deref(), steps),
            Step::While { label, condition, steps } => {
                return self.while_holds(label.as_deref(), condition, steps);
            }
            Step::ForRange { label, range, steps } => return self.for_range(label.as_deref(), range, steps),
            Step::ForQuery { label, targets, query, steps } => {
                return self.for_query(label.as_deref(), targets, query, steps);
            }
            Step::ForCursor { label, record, cursor, arguments, steps } => {
                return self.for_cursor(label.as_deref(), record, (*cursor, arguments), steps);
            }
            Step::Open { cursor, opened } => self.open(*cursor, opened)?,
            Step::Fetch { cursor, movement, targets } => self.fetch(*cursor, movement, targets)?,
            Step::Move { cursor, movement } => self.move_cursor(*cursor, movement)?,
            Step::Close(cursor) => self.close(*cursor)?,
            Step::ForEach { label, target, slice, array, steps } => {
                return self.for_each(label.as_deref(), target, *slice, array, steps);
            }
            Step::Exit { label, when, continues } => {
                let leaves = when.as_ref().map_or(Ok(true), |when| self.holds(when))?;
                return Ok(match (leaves, continues) {
                    (false, _) => Flow::Next,
                    (true, false) => Flow::Exit(label.as_deref()),
                    (true, true) => Flow::Continue(label.as_deref()),
                });
            }
            Step::Return(returned) => {
                self.returns(returned)?;
                return Ok(Flow::Return);
            }
            Step::ReturnFirst(sql) => {
                self.return_first(sql)?;
                return Ok(Flow::Return);
            }
            Step::ReturnNext(returned) => {
                let row = self.next_row(returned)?;
                self.push(row.into())?;
            }
            Step::ReturnQuery(query) => self.return_query(query)?,
            Step::Raise(raise) => self.raise(raise)?,
            Step::Reraise => {
                return Err(self.handling.last().cloned().unwrap_or_else(|| {
                    let what = "RAISE without parameters cannot be used outside an exception handler";
                    SqlError::new(SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER, what)
                }));
            }
            Step::Assert { .. } if self.loaded.strictness.without_asserts => {}
            Step::Assert { condition, message } => {
                if !self.holds(condition)? {
                    let text = match message {
                        Some(message) => self.text_of(message)?,
                        None => None,
                    };
                    let text = text.unwrap_or_else(|| "assertion failed".to_owned());
                    return Err(SqlError::new(SqlState::ASSERT_FAILURE, text));
                }
            }
            Step::Diagnostics { stacked, items, line } => self.diagnostics(*stacked, items, *line)?,
        }
        Ok(Flow::Next)
    }

    /// A piece of SQL, compiled.
    pub(super) fn planned(&mut self, sql: &Sql, wanted: Wanted) -> Result<Arc<Planned>> {
        let generation = self.runner.generation();
        if let Some(planned) = self.at_hand.get_mut(sql.number).and_then(Option::take)
            && planned.is_good(generation, || self.runner.reader())
        {
            return Ok(planned);
        }
        if let Some(planned) = self.loaded.planned(sql, &self.frame.records)
            && planned.is_good(generation, || self.runner.reader())
        {
            return Ok(planned);
        }
        let Self { runner, loaded, frame, .. } = self;
        let names = Names::new(loaded, &frame.records, sql.scope, sql.visible);
        let types = loaded.types(&frame.records, frame.values.len());
        let path = loaded.path.as_deref();
        let written = loaded.written.as_ref();
        let piece = Piece { text: &sql.text, names: Some(&names), types, wanted, path, written };
        let compiled = runner.compile(&piece)?;
        loaded.check_writes(&compiled)?;
        let momentary = matches!(&compiled.action, Action::Plan(plan) if plan.momentary);
        let planned = Arc::new(Planned::new(Held::new(Arc::new(compiled)), names.records(), generation));
        if !momentary {
            loaded.keep(sql, planned.clone());
        }
        Ok(planned)
    }

    /// Keeps a piece of SQL at hand, unless it is another one for other records.
    #[inline]
    fn have_at_hand(&mut self, sql: &Sql, planned: Arc<Planned>) {
        if self.ticks < LONG || !planned.records.is_empty() {
            return;
        }
        if self.at_hand.len() <= sql.number {
            self.at_hand.resize(sql.number + 1, None);
        }
        self.at_hand[sql.number] = Some(planned);
    }

    /// The value of an expression, as one of a type if one is given.
    pub(super) fn value(&mut self, sql: &Sql, to: Option<Type>) -> Result<Value> {
        let planned = self.planned(sql, Wanted::Value(to))?;
        let value = self.runner.value(&planned, &self.frame.values);
        self.have_at_hand(sql, planned);
        value
    }

    /// The value of an expression, and its type.
    pub(super) fn typed(&mut self, sql: &Sql) -> Result<(Value, Type)> {
        let planned = self.planned(sql, Wanted::Value(None))?;
        let ty = planned.fields.first().map_or(Type::TEXT, |(_, ty)| *ty);
        Ok((self.runner.value(&planned, &self.frame.values)?, ty))
    }

    pub(super) fn holds(&mut self, sql: &Sql) -> Result<bool> {
        Ok(self.value(sql, Some(Type::BOOL))?.is_true())
    }

    pub(super) fn text_of(&mut self, sql: &Sql) -> Result<Option<String>> {
        let (value, ty) = self.typed(sql)?;
        Ok(self.runner.text(&value, ty))
    }

    /// Sets FOUND and ROW_COUNT.
    pub(super) fn note_rows(&mut self, count: u64, found: bool) {
        self.count = count;
        self.frame.values[self.loaded.found] = Value::Bool(found);
    }

    pub(super) fn note_found(&mut self, found: bool) {
        self.frame.values[self.loaded.found] = Value::Bool(found);
    }

    fn assign(&mut self, target: &'l Target, value: &'l Sql) -> Result<()> {
        let place = &self.loaded.places[target.variable];
        if !matches!(place, Slot::Value { .. }) && target.field.is_none() {
            return self.assign_row_of(target.variable, value);
        }
        let to = match (&target.field, place) {
            (Some(field), _) => Some(self.frame.field(self.loaded, target.variable, field)?.1),
            (None, Slot::Value { ty, .. }) => Some(*ty),
            (None, _) => None,
        };
        let to = if target.element.is_empty() { to } else { to.and_then(Type::element) };
        let value = self.value(value, to)?;
        let from = to.unwrap_or(Type::TEXT);
        self.put(target, value, from)
    }

    /// Assigns the row that a query returns, or NULL, to a variable that is one of rows.
    fn assign_row_of(&mut self, variable: VariableId, value: &'l Sql) -> Result<()> {
        let Declaration { name, not_null, .. } = &self.loaded.program.variables[variable];
        if value.text.trim().eq_ignore_ascii_case("null") {
            if *not_null {
                return Err(super::frame::refuses_null(name));
            }
            return match self.frame.row(self.loaded, variable) {
                Ok(_) => self.frame.clear_row(self.runner, self.loaded, variable),
                // a record without fields has none then, either
                Err(_) => self.frame.set_row(self.runner, self.loaded, variable, None, &Arc::default()),
            };
        }
        match self.value(value, None)? {
            Value::Record(record) => self.put_record(variable, &record),
            Value::Null if *not_null => Err(super::frame::refuses_null(name)),
            Value::Null => self.frame.clear_row(self.runner, self.loaded, variable),
            _ => Err(super::frame::no_row(name)),
        }
    }

    /// Assigns a record to a variable that is one of rows.
    fn put_record(&mut self, variable: VariableId, record: &Record) -> Result<()> {
        let fields = record.each().map(|(name, ty, _)| (name.to_owned(), ty)).collect();
        self.frame.set_row(self.runner, self.loaded, variable, Some(record.values()), &Arc::new(fields))
    }

    fn copy(&mut self, to: VariableId, from: VariableId) -> Result<()> {
        let rows = |place: &Slot| !matches!(place, Slot::Value { .. });
        if rows(&self.loaded.places[from])
            && rows(&self.loaded.places[to])
            && let Some((at, fields)) = self.frame.row(self.loaded, from)?
        {
            let row = self.frame.row_values(at, &fields);
            return self.frame.set_row(self.runner, self.loaded, to, Some(&row), &fields);
        }
        let (Slot::Value { .. }, Slot::Value { at, ty, .. }) =
            (&self.loaded.places[to], &self.loaded.places[from])
        else {
            let name = &self.loaded.program.variables[to].name;
            let what = format!("cannot assign non-composite value to a record variable \"{name}\"");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        };
        let (value, ty) = (self.frame.values[*at].clone(), *ty);
        self.frame.set(self.runner, self.loaded, to, value, ty)
    }

    /// Assigns a value.
    pub(super) fn put(&mut self, target: &'l Target, value: Value, from: Type) -> Result<()> {
        if target.element.is_empty() && target.field.is_none() {
            if !matches!(self.loaded.places[target.variable], Slot::Value { .. }) {
                match &value {
                    Value::Null => {
                        return self.frame.clear_row(self.runner, self.loaded, target.variable);
                    }
                    Value::Record(record) => return self.put_record(target.variable, record),
                    _ => {}
                }
            }
            return self.frame.set(self.runner, self.loaded, target.variable, value, from);
        }
        let (at, ty) = match (&target.field, &self.loaded.places[target.variable]) {
            (Some(field), _) => self.frame.field(self.loaded, target.variable, field)?,
            (None, Slot::Value { at, ty, .. }) => (*at, *ty),
            (None, _) => return Err(SqlError::internal("an element of a row")),
        };
        if target.field.is_some() && !self.frame.is_there(self.loaded, target.variable) {
            return Err(super::names::unassigned(&self.loaded.program.variables[target.variable].name));
        }
        if target.element.is_empty() {
            let value = if from == ty { value } else { self.runner.convert(value, from, ty)? };
            self.frame.values[at] = value;
            return Ok(());
        }
        let Some(element) = ty.element().filter(|_| ty.array) else {
            let what =
                format!("cannot subscript type {} because it does not support subscripting", ty.sql_name());
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        };
        let value = if from == element { value } else { self.runner.convert(value, from, element)? };
        let mut numbers = Vec::with_capacity(target.element.len());
        for subscript in &target.element {
            numbers.push(match self.value(subscript, Some(Type::INT4))? {
                Value::Int4(number) => number,
                _ => {
                    let what = "array subscript in assignment must not be null";
                    return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
                }
            });
        }
        let old = std::mem::take(&mut self.frame.values[at]);
        let mut array = with_element(&old, element, &numbers, value);
        if let (Ok(whole), Some(_)) = (&array, ty.as_domain()) {
            array = self.runner.convert(whole.clone(), ty.value_type(), ty);
        }
        self.frame.values[at] = match array {
            Ok(array) => array,
            Err(error) => {
                self.frame.values[at] = old;
                return Err(error);
            }
        };
        Ok(())
    }

    /// Warns, or fails.
    #[cold]
    fn say(&mut self, said: Said, error: SqlError) -> Result<()> {
        match said {
            Said::Nothing => {}
            Said::Warning => self.runner.notice(Severity::Warning, error),
            Said::Error => return Err(error),
        }
        Ok(())
    }

    /// What is said of a row that has not as many columns as there are targets.
    fn check_width(&mut self, targets: usize, columns: usize) -> Result<()> {
        let said = self.loaded.strictness.multi_assignment;
        if said == Said::Nothing || targets == columns {
            return Ok(());
        }
        let list = if said == Said::Error { "extra_errors" } else { "extra_warnings" };
        let what = "number of source and target fields in assignment does not match";
        let error = SqlError::new(SqlState::DATATYPE_MISMATCH, what)
            .detail(format!("strict_multi_assignment check of {list} is active."))
            .hint("Make sure the query returns the exact list of columns.");
        // each target that gets nothing is told of
        for _ in 0..targets.saturating_sub(columns).max(1) {
            self.say(said, error.clone())?;
        }
        Ok(())
    }

    /// Assigns a row, or NULLs if there is none.
    pub(super) fn put_row(
        &mut self,
        targets: &'l [Target],
        row: Option<&[Value]>,
        fields: &Arc<Fields>,
    ) -> Result<()> {
        if let [target] = targets
            && target.field.is_none()
            && target.element.is_empty()
            && !matches!(self.loaded.places[target.variable], Slot::Value { .. })
        {
            if let Slot::Row { fields: own, .. } = &self.loaded.places[target.variable] {
                self.check_width(own.len(), fields.len())?;
            }
            return self.frame.set_row(self.runner, self.loaded, target.variable, row, fields);
        }
        self.check_width(targets.len(), fields.len())?;
        for (number, target) in targets.iter().enumerate() {
            let value = row.and_then(|row| row.get(number)).cloned().unwrap_or_default();
            let from = fields.get(number).map_or(Type::UNKNOWN, |(_, ty)| *ty);
            let from = if value.is_null() { Type::UNKNOWN } else { from };
            self.put(target, value, from)?;
        }
        Ok(())
    }

    /// A statement of SQL.
    fn statement(&mut self, sql: &'l Sql, into: Option<&'l Into>) -> Result<()> {
        let planned = self.planned(sql, Wanted::Statement)?;
        self.run_statement(&planned, None, into, into.is_none())
    }

    /// EXECUTE: the last of several statements gives the rows for INTO.
    fn execute(&mut self, text: &'l Sql, using: &'l [Sql], into: Option<&'l Into>) -> Result<()> {
        let Dynamic { text, types, values } = self.dynamic_text(text, using)?;
        let found = self.frame.values[self.loaded.found].clone();
        let statements = statements_of(&text);
        let last = statements.len() - 1;
        for (number, statement) in statements.into_iter().enumerate() {
            let planned = self.compile_dynamic(statement, types.clone(), Wanted::Statement)?;
            self.run_statement(&planned, Some(&values), into.filter(|_| number == last), false)?;
        }
        // EXECUTE leaves FOUND as it is
        self.frame.values[self.loaded.found] = found;
        Ok(())
    }

    /// Runs SQL; with the variables as parameters, unless it has others. Errors say what was run.
    pub(super) fn run(&mut self, held: &Held, params: Option<&[Value]>, most: usize) -> Result<Ran> {
        let ran =
            self.at_current(held, |call| call.runner.run(held, params.unwrap_or(&call.frame.values), most));
        match ran {
            // a function in SQL says which of its statements it was
            Err(error) if !self.loaded.is_sql => Err(error.in_statement(held.text.trim())),
            ran => ran,
        }
    }

    /// Runs a statement; with the variables as parameters, unless it has others.
    fn run_statement(
        &mut self,
        planned: &Planned,
        params: Option<&[Value]>,
        into: Option<&'l Into>,
        needs_place: bool,
    ) -> Result<()> {
        let compiled = &planned.held;
        let kind = match &compiled.action {
            Action::Plan(plan) => Some(plan.kind),
            _ => None,
        };
        let returns = compiled.columns.is_some() && !matches!(compiled.action, Action::Call(_));
        if needs_place && returns {
            let what = "query has no destination for result data";
            let error = SqlError::new(SqlState::SYNTAX_ERROR, what);
            return Err(if kind == Some(Kind::Select) {
                error.hint("If you want to discard the results of a SELECT, use PERFORM instead.")
            } else {
                error
            });
        }
        if into.is_some() && !returns {
            let what = "INTO used with a command that cannot return data";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let strict = into.is_some_and(|into| into.strict);
        let writes = kind.is_some_and(|kind| kind != Kind::Select);
        // of a statement that EXECUTE runs the first row is taken
        let one = strict || writes && params.is_none();
        let counted = params.is_none() && self.loaded.strictness.too_many_rows != Said::Nothing;
        // without INTO all rows are computed and none is kept; so are all that EXECUTE runs, which may call what writes
        let most = match into {
            None => 0,
            Some(_) if params.is_some() => usize::MAX,
            Some(_) if one || counted => 2,
            Some(_) => 1,
        };
        let Ran { rows, affected } = self.run(&planned.held, params, most)?;
        if let Action::Call(call) = &compiled.action {
            return self.take_back(call, rows.first().map(|row| &**row));
        }
        let Some(into) = into else {
            match kind {
                Some(_) => self.note_rows(affected, affected > 0),
                // what changes the catalog leaves FOUND as it is
                None => self.count = affected,
            }
            return Ok(());
        };
        if rows.len() > 1 && (one || counted) {
            let error = SqlError::new(SqlState::TOO_MANY_ROWS, "query returned more than one row")
                .hint("Make sure the query returns a single row, or use LIMIT 1.");
            let said = if one { Said::Error } else { self.loaded.strictness.too_many_rows };
            self.say(said, error)?;
        }
        if rows.is_empty() && strict {
            return Err(SqlError::new(SqlState::NO_DATA_FOUND, "query returned no rows"));
        }
        self.put_row(&into.targets, rows.first().map(|row| &**row), &planned.fields)?;
        let count = if writes { affected } else { rows.len() as u64 };
        self.note_rows(count, !rows.is_empty());
        Ok(())
    }

    /// Assigns what a procedure has returned to the variables that it was called with.
    fn take_back(&mut self, call: &crate::compiled::Call, row: Option<&[Value]>) -> Result<()> {
        let Some(row) = row else { return Ok(()) };
        for ((value, place), ty) in row.iter().zip(&call.places).zip(&call.types) {
            let Some(at) = place else {
                let what = "procedure parameter that is returned is an output parameter but corresponding argument is not writable";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            };
            let to = self.loaded.types(&self.frame.records, self.frame.values.len())[*at].unwrap_or(*ty);
            let value =
                if *ty == to { value.clone() } else { self.runner.convert(value.clone(), *ty, to)? };
            self.frame.values[*at] = value;
        }
        Ok(())
    }

    /// The query that EXECUTE names, and the values of its parameters.
    pub(super) fn dynamic_query(
        &mut self,
        text: &'l Sql,
        using: &'l [Sql],
        wanted: Wanted,
    ) -> Result<(Arc<Planned>, Vec<Value>)> {
        let Dynamic { text, types, values } = self.dynamic_text(text, using)?;
        let [statement] = statements_of(&text)[..] else {
            let what = "cannot open multi-query plan as cursor";
            return Err(SqlError::new(INVALID_CURSOR_DEFINITION, what));
        };
        Ok((self.compile_dynamic(statement, types, wanted)?, values))
    }

    /// What is behind EXECUTE, and behind its USING.
    fn dynamic_text(&mut self, text: &'l Sql, using: &'l [Sql]) -> Result<Dynamic> {
        let Some(text) = self.text_of(text)? else {
            let what = "query string argument of EXECUTE is null";
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for piece in using {
            let (value, ty) = self.typed(piece)?;
            types.push(Some(if ty.base == Base::Unknown { Type::TEXT } else { ty }));
            values.push(value);
        }
        Ok(Dynamic { text, types, values })
    }

    fn compile_dynamic(
        &mut self,
        text: &str,
        types: Vec<Option<Type>>,
        wanted: Wanted,
    ) -> Result<Arc<Planned>> {
        let path = self.loaded.path.as_deref();
        let written = self.loaded.written.as_ref();
        let compiled = self.runner.compile(&Piece { text, names: None, types, wanted, path, written })?;
        self.loaded.check_writes(&compiled)?;
        if matches!(compiled.action, Action::Ddl(_)) && begins_plainly(text) {
            let what = "EXECUTE of SELECT ... INTO is not implemented";
            return Err(SqlError::unsupported(what)
                .hint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead."));
        }
        let generation = self.runner.generation();
        Ok(Arc::new(Planned::new(Held::new(Arc::new(compiled)), Vec::new(), generation)))
    }

    /// All rows of a query.
    pub(super) fn rows_of(&mut self, query: &'l Query) -> Result<(Rows, Arc<Fields>)> {
        let (planned, values) = match query {
            Query::Static(sql) => (self.planned(sql, Wanted::Statement)?, None),
            Query::Dynamic(text, using) => {
                let (planned, values) = self.dynamic_query(text, using, Wanted::Statement)?;
                (planned, Some(values))
            }
        };
        if planned.held.columns.is_none() {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "cannot open a query that returns no rows as a cursor",
            ));
        }
        let ran = self.run(&planned.held, values.as_deref(), usize::MAX)?;
        Ok((ran.rows, planned.fields.clone()))
    }

    /// What the call has come to; whether it ended by RETURN.
    fn finish(mut self, by_return: bool) -> Result<Finished> {
        if self.loaded.set {
            return Ok(Finished::Rows(std::mem::take(&mut self.rows)));
        }
        if let Some(returned) = self.returned.take() {
            return Ok(returned);
        }
        match &self.loaded.returns {
            Returns::Nothing => Ok(Finished::Nothing),
            Returns::Value(_, Some(at)) => Ok(Finished::Value(self.frame.values[*at].clone())),
            Returns::Row(_, Some(places)) => {
                Ok(Finished::Row(Some(places.iter().map(|&at| self.frame.values[at].clone()).collect())))
            }
            Returns::Value(_, None) | Returns::Row(_, None) | Returns::Trigger(_) => {
                let what = match (&self.loaded.returns, by_return) {
                    (Returns::Trigger(_), _) => "control reached end of trigger procedure without RETURN",
                    _ => "control reached end of function without RETURN",
                };
                let error = SqlError::new(SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, what);
                Err(error.context(format!("PL/pgSQL function {}", self.loaded.title)))
            }
        }
    }

    /// GET DIAGNOSTICS.
    fn diagnostics(&mut self, stacked: bool, items: &'l [(Target, Diagnostic)], line: u32) -> Result<()> {
        let error = self.handling.last().cloned();
        if stacked && error.is_none() {
            let what = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(SqlError::new(SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER, what));
        }
        for (target, item) in items {
            if *item == Diagnostic::RowCount {
                let count = i64::try_from(self.count).unwrap_or(i64::MAX);
                self.put(target, Value::Int8(count), Type::INT8)?;
                continue;
            }
            let fields = error.as_ref().map(SqlError::fields);
            let text = fields.and_then(|fields| match item {
                Diagnostic::RowCount => None,
                Diagnostic::Context => fields.context.clone(),
                Diagnostic::State => Some(fields.code.as_str().to_owned()),
                Diagnostic::Message => Some(fields.message.to_string()),
                Diagnostic::Detail => fields.detail.clone(),
                Diagnostic::Hint => fields.hint.clone(),
                Diagnostic::Column => fields.column.clone(),
                Diagnostic::Constraint => fields.constraint.clone(),
                Diagnostic::Datatype => fields.data_type.clone(),
                Diagnostic::Table => fields.table.clone(),
                Diagnostic::Schema => fields.schema.clone(),
            });
            let text = match (stacked, item) {
                (false, _) => {
                    format!("PL/pgSQL function {} line {line} at GET DIAGNOSTICS", self.loaded.title)
                }
                _ => text.unwrap_or_default(),
            };
            self.put(target, Value::text(text), Type::TEXT)?;
        }
        Ok(())
    }
}

/// A text that EXECUTE runs, and its parameters.
struct Dynamic {
    text: String,
    types: Vec<Option<Type>>,
    values: Vec<Value>,
}

/// The statements of a text, at least one, from its begin on, so that errors point to their place in it.
fn statements_of(text: &str) -> Vec<&str> {
    let mut tokens = lex::Lexer::new(text);
    let Some(semicolon) = tokens.find(|token| token.kind == lex::Kind::Semicolon) else { return vec![text] };
    if tokens.next().is_none() {
        return vec![&text[..semicolon.start]];
    }
    let several = lex::split(text);
    if several.is_empty() { vec![""] } else { several }
}

/// An array with another element; what it does not reach is NULL in between.
fn with_element(array: &Value, element: Type, subscripts: &[i32], value: Value) -> Result<Value> {
    /// Bytes of an array that an assignment makes longer.
    const MOST: usize = size_of::<Value>() << 24;
    if subscripts.len() > MAX_DIMENSIONS {
        let (count, most) = (subscripts.len(), MAX_DIMENSIONS);
        let what = format!("number of array dimensions ({count}) exceeds the maximum allowed ({most})");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what));
    }
    let bounded = || Ok(());
    set_element(array, element.plain(), subscripts, value, Interrupt::new(&bounded, MOST))
}
