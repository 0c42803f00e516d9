//! Values that become ones of domains.

use super::Slot;
use super::expr::Expr;
use scaledb_types::{SqlError, SqlState};
use std::sync::Arc;

/// What a domain demands of a value, with all that the domains demand that it is over.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The value, as one of the base type.
    pub input: Expr,
    /// Whether it is an array whose elements are looked at.
    pub elements: bool,
    /// Whether the text of the statement says so.
    pub explicit: bool,
    /// The domain's.
    pub oid: u32,
    pub schema: String,
    /// The name, as SQL has it.
    pub name: String,
    /// The name, as it is.
    pub bare: String,
    pub not_null: bool,
    /// What holds the value while the conditions are looked at.
    pub slot: Slot,
    /// In their order: those of what the domain is over come first.
    pub checks: Arc<[Check]>,
}

/// A condition on the values of a domain: it reads nothing but the slot.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    pub condition: Expr,
}

impl Domain {
    /// 23502.
    #[cold]
    pub fn refuses_null(&self) -> SqlError {
        let what = format!("domain {} does not allow null values", self.name);
        self.about(SqlError::new(SqlState::NOT_NULL_VIOLATION, what))
    }

    /// 23514.
    #[cold]
    pub fn violated(&self, check: &Check) -> SqlError {
        let what = format!("value for domain {} violates check constraint \"{}\"", self.name, check.name);
        self.about(SqlError::new(SqlState::CHECK_VIOLATION, what)).constraint(check.name.as_str())
    }

    fn about(&self, error: SqlError) -> SqlError {
        error.schema(self.schema.as_str()).data_type(self.bare.as_str())
    }
}
