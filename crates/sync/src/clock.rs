//! The system-wide clock that commit timestamps are made from (ScaleDB section 5.4).
//!
//! A [`Clock`] counts *ticks* of 16 to 32 ns. Two reads, one of which happens after the other (on
//! whatever cores), never go backwards; that is what makes timestamp order agree with real-time order.
//! The source is the first of these that the machine can give:
//!
//! 1. the invariant time stamp counter, checked at start-up (CPUID's promise, and a test that bounces
//!    between the cores of this process looking for a step back), and while it is in use: a database's
//!    background thread compares it with what workers have read on other cores, and
//!    [gives it up](Clock::distrust) for 3. when it is behind;
//! 2. a *timing thread*, which publishes `CLOCK_MONOTONIC` to a shared word as fast as it can
//!    (only on request: it costs a core);
//! 3. `CLOCK_MONOTONIC`.
//!
//! A shared counter is there too: it is what the model checkers use, and what
//! `scaledb bench clock` compares the others with (ScaleDB figure 10b).

use crate::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::{Arc, CachePadded};
use std::time::Duration;

#[cfg(sim)]
pub use crate::sim::Instant;
/// A moment, for durations that no timestamp depends on; on a simulated machine, one in its time.
#[cfg(not(sim))]
pub use std::time::Instant;

/// Where a [`Clock`] takes its time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The processor's time stamp counter.
    Tsc,
    /// A thread that copies `CLOCK_MONOTONIC` into a shared word.
    TimingThread,
    /// `CLOCK_MONOTONIC`, read by each caller.
    Monotonic,
    /// A shared counter, incremented by each caller.
    Counter,
}

/// The counters of cores that are trusted differ by less, however far apart the cores are: where it costs nothing, more
/// than the order of causally related reads is not relied on.
const SKEW: Duration = Duration::from_micros(2);

/// A clock that never steps back between causally related reads. Ticks last 16 to 32 ns.
#[derive(Debug)]
pub struct Clock {
    source: Source,
    /// Raw units are shifted right by this much to give ticks.
    shift: u32,
    /// Added to every reading, so that a reopened database continues after its last timestamp.
    offset: u64,
    ticks_per_second: f64,
    skew: u64,
    shared: Arc<SyncedClocks>,
}

#[derive(Debug)]
struct SyncedClocks {
    word: CachePadded<AtomicU64>,
    stop: AtomicBool,
    /// Once the processors were found to disagree: the ticks, raw and shifted, at which the monotonic clock took over;
    /// 0 before. On a line that is only read.
    replaced: CachePadded<AtomicU64>,
    #[cfg(not(any(loom, shuttle)))]
    origin: Instant,
}

impl Clock {
    /// The best clock of this machine, starting after `after` (in ticks; 0 for a new database).
    pub fn new(after: u64) -> Self {
        if cfg!(any(loom, shuttle, miri)) {
            return Self::with_source(Source::Counter, after);
        }
        let source = if tsc_usable() { Source::Tsc } else { Source::Monotonic };
        Self::with_source(source, after)
    }

    /// A clock on a given source, starting after `after` (in ticks).
    pub fn with_source(source: Source, after: u64) -> Self {
        let shared = Arc::new(SyncedClocks {
            word: CachePadded(AtomicU64::new(0)),
            stop: AtomicBool::new(false),
            replaced: CachePadded(AtomicU64::new(0)),
            #[cfg(not(any(loom, shuttle)))]
            origin: Instant::now(),
        });
        let raw_hz = match source {
            Source::Tsc => tsc_hz(),
            Source::Counter => 40e6,
            Source::TimingThread | Source::Monotonic => 1e9,
        };
        // The largest tick below 32 ns: long enough that 54 bits of ticks last for years, shorter than
        // any way for one core to learn of another's commit.
        // Under a model checker several reads share a tick, as they may on a machine.
        let mut shift = if cfg!(shuttle) { 2 } else { 0 };
        while source != Source::Counter && raw_hz / f64::from(1u32 << (shift + 1)) > 1e9 / 32.0 {
            shift += 1;
        }
        #[cfg(not(any(loom, shuttle)))]
        if source == Source::TimingThread {
            let shared = shared.clone();
            crate::thread::spawn(move || {
                // nothing is published with it
                while !shared.stop.load(Ordering::Relaxed) {
                    let now = shared.origin.elapsed().as_nanos() as u64;
                    // pairs with the Acquire load in `raw`
                    shared.word.store(now, Ordering::Release);
                }
            });
        }
        let ticks_per_second = raw_hz / f64::from(1u32 << shift);
        let mut clock = Self { source, shift, offset: 0, ticks_per_second, skew: 0, shared };
        // models have one clock; a model of its own has several (`verify::model::retaining`)
        clock.skew = if crate::MODEL { 0 } else { clock.ticks(SKEW) };
        let now = clock.now();
        clock.offset = (after + 1).saturating_sub(now);
        clock
    }

