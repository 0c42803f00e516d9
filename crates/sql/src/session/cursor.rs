//! Portals and cursors.
//!
//! The rows of a portal that is read in parts are computed at its first part and kept; so are a cursor's. They
//! count as memory of the query.

use super::Session;
use super::kept::Kept;
use super::portals::no_cursor;
use super::run::{Target, replay};
use super::state::SessionState;
use crate::api::{Column, Executed, RowSink, Tag};
use crate::compiled::{Action, Held};
use crate::memory::Reservation;
use scaledb_catalog::Relation;
use scaledb_engine::Engine;
use scaledb_parse::utility::{Motion, Utility};
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::bind::names::{find_relation, fold, split};
use scaledb_planner::plan::routine::Fields;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    Expr, GroupByExpr, Ident, SelectItem, SetExpr, Statement as Ast, TableFactor, TableWithJoins,
};
use std::sync::Arc;

/// A statement with its parameters, and how far it got.
pub(super) struct Portal {
    compiled: Held,
    params: Vec<Value>,
    /// The cursor's rows, if they are kept.
    pub(super) rows: Option<Kept>,
    /// The memory of its parameters, if that is much or it is kept under a name.
    _reserved: Option<Reservation>,
    /// The table whose rows it has, behind whose columns their keys stand: WHERE CURRENT OF may name it.
    table: Option<u32>,
    /// The row that it is on: rows before it were returned.
    pub(super) at: usize,
    done: bool,
    /// Whether it outlives its transaction, if that commits.
    pub(super) hold: bool,
    /// Whether it goes forward only.
    pub(super) forward: bool,
    /// Counts the portals of a session; 0 once its transaction has committed.
    pub(super) number: u64,
    /// When it was declared, as `timestamptz`; and the text of DECLARE.
    pub(super) time: i64,
    declared: Option<Arc<str>>,
    /// Whether a loop goes through it.
    pub(super) pinned: bool,
    /// Its columns, once a routine has asked for them.
    fields: Option<Arc<Fields>>,
}

impl Portal {
    pub(super) fn new(compiled: Held, params: Vec<Value>, reserved: Option<Reservation>) -> Self {
        Self {
            compiled,
            params,
            _reserved: reserved,
            rows: None,
            table: None,
            at: 0,
            done: false,
            hold: false,
            forward: false,
            number: 0,
            time: 0,
            declared: None,
            pinned: false,
            fields: None,
        }
    }

    /// A cursor that a routine opens.
    pub(super) fn of_rows(
        of: Held,
        rows: Kept,
        table: Option<u32>,
        forward: bool,
        reserved: Reservation,
    ) -> Self {
        Self { rows: Some(rows), table, forward, ..Self::new(of, Vec::new(), Some(reserved)) }
    }

    /// The statement that opened it.
    pub(super) fn shown(&self) -> &str {
        self.declared.as_deref().unwrap_or(&self.compiled.text)
    }

    /// Makes another portal of it, in its memory, whose parameters are still to come: of `compiled`, or of its own
    /// statement.
    pub(super) fn renew(&mut self, compiled: Option<Held>) {
        let Self {
            compiled: own,
            params,
            rows,
            table,
            _reserved,
            at,
            done,
            hold,
            forward,
            number,
            time,
            declared,
            pinned,
            fields,
        } = self;
        if let Some(compiled) = compiled {
            *own = compiled;
        }
        params.clear();
        (*rows, *table) = (None, None);
        *_reserved = None;
        (*at, *done, *hold, *forward, *number) = (0, false, false, false, 0);
        (*time, *declared, *pinned, *fields) = (0, None, false, None);
    }

    /// The portal's statement.
    pub(super) fn compiled(&self) -> &Held {
        &self.compiled
    }

    /// The portal's statement, and its parameters to be filled in.
    pub(super) fn parts(&mut self) -> (&Held, &mut Vec<Value>) {
        (&self.compiled, &mut self.params)
    }

