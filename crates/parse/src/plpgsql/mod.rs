//! PL/pgSQL: the syntax trees of blocks.
//!
//! Names of variables are resolved as the block is read, for they are declared before they are used; types are texts
//! here, which the catalog gives a meaning when `scaledb-sql` loads the block. Expressions and statements of SQL stay
//! texts, too: they are compiled when they run for the first time.

mod block;
mod conditions;
mod cursors;
mod defines;
mod loops;
mod raise;
mod step;

use super::cursor::{Cursor, literal};
use super::lex::text_of;
use block::Parser;
pub use block::state_of;
pub use conditions::states_of;
pub use defines::begins_plainly;
use scaledb_types::{Result, SqlError, SqlState, Type};

/// A variable, by the order of their declarations.
pub type VariableId = usize;
/// A scope, by the order in which they begin.
pub type ScopeId = usize;

/// A block as it was read, with all that is declared in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub block: Block,
    pub variables: Vec<Declaration>,
    pub scopes: Vec<Scope>,
    /// How many pieces of SQL are in it: each has a number of its own.
    pub pieces: usize,
    /// What a name means that is a column's and a variable's, if the body says it.
    pub conflicts: Option<NameConflicts>,
}

/// What a name means that is a column's and a variable's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameConflicts {
    /// Nothing: it is refused.
    #[default]
    Refused,
    Column,
    Variable,
}

/// Names that are visible together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub outer: Option<ScopeId>,
    /// By this its names may be qualified.
    pub label: Option<String>,
    pub names: Vec<(String, VariableId)>,
}

/// A declared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub name: String,
    pub ty: DeclaredType,
    pub constant: bool,
    pub not_null: bool,
    pub default: Option<Sql>,
    /// Its query, if it is a cursor that has one.
    pub cursor: Option<Box<BoundCursor>>,
}

/// What a cursor was declared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundCursor {
    /// Variables that OPEN gives values, and only the query sees.
    pub parameters: Vec<VariableId>,
    pub query: Sql,
    /// SCROLL, NO SCROLL or neither.
    pub scroll: Option<bool>,
}

/// What OPEN runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The query that the cursor was declared with, with these values for its parameters.
    Bound(Vec<(VariableId, Sql)>),
    Query {
        query: Query,
        scroll: Option<bool>,
    },
}

/// Where FETCH and MOVE go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    pub direction: Direction,
    pub count: Count,
}

/// What the number of FETCH and MOVE counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
    /// From the first row, or backward from the last one.
    Absolute,
    /// To the row so far away.
    Relative,
}

/// The number of FETCH and MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    Number(i64),
    All,
    Computed(Sql),
}

/// What a variable was declared to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredType {
    /// What the block does not declare: parameters, loop variables, FOUND.
    Known(Type),
    /// A type, or a table whose rows it holds.
    Named(String),
    /// `x%TYPE`: the type of another variable.
    LikeVariable(VariableId),
    /// `t.c%TYPE`: the type of a column; its names, the column's last.
    LikeColumn(Vec<String>),
    /// `t%ROWTYPE`: a row of a table; its names.
    RowOf(Vec<String>),
    /// A row of whatever is assigned to it.
    Record,
    /// A row of the table whose trigger calls.
    TriggerRow,
}

/// A piece of SQL: a statement, or the part of one that an expression is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    pub text: String,
    pub number: usize,
    /// The scope that it stands in, and how many of its names were declared before it.
    pub scope: ScopeId,
    pub visible: usize,
}

/// Statements, and what is done about their errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub label: Option<String>,
    /// Variables that begin with it.
    pub declared: Vec<VariableId>,
    pub steps: Vec<Line>,
    pub handlers: Vec<Handler>,
}

/// A statement, and the line that it begins in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: u32,
    pub step: Step,
}

/// What is done about certain errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    pub conditions: Vec<Condition>,
    /// The variables SQLSTATE and SQLERRM.
    pub state: VariableId,
    pub message: VariableId,
    pub steps: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// OTHERS: every error but a cancelled statement and a failed assertion.
    Others,
    /// An SQLSTATE; one that ends in 000 means its class.
    State(SqlState),
}

impl Handler {
    /// Whether it is for errors of this state.
    pub fn is_for(&self, state: SqlState) -> bool {
        self.conditions.iter().any(|condition| match condition {
            Condition::Others => state != SqlState::QUERY_CANCELED && state != SqlState::ASSERT_FAILURE,
            Condition::State(own) => {
                *own == state || own.as_str().ends_with("000") && own.class() == state.class()
            }
        })
    }
}

