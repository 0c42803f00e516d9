//! Mechanisms by themselves (ScaleDB, figures 10a and 10b).

use crate::ask::Mechanism;
use crate::measure::Failure;
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::clock::{Clock, Instant, Source};
use scaledb_sync::{Arc, CachePadded, thread};
use scaledb_workloads::clocks;
use std::time::Duration;

/// Keys that are there before the clock starts.
const LOADED: u64 = 50_000;
/// Keys that all cores insert at most: beyond, they only read.
const INSERTED: u64 = 1_500_000;
/// Operations between two looks at the clock.
const BATCH: u64 = 64;

/// Operations per second of all cores. Calls `loaded` when all is there that the clock does not count.
pub(crate) fn rate(
    mechanism: Mechanism,
    cores: usize,
    measured: Duration,
    loaded: &mut (dyn FnMut() + Send),
) -> Result<f64, Failure> {
    let source = match mechanism {
        Mechanism::Indexlet => return of_map::<Indexlet>(cores, measured, loaded),
        Mechanism::HashIndex => return of_map::<HashIndex>(cores, measured, loaded),
        Mechanism::SynchronizedClock => Source::Tsc,
        Mechanism::TimingThread => Source::TimingThread,
        Mechanism::SharedCounter => Source::Counter,
    };
    loaded();
    Ok(clocks::measure(source, cores, measured).reads_per_second)
}

/// A map of integers.
trait Map: Sized + Sync {
    fn create(local: &mut Local) -> Result<Self, Failure>;
    fn read(&self, local: &Local, key: u64) -> bool;
    fn add(&self, local: &mut Local, key: u64) -> Result<(), Failure>;
}

/// The value of a key is the next number, which is its own proof.
fn value(key: u64) -> u64 {
    key + 1
}

/// Mixes all bits.
fn hash(key: u64) -> u64 {
    let x = u128::from(key ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93_a076_1d64_78bd_642f);
    (x >> 64) as u64 ^ x as u64
}

impl Map for Indexlet {
    fn create(local: &mut Local) -> Result<Self, Failure> {
        // two fifths full at the end
        Ok(Self::new(local, (LOADED + INSERTED) as usize * 5 / 2)?)
    }

    fn read(&self, local: &Local, key: u64) -> bool {
        self.get(local, hash(key), |found| found == value(key)).is_some()
    }

    fn add(&self, local: &mut Local, key: u64) -> Result<(), Failure> {
        match self.insert(local, hash(key), value(key), |found| found == value(key)) {
            Inserted::New => Ok(()),
            other => Err(format!("key {key}: {other:?}").into()),
        }
    }
}

impl Map for HashIndex {
    fn create(local: &mut Local) -> Result<Self, Failure> {
        Ok(Self::new(local)?)
    }

    fn read(&self, local: &Local, key: u64) -> bool {
        self.get(local, hash(key), |found| found == value(key)).is_some()
    }

    fn add(&self, local: &mut Local, key: u64) -> Result<(), Failure> {
        match self.insert(local, hash(key), value(key), |found| found == value(key))? {
            Inserted::New => Ok(()),
            other => Err(format!("key {key}: {other:?}").into()),
        }
    }
}

/// Half reads of keys that were loaded, half inserts of keys of one's own.
fn of_map<M: Map>(
    cores: usize,
    measured: Duration,
    loaded: &mut (dyn FnMut() + Send),
) -> Result<f64, Failure> {
    let domain = Domain::new(Arc::new(Clock::new(0)), u64::MAX);
    let mut local = domain.register()?;
    let map = M::create(&mut local)?;
    local.enter();
    for key in 0..LOADED {
        map.add(&mut local, key)?;
    }
    local.exit();
    loaded();
    let own = INSERTED / cores as u64;
    let stop = CachePadded(AtomicBool::new(false));
    let (map, domain, stop) = (&map, &domain, &stop);
    let work = move |number: usize| -> Result<f64, Failure> {
        let mut local = domain.register()?;
        let first = LOADED + own * number as u64;
        let (start, mut seed, mut inserted, mut operations) = (Instant::now(), number as u64 + 1, 0, 0);
        // pairs with nothing: only whether to go on
        while !stop.load(Ordering::Relaxed) && inserted + BATCH / 2 <= own {
            local.enter();
            for _ in 0..BATCH / 2 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if !map.read(&local, (seed >> 33) % LOADED) {
                    return Err("a key is not found".into());
                }
                map.add(&mut local, first + inserted)?;
                inserted += 1;
            }
            local.exit();
            local.collect();
            operations += BATCH;
        }
        Ok(operations as f64 / start.elapsed().as_secs_f64())
    };
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|number| {
                thread::place_next(number);
                scope.spawn(move || work(number))
            })
            .collect();
        thread::sleep(measured);
        // as above
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).sum()
    })
}