    /// Its columns, for the variables of a routine.
    pub(super) fn fields(&mut self) -> Arc<Fields> {
        let columns = self.compiled.columns.as_deref().unwrap_or_default();
        let all = || Arc::new(columns.iter().map(|column| (column.name.clone(), column.ty)).collect());
        self.fields.get_or_insert_with(all).clone()
    }

    /// Moves it, and hands out the rows on the way, or none of them if it `moves` only: how many.
    ///
    /// # Errors
    /// 55000; those of `each`.
    pub(super) fn go(
        &mut self,
        motion: Motion,
        moves: bool,
        each: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<u64> {
        let end = self.rows.as_ref().map_or(0, Kept::len) as i64;
        // the cursor is on row `at`: 0 before the first, end + 1 behind the last
        let at = self.at as i64;
        let backward = match motion {
            Motion::Relative(0) | Motion::Skip(0) => !moves && (1..=end).contains(&at),
            Motion::Relative(count) | Motion::Skip(count) => count < 0,
            Motion::Absolute(number) => number < 0 || number <= at && at > 0,
        };
        if self.forward && backward {
            let what = "cursor can only scan forward";
            return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        // the rows that are returned, by their numbers from 1 on
        let mut found = 1..1;
        let row = |number: i64| if (1..=end).contains(&number) { number..number + 1 } else { 1..1 };
        let to = match motion {
            Motion::Relative(count) if count >= 0 => {
                let to = at.saturating_add(count).min(end + 1);
                found = if count == 0 { row(at) } else { at + 1..to.min(end) + 1 };
                to
            }
            Motion::Relative(count) => {
                let to = at.saturating_add(count).max(0);
                found = to.max(1)..at.min(end + 1);
                to
            }
            Motion::Absolute(number) => {
                let to =
                    if number < 0 { (end + 1).saturating_add(number).max(0) } else { number.min(end + 1) };
                found = row(to);
                to
            }
            Motion::Skip(count) => {
                let to = at.saturating_add(count).clamp(0, end + 1);
                found = row(to);
                to
            }
        };
        let downward = matches!(motion, Motion::Relative(count) if count < 0);
        self.at = usize::try_from(to).unwrap_or(0);
        let found =
            usize::try_from(found.start - 1).unwrap_or(0)..usize::try_from(found.end - 1).unwrap_or(0);
        let count = found.len() as u64;
        if moves {
            return Ok(count);
        }
        // a cursor with keys behind its columns hands out the columns
        let width = self.compiled.columns.as_ref().map_or(0, Vec::len);
        let mut hand = |row: &[Value]| each(row.get(..width).unwrap_or(row));
        match &self.rows {
            Some(rows) if downward => {
                found.rev().try_for_each(|number| rows.each(number..number + 1, &mut hand))?;
            }
            Some(rows) => rows.each(found, &mut hand)?,
            None => {}
        }
        Ok(count)
    }

    /// The key of the row that it is on, which WHERE CURRENT OF means.
    ///
    /// # Errors
    /// 24000 if it is on no row of the table.
    pub(super) fn key(&self, name: &str, table: u32, table_name: &str) -> Result<Vec<Value>> {
        let wrong = |what: String| Err(SqlError::new(SqlState::INVALID_CURSOR_STATE, what));
        if self.hold && self.number == 0 {
            return wrong(format!("cursor \"{name}\" is held from a previous transaction"));
        }
        let rows = match &self.rows {
            Some(rows) if self.table == Some(table) => rows,
            _ => {
                return wrong(format!(
                    "cursor \"{name}\" is not a simply updatable scan of table \"{table_name}\""
                ));
            }
        };
        let Some(at) = self.at.checked_sub(1).filter(|at| *at < rows.len()) else {
            return wrong(format!("cursor \"{name}\" is not positioned on a row"));
        };
        let columns = self.compiled.columns.as_ref().map_or(0, Vec::len);
        let mut key = Vec::new();
        rows.each(at..at + 1, &mut |row| {
            key = row.get(columns..).unwrap_or_default().to_vec();
            Ok(())
        })?;
        Ok(key)
    }

    /// Keeps the reservation of the memory that the portal's parameters take.
    pub(super) fn hold_memory(&mut self, reserved: Option<Reservation>) {
        self._reserved = reserved;
    }
}

/// Portals, cursors included, that a session may have.
pub(super) const MAX_PORTALS: usize = 1_000;
/// What a portal takes besides its values.
pub(super) const PORTAL: usize = 256;

fn missing(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}

impl<E: Engine> Session<E> {
    /// Whether there is a portal of a name.
    pub(super) fn has_portal(&self, name: &str) -> bool {
        if name.is_empty() { self.unnamed.is_some() } else { self.state.portals.contains(name) }
    }

    pub(super) fn take_portal(&mut self, name: &str) -> Option<Box<Portal>> {
        if name.is_empty() { self.unnamed.take() } else { self.state.portals.take(name) }
    }

    pub(super) fn put_portal(&mut self, name: &str, mut portal: Box<Portal>) {
        if portal.number == 0 && !portal.hold {
            portal.number = self.state.portals.next_number();
        }
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            if portal.time == 0 {
                portal.time = self.env.statement_time;
            }
            self.state.portals.put(name.to_owned(), portal);
        }
    }

    pub(super) fn clear_portals(&mut self) {
        self.unnamed = None;
        self.state.portals.retain(|_| false);
    }

    /// The end of a transaction: portals end with it, unless they are to outlive it.
    pub(super) fn end_portals(&mut self) {
        self.unnamed = None;
        self.state.portals.retain(|portal| portal.hold && portal.number == 0);
    }

    /// The commit of a transaction: those of its cursors that are to outlive it do.
    pub(super) fn hold_portals(&mut self) {
        self.state.portals.retain(|portal| {
            if portal.hold {
                portal.number = 0;
            }
            true
        });
    }

    pub(super) fn portal_columns(&mut self, name: &str) -> Result<Option<&[Column]>> {
        // it may have been declared since the statement was prepared
        let fetched = |portal: &Portal| match &portal.compiled.action {
            Action::Utility(Utility::Fetch { name, moves: false, .. }) => Some(name.clone()),
            _ => None,
        };
        let of = match name.is_empty() {
            true => self.unnamed.as_deref().ok_or_else(|| missing(name)).map(fetched)?,
            false => {
                let of = self.state.portals.with(name, |portal| (fetched(portal), portal.compiled.clone()));
                let (of, compiled) = of.ok_or_else(|| missing(name))?;
                self.described = compiled.columns.clone();
                if of.is_none() {
                    return Ok(self.described.as_deref());
                }
                of
            }
        };
        match of {
            Some(cursor) => {
                self.described = self.cursor_columns(&cursor);
                Ok(self.described.as_deref())
            }
            None => Ok(self.unnamed.as_deref().and_then(|portal| portal.compiled.columns.as_deref())),
        }
    }

    pub(super) fn execute_portal(
        &mut self,
        name: &str,
        max_rows: u64,
        last: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        // taken out while it runs, for the end of a transaction closes portals
        let mut portal = self.take_portal(name).ok_or_else(|| missing(name))?;
        let mut logged = self.log_begin();
        if let Some(run) = &mut logged
            && portal.rows.is_none()
            && !portal.done
        {
            self.log_portal(run, name, &portal.compiled, &portal.params);
        }
        let result = self.execute_taken(&mut portal, max_rows, last, sink);
        match logged {
            Some(run) if matches!(result, Ok(Executed::CopyIn(_))) => {
                self.log_later(run, &portal.compiled.text)
            }
            Some(run) => {
                self.log_portal_end(&run, name, &portal.compiled, &portal.params, result.as_ref().err());
            }
            None => {}
        }
        if result.is_ok()
            && (self.transaction.in_block() || self.transaction.is_implicit() || name.is_empty())
        {
            self.put_portal(name, portal);
        }
        result
    }

    fn execute_taken(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        last: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        let returns_rows = portal.compiled.columns.is_some();
        if portal.done && !(returns_rows && portal.rows.is_some()) {
            return match &portal.compiled.action {
                Action::Empty => Ok(Executed::Empty),
                Action::Plan(plan) if returns_rows => Ok(Executed::Complete(Self::tag(plan, 0))),
                _ => Err(SqlError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "portal cannot be run any more",
                )),
            };
        }
        let in_parts = returns_rows && max_rows > 0 && matches!(portal.compiled.action, Action::Plan(_));
        // a statement that is followed by others is committed with them
        if self.transaction.is_alone() && (in_parts || !last) {
            self.transaction.begin_implicit();
        }
        let alone = self.transaction.is_alone();
        if !in_parts && portal.rows.is_none() {
            portal.done = true;
            return self.run_compiled(&portal.compiled, &portal.params, alone, sink);
        }
        self.refuse_failed()?;
        let Action::Plan(plan) = &portal.compiled.action else {
            return Err(SqlError::internal("a portal of no plan"));
        };
        if portal.rows.is_none() {
            self.start_statement();
            let mut rows = Kept::default();
            let begun = self.count_begin(&portal.compiled);
            let done = self.run_plan(&portal.compiled, &portal.params, false, Target::Keep(&mut rows));
            if let Some(begun) = begun {
                let count = done.as_ref().map(|count| (*count).max(rows.len() as u64));
                self.count_end(&portal.compiled, begun, count);
            }
            done?;
            portal.rows = Some(rows);
        }
        let len = portal.rows.as_ref().map_or(0, Kept::len);
        // FETCH and MOVE may have left it behind the last row
        let start = portal.at.min(len);
        let left = len - start;
        let count =
            if max_rows == 0 { left } else { left.min(usize::try_from(max_rows).unwrap_or(usize::MAX)) };
        let columns = portal.compiled.columns.as_deref().unwrap_or_default();
        if let Some(rows) = &portal.rows {
            rows.each(start..start + count, &mut |row| replay(&self.env, row, columns, sink))?;
        }
        portal.at = start + count;
        // PostgreSQL does not look ahead: a part that is full may be the last one
        if max_rows > 0 && count as u64 == max_rows {
            return Ok(Executed::Suspended);
        }
        portal.done = true;
        portal.at = len + 1;
        Ok(Executed::Complete(Self::tag(plan, count as u64)))
    }

