//! Roles, and what they may do.
//!
//! Privileges are lists of grants, as PostgreSQL has them: who may do what, and who has said so. An object without a
//! list has the defaults of its kind ([`default_grants`]).

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The role that is always there: a superuser, who owns what nobody else does. Users that the catalog has no role for
/// are this one.
pub const OWNER: u32 = 10;
/// In a grant: everybody.
pub const EVERYBODY: u32 = 0;
/// The role that the owner of the database is a member of.
pub const DATABASE_OWNER: u32 = 6_171;
/// The role whose members read all tables, views and sequences.
pub(crate) const READ_ALL_DATA: u32 = 6_181;
/// The role whose members write all tables, views and sequences.
pub(crate) const WRITE_ALL_DATA: u32 = 6_182;
/// The role whose members read all settings and statistics.
pub const MONITOR: u32 = 3_373;
/// The role whose members read all settings.
pub const READ_ALL_SETTINGS: u32 = 3_374;
/// The role whose members see what sessions of others run.
pub const READ_ALL_STATS: u32 = 3_375;
/// The role whose members cancel and end sessions of others.
pub const SIGNAL_BACKEND: u32 = 4_200;
/// The role whose members run CHECKPOINT.
pub const CHECKPOINT: u32 = 4_544;
/// The schema `public`, in lists of privileges.
pub const PUBLIC_SCHEMA: u32 = 2_200;
/// The language SQL, in lists of privileges.
pub const SQL_LANGUAGE: u32 = 14;
/// The language PL/pgSQL, in lists of privileges.
pub const PLPGSQL_LANGUAGE: u32 = 13_556;
/// The language C, which nobody but extensions writes functions in.
pub const C_LANGUAGE: u32 = 13;
/// The database that is always there: the first one.
pub const DATABASE: u32 = 5;

/// The roles that are always there beside [`OWNER`]: members of theirs may do something.
pub const PREDEFINED: [(u32, &str); 8] = [
    (MONITOR, "pg_monitor"),
    (READ_ALL_SETTINGS, "pg_read_all_settings"),
    (READ_ALL_STATS, "pg_read_all_stats"),
    (SIGNAL_BACKEND, "pg_signal_backend"),
    (CHECKPOINT, "pg_checkpoint"),
    (DATABASE_OWNER, "pg_database_owner"),
    (READ_ALL_DATA, "pg_read_all_data"),
    (WRITE_ALL_DATA, "pg_write_all_data"),
];

/// A set of privileges. The order of its bits is that in which lists print them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges(u16);

impl Privileges {
    /// INSERT.
    pub const INSERT: Self = Self(1);
    /// SELECT.
    pub const SELECT: Self = Self(1 << 1);
    /// UPDATE.
    pub const UPDATE: Self = Self(1 << 2);
    /// DELETE.
    pub const DELETE: Self = Self(1 << 3);
    /// TRUNCATE.
    pub const TRUNCATE: Self = Self(1 << 4);
    /// REFERENCES: of foreign keys.
    pub const REFERENCES: Self = Self(1 << 5);
    /// TRIGGER.
    pub const TRIGGER: Self = Self(1 << 6);
    /// EXECUTE: of routines.
    pub const EXECUTE: Self = Self(1 << 7);
    /// USAGE: of schemas, sequences, types and languages.
    pub const USAGE: Self = Self(1 << 8);
    /// CREATE: in a schema, or schemas in a database.
    pub const CREATE: Self = Self(1 << 9);
    /// TEMPORARY: relations in a database.
    pub const TEMPORARY: Self = Self(1 << 10);
    /// CONNECT: to a database.
    pub const CONNECT: Self = Self(1 << 11);
    /// None.
    pub const NONE: Self = Self(0);

    /// All privileges, with their names and the letters of lists, in the order of lists.
    pub const NAMED: [(Self, &'static str, char); 12] = [
        (Self::INSERT, "INSERT", 'a'),
        (Self::SELECT, "SELECT", 'r'),
        (Self::UPDATE, "UPDATE", 'w'),
        (Self::DELETE, "DELETE", 'd'),
        (Self::TRUNCATE, "TRUNCATE", 'D'),
        (Self::REFERENCES, "REFERENCES", 'x'),
        (Self::TRIGGER, "TRIGGER", 't'),
        (Self::EXECUTE, "EXECUTE", 'X'),
        (Self::USAGE, "USAGE", 'U'),
        (Self::CREATE, "CREATE", 'C'),
        (Self::TEMPORARY, "TEMPORARY", 'T'),
        (Self::CONNECT, "CONNECT", 'c'),
    ];

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of the other are in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The privileges in it, one by one: with their names and letters.
    pub fn each(self) -> impl Iterator<Item = (Self, &'static str, char)> {
        Self::NAMED.into_iter().filter(move |(one, ..)| self.has(*one))
    }

    /// The privilege of a name, in any case; TEMP is TEMPORARY.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("temp") {
            return Some(Self::TEMPORARY);
        }
        Self::NAMED.into_iter().find(|(_, known, _)| name.eq_ignore_ascii_case(known)).map(|(one, ..)| one)
    }
}

/// The kinds of objects that have privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ObjectKind {
    /// A table, a view, or what else has columns.
    Table,
    /// A column of one.
    Column,
    /// A sequence.
    Sequence,
    /// A function or a procedure.
    Routine,
    /// A type.
    Type,
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A language of routines.
    Language,
}

