//! What the workers of a database share.

use crate::config::Config;
use crate::contention::Contention;
use crate::lane::{Lane, NONE};
use crate::retain::Snapshots;
use crate::table::AccTable;
use scaledb_kit::{Core, Regulation, WORKERS};
use scaledb_sync::atomic::{AtomicU64, Ordering, fence};
use scaledb_sync::{CachePadded, names};
use std::ops::Deref;
use std::time::Duration;

/// What the workers of a database share.
pub struct AccShared {
    pub(crate) config: Config,
    core: Core<AccTable>,
    /// The default merge epoch.
    pub(crate) epoch_ticks: u64,
    pub(crate) lanes: Box<[CachePadded<Lane>]>,
    /// At most the generation of every commit in flight.
    flights_since: CachePadded<AtomicU64>,
    pub(crate) snapshots: Snapshots,
    pub(crate) contention: Contention,
}

impl Deref for AccShared {
    type Target = Core<AccTable>;

    #[inline(always)]
    fn deref(&self) -> &Core<AccTable> {
        &self.core
    }
}

impl AccShared {
    /// An empty database whose clock starts after `after`, in ticks.
    pub(crate) fn new(config: Config, after: u64) -> Self {
        let regulation =
            Regulation { fixed: None, most: Duration::from_micros(500), falls_without_conflicts: true };
        let core = Core::new(config.clock, after, config.memory_budget, regulation);
        let shared = Self {
            epoch_ticks: core.clock.ticks(config.merge_epoch),
            lanes: (0..WORKERS).map(|_| CachePadded(Lane::new())).collect(),
            flights_since: CachePadded(AtomicU64::new(0)),
            snapshots: Snapshots::new(&core.clock),
            contention: Contention::new(&core.clock),
            core,
            config,
        };
        names::name_all(&shared.lanes, "lane");
        names::name_of(&**shared.generation, "tree.generation");
        shared
    }

    /// A generation at or before that of every commit in flight, and of every one to come: raised first.
    ///
    /// A commit that begins meanwhile with an older generation takes the part of a leaf that it finds unlocked after
    /// its pin is out. The split that raised `generation` to this value had locked the leaves before; so that part is
    /// of this generation or a later one. (A leaf that was read before the pin counts if it is unchanged *and
    /// unlocked*: see [`is_undisturbed`](scaledb_index::btree::BTree::is_undisturbed).)
    pub(crate) fn raise_flights_since(&self) -> u64 {
        let now = self.generation.load(Ordering::SeqCst);
        let workers = self.domain.workers();
        let before = self.flights_since.load(Ordering::Acquire);
        if now < before + workers as u64 / 2 && !scaledb_sync::MODEL {
            // for little memory a cache miss of every lane's owner is too dear
            return before;
        }
        fence(Ordering::SeqCst); // pairs with the SeqCst store of the pin
        let bound = self.lanes[..workers]
            .iter()
            .map(|lane| {
                // pairs with the Release in `end_flight`
                let generation = lane.flight_generation.load(Ordering::Acquire);
                #[cfg(all(test, not(any(loom, shuttle))))]
                tests::pause();
                generation
            })
            .fold(now, u64::min);
        if bound <= before {
            return before;
        }
        // pairs with the Acquire above: whoever goes by the bound sees the lists of the commits that have ended
        self.flights_since.fetch_max(bound, Ordering::AcqRel).max(bound)
    }

    /// Raises the generation up to which nobody needs the inherited parts of a table's leaves, and returns it. A key
    /// that is posted under a part and not merged yet is that of a commit in flight, or on a list of this table:
    ///
    /// ```text
    ///   needed_after <= min(commits in flight, the table's lists)        the lists are read last
    /// ```
    ///
    /// A commit that is not seen in flight has ended, and its items are seen; or it begins later.
    pub(crate) fn raise_needed_after(&self, table: &AccTable) -> u64 {
        let flights = self.raise_flights_since();
        table.raise_needed_after(flights.min(table.unmerged_generation(self.domain.workers())))
    }

    /// The earliest pin, or [`NONE`].
    pub(crate) fn min_pin(&self) -> u64 {
        fence(Ordering::SeqCst); // pairs with the SeqCst store of the pin
        self.lanes[..self.domain.workers()]
            .iter()
            .map(|lane| lane.pin_ticks.load(Ordering::Acquire))
            .fold(NONE, u64::min)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::record::Record;
    use scaledb_engine::{Engine, TableDef};
    use scaledb_index::phantomlet::CellId;
    use scaledb_row::{Column, ColumnType, KeyPart, Schema};
    use scaledb_sync::Arc;
    use std::cell::RefCell;

    thread_local! {
        /// What others do behind a look at the first lane.
        static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    pub(super) fn pause() {
        if let Some(meanwhile) = MEANWHILE.take() {
            meanwhile();
        }
    }

    /// Commits that have read a generation from before some splits begin and end while the lanes are looked at.
    #[test]
    fn the_generation_of_who_may_have_posted_is_not_forgotten() {
        for ends in [false, true] {
            let db = crate::Acc::open(Config { background: false, ..Config::default() }).unwrap();
            let schema = Schema::new(vec![Column::new("id", ColumnType::Int4)], &[KeyPart::asc(0)]).unwrap();
            let id = db.create_table(TableDef::new("t", schema)).unwrap().id;
            let shared = Arc::clone(db.shared());
            let table = shared.tables.get(id).unwrap();
            let _first = shared.domain.register().unwrap();
            let mut local = shared.domain.register().unwrap();
            let generation = shared.generation.load(Ordering::SeqCst);
            let (lane, theirs) = (local.id().index(), shared.clone());
            if ends {
                shared.lanes[lane].lock().pin(generation, 1);
                shared.generation.fetch_add(10, Ordering::SeqCst);
            }
            MEANWHILE.set(Some(Box::new(move || {
                if ends {
                    local.enter();
                    let record = Record::create(&mut local, 1, b"key", &[1]).unwrap();
                    let mine = theirs.tables.get(id).unwrap().of_me(&mut local).unwrap();
                    mine.list.push(&mut local, record, CellId(0), 1, generation).unwrap();
                    theirs.lanes[lane].lock().end_flight();
                    local.exit();
                } else {
                    theirs.lanes[0].lock().pin(generation, 1);
                    theirs.generation.fetch_add(10, Ordering::SeqCst);
                }
            })));
            assert!(shared.raise_needed_after(table) <= generation, "{ends}");
            assert!(MEANWHILE.take().is_none(), "it was done");
        }
    }
}
