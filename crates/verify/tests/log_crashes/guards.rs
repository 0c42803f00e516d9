//! Guards of the log, and syncs, that are taken away one at a time: some check must fail.

use crate::damage::{Flips, flip};
use crate::hunt::{Checked, Patience, crash_after_faults, crash_again, crash_everywhere, hunt};
use crate::run::{Mutation, Plan, Trace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// All checks.
fn check(trace: &Trace, plan: Plan) -> Checked {
    let mut images = crash_everywhere(trace, plan, 3)?;
    images += crash_again(trace, plan, 1)?;
    images += crash_after_faults(trace, plan)?;
    images += flip(trace, plan, &mut Flips::default())?;
    Ok(images)
}

/// Hunts with all checks, and says what was found.
pub(crate) fn missed(name: &str, mutation: Mutation) -> bool {
    let start = Instant::now();
    // a panic of the log is as good
    let result = catch_unwind(AssertUnwindSafe(|| hunt(&Patience::new(300_000), mutation, check)));
    let found = match &result {
        Ok(Ok(images)) => format!("MISSED in {images} crashes"),
        Ok(Err(found)) => format!("{:?}", found.violation),
        Err(_) => "a panic".to_owned(),
    };
    println!("without {name}, after {:.2} s: {found}", start.elapsed().as_secs_f64());
    matches!(result, Ok(Ok(_)))
}
