//! The ACC engine, as the conformance suite opens it.

use crate::engines::{default_segments, small_segments};
use scaledb_acc::{Acc, Config, IndexUpdates, Rules};
use scaledb_base::Result;
use scaledb_engine::Access;
use scaledb_log::Log;
use scaledb_sync::Arc;
use scaledb_sync::clock::Source;
use scaledb_verify::conformance::{
    Counted, Differences, Hunt, Hunted, KeepsFiles, Programs, Purpose, Subject,
};
use scaledb_verify::disk::SimDisk;
use scaledb_verify::history::{Kind, Mix};
use std::time::Duration;

/// The ACC engine under test.
pub(crate) struct OnAcc;

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();
/// Entries are collected, and merged in batches of two.
const HASHED_2: Kind = Kind::new(Access::Hashed, Some(2));
const ORDERED_2: Kind = Kind::new(Access::Ordered, Some(2));
/// Each commit writes the trees.
const HASHED_0: Kind = Kind::new(Access::Hashed, Some(0));
const ORDERED_0: Kind = Kind::new(Access::Ordered, Some(0));

/// Those without a batch of their own update their indexes at commit and in batches by turns.
const SCHEDULED: [Kind; 4] = [ORDERED_2, HASHED_2, ORDERED, HASHED];

impl Subject for OnAcc {
    type Engine = Acc;

    const NAME: &'static str = "acc";

    const DIFFERENCES: Differences = Differences {
        merges: true,
        groups_of_columns: true,
        keeps_snapshots: true,
        unique_timestamps: true,
        refuses_more: false,
        names_what_changed: true,
        tables_of_steps: &[
            HASHED,
            ORDERED,
            HASHED_0,
            ORDERED_0,
            Kind::new(Access::Hashed, Some(1)),
            Kind::new(Access::Ordered, Some(1)),
            Kind::new(Access::Hashed, Some(3)),
            Kind::new(Access::Ordered, Some(3)),
        ],
        tables: &[HASHED, ORDERED, HASH_ONLY, HASHED_0, ORDERED_0, HASHED_2, ORDERED_2],
        tables_that_split: &[
            HASHED.epoch_us(200),
            ORDERED.epoch_us(200),
            ORDERED_2.epoch_us(200),
            HASHED_2.epoch_us(200),
            ORDERED_0.epoch_us(200),
        ],
        queues: &[HASHED, ORDERED, ORDERED_2, ORDERED_0],
        // no divisor in common with the kinds of tables and the numbers of threads
        configurations: 9,
        seconds: 12.0,
        transactions: 3000,
        programs: Programs {
            schedules: 20_000,
            inserts: &[ORDERED_2, ORDERED],
            full: &[ORDERED_2, ORDERED_0, HASHED_0, ORDERED],
            row: HASHED_2,
            others: &SCHEDULED,
        },
        crash_points: 100_000,
    };

    fn open(purpose: Purpose<'_>) -> Result<Acc> {
        Acc::open(config(purpose))
    }

    #[cfg(feature = "mutations")]
    fn mutations() -> Vec<scaledb_verify::conformance::Mutation> {
        use scaledb_acc::Rule;
        use scaledb_verify::conformance::{Mutation, Noticed};
        let noticed = |rule| match rule {
            Rule::PinFirst | Rule::ConfirmBoundary | Rule::TimestampBeforeBoundaries => {
                Noticed::BySchedules(&["snapshots"])
            }
            Rule::FloorBehindAnnouncement => Noticed::BySchedules(&["versions"]),
            Rule::LeaveTick => Noticed::BySchedules(&["deletes", "inserts"]),
            Rule::PostBeforeTimestamp => Noticed::BySchedules(&["inserts", "splits"]),
            Rule::Seqlock => Noticed::BySchedules(&["lengths", "deletes"]),
            Rule::LookAgain => Noticed::BySchedules(&["deletes", "full"]),
            _ if Rule::OF_DURABILITY.contains(&rule) => Noticed::ByDurability,
            _ => Noticed::ByHistories,
        };
        let rules = Rule::ALL.into_iter().chain(Rule::OF_DURABILITY);
        rules.map(|rule| Mutation { rule: format!("{rule:?}"), noticed: noticed(rule) }).collect()
    }
}

impl KeepsFiles for OnAcc {
    fn log(engine: &Acc) -> &Arc<Log> {
        engine.log().expect("a directory")
    }

