//! Every target, with inputs made from its seeds: the same in every run.
//!
//! `SCALEDB_FUZZ_SECONDS=600 SCALEDB_SEED=7 cargo test -p scaledb-fuzzing --release -- --nocapture` goes on for longer
//! and from another place.

use scaledb_fuzzing::mutator::Mutator;
use scaledb_fuzzing::{seeds, targets};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// No input may take longer: statements have a timeout of a second.
const PATIENCE: Duration = Duration::from_secs(20);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(target: fn(&[u8]), seeds: &[Vec<u8>], words: &[&str], inputs: usize) {
    for seed in seeds {
        attempt(target, seed);
    }
    let seconds = number("SCALEDB_FUZZ_SECONDS").map(Duration::from_secs);
    let begun = Instant::now();
    let mut mutator = Mutator::new(number("SCALEDB_SEED").unwrap_or(1), seeds, words);
    let mut done = 0;
    while seconds.map_or(done < inputs, |seconds| begun.elapsed() < seconds) {
        attempt(target, &mutator.input());
        done += 1;
    }
    println!("{done} inputs in {:?}", begun.elapsed());
}

fn attempt(target: fn(&[u8]), input: &[u8]) {
    let begun = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| target(input)));
    if let Err(panic) = result {
        eprintln!("the input was \"{}\"", input.escape_ascii());
        resume_unwind(panic);
    }
    let took = begun.elapsed();
    assert!(took < PATIENCE, "{took:?} for \"{}\"", input.escape_ascii());
}

#[test]
fn connections_from_their_first_byte() {
    run(targets::startup, &seeds::startup(), seeds::SQL_WORDS, 3_000);
}

#[test]
fn messages_of_clients() {
    run(targets::session, &seeds::session(), seeds::SQL_WORDS, 3_000);
}

#[test]
fn statements() {
    run(targets::sql, &seeds::sql(), seeds::SQL_WORDS, 4_000);
}

#[test]
fn data_of_copy() {
    run(targets::copy, &seeds::copy(), seeds::COPY_WORDS, 3_000);
}

#[test]
fn values_of_every_type() {
    run(targets::values, &seeds::values(), seeds::VALUE_WORDS, 40_000);
}

#[test]
fn files_of_the_log() {
    run(targets::log, &seeds::log(), &[], 2_000);
}