/// A place that a value goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub variable: VariableId,
    /// The field of a row.
    pub field: Option<String>,
    /// The element of an array, by its subscripts.
    pub element: Vec<Sql>,
}

/// INTO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Into {
    /// One row, no more and no less.
    pub strict: bool,
    pub targets: Vec<Target>,
}

/// What is asked for rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    Static(Sql),
    /// EXECUTE: an expression whose text is the query, and the values of its parameters.
    Dynamic(Sql, Vec<Sql>),
}

/// How serious RAISE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Log,
    Notice,
    Warning,
    Info,
    Exception,
}

/// A field of an error or notice that RAISE sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseOption {
    Message,
    Detail,
    Hint,
    Errcode,
    Column,
    Constraint,
    Datatype,
    Table,
    Schema,
}

/// RAISE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    pub level: Level,
    /// The message: parts between which the values stand.
    pub format: Option<(Vec<String>, Vec<Sql>)>,
    /// A condition in place of the message.
    pub condition: Option<(SqlState, String)>,
    pub options: Vec<(RaiseOption, Sql)>,
}

/// What GET DIAGNOSTICS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnostic {
    RowCount,
    Context,
    State,
    Message,
    Detail,
    Hint,
    Column,
    Constraint,
    Datatype,
    Table,
    Schema,
}

/// What RETURN hands to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Return {
    /// Nothing, or the parameters that are returned.
    Plain,
    Value(Sql),
    /// A variable that may be a row.
    Variable(VariableId),
    /// `COALESCE(NEW, OLD)`: the first of these rows that is not NULL.
    FirstOf(Vec<VariableId>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Null,
    Block(Block),
    Assign {
        target: Target,
        value: Sql,
    },
    /// `a := b` of two variables, which may be rows.
    Copy {
        to: VariableId,
        from: VariableId,
    },
    /// A statement of SQL.
    Sql {
        sql: Sql,
        into: Option<Into>,
    },
    Perform(Sql),
    Execute {
        text: Sql,
        using: Vec<Sql>,
        into: Option<Into>,
    },
    If {
        branches: Vec<(Sql, Vec<Line>)>,
        otherwise: Vec<Line>,
    },
    /// The expression is the number of the branch.
    Case {
        choice: Sql,
        branches: Vec<Vec<Line>>,
        otherwise: Option<Vec<Line>>,
    },
    Loop {
        label: Option<String>,
        steps: Vec<Line>,
    },
    While {
        label: Option<String>,
        condition: Sql,
        steps: Vec<Line>,
    },
    ForRange {
        label: Option<String>,
        range: Range,
        steps: Vec<Line>,
    },
    ForQuery {
        label: Option<String>,
        targets: Vec<Target>,
        query: Query,
        steps: Vec<Line>,
    },
    /// FOR over a cursor that has a query.
    ForCursor {
        label: Option<String>,
        record: Target,
        cursor: VariableId,
        arguments: Vec<(VariableId, Sql)>,
        steps: Vec<Line>,
    },
    Open {
        cursor: VariableId,
        opened: Opened,
    },
    Fetch {
        cursor: VariableId,
        movement: Movement,
        targets: Vec<Target>,
    },
    Move {
        cursor: VariableId,
        movement: Movement,
    },
    Close(VariableId),
    ForEach {
        label: Option<String>,
        target: Target,
        slice: usize,
        array: Sql,
        steps: Vec<Line>,
    },
    /// EXIT, or CONTINUE.
    Exit {
        label: Option<String>,
        when: Option<Sql>,
        continues: bool,
    },
    Return(Return),
    /// The first row of a query: the last statement of a function in SQL.
    ReturnFirst(Sql),
    ReturnNext(Return),
    ReturnQuery(Query),
    Raise(Box<Raise>),
    /// RAISE of the error that is being handled.
    Reraise,
    Assert {
        condition: Sql,
        message: Option<Sql>,
    },
    Diagnostics {
        stacked: bool,
        items: Vec<(Target, Diagnostic)>,
        /// The line that it stands in, which PG_CONTEXT says.
        line: u32,
    },
}

/// The integers of a FOR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub variable: VariableId,
    pub from: Sql,
    pub to: Sql,
    pub by: Option<Sql>,
    pub reverse: bool,
}

