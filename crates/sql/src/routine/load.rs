//! Makes routines ready to run: what the catalog knows of the types of their variables.

use super::{Loaded, Returns, Slot, Strictness};
use scaledb_catalog::{Catalog, Language, PUBLIC, Relation, Returned, RoutineDesc, TableDesc, of_row_type};
use scaledb_parse::plpgsql::{
    self, DeclaredType, Line, NameConflicts, Outside, Program, Query, Scope, Sql, Step, VariableId,
};
use scaledb_planner::bind::names::{find_relation, parse_type};
use scaledb_planner::plan::column_types;
use scaledb_planner::plan::routine::{Fields, fields_of, has_columns, name_of_type, result_columns};
use scaledb_sync::lock::Mutex;
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use std::sync::Arc;

/// What a trigger tells its function beside the rows: names and types, in the order of the values.
const TRIGGER_VARIABLES: [(&str, Type); 10] = [
    ("tg_name", Type::NAME),
    ("tg_when", Type::TEXT),
    ("tg_level", Type::TEXT),
    ("tg_op", Type::TEXT),
    ("tg_relid", Type::OID),
    ("tg_relname", Type::NAME),
    ("tg_table_name", Type::NAME),
    ("tg_table_schema", Type::NAME),
    ("tg_nargs", Type::INT4),
    ("tg_argv", Type::array_of(Base::Text)),
];

/// The rows that triggers see, and whether each is there: the first variables.
fn trigger_rows() -> impl Iterator<Item = Outside> {
    let rows = ["new", "old"].into_iter();
    let rows = rows.map(|name| Outside { name: name.to_owned(), ty: DeclaredType::TriggerRow });
    let there = || Outside { name: String::new(), ty: DeclaredType::Known(Type::BOOL) };
    rows.chain([there(), there()])
}

/// Notes which values say whether the rows of a trigger are there.
fn note_rows(places: &mut [Slot]) {
    for row in 0..2 {
        let Slot::Value { at, .. } = places[row + 2] else { continue };
        if let Slot::Row { is_there, .. } = &mut places[row] {
            *is_there = Some(at);
        }
    }
}

/// Makes a routine ready; one that triggers call, for the rows of a table.
///
/// # Errors
/// What is wrong with its body; 42P01 and 42704 for what its variables are like.
pub(crate) fn load(
    catalog: &Catalog,
    path: &[String],
    desc: &RoutineDesc,
    table: Option<&TableDesc>,
) -> Result<Loaded> {
    load_by(plpgsql::program, catalog, path, desc, table)
}

/// Makes a routine ready that is new, and looks at the syntax of all that is in its body.
///
/// # Errors
/// As [`load`]; 42601 for SQL in a body of PL/pgSQL.
pub(crate) fn load_new(catalog: &Catalog, path: &[String], desc: &RoutineDesc) -> Result<Loaded> {
    load_by(plpgsql::new_program, catalog, path, desc, None)
}

/// Reads a body of PL/pgSQL.
type Reads = fn(&str, Option<&str>, Vec<Outside>) -> Result<Program>;

