//! ACC, opened as every engine.

use crate::memory::Opened;
use crate::{EngineKind, Settings};
use scaledb_acc::{AccShared, Config};
use scaledb_base::Result;

impl Opened for AccShared {
    const KIND: EngineKind = EngineKind::Acc;

    fn config(settings: Settings) -> Result<Config> {
        let Settings { memory_budget, reserve, clock, background, durability, options } = settings;
        let default = Config::default();
        let mut config = Config {
            memory_budget: memory_budget.unwrap_or(default.memory_budget),
            reserve,
            clock,
            background: background.unwrap_or(default.background),
            durability,
            ..default
        };
        config.set(&options)?;
        Ok(config)
    }
}
