//! Loading: units of work spread over workers, rows in transactions of bounded size.

use crate::rng::Rng;
use scaledb_base::Result;
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_sync::thread;

/// The most rows that a loading transaction inserts.
pub const BATCH_ROWS: usize = 500;

/// Runs `load` for every unit, on `threads` workers. A unit's random numbers depend on the seed and the
/// unit alone, so that a database does not depend on the number of threads that loaded it. `loader` says which of the
/// workers loads a unit, modulo their number: where memory belongs to sockets, it is where it was touched first.
///
/// # Errors
/// The first error of a worker.
pub fn in_parallel<E: Engine, U: Sync>(
    engine: &E,
    threads: usize,
    seed: u64,
    units: &[U],
    loader: impl Fn(usize, &U) -> usize + Sync,
    load: impl Fn(&mut E::Worker, &mut Rng, &U) -> Result<()> + Sync,
) -> Result<()> {
    let threads = threads.clamp(1, units.len().max(1));
    let part = |number: usize| -> Result<()> {
        let mut worker = engine.worker()?;
        for (i, unit) in units.iter().enumerate().filter(|(i, unit)| loader(*i, unit) % threads == number) {
            load(&mut worker, &mut Rng::new(seed, i as u64), unit)?;
        }
        Ok(())
    };
    let part = &part;
    thread::scope(|scope| {
        let loaders: Vec<_> = (0..threads)
            .map(|number| {
                // the memory of what it loads is beside the worker of this number
                thread::place_next(number);
                scope.spawn(move || part(number))
            })
            .collect();
        loaders.into_iter().try_for_each(|loader| loader.join().expect("a loader does not panic"))
    })
}

/// Calls `insert` for each of `items`, in transactions of at most [`BATCH_ROWS`] rows, of which an item
/// makes up to `rows_each`. A transaction that conflicts runs again with the same random numbers.
///
/// # Errors
/// What `insert` or a commit returns.
pub fn in_batches<W: Worker, I: Copy>(
    worker: &mut W,
    rng: &mut Rng,
    items: impl IntoIterator<Item = I>,
    rows_each: usize,
    mut insert: impl FnMut(&mut W, &mut Rng, I) -> Result<()>,
) -> Result<()> {
    let size = (BATCH_ROWS / rows_each).max(1);
    let mut items = items.into_iter();
    let mut batch = Vec::with_capacity(size);
    loop {
        batch.clear();
        batch.extend(items.by_ref().take(size));
        if batch.is_empty() {
            return Ok(());
        }
        *rng = worker.run(TxnKind::ReadWrite, |worker| {
            let mut rng = rng.clone();
            batch.iter().try_for_each(|&item| insert(worker, &mut rng, item))?;
            Ok(rng)
        })?;
    }
}
