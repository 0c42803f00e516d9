//! Functions, procedures and blocks at work.
//!
//! ```text
//!  parse::plpgsql   text ─► Program: scopes, variables, statements
//!  load.rs          Program, catalog ─► Loaded: where each variable is in a frame, of which type
//!  names.rs         a name in a piece of SQL ─► a place in the frame, which is a parameter to the plan
//!  interpret.rs     runs the statements of a Loaded over a Frame
//!  returned.rs      what they hand to the caller
//!  cursors.rs       cursors, which are portals of the session
//!  runner.rs        what it needs of who runs the pieces of SQL: a statement at work (`exec::routine`), or a session
//!                   (`session::routine`), which can change the catalog, too
//! ```
//!
//! A piece of SQL is compiled when it runs for the first time, and kept for as long as the catalog and the settings of
//! the session stay. The values of variables are its parameters, so that it is planned as a prepared statement is.

mod check;
pub(crate) mod cursors;
mod frame;
mod interpret;
mod load;
mod loops;
mod names;
mod raise;
mod returned;
pub(crate) mod runner;

use crate::compiled::{Action, Compiled, Held};
use scaledb_catalog::RoutineDesc;
use scaledb_parse::plpgsql::{NameConflicts, Program, Query, Return, Sql, Step};
use scaledb_planner::plan::Node;
use scaledb_planner::plan::routine::Fields;
use scaledb_planner::plan::secured::Reader;
use scaledb_sync::lock::Mutex;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

pub(crate) use interpret::{Finished, run};
pub(crate) use load::{load, load_block, load_condition, load_new, type_of_column};
pub(crate) use names::Names;

/// How deep calls are in each other at most.
pub(crate) const MAX_CALLS: usize = 500;

/// 54001 for calls that are too deep.
#[cold]
pub(crate) fn too_deep() -> SqlError {
    SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint(format!("Functions call each other up to {MAX_CALLS} times."))
}

/// Where a variable is.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Value {
        at: usize,
        ty: Type,
        not_null: bool,
    },
    /// A row of a table: its fields are side by side. Of a trigger's, there is a value that says whether it is there.
    Row {
        at: usize,
        fields: Arc<Fields>,
        is_there: Option<usize>,
    },
    /// A row of whatever was assigned last; its number among those.
    Record(usize),
}

/// What is known of a record at some time: where its fields are.
pub(crate) type Assigned = Option<(usize, Arc<Fields>)>;

/// What a routine hands to its caller.
#[derive(Clone, Debug)]
pub(crate) enum Returns {
    Nothing,
    /// A value; of a routine with a parameter that is returned, with the place of that.
    Value(Type, Option<usize>),
    /// A row; of a routine whose parameters are returned, with their places.
    Row(Arc<Fields>, Option<Vec<usize>>),
    /// The row that a trigger goes on with, if the table is known.
    Trigger(Option<Arc<Fields>>),
}

/// What is said of what PL/pgSQL lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said {
    #[default]
    Nothing,
    Warning,
    Error,
}

/// What the settings whose names begin with `plpgsql` say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Strictness {
    /// ASSERT says nothing.
    pub(crate) without_asserts: bool,
    /// What a name means that is a column's and a variable's.
    pub(crate) conflicts: NameConflicts,
    /// Of a query with INTO that returns more than one row.
    pub(crate) too_many_rows: Said,
    /// Of a row that has more or fewer columns than there are targets.
    pub(crate) multi_assignment: Said,
}

/// A routine that is ready to run.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The name in the context of errors.
    pub(crate) title: String,
    pub(crate) program: Program,
    pub(crate) places: Vec<Slot>,
    /// How many values a frame begins with, and how many records there are.
    pub(crate) width: usize,
    pub(crate) records: usize,
    /// Where FOUND is.
    pub(crate) found: usize,
    /// How many arguments it is given: they come first in the frame.
    pub(crate) arguments: usize,
    /// How many fields those of them have that are rows; none if no argument is one.
    pub(crate) widths: Vec<Option<usize>>,
    pub(crate) returns: Returns,
    pub(crate) set: bool,
    /// Whether the columns of a row that it returns have the very types that the caller wants: it says nothing of
    /// them itself.
    pub(crate) exact: bool,
    /// Whether its body is in SQL, and not in PL/pgSQL.
    pub(crate) is_sql: bool,
    /// Whether its statements may write.
    pub(crate) may_write: bool,
    /// Whether they may change definitions.
    pub(crate) may_define: bool,
    /// What a name means that is a column's and a variable's, if the body says it.
    pub(crate) conflicts: Option<NameConflicts>,
    /// What the settings of the session say.
    pub(crate) strictness: Strictness,
    /// The search path that holds while it runs, if it has one of its own.
    pub(crate) path: Option<Vec<String>>,
    /// What it finds the rows under that the statement has written whose trigger it is.
    pub(crate) written: Option<WrittenNames>,
    /// The portals of the session that it was loaded for.
    pub(crate) cursors: Option<Arc<dyn cursors::Cursors>>,
    planned: Mutex<Vec<Option<Arc<Planned>>>>,
}

/// A piece of SQL, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) held: Held,
    /// The records that it reads, and what they were.
    records: Vec<(usize, Assigned)>,
    /// Whether it is an expression that reads no table, and neither has a subquery nor calls a routine.
    pub(crate) is_plain: bool,
    /// What its rows have, for records that they are assigned to.
    pub(crate) fields: Arc<Fields>,
    /// The state of the catalog and the settings that it was compiled with, where these change while it runs.
    generation: u64,
    /// If policies of tables have made it what it is: that state, and whom it was made for. It is of no generation
    /// then.
    secured: Option<(u64, Reader)>,
}

