//! Descriptors of functions, procedures and triggers.

use crate::desc::Initially;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether a routine is called in expressions, or by CALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineKind {
    /// A function.
    Function,
    /// A procedure.
    Procedure,
}

impl RoutineKind {
    /// The word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
        }
    }
}

/// The language of a routine's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// Statements of SQL.
    Sql,
    /// A block of PL/pgSQL.
    PlPgSql,
    /// Code of an extension, which the body names.
    C,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::PlPgSql => "plpgsql",
            Self::C => "c",
        }
    }
}

/// What a function promises of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Volatility {
    /// The same arguments have the same result, always.
    Immutable,
    /// The same arguments have the same result within one statement.
    Stable,
    /// Nothing.
    Volatile,
}

impl Volatility {
    /// The keyword.
    pub fn word(self) -> &'static str {
        match self {
            Self::Immutable => "IMMUTABLE",
            Self::Stable => "STABLE",
            Self::Volatile => "VOLATILE",
        }
    }
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterMode {
    /// `IN`.
    In,
    /// `OUT`.
    Out,
    /// `INOUT`.
    InOut,
    /// A column of `RETURNS TABLE`.
    Table,
    /// `VARIADIC`: an array of the arguments that are left.
    Variadic,
}

impl ParameterMode {
    /// Whether callers give it a value.
    pub fn is_given(self) -> bool {
        matches!(self, Self::In | Self::InOut | Self::Variadic)
    }

    /// Whether callers get its value.
    pub fn is_returned(self) -> bool {
        !matches!(self, Self::In | Self::Variadic)
    }
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterDesc {
    /// Its name; empty if it has none.
    pub name: String,
    /// Which way it goes.
    pub mode: ParameterMode,
    /// The oid of its type.
    pub type_oid: u32,
    /// The default, as SQL.
    pub default: Option<String>,
}

/// What a routine returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returned {
    /// Nothing: `void`, or a procedure without parameters that are returned.
    Nothing,
    /// It is called by a trigger.
    Trigger,
    /// A value of the type of this oid.
    Value(u32),
    /// The parameters that are returned, when there are several, or the columns of `RETURNS TABLE`.
    Parameters,
    /// A row of the table of this oid.
    Row(u32),
    /// A row of whatever columns it has: the call says which they are, or nothing does.
    Record,
}

/// The oid of the type of the rows of a table or a view.
pub fn row_type(relation: u32) -> u32 {
    relation | 1 << 31
}

/// The table whose rows have the type of an oid, if it is such a type.
pub fn of_row_type(oid: u32) -> Option<u32> {
    (oid >> 31 == 1).then_some(oid & !(1 << 31))
}

/// What a call says of a routine that leaves it to calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The oids of the types that polymorphic parameters have, in the order of all parameters.
    pub types: Vec<u32>,
    /// The columns of what returns records: names, oids of types, modifiers.
    pub columns: Vec<(String, u32, i32)>,
}

/// A function or a procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineDesc {
    /// Its oid.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name. Other routines may have it, too, with other parameters.
    pub name: String,
    /// Whether it is a function or a procedure.
    pub kind: RoutineKind,
    /// Its parameters.
    pub parameters: Vec<ParameterDesc>,
    /// What it returns.
    pub returns: Returned,
    /// Whether it returns any number of rows.
    pub set: bool,
    /// The language of the body.
    pub language: Language,
    /// The body, as it was written.
    pub body: String,
    /// What it promises of its results.
    pub volatility: Volatility,
    /// Whether the result is NULL, and the body not run, if an argument is NULL.
    pub strict: bool,
    /// Whether it may do what its owner may: SECURITY DEFINER.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub security_definer: bool,
    /// Settings that hold while it runs: names and values.
    pub settings: Vec<(String, String)>,
    /// What COMMENT ON has said.
    pub comment: Option<String>,
    /// What a call makes of it: nothing in the catalog.
    #[serde(skip)]
    pub instance: Option<Arc<Instance>>,
}

impl RoutineDesc {
    /// Whether it may write: only those that are VOLATILE do, and none of an extension.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.volatility == Volatility::Volatile && self.language != Language::C
    }

    /// The parameter that takes all arguments that are left.
    pub fn variadic(&self) -> Option<&ParameterDesc> {
        self.parameters.iter().find(|parameter| parameter.mode == ParameterMode::Variadic)
    }

    /// The parameters that callers give values.
    pub fn given(&self) -> impl Iterator<Item = &ParameterDesc> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_given())
    }

    /// The parameters that calls have arguments for: those of a procedure are all of them.
    pub fn named(&self) -> impl Iterator<Item = &ParameterDesc> {
        let all = self.kind == RoutineKind::Procedure;
        self.parameters.iter().filter(move |parameter| all || parameter.mode.is_given())
    }

    /// The parameters whose values callers get.
    pub fn returned(&self) -> impl Iterator<Item = &ParameterDesc> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_returned())
    }

    /// Whether two routines would be told apart by nothing.
    pub fn has_signature_of(&self, other: &Self) -> bool {
        self.schema == other.schema
            && self.name == other.name
            && self.given().map(|p| p.type_oid).eq(other.given().map(|p| p.type_oid))
    }
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// Before a row is written, or before the statement.
    Before,
    /// When the statement has written all rows.
    After,
    /// In the place of what would be done with a row of a view.
    InsteadOf,
}

/// What a trigger fires on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerEvents {
    /// INSERT.
    pub insert: bool,
    /// UPDATE.
    pub update: bool,
    /// DELETE.
    pub delete: bool,
    /// TRUNCATE.
    pub truncate: bool,
}

/// A trigger of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name, which no other trigger of the table has.
    pub name: String,
    /// When it fires.
    pub timing: TriggerTiming,
    /// What it fires on.
    pub events: TriggerEvents,
    /// The columns that an UPDATE must set one of; any if there are none.
    pub columns: Vec<i16>,
    /// Whether it fires for each row, and not once for a statement.
    pub for_each_row: bool,
    /// The condition, as SQL.
    pub condition: Option<String>,
    /// The oid of its function.
    pub function: u32,
    /// What the function finds in `TG_ARGV`.
    pub arguments: Vec<String>,
    /// Whether it fires at all.
    pub enabled: bool,
    /// Whether it was enabled by ENABLE ALWAYS: it would fire where rows of another server are applied, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// What CREATE CONSTRAINT TRIGGER has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<TriggerConstraint>,
    /// The names under which its function finds all rows that the statement has written, as they were before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    /// The same, as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// What COMMENT ON has said.
    pub comment: Option<String>,
}

impl TriggerDesc {
    /// Whether it fires at the end of a transaction, or may; or sees all rows that a statement has written.
    pub fn is_late(&self) -> bool {
        self.constraint.is_some() || self.has_transitions()
    }

    /// Whether its function sees all rows that the statement has written.
    pub fn has_transitions(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }
}

/// What a trigger is that is a constraint, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerConstraint {
    /// The oid of the constraint.
    pub oid: u32,
    /// Its name: that which the trigger had first.
    pub name: String,
    /// Whether a transaction may choose when it fires, and when it does so otherwise.
    pub deferrable: Option<Initially>,
}