fn load_by(
    read: Reads,
    catalog: &Catalog,
    path: &[String],
    desc: &RoutineDesc,
    table: Option<&TableDesc>,
) -> Result<Loaded> {
    let own_path = desc.settings.iter().find(|(name, _)| name == "search_path");
    let own_path = own_path.map(|(_, value)| {
        let mut names = scaledb_parse::lex::names_of(value).unwrap_or_default();
        if !names.iter().any(|schema| schema == "pg_catalog") {
            names.insert(0, "pg_catalog".to_owned());
        }
        names
    });
    let path = own_path.as_deref().unwrap_or(path);
    let type_of = |oid: u32| catalog.type_of_oid(oid).unwrap_or(Type::TEXT);
    let mut outside: Vec<Outside> = Vec::new();
    if desc.returns == Returned::Trigger {
        outside.extend(trigger_rows());
        let told = TRIGGER_VARIABLES.iter();
        outside.extend(
            told.map(|(name, ty)| Outside { name: (*name).to_owned(), ty: DeclaredType::Known(*ty) }),
        );
    }
    // those that are given come first, as the arguments do
    let (given, others): (Vec<_>, Vec<_>) =
        desc.parameters.iter().enumerate().partition(|(_, parameter)| parameter.mode.is_given());
    let mut order = vec![0; desc.parameters.len()];
    for (number, (place, parameter)) in given.iter().chain(&others).enumerate() {
        order[*place] = outside.len();
        debug_assert!(number <= outside.len());
        let ty = match of_row_type(parameter.type_oid).and_then(|table| catalog.table(table)) {
            Some(table) => DeclaredType::RowOf(vec![table.schema.clone(), table.name.clone()]),
            None => DeclaredType::Known(type_of(parameter.type_oid)),
        };
        // a body in SQL names only what is given
        let named = parameter.mode.is_given() || desc.language != Language::Sql;
        let name = if named { parameter.name.clone() } else { String::new() };
        outside.push(Outside { name, ty });
    }
    let arguments = given.len();
    let first = outside.len() - desc.parameters.len();
    let is_sql = desc.language == Language::Sql;
    let mut program = match desc.language {
        Language::PlPgSql => read(&desc.body, Some(&desc.name), outside)?,
        Language::Sql => statements(desc, outside)?,
        Language::C => return Err(SqlError::internal("a function in C has no statements")),
    };
    let conflicts = if is_sql { Some(NameConflicts::Column) } else { program.conflicts };
    let (mut places, width, records) = places(catalog, path, &mut program, table)?;
    if desc.returns == Returned::Trigger && table.is_some() {
        note_rows(&mut places);
    }
    let place_of = |number: usize| match places[order[number]] {
        Slot::Value { at, .. } => at,
        Slot::Row { at, .. } => at,
        Slot::Record(_) => 0,
    };
    let returned: Vec<usize> = desc
        .parameters
        .iter()
        .enumerate()
        .filter(|(_, parameter)| parameter.mode.is_returned())
        .map(|(number, _)| place_of(number))
        .collect();
    let returns = match desc.returns {
        Returned::Nothing => Returns::Nothing,
        Returned::Trigger => {
            let fields = table.map(|table| fields_of(catalog, table)).transpose()?;
            Returns::Trigger(fields.map(Arc::new))
        }
        Returned::Value(oid) => Returns::Value(type_of(oid), returned.first().copied()),
        Returned::Parameters => Returns::Row(Arc::new(result_columns(catalog, desc)?), Some(returned)),
        Returned::Row(_) => Returns::Row(Arc::new(result_columns(catalog, desc)?), None),
        Returned::Record => match has_columns(desc) {
            true => Returns::Row(Arc::new(result_columns(catalog, desc)?), None),
            false => Returns::Value(Type::RECORD, None),
        },
    };
    let widths = places[first..first + arguments].iter().map(|place| match place {
        Slot::Row { fields, .. } => Some(fields.len()),
        Slot::Value { .. } | Slot::Record(_) => None,
    });
    let widths: Vec<Option<usize>> = widths.collect();
    let name_of = |oid: u32| name_of_type(catalog, oid).unwrap_or_default();
    // errors name it as it was made, whatever a call has for its types
    let declared = catalog.routine(desc.oid).map_or(desc, |declared| declared);
    finish(Loaded {
        title: super::title(declared, &name_of),
        exact: desc.returns == Returned::Record,
        widths: if widths.iter().any(Option::is_some) { widths } else { Vec::new() },
        found: 0,
        may_define: program.may_define(),
        program,
        places,
        width,
        records,
        arguments,
        returns,
        set: desc.set,
        is_sql,
        may_write: desc.may_write(),
        conflicts,
        path: own_path,
        strictness: Strictness::default(),
        written: None,
        cursors: None,
        planned: Mutex::new(Vec::new()),
    })
}

