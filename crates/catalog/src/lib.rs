//! What the database contains: schemas, tables, indexes, constraints, triggers, sequences, views, enum types,
//! domains, routines, roles and what they may do, as descriptors.
//!
//! ```text
//!   Catalog (a snapshot, immutable, shared)        Store (rows of the engine)
//!   name ─► oid ─► Relation ─► TableDesc     ◄──►  #descriptors: oid, JSON
//!                              SequenceDesc        #sequences:   oid, last value
//!                              ViewDesc
//!                  EnumDesc, DomainDesc, Type
//!                  SchemaDesc
//!                  RoutineDesc, RoleDesc, AccessDesc
//! ```
//!
//! Descriptors are rows of an internal engine table. So a transaction that changes them is a transaction
//! like any other: it commits or not, it conflicts with others that do the same, and an engine that is
//! durable makes them durable. Expressions (defaults, checks, views) are kept as SQL text.

mod access;
mod databases;
mod desc;
mod domain;
mod extensions;
mod grants;
mod local;
mod materialized;
mod policy;
mod rights;
mod routine;
mod snapshot;
mod store;

pub use access::{
    AccessDesc, C_LANGUAGE, CHECKPOINT, DATABASE, DATABASE_OWNER, DefaultGrants, EVERYBODY, Grant, MONITOR,
    MembershipDesc, OWNER, ObjectKind, PLPGSQL_LANGUAGE, PREDEFINED, PUBLIC_SCHEMA, Privileges,
    READ_ALL_SETTINGS, READ_ALL_STATS, RoleDesc, SIGNAL_BACKEND, SQL_LANGUAGE, default_grants,
    default_grants_of_public,
};
pub use databases::DatabaseDesc;
pub use desc::{
    About, Action, AddedColumn, CheckDesc, CheckOption, ColumnDesc, CommentDesc, EnumDesc, ExclusionDesc,
    ForeignKeyDesc, Identity, IncludedDesc, IndexDesc, Initially, KeyColumn, LabelDesc, Placement,
    PredicateDesc, PrimaryKeyDesc, Relation, SchemaDesc, SequenceDesc, Spread, TableDesc, ViewDesc,
};
pub use domain::{DomainCheckDesc, DomainDesc};
pub use extensions::ExtensionDesc;
pub use grants::{GrantError, with_owner};
pub use local::{FIRST_LOCAL_OID, is_local, local_oid, local_oids};
pub use materialized::MaterializedDesc;
pub use policy::{PolicyCommand, PolicyDesc, PolicyExpression, RowSecurityDesc};
pub use routine::{
    Instance, Language, ParameterDesc, ParameterMode, Returned, RoutineDesc, RoutineKind, TriggerConstraint,
    TriggerDesc, TriggerEvents, TriggerTiming, Volatility, of_row_type, row_type,
};
pub use snapshot::{Catalog, FIRST_OID, PUBLIC, Reference};
pub use store::{Changes, Error, Result, SequenceValue, Store};
