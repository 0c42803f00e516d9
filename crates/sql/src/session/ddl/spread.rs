//! PARTITION BY and WITH of CREATE TABLE: which rows a cluster keeps together, and which of them every node keeps.
//!
//! A cluster divides the rows of each table, by its primary key unless the table says otherwise. That says where rows
//! are and never what a statement answers, so that a table with PARTITION BY is one table: there are no partitions with
//! names, and none to be made before rows come. An engine that keeps all rows in one place refuses what would do
//! nothing there.

use super::position;
use scaledb_catalog::{Spread, TableDesc};
use scaledb_engine::OptionSpec;
use scaledb_planner::bind::names::fold;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{
    CreateTable, CreateTableOptions, Expr as Ast, FunctionArg, FunctionArgExpr, FunctionArguments, SqlOption,
    Value as Literal,
};

const PARTITION_BY: &str = Spread::PARTITION_BY;
const REPLICATE: &str = Spread::REPLICATE;
const EVERYWHERE: &str = Spread::EVERYWHERE;

/// PostgreSQL's storage parameters. They say how its files are laid out and cleaned, and there are none here.
const OF_FILES: [&str; 6] = [
    "fillfactor",
    "parallel_workers",
    "toast_tuple_target",
    "user_catalog_table",
    "vacuum_index_cleanup",
    "vacuum_truncate",
];
/// Those that are whole numbers, with the least and the greatest.
const WHOLE: [(&str, i64, i64); 3] =
    [("fillfactor", 10, 100), ("parallel_workers", 0, 1_024), ("toast_tuple_target", 128, 8_160)];
const OF_CLEANING: [&str; 3] = ["autovacuum_", "log_autovacuum_", "toast."];

/// Whether names are those of storage parameters, or among some others.
///
/// # Errors
/// 22023; 0A000 for where rows of a table are, which its CREATE says.
pub(super) fn check_parameters(others: &[&str], names: &[String]) -> Result<()> {
    let known = |name: &str| match others {
        [] => OF_FILES.contains(&name) || OF_CLEANING.iter().any(|of| name.starts_with(of)),
        others => others.contains(&name),
    };
    for parameter in names {
        let name = name_of(parameter);
        if others.is_empty() && matches!(name, PARTITION_BY | REPLICATE) {
            let what = format!("{name} of a table or an index that is there cannot be changed");
            return Err(SqlError::unsupported(what).hint("Make another one, and copy the rows."));
        }
        if !known(name) {
            return Err(unrecognized(name));
        }
        if let Some((_, value)) = parameter.split_once('=') {
            check_bounds(name, value)?;
        }
    }
    Ok(())
}

/// Whether a storage parameter that is a whole number is one, within its bounds.
///
/// # Errors
/// 22023.
fn check_bounds(name: &str, value: &str) -> Result<()> {
    let Some((_, least, most)) = WHOLE.iter().find(|(known, ..)| *known == name) else { return Ok(()) };
    let value = value.trim_matches('\'');
    let wrong = |what: String| Err(SqlError::invalid_parameter(what));
    match value.parse::<i64>() {
        Ok(number) if (*least..=*most).contains(&number) => Ok(()),
        Ok(_) => wrong(format!("value {value} out of bounds for option \"{name}\""))
            .map_err(|error| error.detail(format!("Valid values are between \"{least}\" and \"{most}\"."))),
        Err(_) => wrong(format!("invalid value for integer option \"{name}\": {value}")),
    }
}

