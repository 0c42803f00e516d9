//! CREATE, ALTER and DROP ROLE, USER and GROUP; DROP OWNED and REASSIGN OWNED.

use super::cursor::{Cursor, literal};
use super::lex::Kind;
use scaledb_types::{Result, SqlError, SqlState};

/// A role that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    Named(String),
    /// PUBLIC.
    Everybody,
    /// CURRENT_USER, CURRENT_ROLE.
    Current,
    /// SESSION_USER.
    Session,
}

/// A statement about roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleStatement {
    Create {
        name: RoleName,
        options: Vec<RoleOption>,
    },
    Alter {
        role: RoleName,
        options: Vec<RoleOption>,
    },
    Rename {
        from: String,
        to: String,
    },
    /// ALTER ROLE .. SET; without a name RESET ALL, without a value RESET.
    Set {
        role: RoleName,
        name: Option<String>,
        value: Option<String>,
    },
    Drop {
        if_exists: bool,
        roles: Vec<RoleName>,
    },
    /// ALTER GROUP .. ADD USER and DROP USER.
    Members {
        group: RoleName,
        adds: bool,
        members: Vec<RoleName>,
    },
    DropOwned {
        roles: Vec<RoleName>,
        cascade: bool,
    },
    ReassignOwned {
        from: Vec<RoleName>,
        to: RoleName,
    },
}

/// What a role is made with, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    Superuser(bool),
    CreateDb(bool),
    CreateRole(bool),
    Inherit(bool),
    Login(bool),
    Replication(bool),
    BypassRls(bool),
    ConnectionLimit(i64),
    /// Without a text it has none.
    Password(Option<String>),
    ValidUntil(String),
    InRoles(Vec<RoleName>),
    Members(Vec<RoleName>),
    Admins(Vec<RoleName>),
}

impl RoleOption {
    /// Whether both say something of the same thing.
    fn conflicts(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl RoleStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE ROLE",
            Self::Alter { .. } | Self::Rename { .. } | Self::Set { .. } | Self::Members { .. } => {
                "ALTER ROLE"
            }
            Self::Drop { .. } => "DROP ROLE",
            Self::DropOwned { .. } => "DROP OWNED",
            Self::ReassignOwned { .. } => "REASSIGN OWNED",
        }
    }
}

/// Whether a statement is about roles.
pub(super) fn is_about_roles(text: &str) -> bool {
    let mut at = Cursor::new(text);
    let reassigns = at.accept("reassign");
    if !reassigns {
        at.next();
    }
    if at.accept("owned") {
        return true;
    }
    // a table may be called so: CREATE USER MAPPING is no role
    !reassigns && (at.accept("role") || at.accept("group") || at.accept("user") && !at.accept("mapping"))
}

/// The name of a role.
pub(super) fn role(at: &mut Cursor<'_>) -> Result<RoleName> {
    let words = [
        ("public", RoleName::Everybody),
        ("current_user", RoleName::Current),
        ("current_role", RoleName::Current),
        ("session_user", RoleName::Session),
    ];
    if let Some((_, role)) = words.into_iter().find(|(word, _)| at.accept(word)) {
        return Ok(role);
    }
    let is_none = at.ahead.is_some_and(|token| token.is(at.text, "none"));
    let position = at.ahead.map_or(0, |token| at.text[..token.start].chars().count() as u32 + 1);
    if at.ahead.is_some_and(|token| token.is(at.text, "user")) {
        return Err(at.unexpected());
    }
    let name = at.name()?;
    if name.is_empty() {
        let what = "zero-length delimited identifier";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).position(position));
    }
    if is_none || name == "none" {
        let what = "role name \"none\" is reserved";
        return Err(SqlError::new(SqlState::RESERVED_NAME, what).position(position));
    }
    Ok(if name == "public" { RoleName::Everybody } else { RoleName::Named(name) })
}

/// Names of roles between commas.
pub(super) fn roles(at: &mut Cursor<'_>) -> Result<Vec<RoleName>> {
    let mut roles = vec![role(at)?];
    while at.accept_sign(",") {
        roles.push(role(at)?);
    }
    Ok(roles)
}

/// What is behind CREATE.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<RoleStatement> {
    let logs_in = at.accept("user");
    if !logs_in && !at.accept("role") {
        at.expect("group")?;
    }
    let word = at.peek_word().map(str::to_uppercase);
    let name = role(at)?;
    if let (RoleName::Current | RoleName::Session, Some(word)) = (&name, word) {
        let what = format!("{word} cannot be used as a role name here");
        return Err(SqlError::new(SqlState::RESERVED_NAME, what));
    }
    at.accept("with");
    let mut options = options(at, true)?;
    if logs_in && !options.iter().any(|option| matches!(option, RoleOption::Login(_))) {
        options.push(RoleOption::Login(true));
    }
    Ok(RoleStatement::Create { name, options })
}

