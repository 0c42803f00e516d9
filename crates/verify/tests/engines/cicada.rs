//! The Cicada engine, as the conformance suite opens it.

use crate::engines::{default_segments, small_segments};
use scaledb_base::Result;
use scaledb_cicada::{Cicada, Clocks, Config, Rules};
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

/// The Cicada engine under test.
pub(crate) struct OnCicada;

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();
const SCANNED: [Kind; 2] = [ORDERED, HASHED];

impl Subject for OnCicada {
    type Engine = Cicada;

    const NAME: &'static str = "cicada";

    const DIFFERENCES: Differences = Differences {
        merges: false,
        groups_of_columns: false,
        keeps_snapshots: true,
        unique_timestamps: true,
        refuses_more: false,
        names_what_changed: true,
        tables_of_steps: &[HASHED, ORDERED],
        tables: &[HASHED, ORDERED, HASH_ONLY],
        tables_that_split: &[HASHED, ORDERED],
        queues: &[HASHED, ORDERED],
        configurations: 6,
        seconds: 8.0,
        transactions: 3000,
        programs: Programs {
            schedules: 10_000,
            inserts: &SCANNED,
            full: &SCANNED,
            row: HASHED,
            others: &SCANNED,
        },
        crash_points: 50_000,
    };

    fn open(purpose: Purpose<'_>) -> Result<Cicada> {
        Cicada::open(config(purpose))
    }

    #[cfg(feature = "mutations")]
    fn mutations() -> Vec<scaledb_verify::conformance::Mutation> {
        use scaledb_cicada::Rule;
        use scaledb_verify::conformance::{Mutation, Noticed};
        let noticed = |rule| match rule {
            Rule::HonourPending => Noticed::ByBoth(&["lengths", "inserts"]),
            Rule::LookUp => Noticed::BySchedules(&["hot"]),
            _ if Rule::OF_DURABILITY.contains(&rule) => Noticed::ByDurability,
            _ => Noticed::ByHistories,
        };
        let rules = Rule::ALL.into_iter().chain(Rule::OF_DURABILITY);
        rules.map(|rule| Mutation { rule: format!("{rule:?}"), noticed: noticed(rule) }).collect()
    }
}

impl KeepsFiles for OnCicada {
    fn log(engine: &Cicada) -> &Arc<Log> {
        engine.log().expect("a directory")
    }

    fn inspect(disk: &SimDisk) -> Result<Counted> {
        let (recovered, found) = Cicada::inspect(config(Purpose::Kept { disk, without: None }))?;
        Ok(Counted { from_checkpoint: recovered.rows, rows: found.rows, indexes: found.indexes })
    }
}

impl Hunted for OnCicada {
    fn hunt(seed: u64) -> Hunt {
        let snapshots = Mix { snapshots: 300, deferrable: 0, yields: 25, ..Mix::ALL };
        let short = Mix { operations: 4, savepoint: 2, yields: 15, ..Mix::ALL };
        let churn = Mix { yields: 25, ..Mix::CHURN };
        let deletes =
            Mix { delete: 40, insert: 40, get: 40, update: 5, yields: 20, operations: 5, ..Mix::ALL };
        let (kind, keys, mix) = match seed % 10 {
            0 => (ORDERED, 8, short),
            1 => (HASHED, 30, Mix { yields: 30, ..Mix::ALL }),
            2 => (ORDERED, 300, churn),
            3 => (HASHED, 16, snapshots),
            4 => (ORDERED.plain(), 1000, churn),
            5 => (HASHED.plain(), 3, Mix { update: 60, get: 60, ..short }),
            6 => (HASHED.plain(), 6, deletes),
            7 => (ORDERED.plain(), 12, deletes),
            8 => (HASHED.plain(), 3, Mix { update: 80, get: 80, yields: 50, ..short }),
            _ => (ORDERED, 6, Mix { savepoint: 40, operations: 3, ..Mix::ALL }),
        };
        Hunt { tables: vec![kind], keys, mix }
    }
}

#[cfg(feature = "mutations")]
fn rules(without: Option<&str>) -> Rules {
    use scaledb_cicada::Rule;
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
    // what is superseded is reclaimed at once
    let eager = Config { background: false, quiescence: Duration::ZERO, ..base.clone() };
    match purpose {
        Purpose::Steps => base,
        Purpose::History(number) => history(number),
        Purpose::Hunt { seed, without } => {
            let eager = Config { rules: rules(Some(without)), ..eager };
            let boosted = |us| Config { boost: Duration::from_micros(us), ..eager.clone() };
            match seed % 10 {
                1 | 7 => Config { clocks: Clocks::Loose, ..eager },
                4 => Config { inline_words: 0, ..boosted(300) },
                5 => boosted(300),
                8 => boosted(2_000),
                _ => eager,
            }
        }
        Purpose::Schedule { seed, full: _, without } => Config {
            guards: 2 + seed as usize % 3,
            clocks: if seed % 3 == 0 { Clocks::Loose } else { Clocks::Synchronized },
            quiescence: Duration::from_nanos(if seed % 2 == 0 { 0 } else { 1000 }),
            inline_words: [0, 27, 1000][seed as usize % 3],
            background: false,
            rules: rules(without),
            ..base
        },
        Purpose::Disk { disk, seed, sync } => Config {
            clock: Some(Source::Counter),
            clocks: if seed.is_multiple_of(3) { Clocks::Loose } else { Clocks::Synchronized },
            inline_words: if seed.is_multiple_of(2) { 27 } else { 0 },
            guards: 4,
            durability: Some(small_segments(disk, sync)),
            ..eager
        },
        Purpose::Kept { disk, without } => {
            Config { rules: rules(without), durability: Some(default_segments(disk)), ..eager }
        }
    }
}

/// Settings under which rare paths are common.
fn history(number: u64) -> Config {
    let few = Config { guards: 4, ..Config::default() };
    let no_rest = Duration::ZERO;
    match number {
        0 => Config::default(),
        1 => Config { quiescence: no_rest, ..few },
        2 => Config { clocks: Clocks::Loose, ..few },
        3 => Config { background: false, inline_words: 0, quiescence: no_rest, ..Config::default() },
        4 => Config { inline_words: 1000, quiescence: no_rest, boost: Duration::from_micros(50), ..few },
        _ => Config { clocks: Clocks::Loose, background: false, quiescence: no_rest, ..Config::default() },
    }
}