    fn inspect(disk: &SimDisk) -> Result<Counted> {
        let (recovered, found) = Acc::inspect(config(Purpose::Kept { disk, without: None }))?;
        Ok(Counted { from_checkpoint: recovered.rows, rows: found.rows, indexes: found.indexes })
    }
}

impl Hunted for OnAcc {
    fn hunt(seed: u64) -> Hunt {
        let short = Mix { operations: 4, savepoint: 2, yields: 15, ..Mix::ALL };
        let snapshots = Mix { snapshots: 250, deferrable: 0, yields: 25, ..Mix::ALL };
        let churn = Mix { yields: 25, ..Mix::CHURN };
        let batch = |kind: Kind, batch| Kind { merge_batch: Some(batch), ..kind };
        let (tables, keys, mix) = match seed % 10 {
            0 => (vec![ORDERED], 8, short),
            1 => (vec![HASHED], 30, Mix { yields: 30, ..Mix::ALL }),
            2 => (vec![ORDERED_2], 300, churn),
            3 => (vec![ORDERED], 16, snapshots),
            4 => (vec![batch(HASHED, 3)], 500, churn),
            5 => (vec![ORDERED_0, ORDERED], 6, short),
            // with entries that wait for longer than clean-up does
            6 if seed % 20 == 6 => (vec![batch(ORDERED, 256).plain()], 1000, churn),
            6 => (vec![batch(ORDERED, 8).plain()], 1000, churn),
            7 => (vec![HASHED.plain()], 3, Mix { update: 60, get: 60, ..short }),
            8 => (vec![batch(HASHED, 1)], 12, snapshots),
            _ => (vec![ORDERED], 6, Mix { savepoint: 40, operations: 3, ..Mix::ALL }),
        };
        Hunt { tables, keys, mix }
    }
}

#[cfg(feature = "mutations")]
fn rules(without: Option<&str>) -> Rules {
    use scaledb_acc::Rule;
    let mut all = Rule::ALL.into_iter().chain(Rule::OF_DURABILITY);
    let rule = without.and_then(|name| all.find(|rule| format!("{rule:?}") == name));
    rule.map_or(Rules::default(), Rules::without)
}

#[cfg(not(feature = "mutations"))]
fn rules(_: Option<&str>) -> Rules {
    Rules::default()
}

fn config(purpose: Purpose<'_>) -> Config {
    let base = Config::default();
    match purpose {
        Purpose::Steps => base,
        Purpose::History(number) => history(number),
        Purpose::Hunt { seed, without } => {
            // the rules are about entries that are collected
            let small = Config {
                indexlet_slots: 16,
                phantomlet_cells: 2,
                background: false,
                index_updates: IndexUpdates::Collected,
                merge_epoch: Duration::from_millis(10),
                rules: rules(Some(without)),
                ..base
            };
            match seed % 10 {
                1 => Config { merge_epoch: Duration::from_micros(100), ..small },
                3 => Config { background: true, merge_epoch: Duration::from_micros(50), ..small },
                6 => Config { indexlet_slots: 64, ..small },
                _ => small,
            }
        }
        Purpose::Schedule { seed, full, without } => Config {
            indexlet_slots: if full { 2 } else { 32 },
            phantomlet_cells: 1 + seed as usize % 3,
            merge_epoch: Duration::from_nanos(if seed % 2 == 0 { 400 } else { 100_000 }),
            background: false,
            rules: rules(without),
            ..base
        },
        Purpose::Disk { disk, seed: _, sync } => Config {
            clock: Some(Source::Counter),
            indexlet_slots: 64,
            phantomlet_cells: 4,
            background: false,
            durability: Some(small_segments(disk, sync)),
            ..base
        },
        Purpose::Kept { disk, without } => Config {
            background: false,
            rules: rules(without),
            durability: Some(default_segments(disk)),
            ..base
        },
    }
}

/// Settings under which rare paths are common; the first ones with indexes that are updated by turns as well.
fn history(number: u64) -> Config {
    let small = Config { indexlet_slots: 16, phantomlet_cells: 2, ..Config::default() };
    let config = match number % 4 {
        _ if number == 8 => Config::default(),
        0 => Config { merge_epoch: Duration::from_micros(50), ..small },
        1 => Config { background: false, merge_epoch: Duration::from_secs(1), ..small },
        2 => Config { indexlet_slots: 256, phantomlet_cells: 4, ..small },
        _ => Config {
            phantomlet_cells: 1,
            merge_epoch: Duration::from_micros(500),
            background: false,
            ..small
        },
    };
    match number {
        4..8 => Config { index_updates: IndexUpdates::Alternating, ..config },
        _ => config,
    }
}
