//! Real servers: plain ones and ones with the module. `make test-occult` builds the module and runs this; elsewhere the
//! tests say that they are skipped. `SCALEDB_LONG=1` measures as much as the figures do, and prints it.

use scaledb_occult_bench::real::{Effort, Unmeasured, compare, costs};

fn long() -> bool {
    std::env::var_os("SCALEDB_LONG").is_some()
}

fn skipped<T>(result: Result<T, Unmeasured>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Unmeasured::Missing(what)) => {
            eprintln!("SKIPPED: {what}");
            None
        }
        Err(Unmeasured::Failed(what)) => panic!("{what}"),
    }
}

#[test]
fn both_stores_are_measured_by_turns() {
    let tiny = Effort { rounds: 1, operations: 40, clients: 2, keys: 2_000, seed: 1 };
    let full = Effort { rounds: 3, operations: 200, clients: 40, keys: 5_000, seed: 1 };
    let Some(ratios) = skipped(compare(if long() { full } else { tiny })) else { return };
    println!("{ratios:#?}");
    // the values of 1 KiB are most of it, and lie packed with their stamps
    assert!(ratios.memory > 0.95 && ratios.memory < 1.1, "{ratios:?}");
    assert!(ratios.goodput_95 > 0.0 && ratios.goodput_75 > 0.0, "{ratios:?}");
    assert!(ratios.received > 1.0, "{ratios:?}");
}

#[test]
fn every_command_has_a_cost() {
    let Some(costs) = skipped(costs(if long() { 3_000 } else { 100 })) else { return };
    println!("{costs:#?}");
    assert!(costs.get >= 0.0 && costs.write > 0.0 && costs.prepare >= costs.write, "{costs:?}");
}
