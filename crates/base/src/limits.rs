//! Limits. Each is checked where the value enters, and answered with a typed error.

/// Workers of one database at a time: as many as a timestamp can tell apart.
pub const MAX_WORKERS: usize = 1 << crate::Timestamp::ORIGIN_BITS;
/// Tables and indexes of one database, dropped ones included.
pub const MAX_TABLES: usize = 16_384;
/// Bytes of an encoded key, primary key suffix of an index entry included.
pub const MAX_KEY_BYTES: usize = 1_024;
/// Bytes of an encoded row.
pub const MAX_ROW_BYTES: usize = 8 << 20;
/// Columns of a table (PostgreSQL's limit).
pub const MAX_COLUMNS: usize = 1_600;
/// Conflict groups of a table: sets of columns with a version word of their own.
pub const MAX_GROUPS: usize = 4;
/// Indexes of a table.
pub const MAX_INDEXES: usize = 64;
/// Records that one transaction may write.
pub const MAX_WRITES: usize = 1 << 24;
