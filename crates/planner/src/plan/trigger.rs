//! The triggers that a statement fires.

use super::BoundTable;
use scaledb_catalog::{Catalog, RoutineDesc, TableDesc, TriggerDesc, TriggerEvents, TriggerTiming};
use std::sync::Arc;

/// What rows are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl Event {
    /// The word in `TG_OP`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
        }
    }

    fn is_in(self, events: TriggerEvents) -> bool {
        match self {
            Self::Insert => events.insert,
            Self::Update => events.update,
            Self::Delete => events.delete,
            Self::Truncate => events.truncate,
        }
    }
}

/// A trigger, with its function.
#[derive(Debug)]
pub struct Trigger {
    pub desc: TriggerDesc,
    pub function: Arc<RoutineDesc>,
}

/// The triggers that a statement fires, each list in the order of their names.
#[derive(Clone, Debug)]
pub struct Triggers {
    pub event: Event,
    pub before_statement: Vec<Arc<Trigger>>,
    pub before_row: Vec<Arc<Trigger>>,
    /// In the place of what would be done with a row of a view.
    pub instead: Vec<Arc<Trigger>>,
    pub after_row: Vec<Arc<Trigger>>,
    pub after_statement: Vec<Arc<Trigger>>,
    /// Whether some see all rows that the statement has written.
    pub keeps_rows: bool,
}

impl Triggers {
    /// Those of a table that an event fires; with the columns that an UPDATE sets, by their positions. `None` if there
    /// are none.
    pub fn of(
        catalog: &Catalog,
        table: &TableDesc,
        event: Event,
        set: Option<&[usize]>,
    ) -> Option<Box<Self>> {
        if table.triggers.is_empty() {
            return None;
        }
        let mut found = Self {
            event,
            before_statement: Vec::new(),
            before_row: Vec::new(),
            instead: Vec::new(),
            after_row: Vec::new(),
            after_statement: Vec::new(),
            keeps_rows: false,
        };
        let sets = |attnum: &i16| {
            let position = table.position(*attnum);
            set.is_none_or(|set| position.is_some_and(|position| set.contains(&position)))
        };
        let is_fired = |desc: &&TriggerDesc| {
            let of_columns =
                event != Event::Update || desc.columns.is_empty() || desc.columns.iter().any(sets);
            desc.enabled && event.is_in(desc.events) && of_columns
        };
        for desc in table.triggers.iter().filter(is_fired) {
            let Some(function) = catalog.routine(desc.function) else { continue };
            let list = match (desc.timing, desc.for_each_row) {
                (TriggerTiming::Before, false) => &mut found.before_statement,
                (TriggerTiming::Before, true) => &mut found.before_row,
                (TriggerTiming::InsteadOf, _) => &mut found.instead,
                (TriggerTiming::After, true) => &mut found.after_row,
                (TriggerTiming::After, false) => &mut found.after_statement,
            };
            found.keeps_rows |= desc.has_transitions();
            list.push(Arc::new(Trigger { desc: desc.clone(), function: function.clone() }));
        }
        let fires = found.all().next().is_some();
        fires.then(|| Box::new(found))
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Trigger>> {
        let statement = self.before_statement.iter().chain(&self.after_statement);
        statement.chain(&self.before_row).chain(&self.instead).chain(&self.after_row)
    }

    /// Whether some see rows that are written.
    pub fn see_rows(&self) -> bool {
        !(self.before_row.is_empty() && self.after_row.is_empty()) || self.keeps_rows
    }
}

/// The positions of the columns that triggers see.
pub fn seen(table: &BoundTable) -> impl Iterator<Item = usize> + '_ {
    table.desc.columns.iter().enumerate().filter(|(_, column)| !column.hidden).map(|(position, _)| position)
}
