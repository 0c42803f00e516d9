//! Cursors: OPEN, FETCH, MOVE, CLOSE, and FOR over one. A cursor variable holds the name of a portal, which its session
//! has, and which ends with the transaction.

use super::interpret::{Flow, Interpreter};
use super::loops::Round;
use super::runner::Runner;
use super::{Planned, Slot, Wanted};
use crate::compiled::{Action, Held};
use scaledb_parse::plpgsql::{Count, Direction, Line, Movement, Opened, Query, Sql, Target, VariableId};
use scaledb_parse::utility::Motion;
use scaledb_planner::plan::routine::Fields;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::fmt::Debug;
use std::sync::Arc;

pub(super) const INVALID_CURSOR_DEFINITION: SqlState = SqlState::new(b"42P11");

/// A cursor that is to be opened.
pub(crate) struct Rows {
    /// The statement whose rows they are.
    pub(crate) of: Held,
    pub(crate) rows: Vec<Box<[Value]>>,
    /// The table whose keys stand behind the columns.
    pub(crate) table: Option<u32>,
    /// Whether it goes forward only.
    pub(crate) forward: bool,
}

/// The portals of a session, as far as routines need them.
pub(crate) trait Cursors: Debug + Send + Sync {
    fn is_open(&self, name: &str) -> bool;

    /// Opens one; its name, which is made up if it is given none.
    ///
    /// # Errors
    /// 42P03, 53200, 53400.
    fn open(&self, name: Option<&str>, rows: Rows) -> Result<String>;

    /// The columns of one, if it is there.
    fn fields(&self, name: &str) -> Option<Arc<Fields>>;

