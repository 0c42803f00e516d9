//! COPY.

use super::Session;
use super::copy_text::{Decoder, Encoder};
use super::run::Target;
use crate::api::{Column, CopyInfo, Executed, RowSink, Step, Tag};
use crate::compiled::{Action, Held};
use crate::exec::context::{Context, Host as _};
use crate::exec::foresee::{foresee_inserts, foresees};
use crate::exec::triggers::Waiting;
use crate::exec::{Exec, Flow};
use crate::memory::Reservation;
use scaledb_catalog::{ObjectKind, Privileges, Relation};
use scaledb_engine::{Engine, PREFETCH, Worker};
use scaledb_parse::copy::{Copy, CopyFormat, CopySource};
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::bind::dml::has_trigger_instead;
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::bind::names::{find_relation, is_temporary};
use scaledb_planner::functions::SessionFn;
use scaledb_planner::plan::trigger::Event;
use scaledb_planner::plan::{Modify, Node, Plan};
use scaledb_sync::atomic::Ordering;
use scaledb_types::row_weight;
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// A COPY FROM STDIN at work.
pub(super) struct CopyIn {
    /// INSERT of one row, with a parameter for each column.
    insert: Held,
    decoder: Decoder,
    types: Vec<Type>,
    /// Which columns of the table they are.
    positions: Vec<usize>,
    table: String,
    rows: u64,
    /// Whether rows count that triggers leave out: those of a view do.
    counts_all: bool,
    /// Whether the triggers before the statement have fired.
    begun: bool,
    /// Triggers that wait for the end, and their memory.
    waiting: Waiting,
    reserved: Vec<Reservation>,
    /// The memory of a row that has not arrived as a whole.
    part: Option<Reservation>,
    /// Whether the statement is committed at its end.
    alone: bool,
}

/// Triggers that wait for the end of a COPY: the memory of so many is counted together.
const WAITING: usize = 1_024;

