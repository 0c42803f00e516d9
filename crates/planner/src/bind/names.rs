//! Names in syntax trees.

use super::{Binder, unsupported};
use scaledb_catalog::{Catalog, PUBLIC, Relation, ViewDesc};
use scaledb_parse::lex::{Lexer, cut, name_of};
use scaledb_types::{Base, DomainType, Result, SqlError, SqlState, Type};
use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName, ObjectNamePart};
use std::sync::Arc;

/// The name that an identifier means: folded to lower case unless quoted, and no longer than names may be.
pub fn fold(ident: &Ident) -> String {
    cut(if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() })
}

/// Schema and name of a qualified name; a database before them is ignored.
pub fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
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

/// Refuses a name that says a database which is not the one at hand.
///
/// # Errors
/// 0A000.
pub fn check_database(name: &ObjectName, own: Option<&str>) -> Result<()> {
    let [ObjectNamePart::Identifier(database), _, _] = name.0.as_slice() else { return Ok(()) };
    // a mark of the parser stands there without a name
    if database.value.is_empty() || own.is_none_or(|own| fold(database) == own) {
        return Ok(());
    }
    Err(SqlError::unsupported(format!(
        "cross-database references are not implemented: \"{}\"",
        written(name)
    )))
}

/// A name with dots between its parts.
fn written(name: &ObjectName) -> String {
    let parts = name.0.iter().filter_map(ObjectNamePart::as_ident).map(fold);
    parts.collect::<Vec<_>>().join(".")
}

/// Schema and name of a qualified name that is a text; a database before them is ignored. None if it is no name.
pub fn split_text(text: &str) -> Option<(Option<String>, String)> {
    let mut names: Vec<String> = Lexer::new(text).filter_map(|token| name_of(token, text)).collect();
    match names.len() {
        1..=3 => names.pop().map(|last| (names.pop(), last)),
        _ => None,
    }
}

/// The oid of the enum type or domain of a name, in its schema or along the path.
pub fn find_own_type(catalog: &Catalog, path: &[String], schema: Option<&str>, name: &str) -> Option<u32> {
    match schema {
        Some(schema) => catalog.own_type_named(own_schema(path, schema)?, name),
        None => path.iter().find_map(|schema| catalog.own_type_named(schema, name)),
    }
}

/// Where the names of a text are looked up.
#[derive(Clone, Debug, Default)]
pub enum Naming {
    /// Along the search path of the session: it is a statement.
    #[default]
    Statement,
    /// In `public`: it is an expression that is kept with a table, and has the schemas of all other names.
    Kept,
    /// Where they were found when the view was made whose query it is.
    View(Arc<ViewDesc>),
}

/// The enum type or domain of a name, or that of arrays of one, in its schema or along the path.
fn find_type(catalog: &Catalog, path: &[String], schema: Option<&str>, name: &str) -> Option<Type> {
    match schema {
        Some(schema) => catalog.type_named(own_schema(path, schema)?, name),
        None => path.iter().find_map(|schema| catalog.type_named(schema, name)),
    }
}

/// The type that a text names.
///
/// # Errors
/// Those of [`Type::parse`].
pub fn parse_type(catalog: &Catalog, path: &[String], text: &str) -> Result<Type> {
    Type::parse_among(text, &|schema, name| find_type(catalog, path, schema, name))
}