    /// The source in use.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Ticks of one second.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// The duration of `ticks`.
    pub fn duration(&self, ticks: u64) -> Duration {
        Duration::from_secs_f64(ticks as f64 / self.ticks_per_second)
    }

    /// The number of ticks in `duration`, at least 1.
    pub fn ticks(&self, duration: Duration) -> u64 {
        ((duration.as_secs_f64() * self.ticks_per_second) as u64).max(1)
    }

    /// Ticks by which readings on two cores at one time may differ, where more than the order of causally related reads
    /// is asked for.
    #[inline]
    pub fn skew(&self) -> u64 {
        self.skew
    }

    /// The current time in ticks. The read may be reordered with the memory accesses around it; use
    /// [`Clock::now_fenced`] where the protocol orders it.
    #[inline]
    pub fn now(&self) -> u64 {
        self.ticks_of(self.raw())
    }

    /// [`Clock::now`], read before any later memory access of this thread starts.
    #[inline]
    pub fn now_ordered(&self) -> u64 {
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
        if self.source == Source::Tsc {
            // SAFETY: both instructions exist on every x86-64.
            let raw = unsafe {
                let raw = std::arch::x86_64::_rdtsc();
                std::arch::x86_64::_mm_lfence();
                raw
            };
            return self.ticks_of(raw);
        }
        let now = self.now();
        // what is read on a simulated machine is in order
        if !cfg!(sim) {
            fence(Ordering::SeqCst);
        }
        now
    }

    /// The current time in ticks, read after all earlier memory accesses of this thread are globally
    /// visible and before any later one starts (step C4: full fence, `rdtscp`, `lfence`).
    #[inline]
    pub fn now_fenced(&self) -> u64 {
        fence(Ordering::SeqCst);
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
        if self.source == Source::Tsc {
            let mut aux = 0;
            // SAFETY: both instructions exist on every x86-64 with an invariant TSC.
            let raw = unsafe {
                let raw = std::arch::x86_64::__rdtscp(&mut aux);
                std::arch::x86_64::_mm_lfence();
                raw
            };
            return self.ticks_of(raw);
        }
        let now = self.now();
        if !cfg!(sim) {
            fence(Ordering::SeqCst);
        }
        now
    }

    /// Ticks of a raw reading, or of the monotonic clock if that has taken over.
    #[inline]
    fn ticks_of(&self, raw: u64) -> u64 {
        if crate::MODEL {
            return (raw >> self.shift) + self.offset;
        }
        // a flag, which publishes nothing but itself
        match self.shared.replaced.load(Ordering::Relaxed) {
            0 => (raw >> self.shift) + self.offset,
            at => self.monotonic_since(at),
        }
    }

    #[cold]
    fn monotonic_since(&self, at: u64) -> u64 {
        #[cfg(not(any(loom, shuttle)))]
        {
            let elapsed = self.shared.origin.elapsed().as_secs_f64();
            // what follows the reading is not done before it, as behind the other readings' barriers
            fence(Ordering::SeqCst);
            at + (elapsed * self.ticks_per_second) as u64 + self.offset
        }
        #[cfg(any(loom, shuttle))]
        unreachable!("the clock of a model is not replaced: {at}")
    }

    /// The processors' time stamp counters have been found not to agree (a virtual machine that was moved, a core that
    /// drifts): from here on the time is that of `CLOCK_MONOTONIC`, which the system keeps for all cores; a reading
    /// costs some 30 ns instead of 10. It begins a second ahead of what this thread sees and of `seen`, the ticks that
    /// gave rise to the finding. What the counters ordered wrongly before cannot be mended, but nothing new follows
    /// from them. Other sources do not depend on the processor, and stay.
    #[cold]
    pub fn distrust(&self, seen: u64) {
        #[cfg(not(any(loom, shuttle)))]
        if self.source == Source::Tsc {
            let ahead = self.ticks_per_second as u64;
            let now = (self.raw() >> self.shift).max(seen.saturating_sub(self.offset)) + ahead;
            let elapsed = (self.shared.origin.elapsed().as_secs_f64() * self.ticks_per_second) as u64;
            let at = now.saturating_sub(elapsed).max(1);
            // the first one counts; readers need nothing else
            let _ = self.shared.replaced.compare_exchange(0, at, Ordering::SeqCst, Ordering::SeqCst);
        }
        #[cfg(any(loom, shuttle))]
        let _ = seen;
    }