/// Bytes of a row that are not counted: a session takes as much by being there.
const SMALL: usize = 256 << 10;

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl<E: Engine> Session<E> {
    /// Begins a COPY; runs it if it goes out.
    pub(super) fn copy(&mut self, copy: &Copy, alone: bool, sink: &mut dyn RowSink) -> Result<Executed> {
        if copy.into_table {
            return self.copy_in(copy, alone);
        }
        let text = match &copy.source {
            CopySource::Query(text) => text.clone(),
            CopySource::Table { schema, name, columns } => {
                let columns = self.columns_to_copy(schema.as_deref(), name, columns)?;
                self.check_may_copy(schema.as_deref(), name, &columns, Privileges::SELECT)?;
                let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
                let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
                let schema = schema.as_ref().map_or(String::new(), |schema| format!("{}.", quoted(schema)));
                format!("SELECT {columns} FROM {schema}{}", quoted(name))
            }
        };
        let compiled = self.compile(&text, &[])?;
        let Some(columns) = &compiled.columns else {
            return Err(SqlError::unsupported("COPY of a statement that returns no rows is not supported"));
        };
        let force: Vec<bool> = columns
            .iter()
            .map(|column| copy.force_quote_all || copy.force_quote.contains(&column.name))
            .collect();
        sink.copy_out(CopyInfo { binary: copy.format == CopyFormat::Binary, columns: columns.len() })?;
        let mut out = CopySink {
            sink,
            encoder: Encoder::new(copy, force),
            columns,
            at: 0,
            buffer: Vec::new(),
            begun: false,
        };
        out.encoder.begin(columns, &mut out.buffer);
        out.flush()?;
        if let Action::Plan(plan) = &compiled.action {
            // its rows are on their way as soon as they are read
            plan.reads_much.store(true, Ordering::Relaxed);
            plan.contended.store(true, Ordering::Relaxed);
        }
        let rows = self.run_plan(&compiled, &[], alone, Target::Sink(&mut out))?;
        out.encoder.end(&mut out.buffer);
        out.flush()?;
        Ok(Executed::Complete(Tag::rows("COPY", rows)))
    }

    /// Refuses FREEZE for a table that is older than the last savepoint, as PostgreSQL does.
    ///
    /// # Errors
    /// 55000.
    fn check_is_new(&self, table: u32) -> Result<()> {
        let transaction = &self.transaction;
        let (created, truncated) =
            transaction.savepoints.last().map_or((0, 0), |mark| (mark.created, mark.truncated));
        let engine = self.state.table(table)?.info.id;
        if transaction.created[created..].iter().any(|made| made.info.id == engine)
            || transaction.truncated[truncated..].contains(&table)
        {
            return Ok(());
        }
        let what = "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction";
        Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what))
    }

    fn copy_in(&mut self, copy: &Copy, alone: bool) -> Result<Executed> {
        let CopySource::Table { schema, name, columns } = &copy.source else {
            return Err(SqlError::internal("COPY into a query"));
        };
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let found = find_relation(catalog, path, schema.as_deref(), name).cloned();
        let of_view = match &found {
            Some(Relation::View(view)) if has_trigger_instead(view, Event::Insert) => {
                Some(Arc::new(view.as_table()))
            }
            _ => None,
        };
        if let Some(Relation::View(_)) = found
            && of_view.is_none()
        {
            let what = format!("cannot copy to view \"{name}\"");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                .hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."));
        }
        let is_view = of_view.is_some();
        let desc = match (of_view, found) {
            (Some(desc), _) | (None, Some(Relation::Table(desc))) => desc,
            _ => {
                let what = format!("relation \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
            }
        };
        if let Some(condition) = &copy.condition {
            check_condition(condition)?;
        }
        if desc.is_materialized() {
            let what = format!("cannot copy to materialized view \"{name}\"");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let types = scaledb_planner::plan::column_types(&self.state.catalog, &desc)?;
        let columns = match is_view {
            true => columns,
            false => &self.columns_to_copy(schema.as_deref(), name, columns)?,
        };
        let mut positions = Vec::new();
        for column in columns {
            positions.push(desc.column(column).ok_or_else(|| {
                let what = format!("column \"{column}\" of relation \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_COLUMN, what)
            })?);
        }
        if columns.is_empty() {
            positions = (0..desc.columns.len()).collect();
        }
        let names: Vec<String> = positions.iter().map(|&at| desc.columns[at].name.clone()).collect();
        let types: Vec<Type> = positions.iter().map(|&at| types[at]).collect();
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let params: Vec<String> = (1..=names.len()).map(|number| format!("${number}")).collect();
        let (list, params) = (list.join(", "), params.join(", "));
        let rows = match &copy.condition {
            None => format!("VALUES ({params})"),
            Some(condition) => {
                let name = quoted(&desc.name);
                // the line ends behind what may be a comment
                format!("SELECT * FROM (VALUES ({params})) AS {name} ({list}) WHERE ({condition}\n)")
            }
        };
        self.check_may_copy(schema.as_deref(), name, &names, Privileges::INSERT)?;
        let target = format!("{}.{}", quoted(&desc.schema), quoted(&desc.name));
        let text = format!("INSERT INTO {target} ({list}) OVERRIDING SYSTEM VALUE {rows}");
        let oids: Vec<u32> = types.iter().map(|ty| ty.oid()).collect();
        let insert = self.compile(&text, &oids)?;
        if let Action::Plan(plan) = &insert.action {
            self.state.check_needs(plan)?;
        }
        if self.state.hides_rows(desc.oid) {
            let what = "COPY FROM not supported with row-level security";
            return Err(SqlError::unsupported(what).hint("Use INSERT statements instead."));
        }
        if self.transaction.is_read_only() && !is_temporary(&desc.schema) {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                "cannot execute COPY FROM in a read-only transaction",
            ));
        }
        if copy.freeze && !is_view {
            self.check_is_new(desc.oid)?;
        }
        if alone {
            self.transaction.begin_implicit();
        }
        let info = CopyInfo { binary: copy.format == CopyFormat::Binary, columns: names.len() };
        for (option, forced) in [("NOT NULL", &copy.force_not_null), ("NULL", &copy.force_null)] {
            if let Some(column) = forced.iter().find(|column| !names.contains(column)) {
                let what = match desc.column(column) {
                    Some(_) => format!(
                        "FORCE_{} column \"{column}\" not referenced by COPY",
                        option.replace(' ', "_")
                    ),
                    None => format!("column \"{column}\" of relation \"{name}\" does not exist"),
                };
                let code = match desc.column(column) {
                    Some(_) => SqlState::INVALID_COLUMN_REFERENCE,
                    None => SqlState::UNDEFINED_COLUMN,
                };
                return Err(SqlError::new(code, what));
            }
        }
        let not_null: Vec<bool> = names.iter().map(|name| copy.force_not_null.contains(name)).collect();
        let null: Vec<bool> = names.iter().map(|name| copy.force_null.contains(name)).collect();
        let decoder = Decoder::new(copy, names, not_null, null);
        let table = desc.name.clone();
        self.copying = Some(CopyIn {
            counts_all: is_view && copy.condition.is_none(),
            insert,
            decoder,
            types,
            positions,
            table,
            rows: 0,
            begun: false,
            waiting: Waiting::default(),
            reserved: Vec::new(),
            part: None,
            alone,
        });
        Ok(Executed::CopyIn(info))
    }

    /// The columns of a COPY that are named; all but the generated ones if none are and there are such.
    ///
    /// # Errors
    /// 42P10 if a generated one is named.
    /// Looks whether the current role has a privilege on columns of a table whose policies say something: who may not
    /// do it at all is told nothing of them.
    ///
    /// # Errors
    /// 42501.
    fn check_may_copy(
        &self,
        schema: Option<&str>,
        name: &str,
        columns: &[String],
        asked: Privileges,
    ) -> Result<()> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let Some(Relation::Table(desc)) = find_relation(catalog, path, schema, name) else { return Ok(()) };
        if !self.state.hides_rows(desc.oid) {
            return Ok(());
        }
        let role = self.state.identity.current();
        let has = |name: &String| {
            let attnum = desc.column(name).map(|at| desc.columns[at].attnum);
            attnum.is_some_and(|attnum| catalog.column_privileges(role, desc.oid, attnum, asked) == asked)
        };
        let all = catalog.privileges(role, ObjectKind::Table, desc.oid, asked) == asked;
        if all || !columns.is_empty() && columns.iter().all(has) {
            return Ok(());
        }
        Err(self.state.denied(ObjectKind::Table, desc.oid))
    }

    fn columns_to_copy(&self, schema: Option<&str>, name: &str, named: &[String]) -> Result<Vec<String>> {
        let found = find_relation(&self.state.catalog, &self.state.path, schema, name);
        if let Some(relation @ (Relation::View(_) | Relation::Sequence(_))) = found {
            let what = format!("cannot copy from {} \"{name}\"", relation.kind());
            let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, what);
            let is_view = relation.kind() == "view";
            return Err(if is_view { error.hint("Try the COPY (SELECT ...) TO variant.") } else { error });
        }
        let Some(Relation::Table(desc)) = found else { return Ok(named.to_vec()) };
        if desc.is_materialized() {
            let what = format!("cannot copy from materialized view \"{name}\"");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                .hint("Try the COPY (SELECT ...) TO variant."));
        }
        let is_generated =
            |name: &String| desc.column(name).is_some_and(|at| desc.columns[at].generated.is_some());
        if let Some(name) = named.iter().find(|name| is_generated(name)) {
            let what = format!("column \"{name}\" is a generated column");
            return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what)
                .detail("Generated columns cannot be used in COPY."));
        }
        if !named.is_empty() || !desc.generates() {
            return Ok(named.to_vec());
        }
        let others = desc.columns.iter().filter(|column| column.generated.is_none());
        Ok(others.map(|column| column.name.clone()).collect())
    }

    fn no_copy() -> SqlError {
        SqlError::new(SqlState::PROTOCOL_VIOLATION, "no COPY FROM STDIN is running")
    }

    pub(super) fn copy_in_data(&mut self, data: &[u8]) -> Result<()> {
        let mut copying = self.copying.take().ok_or_else(Self::no_copy)?;
        copying.decoder.feed(data);
        self.copy_rows(&mut copying, false)?;
        copying.part = None;
        let bytes = copying.decoder.buffered();
        if bytes > SMALL {
            copying.part = Some(Reservation::new(&self.state.shared.memory, bytes)?);
        }
        self.copying = Some(copying);
        Ok(())
    }

    pub(super) fn copy_in_done(&mut self, sink: &mut dyn RowSink) -> Result<Step> {
        let mut copying = self.copying.take().ok_or_else(Self::no_copy)?;
        self.copy_rows(&mut copying, true)?;
        if copying.alone && self.waiting.is_empty() {
            self.end_implicit()?;
        }
        self.count_copy(Ok(copying.rows));
        sink.complete(&Tag::rows("COPY", copying.rows));
        Ok(Step::Done)
    }

    /// Inserts the rows that are complete.
    fn copy_rows(&mut self, copying: &mut CopyIn, end: bool) -> Result<()> {
        if let Action::Plan(plan) = &copying.insert.action {
            self.wait_for_changes(&plan.tables)?;
        }
        self.ensure_begun()?;
        // the data may come long after the statement
        if copying.insert.version != self.state.catalog.version
            && let Some(newer) = self.fresh(&copying.insert)?
        {
            if newer.params != copying.insert.params {
                return Err(crate::error::changed_definition());
            }
            copying.insert = newer;
        }
        let compiled = copying.insert.clone();
        let Action::Plan(plan) = &compiled.action else { return Err(SqlError::internal("not a plan")) };
        self.state.check_needs(plan)?;
        self.transaction.touch(&plan.tables, compiled.number);
        self.state.note_uses(plan);
        self.transaction.note(compiled.number, true);
        self.state.running.set(compiled.number);
        self.activity.run(compiled.number);
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let mut scratch = self.scratch.take().unwrap_or_default();
        let mut deferred = Vec::new();
        let context = self.context();
        // a row may never be complete
        let mut result = context.check_cancel();
        let mut values = Vec::with_capacity(copying.types.len());
        let shape = (plan.slots, plan.scans, plan.keeps);
        let mut waiting = std::mem::take(&mut copying.waiting);
        let mut foreseen = 0;
        while result.is_ok() {
            if foreseen == 0 {
                foreseen = foresee(&mut *worker, &context, plan, copying, end).max(1);
            }
            foreseen -= 1;
            values.clear();
            match copying.decoder.row(&copying.types, context.env, end, &mut values) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    result = Err(error.context(copying.decoder.place(&copying.table, true)));
                    break;
                }
            }
            if let Err(error) = find_named(&context, &copying.types, &mut values) {
                result = Err(error.context(copying.decoder.place(&copying.table, true)));
                break;
            }
            let mut exec = Exec::new(&mut *worker, &context, &values, shape, std::mem::take(&mut scratch));
            exec.goes_on = true;
            exec.waiting = waiting;
            let inserted = match &plan.root {
                Node::ModifyTable(modify) if !copying.begun => exec.begin_copy(modify),
                _ => Ok(()),
            };
            copying.begun = true;
            let inserted = inserted.and_then(|()| exec.run(&plan.root, &mut |_| Ok(Flow::Continue(()))));
            waiting = std::mem::take(&mut exec.waiting);
            let written = exec.affected;
            deferred.append(&mut exec.deferred);
            scratch = exec.take_scratch();
            if let Err(error) = inserted {
                // as PostgreSQL has it: a unique index names the line only
                let whole = error.code() != SqlState::UNIQUE_VIOLATION;
                result = Err(error.context(copying.decoder.place(&copying.table, whole)));
                break;
            }
            copying.rows += if copying.counts_all { 1 } else { written };
            if waiting.len() / WAITING > copying.reserved.len() {
                match Reservation::new(context.budget, WAITING * row_weight(&values)) {
                    Ok(reserved) => copying.reserved.push(reserved),
                    Err(error) => result = Err(error),
                }
            }
            if copying.rows.is_multiple_of(256)
                && let Err(error) = context.check_cancel()
            {
                result = Err(error);
                break;
            }
        }
        if result.is_ok()
            && end
            && let Node::ModifyTable(modify) = &plan.root
        {
            let mut exec = Exec::new(&mut *worker, &context, &[], shape, std::mem::take(&mut scratch));
            exec.waiting = std::mem::take(&mut waiting);
            result = exec.end_copy(modify, !copying.begun);
            deferred.append(&mut exec.deferred);
            scratch = exec.take_scratch();
        }
        copying.waiting = waiting;
        scratch.clear();
        self.scratch = Some(scratch);
        self.worker = Some(worker);
        if self.state.wrote.take() {
            self.note_writes();
        }
        self.transaction.deferred.append(&mut deferred);
        result.map_err(|error| self.unless_stale(error))
    }
}

