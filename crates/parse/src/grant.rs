//! GRANT, REVOKE, and ALTER DEFAULT PRIVILEGES.

use super::cursor::{Cursor, names};
use super::lex::Kind;
use super::roles::{RoleName, role, roles};
use super::routine::{Kinds, Name, Signature, kinds, name, signature};
use scaledb_catalog::{ObjectKind, Privileges};
use scaledb_types::{Result, SqlError, SqlState};

/// GRANT or REVOKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantStatement {
    /// Of privileges on objects.
    Privileges(Change, Objects),
    /// Of memberships in roles.
    Roles {
        revokes: bool,
        /// Of REVOKE: only the right to grant them.
        admin_only: bool,
        /// Of GRANT: with the right to grant them.
        admin: bool,
        roles: Vec<RoleName>,
        members: Vec<RoleName>,
        by: Option<RoleName>,
    },
    /// ALTER DEFAULT PRIVILEGES.
    Defaults {
        /// Whose objects they are; those of the current role.
        roles: Vec<RoleName>,
        schemas: Vec<String>,
        change: Change,
        kind: ObjectKind,
    },
}

/// What is granted or revoked, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub revokes: bool,
    /// Of REVOKE: only the right to grant them.
    pub option_only: bool,
    /// All privileges of the kind, if there are none.
    pub privileges: Vec<Named>,
    pub roles: Vec<RoleName>,
    /// Of GRANT: with the right to grant them.
    pub with_option: bool,
    pub by: Option<RoleName>,
    pub cascade: bool,
    /// Columns of which all privileges are meant: ALL (a, b).
    pub all_of: Vec<String>,
}

/// A privilege that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub privilege: Privileges,
    pub name: &'static str,
    /// The columns that it is about; the whole table, if there are none.
    pub columns: Vec<String>,
}

/// The objects of a GRANT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objects {
    /// Tables, or what else relations are.
    Relations(Vec<Name>),
    Sequences(Vec<Name>),
    Routines(Kinds, Vec<Signature>),
    Types(Vec<String>),
    Schemas(Vec<String>),
    Databases(Vec<String>),
    Languages(Vec<String>),
    /// ALL .. IN SCHEMA.
    In(ObjectKind, Kinds, Vec<String>),
}

impl GrantStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Defaults { .. } => "ALTER DEFAULT PRIVILEGES",
            Self::Privileges(Change { revokes: false, .. }, _) => "GRANT",
            Self::Privileges(..) => "REVOKE",
            Self::Roles { revokes: false, .. } => "GRANT ROLE",
            Self::Roles { .. } => "REVOKE ROLE",
        }
    }
}

/// What is behind GRANT or REVOKE.
pub(super) fn grant(at: &mut Cursor<'_>, revokes: bool) -> Result<GrantStatement> {
    let (mut option_only, mut admin_only) = (false, false);
    if revokes {
        let mut ahead = at.behind();
        let is_option = ahead.next().is_some_and(|token| token.is(at.text, "option"));
        if is_option && at.ahead.is_some_and(|token| token.is(at.text, "grant")) {
            option_only = true;
        } else if is_option && at.ahead.is_some_and(|token| token.is(at.text, "admin")) {
            admin_only = true;
        }
        if option_only || admin_only {
            at.next();
            at.next();
            at.expect("for")?;
        }
    }
    if admin_only || !has_on(at) {
        let granted = roles(at)?;
        at.expect(if revokes { "from" } else { "to" })?;
        let members = roles(at)?;
        let admin = !revokes && with(at, "admin")?;
        let by = granted_by(at)?;
        if revokes && !at.accept("cascade") {
            at.accept("restrict");
        }
        return Ok(GrantStatement::Roles { revokes, admin_only, admin, roles: granted, members, by });
    }
    let (privileges, all_of) = privileges(at)?;
    at.expect("on")?;
    let objects = objects(at)?;
    let change = change(at, revokes, option_only, privileges, all_of)?;
    Ok(GrantStatement::Privileges(change, objects))
}

/// What is behind ALTER DEFAULT PRIVILEGES.
pub(super) fn default_privileges(at: &mut Cursor<'_>) -> Result<GrantStatement> {
    at.expect("default")?;
    at.expect("privileges")?;
    let (mut owners, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if owners.is_empty() && at.accept("for") {
            if !at.accept("role") {
                at.expect("user")?;
            }
            owners = roles(at)?;
        } else if schemas.is_empty() && at.accept("in") {
            at.expect("schema")?;
            schemas = names(at, false)?;
        } else {
            break;
        }
    }
    let revokes = at.accept("revoke");
    if !revokes {
        at.expect("grant")?;
    }
    let option_only = revokes && at.accept("grant");
    if option_only {
        at.expect("option")?;
        at.expect("for")?;
    }
    let (privileges, all_of) = privileges(at)?;
    at.expect("on")?;
    let kinds = [
        ("tables", ObjectKind::Table),
        ("sequences", ObjectKind::Sequence),
        ("functions", ObjectKind::Routine),
        ("routines", ObjectKind::Routine),
        ("types", ObjectKind::Type),
        ("schemas", ObjectKind::Schema),
    ];
    let kind = kinds.into_iter().find(|(word, _)| at.accept(word)).ok_or_else(|| at.unexpected())?.1;
    let change = change(at, revokes, option_only, privileges, all_of)?;
    Ok(GrantStatement::Defaults { roles: owners, schemas, change, kind })
}