/// The name in `name=value`.
pub(super) fn name_of(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

/// What a CREATE TABLE asks for, by the names of columns.
pub(super) enum Asked {
    Nothing,
    Columns(Vec<String>),
    Everywhere,
}

/// What a CREATE TABLE asks for of an engine that has these options.
///
/// # Errors
/// 0A000 for what the engine does not have, 22023 for an option that no engine has, 42601.
pub(super) fn asked(create: &CreateTable, options: &[OptionSpec]) -> Result<Asked> {
    if create.partition_of.is_some() {
        let what = "partitions that are tables of their own are not supported";
        return Err(SqlError::unsupported(what).hint("In a cluster PARTITION BY HASH is all that is needed."));
    }
    let mut asked = match &create.partition_by {
        Some(by) => Asked::Columns(hashed(by)?),
        None => Asked::Nothing,
    };
    let given: &[SqlOption] = match &create.table_options {
        CreateTableOptions::With(given) => given,
        _ => &[],
    };
    for option in given {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(unrecognized(&option.to_string()));
        };
        let (name, value) = (fold(key), word(value));
        let more = match &name[..] {
            PARTITION_BY => {
                let columns = value.split(',').map(|column| column.trim().to_owned());
                Asked::Columns(columns.collect())
            }
            REPLICATE if value.eq_ignore_ascii_case(EVERYWHERE) => Asked::Everywhere,
            REPLICATE => {
                let what = format!("invalid value for option \"{REPLICATE}\": {value}");
                return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, what)
                    .detail(format!("Valid value is \"{EVERYWHERE}\".")));
            }
            name if OF_FILES.contains(&name) || OF_CLEANING.iter().any(|of| name.starts_with(of)) => {
                check_bounds(name, &value)?;
                continue;
            }
            name => return Err(unrecognized(name)),
        };
        if !matches!(asked, Asked::Nothing) {
            let what = "a table says once where its rows are: PARTITION BY, partition_by or replicate";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        asked = more;
    }
    let (option, clause) = match &asked {
        Asked::Nothing => return Ok(asked),
        Asked::Columns(_) => (PARTITION_BY, "PARTITION BY"),
        Asked::Everywhere => (REPLICATE, REPLICATE),
    };
    if !options.iter().any(|spec| spec.name == option) {
        return Err(SqlError::unsupported(format!("{clause} is for tables of a cluster"))
            .detail("This server keeps all rows of a table in one place.")
            .hint("Leave it out: it says where rows are kept, and changes no answer."));
    }
    Ok(asked)
}

/// The storage parameters of a list of options, as they are kept: without those of what PostgreSQL keeps beside a
/// table.
pub(super) fn parameters(options: &[SqlOption]) -> Vec<String> {
    let kept = |option: &SqlOption| {
        let SqlOption::KeyValue { key, value } = option else { return None };
        let name = fold(key);
        let of_table = OF_FILES.contains(&&*name) || OF_CLEANING[..2].iter().any(|of| name.starts_with(of));
        of_table.then(|| format!("{name}={}", word(value)))
    };
    options.iter().filter_map(kept).collect()
}

/// The columns of `HASH (a, b)`.
fn hashed(by: &Ast) -> Result<Vec<String>> {
    let Ast::Function(function) = by else { return Err(only_hash()) };
    if !function.name.to_string().eq_ignore_ascii_case("hash") {
        return Err(only_hash());
    }
    let FunctionArguments::List(list) = &function.args else { return Err(only_hash()) };
    let column = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Identifier(column))) => Ok(fold(column)),
        _ => Err(SqlError::unsupported("PARTITION BY an expression is not supported: name columns")),
    };
    list.args.iter().map(column).collect()
}

fn only_hash() -> SqlError {
    SqlError::unsupported("PARTITION BY HASH (column, ...) is supported, and no other way to divide a table")
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{name}\""))
}

fn word(value: &Ast) -> String {
    match value {
        Ast::Identifier(ident) => fold(ident),
        Ast::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

impl Asked {
    /// The same, with columns by their numbers in the table.
    ///
    /// # Errors
    /// 42703 for a column that there is not; 42P16 if they do not lead the primary key.
    pub(super) fn of(&self, desc: &TableDesc) -> Result<Spread> {
        let spread = match self {
            Self::Nothing => Spread::ByKey,
            Self::Everywhere => Spread::Everywhere,
            Self::Columns(names) => {
                let mut columns = Vec::new();
                for name in names {
                    let attnum = desc.columns[position(desc, name)?].attnum;
                    if columns.contains(&attnum) {
                        let what = format!("column \"{name}\" appears more than once in partition key");
                        return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
                    }
                    columns.push(attnum);
                }
                Spread::ByColumns(columns)
            }
        };
        check_spread(desc, &spread).map(|()| spread)
    }
}

/// 42P16 for a table whose primary key is no longer what its rows are divided by.
pub(super) fn check(desc: &TableDesc) -> Result<()> {
    check_spread(desc, &desc.spread)
}

fn check_spread(desc: &TableDesc, spread: &Spread) -> Result<()> {
    let Spread::ByColumns(columns) = spread else { return Ok(()) };
    let primary = desc.primary_key.as_ref().map_or(&[][..], |key| &key.columns);
    if spread.leads(primary).is_some_and(|columns| columns > 0) {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|&column| desc.column_name(column)).collect();
    let what = format!("table \"{}\" cannot be divided by ({})", desc.name, names.join(", "));
    Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what).detail(
        "The columns of PARTITION BY must be the first ones of the primary key, which is not deferrable.",
    ))
}