/// Tells an engine of several nodes the keys of the next rows, which it asks for at once: each would wait for an answer
/// of its own. The rows are read twice. Returns how many they are; those that cannot be read fail when their turn
/// comes.
fn foresee<W: Worker>(
    worker: &mut W,
    context: &Context<'_>,
    plan: &Plan,
    copying: &mut CopyIn,
    end: bool,
) -> usize {
    let Node::ModifyTable(modify) = &plan.root else { return 0 };
    let Modify::Insert(insert) = &**modify else { return 0 };
    if !foresees(worker, insert) {
        return 0;
    }
    let columns = insert.table.desc.columns.len();
    let (mark, buffered) = (copying.decoder.mark(), copying.decoder.buffered());
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut values = Vec::with_capacity(copying.types.len());
    while rows.len() < PREFETCH && buffered - copying.decoder.buffered() < SMALL {
        values.clear();
        if !matches!(copying.decoder.row(&copying.types, context.env, end, &mut values), Ok(true))
            || find_named(context, &copying.types, &mut values).is_err()
        {
            break;
        }
        let mut row = vec![Value::Null; columns];
        copying.positions.iter().zip(values.drain(..)).for_each(|(&at, value)| row[at] = value);
        rows.push(row);
    }
    copying.decoder.rewind(&mark);
    if rows.len() > 1 {
        foresee_inserts(worker, insert, &rows);
    }
    rows.len()
}

