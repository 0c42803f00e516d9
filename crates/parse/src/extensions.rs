//! CREATE, ALTER and DROP EXTENSION.

use super::cursor::{Cursor, literal};
use scaledb_types::{Result, SqlError};

/// A statement about extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionStatement {
    Create(CreateExtension),
    /// SET SCHEMA.
    Move {
        name: String,
        schema: String,
    },
    /// UPDATE, perhaps TO a version.
    Update {
        name: String,
        version: Option<String>,
    },
    Drop {
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
}

/// CREATE EXTENSION.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateExtension {
    pub name: String,
    pub if_not_exists: bool,
    pub schema: Option<String>,
    pub version: Option<String>,
}

/// Reads all of the statement but its first word.
///
/// # Errors
/// 42601; 0A000 for ADD and DROP.
pub(super) fn read(at: &mut Cursor<'_>) -> Result<ExtensionStatement> {
    let first = at.text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    at.expect("extension")?;
    match first.as_str() {
        "create" => create(at).map(ExtensionStatement::Create),
        "alter" => alter(at),
        _ => drop_extensions(at),
    }
}

fn create(at: &mut Cursor<'_>) -> Result<CreateExtension> {
    let mut create = CreateExtension::default();
    if at.accept("if") {
        at.expect("not")?;
        at.expect("exists")?;
        create.if_not_exists = true;
    }
    create.name = at.name()?;
    at.accept("with");
    loop {
        if at.accept("schema") {
            create.schema = Some(at.name()?);
        } else if at.accept("version") {
            create.version = Some(version(at)?);
        } else if !at.accept("cascade") {
            // none needs another one, which CASCADE would add
            return Ok(create);
        }
    }
}

fn alter(at: &mut Cursor<'_>) -> Result<ExtensionStatement> {
    let name = at.name()?;
    if at.accept("set") {
        at.expect("schema")?;
        return Ok(ExtensionStatement::Move { name, schema: at.name()? });
    }
    if at.accept("update") {
        let version = if at.accept("to") { Some(version(at)?) } else { None };
        return Ok(ExtensionStatement::Update { name, version });
    }
    if at.accept("add") || at.accept("drop") {
        return Err(SqlError::unsupported("ALTER EXTENSION .. ADD and DROP are not supported"));
    }
    Err(at.unexpected())
}

fn drop_extensions(at: &mut Cursor<'_>) -> Result<ExtensionStatement> {
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let mut names = vec![at.name()?];
    while at.accept_sign(",") {
        names.push(at.name()?);
    }
    let cascade = at.accept("cascade");
    if !cascade {
        at.accept("restrict");
    }
    Ok(ExtensionStatement::Drop { names, if_exists, cascade })
}

/// A version: a text, or a name.
fn version(at: &mut Cursor<'_>) -> Result<String> {
    match literal(at) {
        Some(text) => {
            at.next();
            Ok(text)
        }
        None => at.name(),
    }
}
