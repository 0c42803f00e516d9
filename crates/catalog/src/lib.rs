//! What the database contains: schemas, tables, indexes, constraints, triggers, sequences, views, enum types and
//! routines, as descriptors.
//!
//! ```text
//!   Catalog (a snapshot, immutable, shared)        Store (rows of the engine)
//!   name ─► oid ─► Relation ─► TableDesc     ◄──►  #descriptors: oid, JSON
//!                              SequenceDesc        #sequences:   oid, last value
//!                              ViewDesc
//!                  EnumDesc, Type
//!                  SchemaDesc
//!                  RoutineDesc
//! ```
//!
//! Descriptors are rows of an internal engine table. So a transaction that changes them is a transaction
//! like any other: it commits or not, it conflicts with others that do the same, and an engine that is
//! durable makes them durable. Expressions (defaults, checks, views) are kept as SQL text.

mod desc;
mod materialized;
mod routine;
mod snapshot;
mod store;

pub use desc::{
    About, Action, AddedColumn, CheckDesc, ColumnDesc, CommentDesc, EnumDesc, ExclusionDesc, ForeignKeyDesc,
    Identity, IndexDesc, Initially, KeyColumn, LabelDesc, Placement, PredicateDesc, PrimaryKeyDesc, Relation,
    SchemaDesc, SequenceDesc, Spread, TableDesc, ViewDesc,
};
pub use materialized::MaterializedDesc;
pub use routine::{
    Language, ParameterDesc, ParameterMode, Returned, RoutineDesc, RoutineKind, TriggerDesc, TriggerEvents,
    TriggerTiming, Volatility,
};
pub use snapshot::{Catalog, FIRST_OID, PUBLIC, Reference};
pub use store::{Error, Result, SequenceValue, Store};