impl ObjectKind {
    /// All privileges that there are on such an object.
    pub const fn all(self) -> Privileges {
        type P = Privileges;
        match self {
            Self::Table => P::INSERT
                .and(P::SELECT)
                .and(P::UPDATE)
                .and(P::DELETE)
                .and(P::TRUNCATE)
                .and(P::REFERENCES)
                .and(P::TRIGGER),
            Self::Column => P::INSERT.and(P::SELECT).and(P::UPDATE).and(P::REFERENCES),
            Self::Sequence => P::SELECT.and(P::UPDATE).and(P::USAGE),
            Self::Routine => P::EXECUTE,
            Self::Type | Self::Language => P::USAGE,
            Self::Schema => P::USAGE.and(P::CREATE),
            Self::Database => P::CREATE.and(P::TEMPORARY).and(P::CONNECT),
        }
    }

    /// What everybody may do with one whose privileges nobody has changed.
    const fn of_everybody(self) -> Privileges {
        match self {
            Self::Routine | Self::Type | Self::Language => self.all(),
            Self::Database => Privileges::TEMPORARY.and(Privileges::CONNECT),
            Self::Table | Self::Column | Self::Sequence | Self::Schema => Privileges::NONE,
        }
    }

    /// What it is called in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Column => "column",
            Self::Sequence => "sequence",
            Self::Routine => "function",
            Self::Type => "type",
            Self::Schema => "schema",
            Self::Database => "database",
            Self::Language => "language",
        }
    }

    /// Its letter in `pg_default_acl` and for `acldefault`.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Table => b'r',
            Self::Column => b'c',
            Self::Sequence => b's',
            Self::Routine => b'f',
            Self::Type => b'T',
            Self::Schema => b'n',
            Self::Database => b'd',
            Self::Language => b'l',
        }
    }
}

/// What a role has been granted, by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The role that has it; [`EVERYBODY`].
    pub to: u32,
    /// The role that has granted it.
    pub by: u32,
    /// What it may do.
    pub privileges: Privileges,
    /// What it may grant to others, of that.
    pub options: Privileges,
}

/// The list of an object whose privileges nobody has changed.
pub fn default_grants(kind: ObjectKind, owner: u32) -> Vec<Grant> {
    let none = Privileges::NONE;
    let mut grants = Vec::new();
    let of_everybody = kind.of_everybody();
    if !of_everybody.is_empty() {
        grants.push(Grant { to: EVERYBODY, by: owner, privileges: of_everybody, options: none });
    }
    if kind != ObjectKind::Column {
        grants.push(Grant { to: owner, by: owner, privileges: kind.all(), options: none });
    }
    grants
}

/// The list of the schema `public` whose privileges nobody has changed: everybody finds what is in it, and its owner
/// makes something there.
pub fn default_grants_of_public(owner: u32) -> Vec<Grant> {
    let mut grants = default_grants(ObjectKind::Schema, owner);
    let privileges = Privileges::USAGE;
    grants.push(Grant { to: EVERYBODY, by: owner, privileges, options: Privileges::NONE });
    grants
}

/// Who owns an object, and what others may do with it. There is none for an object of [`OWNER`]'s whose privileges
/// nobody has changed.
///
/// Under the oid of a role stands what is granted of the objects that the role makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessDesc {
    /// The object: a relation, routine, enum type, schema, database; or a role.
    pub object: u32,
    /// Its owner.
    pub owner: u32,
    /// What is granted; `None` are the defaults of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<Grant>>,
    /// What is granted of single columns, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(i16, Vec<Grant>)>,
    /// Of a role: what is granted of what it will make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<DefaultGrants>,
}

impl AccessDesc {
    /// What is granted of a column.
    pub fn of_column(&self, attnum: i16) -> &[Grant] {
        self.columns.iter().find(|(known, _)| *known == attnum).map_or(&[], |(_, grants)| grants)
    }

    /// Whether it says nothing.
    pub fn is_default(&self) -> bool {
        self.owner == OWNER && self.grants.is_none() && self.columns.is_empty() && self.defaults.is_empty()
    }

    /// The roles that it names.
    pub fn roles(&self) -> BTreeSet<u32> {
        let lists = self.grants.iter().chain(self.columns.iter().map(|(_, grants)| grants));
        let lists = lists.chain(self.defaults.iter().map(|defaults| &defaults.grants));
        let named = lists.flatten().flat_map(|grant| [grant.to, grant.by]);
        named.chain([self.owner]).filter(|role| *role != EVERYBODY).collect()
    }
}

/// ALTER DEFAULT PRIVILEGES: what is granted of the objects of a kind that a role makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultGrants {
    /// Its oid.
    pub oid: u32,
    /// The schema that they are made in; all together without one.
    pub schema: Option<u32>,
    /// Of which kind they are.
    pub kind: ObjectKind,
    /// In one schema: what is granted beside the defaults. In all: what is granted in their place.
    pub grants: Vec<Grant>,
}

/// A membership in a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembershipDesc {
    /// The role that it is a member of.
    pub role: u32,
    /// Who has granted it.
    pub by: u32,
    /// Whether the member may grant it to others.
    pub admin: bool,
}

/// A role.
#[expect(clippy::struct_excessive_bools, reason = "as many as a role has attributes")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether it may do at once what the roles may that it is a member of.
    pub inherit: bool,
    /// Whether it may make roles, change and drop them.
    pub create_role: bool,
    /// Whether it may make databases.
    pub create_db: bool,
    /// Whether it may connect.
    pub login: bool,
    /// Kept for dumps.
    pub replication: bool,
    /// Whether policies of tables say nothing to it.
    pub bypass_rls: bool,
    /// How many sessions it may have; -1 is any number.
    pub connection_limit: i32,
    /// The verifier of its password.
    pub password: Option<String>,
    /// Until when the password holds: microseconds since 2000, UTC.
    pub valid_until: Option<i64>,
    /// Settings that its sessions begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// The roles that it is a member of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_of: Vec<MembershipDesc>,
    /// What COMMENT ON has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}
