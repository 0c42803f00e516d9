//! Which of the mutants in this crate is on: a number in `SCALEDB_MUTANT`. With `note:FILE` there none is, and the
//! number of each mutant whose place a thread comes to is appended to the file, once. Added to the copy of a crate.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The environment was not read yet.
const UNREAD: u32 = u32::MAX;

/// None is on; places are noted.
const NOTING: u32 = u32::MAX - 1;

// both only ever go from one value to another that the environment gives: no order is needed
static ON: AtomicU32 = AtomicU32::new(UNREAD);
static NOTED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether a mutant is on.
#[inline]
pub(crate) fn on(mutant: u32) -> bool {
    let on = ON.load(Relaxed);
    if on >= NOTING { ask(mutant) } else { on == mutant }
}

#[cold]
#[inline(never)]
fn ask(mutant: u32) -> bool {
    static NOTES: OnceLock<Option<std::fs::File>> = OnceLock::new();
    let (word, bit) = (mutant as usize / 64, 1 << (mutant % 64));
    if NOTED[word].load(Relaxed) & bit != 0 {
        return false;
    }
    let value = std::env::var("SCALEDB_MUTANT").unwrap_or_default();
    let Some(path) = value.strip_prefix("note:") else {
        ON.store(value.parse().unwrap_or(0), Relaxed);
        return value.parse() == Ok(mutant);
    };
    ON.store(NOTING, Relaxed);
    if NOTED[word].fetch_or(bit, Relaxed) & bit == 0 {
        let open = || std::fs::OpenOptions::new().append(true).create(true).open(path).ok();
        if let Some(mut notes) = NOTES.get_or_init(open).as_ref() {
            let _ = notes.write_all(&mutant.to_le_bytes());
        }
    }
    false
}