impl Loaded {
    /// A piece of SQL that was compiled before, if the records that it reads are what they were.
    fn planned(&self, sql: &Sql, records: &[Assigned]) -> Option<Arc<Planned>> {
        let planned = self.planned.lock();
        let found = planned.get(sql.number)?.as_ref()?;
        let same = |(number, then): &(usize, Assigned)| match (then, &records[*number]) {
            (Some((at, fields)), Some((now, own))) => {
                at == now && (Arc::ptr_eq(fields, own) || fields == own)
            }
            (None, None) => true,
            _ => false,
        };
        found.records.iter().all(same).then(|| found.clone())
    }

    /// Refuses what writes in a function that is STABLE or IMMUTABLE.
    fn check_writes(&self, compiled: &Compiled) -> Result<()> {
        let Action::Plan(plan) = &compiled.action else { return Ok(()) };
        if self.may_write || !plan.writes {
            return Ok(());
        }
        let command = plan.kind.word();
        Err(SqlError::unsupported(format!("{command} is not allowed in a non-volatile function")))
    }

    /// The pieces of a body in SQL, or of a condition.
    pub(crate) fn pieces(&self) -> Vec<&Sql> {
        let lines = self.program.block.steps.iter();
        lines
            .filter_map(|line| match &line.step {
                Step::Perform(sql)
                | Step::ReturnFirst(sql)
                | Step::Return(Return::Value(sql))
                | Step::ReturnQuery(Query::Static(sql)) => Some(sql),
                _ => None,
            })
            .collect()
    }

    /// The types of what is in a frame.
    pub(crate) fn types(&self, records: &[Assigned], width: usize) -> Vec<Option<Type>> {
        let mut types = vec![None; width];
        for place in &self.places {
            match place {
                Slot::Value { at, ty, .. } => types[*at] = Some(*ty),
                Slot::Row { at, fields, .. } => {
                    fields.iter().enumerate().for_each(|(number, (_, ty))| types[at + number] = Some(*ty));
                }
                Slot::Record(number) => {
                    if let Some((at, fields)) = &records[*number] {
                        fields
                            .iter()
                            .enumerate()
                            .for_each(|(number, (_, ty))| types[at + number] = Some(*ty));
                    }
                }
            }
        }
        types
    }

    /// Keeps a piece of SQL.
    fn keep(&self, sql: &Sql, planned: Arc<Planned>) {
        let mut all = self.planned.lock();
        if all.len() <= sql.number {
            all.resize(self.program.pieces, None);
        }
        all[sql.number] = Some(planned);
    }
}

impl Planned {
    fn new(held: Held, records: Vec<(usize, Assigned)>, generation: u64) -> Self {
        let columns = held.columns.iter().flatten();
        let fields = columns.map(|column| (column.name.clone(), column.ty)).collect();
        let is_plain = match &held.action {
            Action::Plan(plan) => match &plan.output[..] {
                [expr] => matches!(plan.root, Node::Result) && !expr.needs_worker(),
                _ => false,
            },
            _ => false,
        };
        let secured = held.reader().map(|reader| (generation, reader));
        let generation = if secured.is_some() { u64::MAX } else { generation };
        Self { held, records, is_plain, fields: Arc::new(fields), generation, secured }
    }

    /// Whether it may be run in a state of the catalog and the settings, by whoever `reader` says.
    #[inline]
    fn is_good(&self, generation: u64, reader: impl FnOnce() -> Reader) -> bool {
        self.generation == generation
            || self.secured.is_some_and(|(of, own)| of == generation && own == reader())
    }
}

/// What is asked of a piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// It is a statement.
    Statement,
    /// It is the query of a cursor.
    Cursor,
    /// It is an expression, whose value becomes one of a type, if one is given.
    Value(Option<Type>),
}

/// A piece of SQL to be compiled.
pub(crate) struct Piece<'p> {
    pub(crate) text: &'p str,
    pub(crate) names: Option<&'p Names<'p>>,
    /// Types of its parameters.
    pub(crate) types: Vec<Option<Type>>,
    pub(crate) wanted: Wanted,
    /// Where names are looked up, if not along the session's path.
    pub(crate) path: Option<&'p [String]>,
    /// What it calls the rows that a statement has written.
    pub(crate) written: Option<&'p WrittenNames>,
}

/// What a trigger calls the rows of a table that a statement has written, as they were and as they are now.
#[derive(Clone, Debug)]
pub(crate) struct WrittenNames {
    pub(crate) table: u32,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

/// The name of a routine in the context of errors: `f(integer,text)`.
pub(crate) fn title(desc: &RoutineDesc, name_of: &dyn Fn(u32) -> String) -> String {
    let types: Vec<String> = desc.given().map(|parameter| name_of(parameter.type_oid)).collect();
    format!("{}({})", desc.name, types.join(","))
}

/// The rows of a routine, or its only one.
pub(crate) fn row_of(finished: Finished) -> Result<Option<Vec<Value>>> {
    Ok(match finished {
        Finished::Nothing => None,
        Finished::Value(value) => Some(vec![value]),
        Finished::Row(row) => row,
        Finished::Rows(_) => return Err(SqlError::internal("rows of a routine that returns one")),
    })
}