/// The type that a syntax tree names.
///
/// # Errors
/// Those of [`Type::parse`].
pub fn data_type(catalog: &Catalog, path: &[String], data_type: &DataType) -> Result<Type> {
    match data_type {
        DataType::Int4(_) | DataType::Int(_) | DataType::Integer(_) => return Ok(Type::INT4),
        DataType::Text => return Ok(Type::TEXT),
        DataType::Custom(name, modifiers) => {
            let (schema, last) = split(name)?;
            let serial = match last.as_str() {
                "serial" | "serial4" => Some(Type::INT4),
                "bigserial" | "serial8" => Some(Type::INT8),
                "smallserial" | "serial2" => Some(Type::INT2),
                _ => None,
            };
            if let Some(ty) = serial {
                return Ok(ty);
            }
            if let Some(schema) = schema.as_deref().filter(|schema| !is_schema(catalog, path, schema)) {
                return Err(no_schema(schema));
            }
            let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
            let is_quoted = match name.0.last() {
                Some(ObjectNamePart::Identifier(ident)) => ident.quote_style.is_some(),
                _ => false,
            };
            let mut text = match schema.as_deref() {
                Some(schema) => format!("{}.{}", quoted(schema), quoted(&last)),
                None if is_quoted || last == "char" => quoted(&last),
                None => last,
            };
            if !modifiers.is_empty() {
                text.push_str(&format!("({})", modifiers.join(",")));
            }
            return parse_type(catalog, path, &text);
        }
        _ => {}
    }
    parse_type(catalog, path, &data_type.to_string())
}

/// Whether there is a schema of a name.
pub fn is_schema(catalog: &Catalog, path: &[String], name: &str) -> bool {
    matches!(name, "pg_catalog" | "information_schema" | "pg_temp")
        || name == PUBLIC && catalog.has_public()
        || is_temporary(name) && own_schema(path, name).is_some()
        || catalog.schema_named(name).is_some()
}

