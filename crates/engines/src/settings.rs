//! What every engine is told when it is opened.

use scaledb_durability::Durability;
use scaledb_engine::EngineOptions;
use scaledb_sync::clock::Source;

/// Settings of an engine. What is not said is the engine's default, which suits most uses.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Bytes that rows and indexes may take.
    pub memory_budget: Option<u64>,
    /// Bytes of memory to take from the system when the database is opened, and to keep ready.
    pub reserve: u64,
    /// The clock, if not the best that the machine has.
    pub clock: Option<Source>,
    /// Whether a thread works for idle workers.
    pub background: Option<bool>,
    /// The directory where the database survives; `None` keeps it in memory only.
    pub durability: Option<Durability>,
    /// What only this engine understands.
    pub options: EngineOptions,
}
