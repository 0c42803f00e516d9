//! Materialized views: tables whose rows a query has made.

use crate::desc::{Relation, TableDesc, ViewDesc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What makes a table a materialized view. It has the columns, the indexes and the rows of any table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaterializedDesc {
    /// The query, as SQL.
    pub query: String,
    /// As [`ViewDesc::uses`].
    pub uses: Vec<u32>,
    /// As [`ViewDesc::path`].
    pub path: Vec<String>,
    /// As [`ViewDesc::known`].
    pub known: Vec<(u32, i16)>,
    /// Whether it has rows of its query: it may be read.
    pub populated: bool,
}

impl TableDesc {
    /// The view that the table has the rows of, if it is a materialized view.
    pub fn definition(&self) -> Option<Arc<ViewDesc>> {
        let own = self.materialized.as_ref()?;
        let columns = self.visible().map(|column| (column.name.clone(), column.type_oid, column.typmod));
        Some(Arc::new(ViewDesc {
            oid: self.oid,
            schema: self.schema.clone(),
            name: self.name.clone(),
            columns: columns.collect(),
            query: own.query.clone(),
            uses: own.uses.clone(),
            path: own.path.clone(),
            known: own.known.clone(),
            security_invoker: None,
            security_barrier: None,
            check_option: None,
            defaults: Vec::new(),
            triggers: Vec::new(),
            comments: Vec::new(),
        }))
    }

    /// Whether it is a materialized view.
    pub fn is_materialized(&self) -> bool {
        self.materialized.is_some()
    }

    /// Whether it is a materialized view that has no rows yet, and must not be read.
    pub fn is_unpopulated(&self) -> bool {
        self.materialized.as_ref().is_some_and(|own| !own.populated)
    }
}

impl Relation {
    /// What it is defined by, if it is a view or a materialized view.
    pub fn definition(&self) -> Option<Arc<ViewDesc>> {
        match self {
            Self::View(view) => Some(view.clone()),
            Self::Table(table) => table.definition(),
            Self::Sequence(_) => None,
        }
    }

    /// The relation with another definition: its query, and how the names in it are found. Its own name, its columns
    /// and its comments stay.
    #[must_use]
    pub fn defined_by(&self, view: &ViewDesc) -> Self {
        match self {
            Self::View(known) => {
                let mut known = (**known).clone();
                known.query.clone_from(&view.query);
                known.uses.clone_from(&view.uses);
                known.path.clone_from(&view.path);
                known.known.clone_from(&view.known);
                Self::View(Arc::new(known))
            }
            Self::Table(table) => {
                let mut table = (**table).clone();
                if let Some(own) = &mut table.materialized {
                    own.query.clone_from(&view.query);
                    own.uses.clone_from(&view.uses);
                    own.path.clone_from(&view.path);
                    own.known.clone_from(&view.known);
                }
                Self::Table(Arc::new(table))
            }
            Self::Sequence(_) => self.clone(),
        }
    }

    /// Whether it is a view or a materialized view whose query names something.
    pub fn reads(&self, oid: u32) -> bool {
        match self {
            Self::View(view) => view.uses.contains(&oid),
            Self::Table(table) => table.materialized.as_ref().is_some_and(|own| own.uses.contains(&oid)),
            Self::Sequence(_) => false,
        }
    }
}