/// What is behind ALTER.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<RoleStatement> {
    let is_group = at.accept("group");
    if !is_group && !at.accept("role") {
        at.expect("user")?;
    }
    if !is_group && at.accept("all") {
        return Err(SqlError::unsupported("settings of all roles are not supported"));
    }
    let role = role(at)?;
    if at.accept("rename") {
        at.expect("to")?;
        let RoleName::Named(from) = role else { return Err(at.unexpected()) };
        let to = match self::role(at)? {
            RoleName::Named(to) => to,
            _ => return Err(reserved("public")),
        };
        return Ok(RoleStatement::Rename { from, to });
    }
    if is_group {
        let adds = at.accept("add");
        if !adds {
            at.expect("drop")?;
        }
        at.expect("user")?;
        return Ok(RoleStatement::Members { group: role, adds, members: roles(at)? });
    }
    if at.accept("in") {
        at.expect("database")?;
        return Err(SqlError::unsupported("settings of a role in one database are not supported"));
    }
    if at.accept("set") {
        let (name, value) = super::utility::setting_and_value(at)?;
        return Ok(RoleStatement::Set { role, name: Some(name), value });
    }
    if at.accept("reset") {
        let name = if at.accept("all") { None } else { Some(super::utility::setting(at)?) };
        return Ok(RoleStatement::Set { role, name, value: None });
    }
    at.accept("with");
    Ok(RoleStatement::Alter { role, options: options(at, false)? })
}

/// What is behind DROP.
pub(super) fn drop_roles(at: &mut Cursor<'_>) -> Result<RoleStatement> {
    if at.accept("owned") {
        at.expect("by")?;
        let roles = roles(at)?;
        let cascade = at.accept("cascade");
        if !cascade {
            at.accept("restrict");
        }
        return Ok(RoleStatement::DropOwned { roles, cascade });
    }
    at.next();
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    Ok(RoleStatement::Drop { if_exists, roles: roles(at)? })
}

/// What is behind REASSIGN.
pub(super) fn reassign(at: &mut Cursor<'_>) -> Result<RoleStatement> {
    at.expect("owned")?;
    at.expect("by")?;
    let from = roles(at)?;
    at.expect("to")?;
    Ok(RoleStatement::ReassignOwned { from, to: role(at)? })
}

fn options(at: &mut Cursor<'_>, creates: bool) -> Result<Vec<RoleOption>> {
    let mut options: Vec<RoleOption> = Vec::new();
    while let Some(token) = at.ahead {
        let position = at.text[..token.start].chars().count() as u32 + 1;
        let word = token.of(at.text).to_ascii_lowercase();
        if token.kind != Kind::Word {
            return Err(at.unexpected());
        }
        at.next();
        let option = match word.as_str() {
            "superuser" | "nosuperuser" => RoleOption::Superuser(word == "superuser"),
            "createdb" | "nocreatedb" => RoleOption::CreateDb(word == "createdb"),
            "createrole" | "nocreaterole" => RoleOption::CreateRole(word == "createrole"),
            "inherit" | "noinherit" => RoleOption::Inherit(word == "inherit"),
            "login" | "nologin" => RoleOption::Login(word == "login"),
            "replication" | "noreplication" => RoleOption::Replication(word == "replication"),
            "bypassrls" | "nobypassrls" => RoleOption::BypassRls(word == "bypassrls"),
            "connection" => {
                at.expect("limit")?;
                let number = super::cursor::value(at)?;
                RoleOption::ConnectionLimit(number.parse().map_err(|_| at.unexpected())?)
            }
            "encrypted" | "password" => {
                if word == "encrypted" {
                    at.expect("password")?;
                }
                if at.accept("null") {
                    RoleOption::Password(None)
                } else {
                    RoleOption::Password(Some(text(at)?))
                }
            }
            "unencrypted" => {
                let what = "UNENCRYPTED PASSWORD is no longer supported";
                return Err(SqlError::unsupported(what)
                    .hint("Remove UNENCRYPTED to store the password in encrypted form instead."));
            }
            "valid" => {
                at.expect("until")?;
                RoleOption::ValidUntil(text(at)?)
            }
            "in" if creates => {
                if !at.accept("role") {
                    at.expect("group")?;
                }
                RoleOption::InRoles(roles(at)?)
            }
            "role" | "user" if creates => RoleOption::Members(roles(at)?),
            "admin" if creates => RoleOption::Admins(roles(at)?),
            "sysid" if creates => {
                super::cursor::value(at)?;
                continue;
            }
            _ => {
                let what = format!("unrecognized role option \"{word}\"");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).position(position));
            }
        };
        if options.iter().any(|known| known.conflicts(&option)) {
            let what = "conflicting or redundant options";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).position(position));
        }
        options.push(option);
    }
    Ok(options)
}

fn text(at: &mut Cursor<'_>) -> Result<String> {
    let text = literal(at).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(text)
}

/// # Errors
/// 42939.
pub fn reserved(name: &str) -> SqlError {
    SqlError::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
}