/// Whether ON stands outside of parentheses: it is about objects, not about memberships.
fn has_on(at: &Cursor<'_>) -> bool {
    let mut depth = 0usize;
    at.behind().any(|token| {
        if token.is_sign(at.text, "(") {
            depth += 1;
        } else if token.is_sign(at.text, ")") {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && token.kind == Kind::Word && token.is(at.text, "on")
    })
}

fn privileges(at: &mut Cursor<'_>) -> Result<(Vec<Named>, Vec<String>)> {
    if at.accept("all") {
        at.accept("privileges");
        let starts = at.ahead.is_some_and(|token| token.is_sign(at.text, "("));
        return Ok((Vec::new(), if starts { names(at, true)? } else { Vec::new() }));
    }
    let mut named = Vec::new();
    loop {
        let word = at.ahead.filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let word = word.ok_or_else(|| at.unexpected())?;
        let name = at.name()?;
        let Some(privilege) = Privileges::named(&name) else {
            let what = format!("unrecognized privilege type \"{name}\"");
            let position = at.text[..word.start].chars().count() as u32 + 1;
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).position(position));
        };
        let name = privilege.each().next().map_or("", |(_, name, _)| name);
        let starts = at.ahead.is_some_and(|token| token.is_sign(at.text, "("));
        let columns = if starts { names(at, true)? } else { Vec::new() };
        named.push(Named { privilege, name, columns });
        if !at.accept_sign(",") {
            return Ok((named, Vec::new()));
        }
    }
}

fn objects(at: &mut Cursor<'_>) -> Result<Objects> {
    if at.accept("all") {
        let words = [
            ("tables", ObjectKind::Table, Kinds::Any),
            ("sequences", ObjectKind::Sequence, Kinds::Any),
            ("functions", ObjectKind::Routine, Kinds::Function),
            ("procedures", ObjectKind::Routine, Kinds::Procedure),
            ("routines", ObjectKind::Routine, Kinds::Any),
        ];
        let found = words.into_iter().find(|(word, ..)| at.accept(word));
        let (_, kind, kinds) = found.ok_or_else(|| at.unexpected())?;
        at.expect("in")?;
        at.expect("schema")?;
        return Ok(Objects::In(kind, kinds, names(at, false)?));
    }
    // a table may have the name of a kind
    let alone = at.behind().next().is_none_or(|token| {
        token.is_sign(at.text, ",")
            || token.is_sign(at.text, ".")
            || token.is(at.text, "to")
            || token.is(at.text, "from")
    });
    if !alone {
        if at.accept("sequence") {
            return Ok(Objects::Sequences(qualified(at)?));
        }
        if let Some(kinds) = kinds(at) {
            let mut all = vec![signature(at)?];
            while at.accept_sign(",") {
                all.push(signature(at)?);
            }
            return Ok(Objects::Routines(kinds, all));
        }
        if at.accept("schema") {
            return Ok(Objects::Schemas(names(at, false)?));
        }
        if at.accept("database") {
            return Ok(Objects::Databases(names(at, false)?));
        }
        if at.accept("language") {
            return Ok(Objects::Languages(names(at, false)?));
        }
        if at.accept("type") || at.accept("domain") {
            let types = qualified(at)?.into_iter();
            let text = |(schema, name): Name| {
                let quoted = super::lex::quoted;
                schema
                    .map_or_else(|| quoted(&name), |schema| format!("{}.{}", quoted(&schema), quoted(&name)))
            };
            return Ok(Objects::Types(types.map(text).collect()));
        }
        for word in ["foreign", "large", "parameter", "tablespace"] {
            if at.accept(word) {
                let what = format!("GRANT ON {} is not supported", word.to_uppercase());
                return Err(SqlError::unsupported(what));
            }
        }
        at.accept("table");
    }
    Ok(Objects::Relations(qualified(at)?))
}

fn qualified(at: &mut Cursor<'_>) -> Result<Vec<Name>> {
    let mut all = vec![name(at)?];
    while at.accept_sign(",") {
        all.push(name(at)?);
    }
    Ok(all)
}

/// What stands behind the objects.
fn change(
    at: &mut Cursor<'_>,
    revokes: bool,
    option_only: bool,
    privileges: Vec<Named>,
    all_of: Vec<String>,
) -> Result<Change> {
    at.expect(if revokes { "from" } else { "to" })?;
    let mut roles = Vec::new();
    loop {
        at.accept("group");
        roles.push(role(at)?);
        if !at.accept_sign(",") {
            break;
        }
    }
    let with_option = !revokes && with(at, "grant")?;
    let by = granted_by(at)?;
    let cascade = revokes && at.accept("cascade");
    if revokes && !cascade {
        at.accept("restrict");
    }
    Ok(Change { revokes, option_only, privileges, roles, with_option, by, cascade, all_of })
}

fn with(at: &mut Cursor<'_>, word: &str) -> Result<bool> {
    let with = at.accept("with");
    if with {
        at.expect(word)?;
        at.expect("option")?;
    }
    Ok(with)
}

fn granted_by(at: &mut Cursor<'_>) -> Result<Option<RoleName>> {
    if !at.accept("granted") {
        return Ok(None);
    }
    at.expect("by")?;
    role(at).map(Some)
}