    /// Whether the counters of the processors were given up at run time.
    pub fn is_replaced(&self) -> bool {
        self.shared.replaced.load(Ordering::Relaxed) != 0 // a flag
    }

    #[inline]
    fn raw(&self) -> u64 {
        match self.source {
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
            // SAFETY: `rdtsc` exists on every x86-64.
            Source::Tsc => unsafe { std::arch::x86_64::_rdtsc() },
            #[cfg(sim)]
            Source::Tsc => scaledb_machine::read_clock(),
            // pairs with the Release store of the timing thread
            Source::TimingThread => self.shared.word.load(Ordering::Acquire),
            #[cfg(not(any(loom, shuttle)))]
            Source::Monotonic => self.shared.origin.elapsed().as_nanos() as u64,
            _ => self.shared.word.fetch_add(1, Ordering::SeqCst) + 1,
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        // read by the timing thread; nothing else is published with it
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
fn tsc_usable() -> bool {
    use std::arch::x86_64::__cpuid;
    // CPUID 8000_0007h EDX bit 8: the TSC runs at a constant rate in all states
    let invariant = __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
    invariant && tsc_synchronized()
}

/// Bounces between two threads, which the system places on the cores it likes: each read must not lie
/// before the one that the other thread published.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
fn tsc_synchronized() -> bool {
    let last = AtomicU64::new(0);
    let back = AtomicBool::new(false);
    crate::thread::scope(|scope| {
        for _ in 0..crate::thread::cores().clamp(2, 8) {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let seen = last.load(Ordering::SeqCst);
                    let mut aux = 0;
                    // SAFETY: as in `now_fenced`.
                    let now = unsafe {
                        let now = std::arch::x86_64::__rdtscp(&mut aux);
                        std::arch::x86_64::_mm_lfence();
                        now
                    };
                    if now < seen {
                        back.store(true, Ordering::SeqCst);
                    }
                    last.fetch_max(now, Ordering::SeqCst);
                }
            });
        }
    });
    !back.load(Ordering::SeqCst)
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
fn tsc_hz() -> f64 {
    use std::sync::OnceLock;
    static HZ: OnceLock<f64> = OnceLock::new();
    *HZ.get_or_init(|| {
        let (start, from) = (Instant::now(), raw_tsc());
        std::thread::sleep(Duration::from_millis(20));
        (raw_tsc() - from) as f64 / start.elapsed().as_secs_f64()
    })
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim))))]
fn raw_tsc() -> u64 {
    // SAFETY: `rdtsc` exists on every x86-64.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim)))))]
fn tsc_usable() -> bool {
    #[cfg(sim)]
    return scaledb_machine::is_running();
    #[cfg(not(sim))]
    false
}

#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri, sim)))))]
fn tsc_hz() -> f64 {
    1e9
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_source_moves_forward_and_continues_after_a_given_time() {
        for source in [Source::Tsc, Source::TimingThread, Source::Monotonic, Source::Counter] {
            if source == Source::Tsc && !tsc_usable() {
                continue;
            }
            let after = 1 << 50;
            let clock = Clock::with_source(source, after);
            let mut last = clock.now_fenced();
            assert!(last > after, "{source:?}");
            for _ in 0..10_000 {
                let now = clock.now_fenced();
                assert!(now >= last, "{source:?} stepped back");
                last = now;
            }
        }
    }

    #[test]
    fn ticks_last_between_16_and_32_ns() {
        let clock = Clock::new(0);
        let tick = 1e9 / clock.ticks_per_second();
        assert!((16.0..=32.0).contains(&tick), "{tick}");
    }

    /// Once the counters are given up, time goes on from a second ahead, for all threads alike.
    #[test]
    fn a_clock_that_is_distrusted_goes_on() {
        let clock = Clock::new(1 << 40);
        if clock.source() != Source::Tsc {
            return;
        }
        let before = clock.now_fenced();
        // another core was ten seconds ahead
        let seen = before + 10 * clock.ticks(Duration::from_secs(1));
        clock.distrust(seen);
        assert!(clock.is_replaced());
        let after = clock.now_fenced();
        let second = clock.ticks(Duration::from_secs(1));
        assert!(after >= seen + second, "{seen} {after}");
        clock.distrust(before);
        let mut last = after;
        for now in (0..10_000).map(|n| if n % 2 == 0 { clock.now_ordered() } else { clock.now() }) {
            assert!(now >= last && now < after + 100 * second, "{last} {now}");
            last = now;
        }
    }

    #[test]
    fn threads_see_no_step_back() {
        let clock = Clock::new(0);
        let last = AtomicU64::new(0);
        crate::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..20_000 {
                        let seen = last.load(Ordering::SeqCst);
                        let now = clock.now_fenced();
                        assert!(now >= seen);
                        last.fetch_max(now, Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