    /// DECLARE.
    pub(super) fn declare(
        &mut self,
        name: String,
        hold: bool,
        scroll: Option<bool>,
        text: &str,
        (types, params): (&[Type], &[Value]),
        whole: &Arc<str>,
    ) -> Result<Tag> {
        if !hold {
            self.need_block("DECLARE CURSOR")?;
        }
        if self.state.portals.contains(&name) {
            let what = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_CURSOR, what));
        }
        self.state.portals.admit(&name)?;
        let types: Vec<u32> = types.iter().map(|ty| ty.oid()).collect();
        let compiled = self.compile(text, &types)?;
        let Action::Plan(plan) = &compiled.action else {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "a cursor needs a query"));
        };
        if plan.writes {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "a cursor needs a query that does not write"));
        }
        self.start_statement();
        let mut rows = Kept::default();
        let alone = self.transaction.is_alone();
        let keyed = self.with_key(text, &types);
        let source = keyed.as_ref().map_or(&compiled, |(keyed, _)| keyed);
        let mut table = keyed.as_ref().map(|(_, table)| *table);
        match self.run_plan(source, params, alone, Target::Keep(&mut rows)) {
            // the key may be what it may not read
            Err(error) if table.is_some() && error.code() == SqlState::INSUFFICIENT_PRIVILEGE => {
                (rows, table) = (Kept::default(), None);
                self.run_plan(&compiled, params, alone, Target::Keep(&mut rows))?;
            }
            done => drop(done?),
        }
        let reserved = Reservation::new(&self.state.shared.memory, PORTAL + name.len())?;
        let portal = Portal {
            rows: Some(rows),
            table,
            hold,
            // rows that are locked are read once
            forward: scroll == Some(false) || plan.locks.is_some(),
            number: self.state.portals.next_number(),
            time: self.env.statement_time,
            declared: Some(Arc::clone(whole)),
            ..Portal::new(compiled.clone(), Vec::new(), Some(reserved))
        };
        self.state.portals.put(name, Box::new(portal));
        Ok(Tag::plain("DECLARE CURSOR"))
    }

    /// The query of a cursor with the key of the rows behind its columns, and their table; `None` if it is one of
    /// which WHERE CURRENT OF names no row: of one table, ungrouped, and with a primary key.
    fn with_key(&mut self, text: &str, types: &[u32]) -> Option<(Held, u32)> {
        let (keyed, table) =
            scaledb_parse::with_stack(text, || self.state.text_with_key(text, &self.state.path))?;
        let compiled = self.compile(&keyed, types).ok()?;
        Some((compiled, table))
    }

    /// The columns of a cursor.
    pub(super) fn cursor_columns(&self, name: &str) -> Option<Vec<Column>> {
        self.state.portals.with(name, |portal| portal.compiled.columns.clone()).flatten()
    }

    /// Computes the rows of a portal that a client has bound and not executed yet.
    fn start_portal(&mut self, name: &str) -> Result<()> {
        let is_new = self.state.portals.with(name, |portal| match &portal.compiled.action {
            Action::Plan(plan) => {
                let reads = !plan.writes && portal.compiled.columns.is_some();
                reads && portal.rows.is_none() && !portal.done
            }
            _ => false,
        });
        if is_new != Some(true) {
            return Ok(());
        }
        let Some(mut portal) = self.state.portals.take(name) else { return Ok(()) };
        let mut rows = Kept::default();
        self.run_plan(&portal.compiled, &portal.params, false, Target::Keep(&mut rows))?;
        portal.rows = Some(rows);
        self.state.portals.put(name.to_owned(), portal);
        Ok(())
    }

    /// FETCH and MOVE.
    pub(super) fn fetch(
        &mut self,
        name: &str,
        motion: Motion,
        moves: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Tag> {
        self.start_portal(name)?;
        let env = &self.env;
        let count = self.state.portals.with(name, |portal| {
            let of = portal.compiled.clone();
            let columns = of.columns.as_deref().unwrap_or_default();
            portal.go(motion, moves, &mut |row| replay(env, row, columns, &mut *sink))
        });
        let count = count.ok_or_else(|| no_cursor(name))??;
        Ok(Tag::rows(if moves { "MOVE" } else { "FETCH" }, count))
    }
}