/// 3F000 for a schema that is not there.
#[cold]
pub fn no_schema(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

/// The name in `pg_type` of the type that a syntax tree names; of an array, that of its elements. Of an enum type it is
/// the name that stands there.
pub fn name_of_type(ast: &DataType) -> Option<String> {
    match (data_type(&Catalog::default(), &[], ast), ast) {
        (Ok(ty), _) => Some(ty.element().unwrap_or(ty).plain().name()),
        (_, DataType::Custom(name, _)) => split(name).ok().map(|(_, name)| name),
        (_, DataType::Array(ArrayElemTypeDef::SquareBracket(inner, _))) => name_of_type(inner),
        _ => None,
    }
}

/// What the names of the schemas of temporary relations begin with; the number of their session follows.
const TEMPORARY: &str = "pg_temp_";

/// The schema of the temporary relations of a session.
pub fn temporary_schema(session: u32) -> String {
    format!("{TEMPORARY}{session}")
}

/// Whether a schema is of temporary relations, of whatever session.
pub fn is_temporary(schema: &str) -> bool {
    schema.starts_with(TEMPORARY)
}

/// The schema that is meant by a name: `pg_temp` is that of the session's own temporary relations, which is in its
/// path. None if there is no such schema for this session: those of others are not its business.
pub fn own_schema<'a>(path: &'a [String], schema: &'a str) -> Option<&'a str> {
    let own = || path.iter().map(String::as_str).find(|known| is_temporary(known));
    match schema {
        "pg_temp" => own(),
        schema if is_temporary(schema) => own().filter(|own| *own == schema),
        schema => Some(schema),
    }
}

/// The relation of a name, in its schema or along the path.
pub fn find_relation<'c>(
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
pub fn shown(schema: Option<&str>, name: &str) -> String {
    schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"))
}

impl Binder<'_> {
    /// The type that a syntax tree names. The plan depends on it.
    ///
    /// # Errors
    /// Those of [`Type::parse`].
    pub fn data_type(&mut self, ast: &DataType) -> Result<Type> {
        let ty = match &self.naming {
            Naming::Statement => data_type(self.catalog, self.lookup.search_path(), ast)?,
            Naming::Kept => data_type(self.catalog, &self.path_of_kept(), ast)?,
            Naming::View(view) => {
                // one after the other, as the first that the view does not use may stand before what it uses
                let mut found = Err(SqlError::internal("a view without a path"));
                for schema in path_of(view).chunks(1) {
                    found = data_type(self.catalog, schema, ast);
                    let uses = |ty: &Type| own_oid(*ty).is_none_or(|oid| view.uses.contains(&oid));
                    if found.as_ref().is_ok_and(uses) {
                        break;
                    }
                }
                found?
            }
        };
        self.depend_on(ty);
        Ok(ty)
    }

    /// The enum type or domain of a name that stands alone. The plan depends on it.
    pub fn own_type_named(&mut self, name: &str) -> Option<Type> {
        let find = |path: &[String]| find_type(self.catalog, path, None, name);
        let ty = match &self.naming {
            Naming::Statement => find(self.lookup.search_path()),
            Naming::Kept => find(&self.path_of_kept()),
            Naming::View(view) => {
                let mut each = path_of(view).chunks(1).filter_map(find);
                each.find(|ty| own_oid(*ty).is_some_and(|oid| view.uses.contains(&oid)))
            }
        }?;
        self.depend_on(ty);
        Some(ty)
    }

    /// Where expressions that are kept with tables find their names: temporary ones have their schema before them.
    fn path_of_kept(&self) -> Vec<String> {
        let own = self.lookup.search_path().iter().filter(|schema| is_temporary(schema)).cloned();
        std::iter::once(PUBLIC.to_owned()).chain(own).collect()
    }

    /// Notes that the plan depends on the definition of an enum type or domain.
    pub fn depend_on(&mut self, ty: Type) {
        self.relations.extend(enum_oid(ty));
        if let Some(domain) = ty.domain {
            self.relations.extend(domain.chain().map(DomainType::oid));
            // what it is over may be arrays of another one
            if let Some(last) = domain.chain().last().and_then(|last| last.base().array_of_domain()) {
                self.depend_on(Type::of_domain(last));
            }
        }
    }

    /// The relation of a name.
    ///
    /// # Errors
    /// 42P01.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Result<Relation> {
        self.find_relation(schema, name).ok_or_else(|| self.undefined(schema, name))
    }

    /// 42P01 for a relation.
    #[cold]
    pub fn undefined(&self, schema: Option<&str>, name: &str) -> SqlError {
        let what = format!("relation \"{}\" does not exist", shown(schema, name));
        let error = SqlError::new(SqlState::UNDEFINED_TABLE, what);
        match self.lookup.absent(name) {
            Some(why) => error.detail(format!("There is a table of this name that SQL cannot show: {why}.")),
            None => error,
        }
    }

    /// The relation of a name, if there is one.
    pub fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let find = |path: &[String]| find_relation(self.catalog, path, schema, name);
        // the schema of the system comes first, unless the path has it at another place
        let of_system = || {
            schema.is_none()
                && name.starts_with("pg_")
                && self.lookup.search_path().first().is_some_and(|first| first == "pg_catalog")
                && self.lookup.system_table(Some("pg_catalog"), name).is_some()
        };
        match &self.naming {
            Naming::Statement if of_system() => None,
            Naming::Statement => find(self.lookup.search_path()),
            Naming::Kept => find(&self.path_of_kept()),
            Naming::View(_) if schema.is_some() => find(self.lookup.search_path()),
            Naming::View(view) => {
                let mut each = path_of(view).chunks(1).filter_map(find);
                each.find(|relation| view.uses.contains(&relation.oid()))
            }
        }
        .cloned()
    }
}

/// The oid of an enum type, or of that of which it is arrays.
fn enum_oid(ty: Type) -> Option<u32> {
    match ty.base {
        Base::Enum(definition) => Some(definition.oid()),
        _ => None,
    }
}

/// The oid of an enum type or domain, or of that of which it is arrays.
fn own_oid(ty: Type) -> Option<u32> {
    ty.domain.map(DomainType::oid).or_else(|| enum_oid(ty))
}

/// Where the query of a view finds its names.
fn path_of(view: &ViewDesc) -> &[String] {
    static BEFORE_SCHEMAS: std::sync::LazyLock<[String; 1]> =
        std::sync::LazyLock::new(|| [PUBLIC.to_owned()]);
    if view.path.is_empty() { &*BEFORE_SCHEMAS } else { &view.path }
}
