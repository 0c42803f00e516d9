//! The figures of *SCAR: Strong Consistency using Asynchronous Replication with Minimal Coordination* (SIGMOD 2020):
//! real nodes as threads of this process, that speak TCP, with delays; all competitors of a point by turns. And
//! three of our own: what load, nodes and the length of an epoch cost.

use crate::machine;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_scar_lab::figures::{Effort, FIGURES, FigureTable};
use std::time::Duration;

const SKEW: Axis = Axis::linear("skew of reads");
const CROSS: Axis = Axis::linear("transactions of several partitions, percent");
const QUANTILE: Axis = Axis::linear("quantile");
const TIMES: Axis = Axis::linear("transactions per second, times those of OCC");
const MICROS: Axis = Axis::linear("until a transaction has its place, microseconds");
const ITEMS: Axis = Axis::names("items", &["replicated", "partitioned"]);
const DATABASE: Axis = Axis::names("database", &["partitioned", "replicated"]);
const PLACES: [&str; 3] = ["N. Virginia", "Ohio", "N. California"];
const STEPS: [&str; 9] = [
    "SCAR",
    "SCAR +LR",
    "SCAR +LR+LV",
    "SCAR +LR+LV+TS",
    "SCAR +LR+LV+TS+PLV",
    "OCC",
    "OCC +LR",
    "RC",
    "RC +LR",
];

/// What the published points are called.
const SCAR: &str = "SCAR, published";

/// How the columns of a table become curves.
#[derive(Clone, Copy)]
enum Curves {
    /// Those of competitors, times the column `OCC`.
    TimesOcc,
    /// Those of competitors, each times its first point.
    TimesFirst,
    /// These columns, as they are.
    Columns(&'static [&'static str]),
}

/// A figure: the name, where it is published, its axes, its curves, published points and what else the text says.
struct Plan {
    name: &'static str,
    source: &'static str,
    x: Axis,
    y: Axis,
    curves: Curves,
    published: Vec<Series>,
    says: &'static str,
}

/// Its figures, and ours.
pub fn figures() -> Vec<Figure> {
    let plans = plans().into_iter();
    let figure = |plan: Plan| {
        let of = FIGURES.iter().find(|figure| figure.name == plan.name)?;
        let Plan { name, source, x, y, curves, published, says } = plan;
        let measure = move |run: &Run<'_>| {
            let mut progress = |what: &str| (run.progress)(&format!("{name}: {what}"));
            let table =
                of.make(&effort(run), &mut progress).map_err(|error| Failure::Failed(error.into()))?;
            Ok(measured(&table, x, curves, says))
        };
        Some(Figure { name, title: of.title, source, x, y, published, measure: Box::new(measure) })
    };
    plans.filter_map(figure).collect()
}

fn effort(run: &Run<'_>) -> Effort {
    match run.form {
        Form::Quick => Effort { measured: Duration::from_millis(60), rounds: 1, tiny: true, seed: run.seed },
        Form::Full => Effort { measured: Duration::from_secs(3), rounds: 5, tiny: false, seed: run.seed },
    }
}

