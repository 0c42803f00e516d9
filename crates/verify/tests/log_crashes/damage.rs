//! Bits that turn over at rest.

use crate::hunt::{Checked, Found};
use crate::recover::{Violation, recover};
use crate::run::{Plan, Trace};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_log::LogError;
use scaledb_log::disk::Disk;

/// What became of bits that were turned over.
#[derive(Debug, Default)]
pub(crate) struct Flips {
    pub(crate) reported: u64,
    harmless: u64,
    /// The last group was taken for torn, where nothing behind it told better.
    cut: u64,
}

/// Whether a report names the place of the damage.
pub(crate) fn is_place_of(file: &str, from: u64, name: &str, offset: usize) -> bool {
    let segment = |name: &str| u64::from_str_radix(name.strip_prefix("log-")?, 16).ok();
    match (segment(file), segment(name)) {
        // a log that is too short is reported where it ends, which may be in front of the damage
        (Some(reported), Some(damaged)) if reported + 1 == damaged => offset >= 4096,
        // the manifest has one checksum, and it stands at the end
        _ => file == name && (from <= offset as u64 || name == "MANIFEST"),
    }
}

/// Turns over a bit of a disk where all is synced. Either it does not matter, or it is reported with its place.
pub(crate) fn flip(trace: &Trace, plan: Plan, flips: &mut Flips) -> Checked {
    let mut rng = SmallRng::seed_from_u64(plan.seed);
    let mut images = 0;
    for _ in 0..200 {
        let at = rng.random_range(0..trace.disk.crash_points());
        let seed = rng.random();
        let (history, acknowledged) = trace.expected(at);
        let whole = recover(&trace.disk.image(at, seed), history, acknowledged);
        let whole = whole.map_err(|violation| Found::new(trace, plan, at, seed, violation))?;
        let disk = trace.disk.image(at, seed);
        let names = disk.list().unwrap();
        let names: Vec<_> = names.iter().filter(|name| !disk.contents(name).unwrap().is_empty()).collect();
        if names.is_empty() {
            continue;
        }
        let name = names[rng.random_range(0..names.len())];
        let len = disk.contents(name).unwrap().len();
        let offset = rng.random_range(0..len);
        assert!(disk.flip(name, offset, 1 << rng.random_range(0..8)));
        let bad = |what: String| Err(Found::new(trace, plan, at, seed, Violation::Wrong(what)));
        match recover(&disk, history, acknowledged) {
            Ok(found) if found.count == whole.count => flips.harmless += 1,
            Ok(_) => flips.cut += 1,
            Err(Violation::Refused(LogError::Damaged { file, offset: from, .. })) => {
                if !is_place_of(&file, from, name, offset) {
                    return bad(format!("{name} is damaged at {offset}, and {file} at {from} is reported"));
                }
                flips.reported += 1;
            }
            // nothing stands behind the last group before the log is closed, or idle
            Err(Violation::Lost { recovered, .. }) if recovered >= trace.before_last_group(at) => {
                flips.cut += 1
            }
            Err(violation) => return bad(format!("{name} is damaged at {offset}: {violation:?}")),
        }
        images += 1;
    }
    Ok(images)
}
