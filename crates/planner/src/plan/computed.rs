//! Tables whose rows are computed when a statement reads them.

/// A table whose rows are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// A system catalog, by its number among them.
    Catalog { number: usize, schema: &'static str, name: &'static str },
    /// A sequence, as a table of one row.
    Sequence(u32),
    /// The rows that a statement has written, for a trigger: as they were, or as they are now.
    Written { new: bool },
}

/// Catalogs whose rows change with the catalog of the transaction only, which no statement does that scans them.
const OF_CATALOG: [&str; 12] = [
    "pg_attrdef",
    "pg_attribute",
    "pg_class",
    "pg_constraint",
    "pg_depend",
    "pg_description",
    "pg_enum",
    "pg_index",
    "pg_namespace",
    "pg_proc",
    "pg_trigger",
    "pg_type",
];

impl Computed {
    /// Whether its rows are the same as long as a statement runs.
    pub fn follows_catalog(self) -> bool {
        matches!(self, Self::Catalog { schema: "pg_catalog", name, .. } if OF_CATALOG.contains(&name))
    }

    /// The name, for EXPLAIN.
    pub fn name(self) -> &'static str {
        match self {
            Self::Catalog { name, .. } => name,
            Self::Sequence(_) => "sequence",
            Self::Written { new } => {
                if new {
                    "new_table"
                } else {
                    "old_table"
                }
            }
        }
    }

    /// The schema, for EXPLAIN.
    pub fn schema(self) -> &'static str {
        match self {
            Self::Catalog { schema, .. } => schema,
            Self::Sequence(_) | Self::Written { .. } => "public",
        }
    }
}