fn plans() -> Vec<Plan> {
    let plan =
        |name, source, x, y, curves| Plan { name, source, x, y, curves, published: Vec::new(), says: "" };
    let of_ours = "no figure of a paper";
    let per_skew = |name, source| plan(name, source, SKEW, TIMES, Curves::TimesOcc);
    let latency = |name, source| {
        plan(
            name,
            source,
            QUANTILE,
            MICROS,
            Curves::Columns(&["SCAR", "SCAR of the paper", "OCC", "S2PL", "RC"]),
        )
    };
    let factors = |name, source| {
        let y = Axis::linear("transactions per second, times those without any");
        plan(name, source, Axis::names("with", &STEPS), y, Curves::Columns(&["times its base"]))
    };
    let points =
        |name: &str, place, points: &[(f64, f64)]| Series::published(name, place, points.iter().copied());
    vec![
        Plan {
            published: vec![points(SCAR, "section 8.2.1", &[(0.0, 1.41), (2.4, 1.9)])],
            ..per_skew("scar-7a", "Figure 7a of SCAR (SIGMOD 2020)")
        },
        Plan {
            says: "The paper says of SCAR that it is up to 1.7 times OCC.",
            ..plan("scar-7b", "Figure 7b of SCAR (SIGMOD 2020)", CROSS, TIMES, Curves::TimesOcc)
        },
        Plan {
            says: "From a transaction's first attempt, retries included.",
            ..latency("scar-7c", "Figure 7c of SCAR (SIGMOD 2020)")
        },
        Plan {
            published: vec![points(SCAR, "sections 8.2.2 and 8.3", &[(1.2, 1.62), (2.4, 1.75)])],
            ..per_skew("scar-8a", "Figure 8a of SCAR (SIGMOD 2020)")
        },
        Plan {
            says: "The paper says of SCAR that it is up to 1.65 times OCC.",
            ..plan("scar-8b", "Figure 8b of SCAR (SIGMOD 2020)", CROSS, TIMES, Curves::TimesOcc)
        },
        Plan {
            says: "From a transaction's first attempt, retries included.",
            ..latency("scar-8c", "Figure 8c of SCAR (SIGMOD 2020)")
        },
        Plan {
            published: vec![points(SCAR, "section 8.2.3", &[(1.0, 1.32)])],
            says: "With replicated items the paper has SCAR slightly below OCC. A tenth of TPC-C's customers and items here.",
            ..plan("scar-9", "Figure 9 of SCAR (SIGMOD 2020)", ITEMS, TIMES, Curves::TimesOcc)
        },
        Plan {
            published: vec![
                points(SCAR, "section 8.4", &[(1.0, 1.0), (8.0, 2.2)]),
                points("OCC, published", "section 8.4", &[(1.0, 1.0), (8.0, 1.52)]),
                points("RC, published", "section 8.4", &[(1.0, 1.0), (8.0, 2.4)]),
            ],
            says: "Published are 8 replicas at 8 nodes; here are 4 nodes.",
            ..plan(
                "scar-10",
                "Figure 10 of SCAR (SIGMOD 2020)",
                Axis::linear("replicas"),
                Axis::linear("transactions per second, times those with one replica"),
                Curves::TimesFirst,
            )
        },
        Plan {
            published: vec![points(SCAR, "section 8.3", &[(0.0, 1.41), (1.0, 2.3)])],
            ..plan("scar-11", "Figure 11 of SCAR (SIGMOD 2020)", DATABASE, TIMES, Curves::TimesOcc)
        },
        Plan {
            published: vec![points("SCAR under SI, published", "section 8.5", &[(0.6, 1.27), (2.4, 2.11)])],
            ..plan(
                "scar-12",
                "Figure 12 of SCAR (SIGMOD 2020)",
                SKEW,
                Axis::linear("snapshot isolation, times serializable"),
                Curves::Columns(&["SI/serializable"]),
            )
        },
        Plan {
            published: vec![points(SCAR, "section 8.6", &[(0.6, 58.0), (2.4, 40.0)])],
            says: "Published: by equality of the two times. Here a transaction counts also if its reads are known to be valid \
                   when it writes.",
            ..plan(
                "scar-13",
                "Figure 13 of SCAR (SIGMOD 2020)",
                SKEW,
                Axis::linear("transactions that were serializable, percent"),
                Curves::Columns(&["serializable %"]),
            )
        },
        Plan {
            published: vec![points(
                "published",
                "section 8.7.1",
                &[
                    (0.0, 1.0),
                    (1.0, 1.2),
                    (2.0, 1.7),
                    (3.0, 1.8),
                    (5.0, 1.0),
                    (6.0, 1.1),
                    (7.0, 1.0),
                    (8.0, 1.23),
                ],
            )],
            says: FACTORS,
            ..factors("scar-14a", "Figure 14a of SCAR (SIGMOD 2020)")
        },
        Plan {
            published: vec![points(
                "published",
                "section 8.7.1",
                &[(0.0, 1.0), (3.0, 1.8), (5.0, 1.0), (6.0, 1.15), (7.0, 1.0), (8.0, 1.29)],
            )],
            says: FACTORS,
            ..factors("scar-14b", "Figure 14b of SCAR (SIGMOD 2020)")
        },
        Plan {
            says: "The paper says that PLV adds 0.05 without skew, and up to 0.67 with a high one.",
            ..plan(
                "scar-14c",
                "Figure 14c of SCAR (SIGMOD 2020)",
                SKEW,
                Axis::linear("snapshot isolation, times serializable"),
                Curves::Columns(&["SI times", "SI +PLV times"]),
            )
        },
        Plan {
            published: vec![
                points("to N. Virginia, published", "table 1", &[(1.0, 11.314), (2.0, 60.957)]),
                points("to Ohio, published", "table 1", &[(0.0, 11.326), (2.0, 50.043)]),
                points("to N. California, published", "table 1", &[(0.0, 60.949), (1.0, 50.002)]),
            ],
            says: "Added is half of the published round trip each way; the rest is this machine.",
            ..plan(
                "scar-table-1",
                "Table 1 of SCAR (SIGMOD 2020)",
                Axis::names("from", &PLACES),
                Axis::linear("round trip, milliseconds"),
                Curves::Columns(&PLACES),
            )
        },
        Plan {
            says: "A node is one thread: with one client it waits while messages are under way, as a worker of the paper does; \
                   with many it is never idle, and what counts is the processor time of a transaction.",
            ..plan(
                "scar-clients",
                of_ours,
                Axis::logarithmic("clients of each node"),
                TIMES,
                Curves::TimesOcc,
            )
        },
        Plan {
            says: "One node has no replicas and sends nothing; three and more keep three replicas of each partition. All nodes \
                   share the processors of this machine, so that more nodes are no more power.",
            ..plan(
                "scar-nodes",
                of_ours,
                Axis::linear("nodes"),
                Axis::linear("microseconds"),
                Curves::Columns(&["median", "of a hundred 99", "cpu"]),
            )
        },
        Plan {
            says: "A commit waits for the next epoch from the barrier on, so short epochs cost transactions, and long ones time: \
                   results leave with the epoch.",
            ..plan(
                "scar-barrier",
                of_ours,
                Axis::logarithmic("length of an epoch, milliseconds"),
                Axis::linear("transactions per second"),
                Curves::Columns(&["per second"]),
            )
        },
    ]
}

