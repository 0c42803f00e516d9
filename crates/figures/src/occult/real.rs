//! What real servers take: section 4.6.2.3, and the costs that the simulations use.

use super::{PAPER, failure};
use crate::machine;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_occult_bench::Costs;
use scaledb_occult_bench::real::{Effort, compare, costs};

const RATIOS: &[&str] = &[
    "goodput of busy servers, 95 % reads",
    "goodput, 75 % reads",
    "bytes sent",
    "bytes received",
    "memory of a key",
];
const COMMANDS: &[&str] =
    &["GET", "SET", "SET at a replica", "READ", "WRITE", "effect at a replica", "PREPARE", "COMMIT"];

pub(super) fn figures() -> Vec<Figure> {
    vec![
        Figure {
            name: "occult-real",
            title: "Real servers with four entries, beside plain ones",
            source: PAPER,
            x: Axis::names("of a cluster of four servers", RATIOS),
            y: Axis::linear("times plain Redis"),
            published: vec![Series::published(
                "the paper",
                "sections 4.6.2.1 and 4.6.2.3",
                [(0.0, 0.913), (1.0, 0.931), (2.0, 1.088), (3.0, 1.49), (4.0, 1.03)],
            )],
            measure: Box::new(ratios),
        },
        Figure {
            name: "occult-costs",
            title: "What a server takes for a command, with values of 1 KiB",
            source: PAPER,
            x: Axis::names("command", COMMANDS),
            y: Axis::linear("microseconds of its processor"),
            published: Vec::new(),
            measure: Box::new(commands),
        },
    ]
}

fn ratios(run: &Run<'_>) -> Result<Measured, Failure> {
    (run.progress)("real servers: plain ones and ones with the module by turns");
    let full = Effort { rounds: 5, operations: 300, clients: 40, keys: 5_000, seed: run.seed };
    let effort = match run.form {
        Form::Full => full,
        Form::Quick => Effort { rounds: 1, operations: 50, clients: 2, keys: 500, ..full },
    };
    let all = compare(effort).map_err(failure)?;
    let values = [all.goodput_95, all.goodput_75, all.sent, all.received, all.memory];
    let points = values.into_iter().enumerate().map(|(at, value)| (at as f64, value));
    let series = vec![Series::new("isolated, 4 entries", machine::here(), points)];
    let notes = vec![
        format!("The median read takes {:.0} microseconds more (the paper: 50).", all.read_more),
        format!("Of 100 reads, {:.2} were stale at first.", all.stale),
        format!(
            "An idle server with the module takes {:.1} % of a processor, for beats above all: so much less is left for operations.",
            100.0 * all.idle
        ),
        format!(
            "Medians of {} rounds by turns; two masters and their replicas, 39 ms between two datacenters, {} sessions with connections of their own, \
             keys as YCSB draws them, a hundred in a slot. Other work ran on the machine, so processor time counts, and not the clock.",
            effort.rounds,
            2 * effort.clients
        ),
    ];
    Ok(Measured { series, notes })
}

fn commands(run: &Run<'_>) -> Result<Measured, Failure> {
    (run.progress)("real servers: the cost of each command");
    let rounds = if run.form == Form::Quick { 1 } else { 3 };
    let count = if run.form == Form::Quick { 200 } else { 3_000 };
    let list = |costs: Costs| {
        let Costs { get, set, set_applied, read, write, applied, prepare, small } = costs;
        [get, set, set_applied, read, write, applied, prepare, small]
    };
    let all: Vec<_> =
        (0..rounds).map(|_| costs(count).map(list)).collect::<Result<_, _>>().map_err(failure)?;
    let points = (0..COMMANDS.len()).map(|at| {
        let mut values: Vec<f64> = all.iter().map(|of| of[at]).collect();
        values.sort_by(f64::total_cmp);
        (at as f64, values[values.len() / 2])
    });
    let here = Series::new("here", machine::here(), points.collect::<Vec<_>>());
    let used = list(Costs::MEASURED).into_iter().enumerate().map(|(at, cost)| (at as f64, cost));
    let used = Series::new("in the simulations", super::simulated(), used);
    Ok(Measured {
        series: vec![here, used],
        notes: vec![format!("The median of {rounds} rounds of {count} commands.")],
    })
}