/// # Errors
/// 0A000 for a condition with a subquery, 42601.
fn check_condition(text: &str) -> Result<()> {
    use scaledb_parse::lex::Lexer;
    scaledb_parse::expression(text)?;
    if Lexer::new(text).any(|token| token.is(text, "select") || token.is(text, "values")) {
        return Err(SqlError::unsupported("cannot use subquery in COPY FROM WHERE condition"));
    }
    Ok(())
}

/// Finds what the names in a row mean.
///
/// # Errors
/// Those of casts from text.
fn find_named(context: &Context<'_>, types: &[Type], values: &mut [Value]) -> Result<()> {
    for (value, &ty) in values.iter_mut().zip(types) {
        if is_named(ty) && matches!(value, Value::Text(_)) {
            *value = context.call(&SessionFn::reg_cast(Type::TEXT, ty), std::slice::from_ref(value))?;
        }
    }
    Ok(())
}

/// Turns rows into the data of COPY TO STDOUT.
struct CopySink<'s> {
    sink: &'s mut dyn RowSink,
    encoder: Encoder,
    columns: &'s [Column],
    at: usize,
    buffer: Vec<u8>,
    /// Rows were handed on.
    begun: bool,
}

impl CopySink<'_> {
    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.sink.copy_data(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl RowSink for CopySink<'_> {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, columns: usize) {
        self.at = 0;
        self.begun = true;
        self.encoder.begin_row(columns, &mut self.buffer);
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        debug_assert!(self.at < self.columns.len());
        self.encoder.value(self.at, env, ty, value, &mut self.buffer);
        self.at += 1;
        Ok(())
    }

    fn named(&mut self, env: &Env, ty: Type, oid: &Value, name: &Value) -> Result<()> {
        self.value(env, ty, if self.encoder.is_binary() { oid } else { name })
    }

    fn end_row(&mut self) -> Result<()> {
        self.encoder.end_row(&mut self.buffer);
        self.flush()
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn mark(&mut self) {}

    fn rewind(&mut self) -> bool {
        !self.begun
    }
}