/// Makes the block of a DO ready.
///
/// # Errors
/// 42P01 and 42704 for what its variables are like.
pub(crate) fn load_block(catalog: &Catalog, path: &[String], program: &Program) -> Result<Loaded> {
    let mut program = program.clone();
    let conflicts = program.conflicts;
    let (places, width, records) = places(catalog, path, &mut program, None)?;
    finish(Loaded {
        title: "inline_code_block".to_owned(),
        exact: false,
        widths: Vec::new(),
        found: 0,
        may_define: program.may_define(),
        program,
        places,
        width,
        records,
        arguments: 0,
        returns: Returns::Nothing,
        set: false,
        is_sql: false,
        may_write: true,
        conflicts,
        path: None,
        strictness: Strictness::default(),
        written: None,
        cursors: None,
        planned: Mutex::new(Vec::new()),
    })
}

/// Makes the condition of a trigger ready, over the new row of its table and the old one.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn load_condition(catalog: &Catalog, text: &str, table: &TableDesc) -> Result<Loaded> {
    let body = format!("BEGIN RETURN ({text}); END");
    let mut program = plpgsql::program(&body, None, trigger_rows().collect())?;
    let (mut places, width, records) = places(catalog, &[], &mut program, Some(table))?;
    note_rows(&mut places);
    finish(Loaded {
        title: String::new(),
        exact: false,
        widths: Vec::new(),
        found: 0,
        may_define: program.may_define(),
        program,
        places,
        width,
        records,
        arguments: 0,
        returns: Returns::Value(Type::BOOL, None),
        set: false,
        is_sql: false,
        may_write: true,
        conflicts: Some(NameConflicts::Refused),
        // names in it have the schemas of all that is not in `public`
        path: Some(vec!["pg_catalog".to_owned(), PUBLIC.to_owned()]),
        strictness: Strictness::default(),
        written: None,
        cursors: None,
        planned: Mutex::new(Vec::new()),
    })
}

/// Notes where FOUND is.
fn finish(mut loaded: Loaded) -> Result<Loaded> {
    let outermost = loaded.program.scopes.first();
    let found = outermost.and_then(|scope| scope.names.iter().rev().find(|(name, _)| name == "found"));
    let found = found.map(|(_, variable)| &loaded.places[*variable]);
    let Some(Slot::Value { at, .. }) = found else {
        return Err(SqlError::internal("a block without FOUND"));
    };
    loaded.found = *at;
    super::check::returns(&loaded)?;
    Ok(loaded)
}

/// Gives each variable a place in the frame: how many values that has, and how many records there are.
fn places(
    catalog: &Catalog,
    path: &[String],
    program: &mut Program,
    table: Option<&TableDesc>,
) -> Result<(Vec<Slot>, usize, usize)> {
    let mut places: Vec<Slot> = Vec::with_capacity(program.variables.len());
    let (mut width, mut records) = (0, 0);
    for declaration in &program.variables {
        let not_null = declaration.not_null;
        let row = |fields: Fields, width: &mut usize| {
            let at = *width;
            *width += fields.len();
            Slot::Row { at, fields: Arc::new(fields), is_there: None }
        };
        let place = match &declaration.ty {
            DeclaredType::Known(ty) => Slot::Value { at: width, ty: *ty, not_null },
            DeclaredType::Named(text) => match parse_type(catalog, path, text) {
                Ok(ty) => Slot::Value { at: width, ty, not_null },
                Err(error) => match table_named(catalog, path, text) {
                    Some(table) => row(fields_of(catalog, table)?, &mut width),
                    None => return Err(error),
                },
            },
            DeclaredType::LikeVariable(of) => match &places[*of] {
                Slot::Value { ty, .. } => Slot::Value { at: width, ty: *ty, not_null },
                Slot::Row { fields, .. } => row((**fields).clone(), &mut width),
                Slot::Record(_) => Slot::Record(records),
            },
            DeclaredType::LikeColumn(names) => {
                Slot::Value { at: width, ty: type_of_column(catalog, path, names)?, not_null }
            }
            DeclaredType::RowOf(names) => {
                let (schema, name) = match &names[..] {
                    [schema, name] => (Some(schema.as_str()), name),
                    [name] => (None, name),
                    _ => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "invalid name of a row type")),
                };
                match find_relation(catalog, path, schema, name) {
                    Some(Relation::Table(table)) => row(fields_of(catalog, table)?, &mut width),
                    Some(Relation::View(view)) => {
                        let each = view.columns.iter();
                        let fields = each.map(|(name, oid, typmod)| {
                            let ty = catalog.type_of_oid(*oid).unwrap_or(Type::TEXT);
                            (name.clone(), ty.with_typmod(*typmod))
                        });
                        row(fields.collect(), &mut width)
                    }
                    _ => {
                        let what = format!("relation \"{name}\" does not exist");
                        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
                    }
                }
            }
            DeclaredType::Record => Slot::Record(records),
            DeclaredType::TriggerRow => match table {
                Some(table) => row(fields_of(catalog, table)?, &mut width),
                None => Slot::Record(records),
            },
        };
        match &place {
            Slot::Value { .. } => width += 1,
            Slot::Row { .. } => {}
            Slot::Record(_) => records += 1,
        }
        places.push(place);
    }
    Ok((places, width, records))
}

