//! Tables whose rows are computed when a statement reads them.

/// A table whose rows are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computed {
    /// A system catalog, by its number among them.
    Catalog { number: usize, schema: &'static str, name: &'static str },
    /// A sequence, as a table of one row.
    Sequence(u32),
}

impl Computed {
    /// The name, for EXPLAIN.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Catalog { name, .. } => name,
            Self::Sequence(_) => "sequence",
        }
    }

    /// The schema, for EXPLAIN.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Catalog { schema, .. } => schema,
            Self::Sequence(_) => "public",
        }
    }
}
