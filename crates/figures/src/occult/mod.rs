//! The figures of Occult, as chapters 2 and 4 of S. A. Mehdi's dissertation have them. Figure 4.6f is not there: the
//! text does not say what it shows.

mod nodes;
mod real;
mod singles;
mod transactions;

use scaledb_evidence::{Failure, Figure, Form, Made, Run};
use scaledb_occult::{Micros, Shape};
use scaledb_occult_bench::yard::{Setup, Store, Yard};
use scaledb_occult_bench::{Keys, Yield};
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;

/// Where it is published.
const PAPER: &str = "S. A. Mehdi's dissertation, chapter 4";
/// Four entries: two for each datacenter.
const FOUR: Shape = Shape::Isolated(2);

/// All of them.
pub fn figures() -> Vec<Figure> {
    let yard = Arc::new(Yards::default());
    let mut figures = nodes::cascades();
    figures.extend(singles::figures(&yard));
    figures.extend(transactions::figures(&yard));
    figures.extend(nodes::figures(&yard));
    figures.extend(real::figures());
    figures
}

/// How simulated points are made.
fn simulated() -> Made {
    Made::Simulated(
        "the sessions and shards of Occult on servers in virtual time, with the costs that real ones had"
            .to_owned(),
    )
}

/// What is not as in the paper, of each figure of a simulated cluster.
const NOT_AS_IN_THE_PAPER: &str = "80 simulated servers, half of them masters, in two datacenters 39 ms apart, clocks 22 ms \
     apart; a command costs what it cost in redis-server 7.0.15 on this project's machine, and networks have no \
     limit, where the paper's clusters were limited by theirs. Masters send beats every millisecond.";

/// What has been simulated in this process.
#[derive(Default)]
struct Yards {
    known: Mutex<HashMap<String, Yield>>,
}

impl Yards {
    /// Runs a cluster, unless the same was run before.
    fn run(&self, run: &Run<'_>, setup: Setup) -> Yield {
        let Setup { store, sessions, writes, transaction, lock_retries, keys, .. } = &setup;
        let text = format!(
            "{store:?} {sessions} sessions {writes} % writes {transaction:?} {lock_retries} {} {} {:?} {:?}",
            keys.is_skewed(),
            setup.seed,
            run.form,
            setup.slow,
        );
        if let Some(known) = self.known.lock().get(&text) {
            return known.clone();
        }
        (run.progress)(&format!("simulated: {text}"));
        let yielded = Yard::new(setup).run();
        self.known.lock().insert(text, yielded.clone());
        yielded
    }
}

/// A cluster of the paper's size, or of a size that seconds are enough for.
fn setup(run: &Run<'_>, store: Store) -> Setup {
    let full = Setup { seed: run.seed, sessions: 2_000, ..Setup::paper(store) };
    let millis = |millis: u64| Micros(1_000 * millis);
    match run.form {
        Form::Full => Setup { warmup: millis(300), measured: millis(500), ..full },
        Form::Quick => Setup {
            groups: 4,
            sessions: 24,
            keys: Keys::new(10_000, true),
            warmup: millis(80),
            measured: millis(80),
            ..full
        },
    }
}

/// The schemes of compression, each with its numbers of entries: for `isolated` of both datacenters together.
fn schemes(run: &Run<'_>) -> Vec<(&'static str, Vec<(f64, Shape)>)> {
    let counts: &[u8] = if run.form == Form::Quick { &[4] } else { &[2, 4, 8, 16] };
    let of = |shape: &dyn Fn(u8) -> Shape, least: u8| -> Vec<(f64, Shape)> {
        counts.iter().filter(|n| **n >= least).map(|&n| (f64::from(n), shape(n))).collect()
    };
    let mut temporal = of(&Shape::Temporal, 2);
    temporal.insert(0, (1.0, Shape::Temporal(1)));
    vec![
        ("structural", of(&Shape::Structural, 2)),
        ("temporal (one entry: as Pileus)", temporal),
        ("isolated", of(&|n| Shape::Isolated(n / 2), 4)),
    ]
}

/// Errors of real servers, as figures have them.
fn failure(error: scaledb_occult_bench::real::Unmeasured) -> Failure {
    use scaledb_occult_bench::real::Unmeasured;
    match error {
        Unmeasured::Missing(what) => Failure::Missing(what.to_owned()),
        Unmeasured::Failed(what) => Failure::Failed(what.into()),
    }
}
