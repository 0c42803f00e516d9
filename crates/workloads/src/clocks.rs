//! How many times per second threads can read each kind of clock (ScaleDB, figure 10b).

use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::clock::{Clock, Instant, Source};
use scaledb_sync::{CachePadded, thread};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The sources compared.
pub const SOURCES: [Source; 4] = [Source::Tsc, Source::TimingThread, Source::Counter, Source::Monotonic];

/// What one clock gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockRate {
    /// The clock.
    pub source: String,
    /// Threads that read it.
    pub threads: usize,
    /// Reads per second, of all threads.
    pub reads_per_second: f64,
}

/// The name of a source.
pub fn name(source: Source) -> &'static str {
    match source {
        Source::Tsc => "time stamp counter",
        Source::TimingThread => "timing thread",
        Source::Counter => "shared counter",
        Source::Monotonic => "CLOCK_MONOTONIC",
    }
}

/// Reads a clock on `threads` threads, with the fences that a commit timestamp needs.
pub fn measure(source: Source, threads: usize, duration: Duration) -> ClockRate {
    const READS: u64 = 1_000;
    let clock = Clock::with_source(source, 0);
    let stop = CachePadded(AtomicBool::new(false));
    let (clock, stop) = (&clock, &stop);
    let reads_per_second = thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|number| {
                thread::place_next(number);
                scope.spawn(move || {
                    let (start, mut reads, mut last) = (Instant::now(), 0, 0);
                    // nothing is published with the flag
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..READS {
                            last = clock.now_fenced().max(last);
                        }
                        reads += READS;
                    }
                    std::hint::black_box(last);
                    reads as f64 / start.elapsed().as_secs_f64()
                })
            })
            .collect();
        thread::sleep(duration);
        // pairs with nothing: the readers only look whether to go on
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().expect("a reader does not panic")).sum()
    });
    ClockRate { source: name(source).to_owned(), threads, reads_per_second }
}
