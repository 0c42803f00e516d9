//! What a plan needs to be allowed to do.

use scaledb_catalog::{ObjectKind, Privileges};

/// Privileges on an object that a plan needs. They are looked at when it runs: they may change behind its compilation,
/// and sessions of several roles share plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub kind: ObjectKind,
    /// The oid of the object.
    pub object: u32,
    /// What is needed on all of it.
    pub whole: Privileges,
    /// What is needed on single columns, if not on all of it: the privilege, and their numbers. On any column, if there
    /// are none: the rows are read, or counted.
    pub columns: Vec<(Privileges, Vec<i16>)>,
    /// Whose privileges count, if not those of the role that runs it: the owner's of a view.
    pub by: Option<u32>,
}

/// All that a plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub all: Vec<Need>,
    /// Whether privileges of others than the role that runs it count.
    pub of_others: bool,
}