impl<E: Engine> SessionState<E> {
    /// The text of a query with the key of the rows behind its columns, and their table; `None` if it is one of which
    /// WHERE CURRENT OF names no row: of one table, ungrouped, and with a primary key.
    pub(super) fn text_with_key(&self, text: &str, path: &[String]) -> Option<(String, u32)> {
        let Ok(Ast::Query(mut query)) = scaledb_parse::statement(text) else { return None };
        let SetExpr::Select(select) = &mut *query.body else { return None };
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
        let [TableWithJoins { relation: TableFactor::Table { name, alias, args: None, .. }, joins }] =
            &select.from[..]
        else {
            return None;
        };
        let renamed = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        if query.with.is_some() || select.distinct.is_some() || grouped || select.having.is_some() {
            return None;
        }
        if !joins.is_empty() || renamed {
            return None;
        }
        let (schema, last) = split(name).ok()?;
        let relation = find_relation(&self.catalog, path, schema.as_deref(), &last)?;
        let Relation::Table(desc) = relation else { return None };
        let table = self.table(desc.oid).ok().filter(|table| !table.primary.is_empty())?;
        let of = alias.as_ref().map_or(last, |alias| fold(&alias.name));
        let quoted = |name: &str| Ident::with_quote('"', name);
        for part in &table.primary {
            let column = &table.desc.columns[part.position].name;
            let key = Expr::CompoundIdentifier(vec![quoted(&of), quoted(column)]);
            select.projection.push(SelectItem::UnnamedExpr(key));
        }
        let keyed = scaledb_parse::unmarked::unmarked(&query.to_string());
        // its rows are those of the cursor: only what is printed as it was meant
        let same = matches!(scaledb_parse::statement(&keyed), Ok(Ast::Query(again)) if again == query);
        same.then_some((keyed, desc.oid))
    }
}
