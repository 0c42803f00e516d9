//! The reference engine, as the conformance suite opens it. It has no settings: it is correct because it is simple.

use scaledb_base::Result;
use scaledb_engine::Access;
use scaledb_verify::conformance::{Differences, Programs, Purpose, Subject};
use scaledb_verify::history::Kind;
use scaledb_verify::reference::Reference;

const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();

/// The reference engine under test.
pub(crate) struct OnReference;

impl Subject for OnReference {
    type Engine = Reference;

    const NAME: &'static str = "reference";

    const DIFFERENCES: Differences = Differences {
        merges: false,
        groups_of_columns: true,
        keeps_snapshots: true,
        unique_timestamps: true,
        refuses_more: false,
        names_what_changed: true,
        tables_of_steps: &[ORDERED],
        tables: &[ORDERED, HASH_ONLY],
        tables_that_split: &[ORDERED],
        queues: &[ORDERED],
        configurations: 1,
        // it shows that the suite asks for what an engine can do, and finds nothing by itself
        seconds: 0.5,
        transactions: 3000,
        programs: Programs {
            schedules: 0,
            inserts: &[ORDERED],
            full: &[ORDERED],
            row: ORDERED,
            others: &[ORDERED],
        },
        crash_points: 0,
    };

    fn open(_: Purpose<'_>) -> Result<Reference> {
        Ok(Reference::new())
    }
}