const FACTORS: &str = "LR: local reads; LV: local validation; TS: time synchronization; PLV: locks and reads asked for \
                       together, which under serializability is ours.";

/// The curves of a table; what they do not show is noted.
fn measured(table: &FigureTable, x: Axis, curves: Curves, says: &str) -> Measured {
    let column = |name: &str| table.columns.iter().position(|column| column == name);
    let xs = table.rows.iter().map(|(name, _)| place(x, name));
    let values = |column: usize| table.rows.iter().map(move |(_, values)| values[column]);
    let competitors: Vec<&str> = table
        .columns
        .iter()
        .map(String::as_str)
        .filter(|name| column(&format!("{name} cpu")).is_some())
        .collect();
    let curve = |name: &str, values: Vec<f64>| {
        // a place has no round trip to itself
        let points = xs.clone().zip(values).filter(|(_, value)| *value > 0.0);
        Series::new(name, machine::here(), points)
    };
    let mut series = Vec::new();
    let mut notes = vec![says.to_owned()];
    notes.retain(|note| !note.is_empty());
    match curves {
        Curves::Columns(names) => {
            let found = names.iter().filter_map(|name| Some((name, column(name)?)));
            series.extend(found.map(|(name, column)| curve(name, values(column).collect())));
        }
        Curves::TimesFirst => {
            for name in &competitors {
                let Some(column) = column(name) else { continue };
                let first = values(column).next().unwrap_or_default().max(f64::MIN_POSITIVE);
                series.push(curve(name, values(column).map(|value| value / first).collect()));
            }
        }
        Curves::TimesOcc => {
            let Some(occ) = column("OCC") else { return Measured::default() };
            for name in competitors.iter().filter(|name| **name != "OCC") {
                let Some(column) = column(name) else { continue };
                let times =
                    values(column).zip(values(occ)).map(|(value, occ)| value / occ.max(f64::MIN_POSITIVE));
                series.push(curve(name, times.collect()));
            }
            // what others do at the same time on this machine is not in it
            if let (Some(ours), Some(occ)) = (column("SCAR cpu"), column("OCC cpu")) {
                let times =
                    values(occ).zip(values(ours)).map(|(occ, ours)| occ / ours.max(f64::MIN_POSITIVE));
                series.push(curve("SCAR, per processor time", times.collect()));
            }
        }
    }
    notes.extend(table.rows.iter().map(|(name, values)| {
        let all = table.columns.iter().zip(values).filter(|(_, value)| **value > 0.0);
        let all: Vec<String> = all.map(|(column, value)| format!("{column} {}", short(*value))).collect();
        format!("{} {name}: {}", x.label, all.join(", "))
    }));
    notes.extend(table.notes.iter().cloned());
    Measured { series, notes }
}

/// Where a row lies.
fn place(x: Axis, name: &str) -> f64 {
    match x.scale {
        scaledb_evidence::Scale::Names(names) => {
            names.iter().position(|known| *known == name).unwrap_or_default() as f64
        }
        _ => name.parse().unwrap_or_default(),
    }
}

fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
