//! Domains: types with conditions.

use crate::desc::CommentDesc;
use scaledb_types::{DomainType, Type};
use serde::{Deserialize, Serialize};

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainDesc {
    /// Its oid.
    pub oid: u32,
    /// The oid of the type of arrays of it.
    pub array_oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The oid of the type that it is over, which may be another domain.
    pub type_oid: u32,
    /// The modifier of that type; -1 if there is none.
    pub typmod: i32,
    /// Whether it refuses NULL.
    pub not_null: bool,
    /// The default, as SQL.
    pub default: Option<String>,
    /// Its CHECK constraints.
    pub checks: Vec<DomainCheckDesc>,
    /// What COMMENT ON has said.
    #[serde(default)]
    pub comments: Vec<CommentDesc>,
}

/// A CHECK constraint of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainCheckDesc {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// The condition, as SQL: `VALUE` stands for the value.
    pub expression: String,
    /// Whether all values that columns have are known to fulfil it.
    pub validated: bool,
}

impl DomainDesc {
    /// Oids of all that the descriptor describes: itself, arrays of it, constraints.
    pub(crate) fn oids(&self) -> impl Iterator<Item = u32> {
        [self.oid, self.array_oid].into_iter().chain(self.checks.iter().map(|check| check.oid))
    }

    /// The type as statements have it.
    pub(crate) fn define(&self, base: Type) -> Type {
        let base = base.with_typmod(self.typmod);
        Type::of_domain(DomainType::define(self.oid, self.array_oid, &self.name, base))
    }
}
