//! Row-level security: which rows of a table roles see and write, by policies.

use crate::access::EVERYBODY;
use crate::desc::{TableDesc, ViewDesc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a table has of row-level security. Its policies are there whether it is enabled or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSecurityDesc {
    /// Whether policies say which rows are seen and written: ENABLE ROW LEVEL SECURITY.
    pub enabled: bool,
    /// Whether they say so to the owner of the table, too: FORCE ROW LEVEL SECURITY.
    pub forced: bool,
    /// The policies, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyDesc>,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name, unique within the table.
    pub name: String,
    /// Whether one such policy is enough, or each must hold: AS PERMISSIVE, AS RESTRICTIVE.
    pub permissive: bool,
    /// What it is for.
    pub command: PolicyCommand,
    /// The roles that it is for; [`EVERYBODY`] alone is PUBLIC.
    pub roles: Vec<u32>,
    /// What must hold of rows that are there: USING.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub using: Option<PolicyExpression>,
    /// What must hold of new rows, if that is something else: WITH CHECK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<PolicyExpression>,
    /// What COMMENT ON has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyCommand {
    /// All of the others.
    All,
    /// SELECT, and whatever else reads.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE, and SELECT FOR UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl PolicyCommand {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// Its letter in `pg_policy`.
    pub fn letter(self) -> u8 {
        match self {
            Self::All => b'*',
            Self::Select => b'r',
            Self::Insert => b'a',
            Self::Update => b'w',
            Self::Delete => b'd',
        }
    }
}

/// An expression of a policy, with what its names mean, as a view keeps that of its query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyExpression {
    /// The condition, as SQL.
    pub text: String,
    /// As [`ViewDesc::uses`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<u32>,
    /// As [`ViewDesc::path`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// As [`ViewDesc::known`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<(u32, i16)>,
    /// The columns that it names: the oids of their relations, and their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(u32, i16)>,
}

impl PolicyExpression {
    /// The expression as the condition of a view on its table; and how many bytes of the query stand before it.
    pub fn as_view(&self, table: &TableDesc, policy: &PolicyDesc) -> (Arc<ViewDesc>, usize) {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let mut query = format!("SELECT 1 FROM {}.{} WHERE ", quoted(&table.schema), quoted(&table.name));
        let before = query.len();
        query.push_str(&self.text);
        let view = ViewDesc {
            oid: policy.oid,
            schema: table.schema.clone(),
            name: policy.name.clone(),
            columns: Vec::new(),
            query,
            uses: self.uses.clone(),
            path: self.path.clone(),
            known: self.known.clone(),
            security_invoker: None,
            security_barrier: None,
            check_option: None,
            defaults: Vec::new(),
            triggers: Vec::new(),
            comments: Vec::new(),
        };
        (Arc::new(view), before)
    }
}

impl PolicyDesc {
    /// Whether it is for everybody.
    pub fn is_public(&self) -> bool {
        self.roles.contains(&EVERYBODY)
    }

    /// Its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &PolicyExpression> {
        self.using.iter().chain(&self.check)
    }

    /// Whether an expression of it names an object: a relation, a type, a routine.
    pub fn uses(&self, oid: u32) -> bool {
        self.expressions().any(|expression| expression.uses.contains(&oid))
    }

    /// Whether an expression of it names a column.
    pub fn reads(&self, relation: u32, attnum: i16) -> bool {
        self.expressions().any(|expression| expression.columns.contains(&(relation, attnum)))
    }
}

impl TableDesc {
    /// Its policies, by name.
    pub fn policies(&self) -> &[PolicyDesc] {
        self.row_security.as_ref().map_or(&[], |own| &own.policies)
    }

    /// Whether policies say which of its rows are seen and written.
    pub fn is_secured(&self) -> bool {
        self.row_security.as_ref().is_some_and(|own| own.enabled)
    }

    /// Whether they say so to its owner.
    pub fn is_forced(&self) -> bool {
        self.row_security.as_ref().is_some_and(|own| own.forced)
    }

    /// Changes what it has of row-level security.
    pub fn change_row_security(&mut self, change: impl FnOnce(&mut RowSecurityDesc)) {
        let mut own = self.row_security.take().unwrap_or_default();
        change(&mut own);
        own.policies.sort_by(|a, b| a.name.cmp(&b.name));
        self.row_security = (*own != RowSecurityDesc::default()).then_some(own);
    }
}