impl Step {
    /// What PostgreSQL calls the statement in the context of errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Block(_) => "statement block",
            Self::Assign { .. } | Self::Copy { .. } => "assignment",
            Self::Sql { .. } => "SQL statement",
            Self::Perform(_) => "PERFORM",
            Self::Execute { .. } => "EXECUTE",
            Self::If { .. } => "IF",
            Self::Case { .. } => "CASE",
            Self::Loop { .. } => "LOOP",
            Self::While { .. } => "WHILE",
            Self::ForRange { .. } => "FOR with integer loop variable",
            Self::ForQuery { query: Query::Static(_), .. } => "FOR over SELECT rows",
            Self::ForQuery { .. } => "FOR over EXECUTE statement",
            Self::ForCursor { .. } => "FOR over cursor",
            Self::Open { .. } => "OPEN",
            Self::Fetch { .. } => "FETCH",
            Self::Move { .. } => "MOVE",
            Self::Close(_) => "CLOSE",
            Self::ForEach { .. } => "FOREACH over array",
            Self::Exit { continues: false, .. } => "EXIT",
            Self::Exit { .. } => "CONTINUE",
            Self::Return(_) | Self::ReturnFirst(_) => "RETURN",
            Self::ReturnNext(_) => "RETURN NEXT",
            Self::ReturnQuery(_) => "RETURN QUERY",
            Self::Raise(_) | Self::Reraise => "RAISE",
            Self::Assert { .. } => "ASSERT",
            Self::Diagnostics { .. } => "GET DIAGNOSTICS",
        }
    }
}

/// What a block has from outside: a variable.
pub struct Outside {
    /// Its name; empty if only its number is known.
    pub name: String,
    pub ty: DeclaredType,
}

/// Reads a block. The names of `outside` are in scope, also behind the block's own name and a point.
///
/// # Errors
/// 42601 and its kin; 0A000 for parts of PL/pgSQL that are not there.
pub fn program(body: &str, name: Option<&str>, outside: Vec<Outside>) -> Result<Program> {
    read(Parser::new(body), name, outside)
}

/// Reads a block that has not been read before: its pieces of SQL, too, which are otherwise read when they first run.
///
/// # Errors
/// As [`program`]; 42601 for pieces of SQL.
pub fn new_program(body: &str, name: Option<&str>, outside: Vec<Outside>) -> Result<Program> {
    read(Parser::checking(body), name, outside)
}

fn read(mut parser: Parser<'_>, name: Option<&str>, outside: Vec<Outside>) -> Result<Program> {
    let body = parser.at.text;
    let program = program_of(&mut parser, name, outside);
    // a mistake in a piece of SQL is before whatever came to an end
    let read = match parser.wrong.take() {
        Some(error) => Err(error),
        None => program.map(|(conflicts, block)| Program { conflicts, ..parser.finish(block) }),
    };
    read.map_err(|mut error| {
        // the text of the client is another one
        if let Some(position) = error.fields_mut().position.take() {
            error.fields_mut().internal.get_or_insert_with(|| (position, body.to_owned()));
        }
        error
    })
}

fn program_of(
    parser: &mut Parser<'_>,
    name: Option<&str>,
    outside: Vec<Outside>,
) -> Result<(Option<NameConflicts>, Block)> {
    parser.open(name.map(str::to_owned));
    for variable in outside {
        parser.declare(&variable.name, variable.ty);
    }
    let found = parser.declare("found", DeclaredType::Known(Type::BOOL));
    debug_assert_eq!(parser.variable_named("found"), Some(found));
    let conflicts = parser.options()?;
    let label = parser.label()?;
    let block = parser.block(label)?;
    parser.at.accept_sign(";");
    parser.at.end()?;
    Ok((conflicts, block))
}

/// Reads what is behind the word DO.
///
/// # Errors
/// As [`program`]; 42704 for another language.
pub(super) fn do_block(at: &mut Cursor<'_>) -> Result<Program> {
    let before = language(at)?;
    let code = body(at)?;
    if !before {
        language(at)?;
    }
    program(&code, None, Vec::new())
}

/// The text of a body: a literal of any kind.
pub(super) fn body(at: &mut Cursor<'_>) -> Result<String> {
    let code = literal(at).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(code)
}

/// LANGUAGE and its name, or nothing.
fn language(at: &mut Cursor<'_>) -> Result<bool> {
    if !at.accept("language") {
        return Ok(false);
    }
    let name = language_name(at)?;
    if name != "plpgsql" {
        return Err(no_language(&name));
    }
    Ok(true)
}

/// The name of a language.
pub(super) fn language_name(at: &mut Cursor<'_>) -> Result<String> {
    match at.ahead.and_then(|token| text_of(token, at.text)) {
        Some(name) => {
            at.next();
            Ok(name.to_lowercase())
        }
        None => at.name(),
    }
}

/// 42704 for a language.
pub(super) fn no_language(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"))
}