    /// Moves one, and hands out the rows on the way, or none of them if it `moves` only: how many.
    ///
    /// # Errors
    /// 34000; 55000 for a way back that it does not go.
    fn fetch(
        &self,
        name: &str,
        motion: Motion,
        moves: bool,
        each: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<u64>;

    /// # Errors
    /// 34000; 24000 for one that a loop goes through.
    fn close(&self, name: &str) -> Result<()>;

    /// A loop begins to go through one, or has ended.
    fn pin(&self, name: &str, pinned: bool);

    /// A loop over a query begins: it has a portal in PostgreSQL, which counts among those whose names are made up.
    fn count_unnamed(&self);

    /// What WHERE CURRENT OF means from here on is the row that one is on: what it meant before.
    ///
    /// # Errors
    /// 34000; 24000 if it is on no row of the table.
    fn look_at(&self, name: &str, table: (u32, &str)) -> Result<Vec<Value>>;

    /// Goes back to what it meant.
    fn look_back(&self, before: Vec<Value>);

    /// The number of the last one that was opened.
    fn last(&self) -> u64;

    /// Closes all that were opened behind that.
    fn close_since(&self, last: u64);
}

impl<'l, R: Runner> Interpreter<'l, '_, R> {
    fn cursors(&self) -> Result<&'l dyn Cursors> {
        self.loaded.cursors.as_deref().ok_or_else(|| SqlError::internal("a routine of no session"))
    }

    /// Where the name is that a cursor variable holds.
    fn place_of(&self, variable: VariableId) -> Result<usize> {
        match self.loaded.places[variable] {
            Slot::Value { at, .. } => Ok(at),
            _ => Err(SqlError::internal("a cursor that is a row")),
        }
    }

    /// The name that a cursor variable holds.
    fn portal_of(&self, variable: VariableId) -> Result<Option<String>> {
        let at = self.place_of(variable)?;
        Ok(self.frame.values[at].as_str().map(str::to_owned))
    }

    /// The name of the portal that a statement is about.
    ///
    /// # Errors
    /// 22004 for a variable that holds none.
    fn portal(&self, variable: VariableId) -> Result<String> {
        self.portal_of(variable)?.ok_or_else(|| {
            let name = &self.loaded.program.variables[variable].name;
            let what = format!("cursor variable \"{name}\" is null");
            SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what)
        })
    }

    /// The number of the last portal that was opened, to come back to.
    pub(super) fn last_portal(&self) -> u64 {
        self.loaded.cursors.as_ref().map_or(0, |cursors| cursors.last())
    }

    /// Closes the portals that a block has opened which is undone.
    pub(super) fn undo_portals(&self, last: u64) {
        if let Some(cursors) = &self.loaded.cursors {
            cursors.close_since(last);
        }
    }

    /// A loop over a query begins.
    pub(super) fn count_unnamed(&self) {
        if let Some(cursors) = &self.loaded.cursors {
            cursors.count_unnamed();
        }
    }

    /// OPEN.
    pub(super) fn open(&mut self, variable: VariableId, opened: &'l Opened) -> Result<()> {
        let (query, scroll) = match opened {
            Opened::Bound(arguments) => return self.open_bound(variable, arguments).map(drop),
            Opened::Query { query, scroll } => (query, *scroll),
        };
        let name = self.unused(variable)?;
        let rows = match query {
            Query::Static(sql) => self.cursor_rows(sql, scroll)?,
            Query::Dynamic(text, using) => {
                let (planned, values) = self.dynamic_query(text, using, Wanted::Cursor)?;
                self.rows_for_cursor(&planned, Some(&values), scroll)?
            }
        };
        self.opened(variable, name, rows).map(drop)
    }

    /// Opens a cursor that has a query: its name.
    fn open_bound(&mut self, variable: VariableId, arguments: &'l [(VariableId, Sql)]) -> Result<String> {
        let name = self.unused(variable)?;
        let Some(bound) = self.loaded.program.variables[variable].cursor.as_deref() else {
            return Err(SqlError::internal("a cursor without a query"));
        };
        self.give(arguments)?;
        let rows = self.cursor_rows(&bound.query, bound.scroll)?;
        self.opened(variable, name, rows)
    }

    /// The name that a cursor is to be opened with, if its variable has one.
    ///
    /// # Errors
    /// 42P03 if that is the name of a portal.
    fn unused(&self, variable: VariableId) -> Result<Option<String>> {
        let name = self.portal_of(variable)?;
        if let Some(name) = &name
            && self.cursors()?.is_open(name)
        {
            let what = format!("cursor \"{name}\" already in use");
            return Err(SqlError::new(SqlState::DUPLICATE_CURSOR, what));
        }
        Ok(name)
    }

    /// Makes the portal, whose name the variable holds from here on.
    fn opened(&mut self, variable: VariableId, name: Option<String>, rows: Rows) -> Result<String> {
        let declaration = &self.loaded.program.variables[variable];
        if name.is_none() && declaration.constant {
            let what = format!("variable \"{}\" is declared CONSTANT", declaration.name);
            return Err(SqlError::new(SqlState::ERROR_IN_ASSIGNMENT, what));
        }
        let portal = self.cursors()?.open(name.as_deref(), rows)?;
        if name.is_none() {
            self.hold(variable, Value::text(&*portal))?;
        }
        Ok(portal)
    }

    /// Gives a cursor variable another name to hold.
    fn hold(&mut self, variable: VariableId, name: Value) -> Result<()> {
        self.frame.set(self.runner, self.loaded, variable, name, Type::REFCURSOR)
    }

    /// Gives the parameters of a cursor their values.
    fn give(&mut self, arguments: &'l [(VariableId, Sql)]) -> Result<()> {
        let mut values = Vec::with_capacity(arguments.len());
        for (parameter, sql) in arguments {
            let Slot::Value { ty, .. } = self.loaded.places[*parameter] else {
                return Err(SqlError::unsupported("a parameter of a cursor that is a row is not supported"));
            };
            values.push((*parameter, self.value(sql, Some(ty))?, ty));
        }
        for (parameter, value, ty) in values {
            self.frame.set(self.runner, self.loaded, parameter, value, ty)?;
        }
        Ok(())
    }

    fn cursor_rows(&mut self, sql: &'l Sql, scroll: Option<bool>) -> Result<Rows> {
        let planned = self.planned(sql, Wanted::Cursor)?;
        self.rows_for_cursor(&planned, None, scroll)
    }

    /// All rows of the query of a cursor.
    ///
    /// # Errors
    /// 42P11 for a statement that returns no rows.
    fn rows_for_cursor(
        &mut self,
        planned: &Planned,
        values: Option<&[Value]>,
        scroll: Option<bool>,
    ) -> Result<Rows> {
        let of = &planned.held;
        match &of.action {
            Action::Plan(plan) if of.columns.is_none() => {
                let what = format!("cannot open {} query as cursor", plan.kind.word());
                return Err(SqlError::new(INVALID_CURSOR_DEFINITION, what));
            }
            Action::Plan(plan) if !plan.writes => {}
            Action::Plan(_) => {
                return Err(SqlError::unsupported("a cursor of a statement that writes is not supported"));
            }
            _ => {
                return Err(SqlError::unsupported(
                    "a cursor of a statement other than a query is not supported",
                ));
            }
        }
        // one that locks rows goes forward only, unless it says otherwise
        let locks = matches!(&of.action, Action::Plan(plan) if plan.locks.is_some());
        let forward = scroll.map_or(locks, |scroll| !scroll);
        if let Some((keyed, table)) = &of.keyed {
            match self.run(keyed, values, usize::MAX) {
                Ok(ran) => return Ok(Rows { of: of.clone(), rows: ran.rows, table: Some(*table), forward }),
                // the key may be what it may not read
                Err(error) if error.code() == SqlState::INSUFFICIENT_PRIVILEGE => {}
                Err(error) => return Err(error),
            }
        }
        let ran = self.run(of, values, usize::MAX)?;
        Ok(Rows { of: of.clone(), rows: ran.rows, table: None, forward })
    }

    fn motion(&mut self, movement: &'l Movement) -> Result<Motion> {
        let count = match &movement.count {
            Count::Number(number) => *number,
            Count::All => i64::MAX,
            Count::Computed(sql) => match self.value(sql, Some(Type::INT4))? {
                Value::Int4(number) => number.into(),
                _ => {
                    let what = "relative or absolute cursor position is null";
                    return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
                }
            },
        };
        Ok(match movement.direction {
            Direction::Forward => Motion::Relative(count),
            Direction::Backward => Motion::Relative(count.saturating_neg()),
            Direction::Absolute => Motion::Absolute(count),
            Direction::Relative => Motion::Skip(count),
        })
    }

    /// FETCH.
    pub(super) fn fetch(
        &mut self,
        variable: VariableId,
        movement: &'l Movement,
        targets: &'l [Target],
    ) -> Result<()> {
        let name = self.portal(variable)?;
        let fields = self.cursors()?.fields(&name).ok_or_else(|| no_cursor(&name))?;
        let motion = self.motion(movement)?;
        let found = self.next_of(&name, motion)?;
        self.put_row(targets, found.as_deref(), &fields)?;
        self.note_rows(found.is_some().into(), found.is_some());
        Ok(())
    }

    /// The row that a portal goes to.
    fn next_of(&self, name: &str, motion: Motion) -> Result<Option<Vec<Value>>> {
        let mut found = None;
        self.cursors()?.fetch(name, motion, false, &mut |row| {
            found = Some(row.to_vec());
            Ok(())
        })?;
        Ok(found)
    }

    /// MOVE.
    pub(super) fn move_cursor(&mut self, variable: VariableId, movement: &'l Movement) -> Result<()> {
        let name = self.portal(variable)?;
        let cursors = self.cursors()?;
        if !cursors.is_open(&name) {
            return Err(no_cursor(&name));
        }
        let motion = self.motion(movement)?;
        let count = cursors.fetch(&name, motion, true, &mut |_| Ok(()))?;
        self.note_rows(count, count > 0);
        Ok(())
    }

    /// CLOSE.
    pub(super) fn close(&mut self, variable: VariableId) -> Result<()> {
        let name = self.portal(variable)?;
        self.cursors()?.close(&name)
    }

    /// FOR over a cursor that has a query.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<&str>,
        record: &'l Target,
        (variable, arguments): (VariableId, &'l [(VariableId, Sql)]),
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        let had_name = self.portal_of(variable)?.is_some();
        let name = self.open_bound(variable, arguments)?;
        let cursors = self.cursors()?;
        cursors.pin(&name, true);
        let flow = self.for_rows_of(label, &name, std::slice::from_ref(record), steps);
        cursors.pin(&name, false);
        let closed = cursors.close(&name);
        let flow = flow?;
        closed?;
        if !had_name {
            self.hold(variable, Value::Null)?;
        }
        Ok(flow)
    }

    fn for_rows_of(
        &mut self,
        label: Option<&str>,
        name: &str,
        record: &'l [Target],
        steps: &'l [Line],
    ) -> Result<Flow<'l>> {
        let fields = self.cursors()?.fields(name).unwrap_or_default();
        let (mut flow, mut found) = (Flow::Next, false);
        while let Some(row) = self.next_of(name, Motion::Relative(1))? {
            found = true;
            self.runner.check()?;
            self.put_row(record, Some(&row), &fields)?;
            if let Round::Leave(left) = self.round(label, steps)? {
                flow = left;
                break;
            }
        }
        self.note_found(found);
        Ok(flow)
    }

    /// Runs `f` with the row that a cursor is on as what WHERE CURRENT OF means: one of a variable, or of a portal.
    pub(super) fn at_current<T>(&mut self, held: &Held, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Action::Plan(plan) = &held.action else { return f(self) };
        let Some(current) = &plan.current_of else { return f(self) };
        let name = match current.variable {
            Some(at) => match self.frame.values.get(at).and_then(Value::as_str) {
                Some(name) => name.to_owned(),
                None => {
                    let what = format!("cursor \"{}\" is null", current.cursor);
                    return Err(SqlError::new(SqlState::INVALID_CURSOR_NAME, what));
                }
            },
            None => current.cursor.clone(),
        };
        let cursors = self.cursors()?;
        let before = cursors.look_at(&name, (current.table, &current.name))?;
        let result = f(self);
        cursors.look_back(before);
        result
    }
}

/// 34000.
#[cold]
fn no_cursor(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
