//! `scaledb bench staleness`.

use crate::Result;
use crate::args::BenchArgs;
use crate::output::say;
use scaledb_engine::Engine;
use scaledb_workloads::staleness;

pub(super) fn run<E: Engine>(args: &BenchArgs, engine: &E) -> Result {
    let writers = args.threads().saturating_sub(1).max(1);
    let found = staleness::measure(engine, writers, args.seconds)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        say!(
            "  {} snapshots beside {writers} writing: {:.1} us old on average, p50 {:.1}, p99 {:.1}, p99.9 {:.1}, at most {:.1}",
            found.count,
            found.mean_us,
            found.p50_us,
            found.p99_us,
            found.p999_us,
            found.max_us
        );
    }
    Ok(true)
}
