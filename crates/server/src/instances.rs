//! The server of each engine, compiled with this crate.
//!
//! What is generic over the engine is compiled where it is called: sessions of SQL, which are most of the code, in each
//! program and each test. Builds with few optimizations share what a library has of a generic function already, so
//! that the tests of this workspace compile in half the time with the function that is here. Release
//! builds share nothing, and do without: it would be in them a second time.

use crate::{Config, Server, Sql, StartError};
use scaledb_engines::{Acc, Cicada, Open, Settings};
use scaledb_sql::Database;

/// Starts a server of each engine in memory.
///
/// # Errors
///
/// See [`StartError`].
#[doc(hidden)]
pub fn one_of_each(config: &Config) -> Result<[Server; 2], StartError> {
    Ok([of::<Acc>(config)?, of::<Cicada>(config)?])
}

fn of<E: Open>(config: &Config) -> Result<Server, StartError> {
    let failed = |why: &dyn std::fmt::Display| StartError::System(why.to_string());
    let engine = E::open_with(Settings::default()).map_err(|error| failed(&error))?;
    let database = Database::open(engine).map_err(|error| failed(&error))?;
    Server::start(config.clone(), Sql::new(database).of_server(config))
}
