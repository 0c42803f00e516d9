//! A database that survives: opening a directory, and logging from then on.

use crate::config::Config;
use crate::recovery::Recovery;
use crate::shared::Shared;
use scaledb_base::Result;
use scaledb_durability::{Directory, Durability, Recovered};
use scaledb_sync::Arc;

/// Reads a directory into memory, and starts to log.
pub(crate) fn open(config: Config, durability: &Durability) -> Result<(Arc<Shared>, Recovered)> {
    let (shared, recovered, directory) = restore(config, durability)?;
    shared.start_logging(directory.start(durability, shared.clock.clone())?);
    Ok((shared, recovered))
}

/// Reads a directory into memory, and leaves it as it is.
pub(crate) fn read(config: Config, durability: &Durability) -> Result<(Arc<Shared>, Recovered)> {
    restore(config, durability).map(|(shared, recovered, _)| (shared, recovered))
}

fn restore(config: Config, durability: &Durability) -> Result<(Arc<Shared>, Recovered, Directory)> {
    let mut directory = Directory::open(durability, "acc")?;
    let reserve = config.reserve;
    let shared = Arc::new(Shared::new(config, directory.newest().ticks() + 1));
    shared.domain.reserve(reserve);
    let recovered = directory.restore(&mut Recovery::new(&shared), durability)?;
    Ok((shared, recovered, directory))
}
