//! What routines return.

use super::column_types;
use scaledb_catalog::{Catalog, Returned, RoutineDesc, TableDesc, of_row_type};
use scaledb_parse::lex::quoted;
use scaledb_types::{Result, SqlError, SqlState, Type};

/// The names and types of the fields of a row.
pub type Fields = Vec<(String, Type)>;

/// The fields of the rows of a table, as statements see them.
pub fn fields_of(catalog: &Catalog, table: &TableDesc) -> Result<Fields> {
    let types = column_types(catalog, table)?;
    let columns = table.columns.iter().zip(types).filter(|(column, _)| !column.hidden);
    Ok(columns.map(|(column, ty)| (column.name.clone(), ty)).collect())
}

/// What the type of a parameter is called: the rows of a table have the name of that.
pub fn name_of_type(catalog: &Catalog, oid: u32) -> Option<String> {
    let of_rows = || of_row_type(oid).and_then(|table| catalog.get(table)).map(|table| quoted(table.name()));
    catalog.type_of_oid(oid).map(Type::sql_name).or_else(of_rows)
}

/// What a routine returns: its columns, if it returns rows.
///
/// # Errors
/// 42P01 if a table has gone whose rows it returns; 42704 for a type.
pub fn result_columns(catalog: &Catalog, desc: &RoutineDesc) -> Result<Fields> {
    let type_of = |oid: u32| {
        catalog.type_of_oid(oid).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
        })
    };
    match desc.returns {
        Returned::Nothing | Returned::Trigger => Ok(Vec::new()),
        // the name of the only parameter that is returned, if there is one
        Returned::Value(oid) => {
            let name = desc.returned().next().map_or(String::new(), |parameter| parameter.name.clone());
            Ok(vec![(name, type_of(oid)?)])
        }
        Returned::Parameters => {
            let returned = desc.returned().enumerate();
            returned
                .map(|(number, parameter)| {
                    let unnamed = parameter.name.is_empty();
                    let name = if unnamed { format!("column{}", number + 1) } else { parameter.name.clone() };
                    Ok((name, type_of(parameter.type_oid)?))
                })
                .collect()
        }
        Returned::Record => match &desc.instance {
            Some(instance) if !instance.columns.is_empty() => {
                let columns = instance.columns.iter();
                columns
                    .map(|(name, oid, typmod)| Ok((name.clone(), type_of(*oid)?.with_typmod(*typmod))))
                    .collect()
            }
            _ => Ok(vec![(String::new(), Type::RECORD)]),
        },
        Returned::Row(oid) => {
            let table = catalog.table(oid).ok_or_else(|| {
                SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation with OID {oid} does not exist"))
            })?;
            fields_of(catalog, table)
        }
    }
}

/// Whether what a routine returns has several columns.
pub fn has_columns(desc: &RoutineDesc) -> bool {
    match desc.returns {
        Returned::Parameters | Returned::Row(_) => true,
        Returned::Record => desc.instance.as_ref().is_some_and(|instance| !instance.columns.is_empty()),
        Returned::Nothing | Returned::Trigger | Returned::Value(_) => false,
    }
}

/// The type of the value that a function returns.
///
/// # Errors
/// As [`result_columns`].
pub fn value_type(catalog: &Catalog, desc: &RoutineDesc) -> Result<Type> {
    let columns = result_columns(catalog, desc)?;
    Ok(columns.first().map_or(Type::VOID, |(_, ty)| *ty))
}
