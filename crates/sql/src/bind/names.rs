//! Names in syntax trees.

use super::{Binder, unsupported};
use scaledb_catalog::{Catalog, Relation};
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::{DataType, Ident, ObjectName, ObjectNamePart};

/// The name that an identifier means: folded to lower case unless quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// Schema and name of a qualified name; a database before them is ignored.
pub(crate) fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let mut parts = Vec::new();
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(fold(ident)),
            ObjectNamePart::Function(_) => return Err(unsupported("a function in a name")),
        }
    }
    let last = parts.pop().ok_or_else(|| SqlError::new(SqlState::INVALID_NAME, "an empty name"))?;
    Ok((parts.pop(), last))
}

/// The type that a syntax tree names.
pub(crate) fn data_type(data_type: &DataType) -> Result<Type> {
    match data_type {
        DataType::Int4(_) | DataType::Int(_) | DataType::Integer(_) => return Ok(Type::INT4),
        DataType::Text => return Ok(Type::TEXT),
        DataType::Custom(name, modifiers) => {
            let (schema, name) = split(name)?;
            let serial = match name.as_str() {
                "serial" | "serial4" => Some(Type::INT4),
                "bigserial" | "serial8" => Some(Type::INT8),
                "smallserial" | "serial2" => Some(Type::INT2),
                _ => None,
            };
            if let Some(ty) = serial {
                return Ok(ty);
            }
            let quoted = name.replace('"', "\"\"");
            let mut text = match schema.as_deref() {
                Some("pg_catalog") => format!("pg_catalog.\"{quoted}\""),
                _ if name == "char" => "\"char\"".to_owned(),
                _ => name,
            };
            if !modifiers.is_empty() {
                text.push_str(&format!("({})", modifiers.join(",")));
            }
            return Type::parse(&text);
        }
        _ => {}
    }
    Type::parse(&data_type.to_string())
}

/// What the names of the schemas of temporary relations begin with; the number of their session follows.
const TEMPORARY: &str = "pg_temp_";

/// The schema of the temporary relations of a session.
pub(crate) fn temporary_schema(session: u32) -> String {
    format!("{TEMPORARY}{session}")
}

/// Whether a schema is of temporary relations, of whatever session.
pub(crate) fn is_temporary(schema: &str) -> bool {
    schema.starts_with(TEMPORARY)
}

/// The schema that is meant by a name: `pg_temp` is that of the session's own temporary relations, which is in its
/// path. None if there is no such schema for this session: those of others are not its business.
pub(crate) fn own_schema<'a>(path: &'a [String], schema: &'a str) -> Option<&'a str> {
    let own = || path.iter().map(String::as_str).find(|known| is_temporary(known));
    match schema {
        "pg_temp" => own(),
        schema if is_temporary(schema) => own().filter(|own| *own == schema),
        schema => Some(schema),
    }
}

/// The relation of a name, in its schema or along the path.
pub(crate) fn find_relation<'c>(
    catalog: &'c Catalog,
    path: &[String],
    schema: Option<&str>,
    name: &str,
) -> Option<&'c Relation> {
    match schema {
        Some(schema) => catalog.lookup(own_schema(path, schema)?, name),
        None => path.iter().find_map(|schema| catalog.lookup(schema, name)),
    }
}

/// A name as messages show it.
pub(crate) fn shown(schema: Option<&str>, name: &str) -> String {
    schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"))
}

impl Binder<'_> {
    /// The relation of a name.
    ///
    /// # Errors
    /// 42P01.
    pub(crate) fn relation(&self, schema: Option<&str>, name: &str) -> Result<Relation> {
        self.find_relation(schema, name).ok_or_else(|| self.undefined(schema, name))
    }

    /// 42P01 for a relation.
    #[cold]
    pub(crate) fn undefined(&self, schema: Option<&str>, name: &str) -> SqlError {
        let what = format!("relation \"{}\" does not exist", shown(schema, name));
        let error = SqlError::new(SqlState::UNDEFINED_TABLE, what);
        match self.lookup.absent(name) {
            Some(why) => error.detail(format!("There is a table of this name that SQL cannot show: {why}.")),
            None => error,
        }
    }

    /// The relation of a name, if there is one.
    pub(crate) fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let path = self.lookup.search_path();
        if self.hides_temporary && path.iter().any(|schema| is_temporary(schema)) {
            let path: Vec<String> = path.iter().filter(|schema| !is_temporary(schema)).cloned().collect();
            return find_relation(self.catalog, &path, schema, name).cloned();
        }
        find_relation(self.catalog, path, schema, name).cloned()
    }
}