/// The table that the text of a type names.
fn table_named<'c>(catalog: &'c Catalog, path: &[String], text: &str) -> Option<&'c Arc<TableDesc>> {
    let (schema, name) = scaledb_planner::bind::names::split_text(text)?;
    match find_relation(catalog, path, schema.as_deref(), &name) {
        Some(Relation::Table(table)) => Some(table),
        _ => None,
    }
}

/// The type of `t.c` or `s.t.c`.
pub(crate) fn type_of_column(catalog: &Catalog, path: &[String], names: &[String]) -> Result<Type> {
    let (schema, table, column) = match names {
        [table, column] => (None, table, column),
        [schema, table, column] => (Some(schema.as_str()), table, column),
        _ => {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "improper %TYPE reference (too few dotted names)",
            ));
        }
    };
    let undefined =
        || SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"));
    let no_column = || {
        let what = format!("column \"{column}\" of relation \"{table}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, what)
    };
    match find_relation(catalog, path, schema, table).ok_or_else(undefined)? {
        Relation::Table(desc) => {
            let at = desc.column(column).ok_or_else(no_column)?;
            column_types(catalog, desc).map(|types| types[at])
        }
        Relation::View(view) => {
            let found = view.columns.iter().find(|(name, ..)| name == column).ok_or_else(no_column)?;
            Ok(catalog.type_of_oid(found.1).unwrap_or(Type::TEXT).with_typmod(found.2))
        }
        Relation::Sequence(_) => Err(no_column()),
    }
}

/// A body in SQL as a block: its last statement returns, if the function returns anything.
fn statements(desc: &RoutineDesc, outside: Vec<Outside>) -> Result<Program> {
    let mut program = Program { scopes: vec![Scope::default()], ..Program::default() };
    program.scopes[0].label = Some(desc.name.clone());
    let found = Outside { name: "found".to_owned(), ty: DeclaredType::Known(Type::BOOL) };
    // no name in a body in SQL means FOUND: it comes last, behind what is visible
    for variable in outside.into_iter().chain([found]) {
        let id: VariableId = program.variables.len();
        if !variable.name.is_empty() {
            program.scopes[0].names.push((variable.name.clone(), id));
        }
        program.variables.push(plpgsql::Declaration {
            name: variable.name,
            ty: variable.ty,
            constant: false,
            not_null: false,
            default: None,
            cursor: None,
        });
    }
    let visible = program.scopes[0].names.len() - 1;
    let texts = scaledb_parse::routine::statements(&desc.body);
    let last = texts.len().saturating_sub(1);
    for (number, text) in texts.into_iter().enumerate() {
        let sql = Sql { text, number: program.pieces, scope: 0, visible };
        program.pieces += 1;
        let step = if number < last || desc.returns == Returned::Nothing {
            Step::Perform(sql)
        } else if desc.set {
            Step::ReturnQuery(Query::Static(sql))
        } else {
            Step::ReturnFirst(sql)
        };
        program.block.steps.push(Line { number: number as u32 + 1, step });
    }
    if program.block.steps.is_empty() && desc.returns != Returned::Nothing {
        let what = "return type mismatch in function declared to return a value";
        return Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what)
            .detail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."));
    }
    Ok(program)
}
