//! ACC, opened as every engine.

use crate::{EngineKind, Open, Settings};
use scaledb_acc::{Acc, Config};
use scaledb_base::Result;
use scaledb_durability::{Inspected, Recovered};

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

impl Open for Acc {
    const KIND: EngineKind = EngineKind::Acc;

    fn open_with(settings: Settings) -> Result<Self> {
        Self::open(config(settings)?)
    }

    fn recovered(&self) -> &Recovered {
        Self::recovered(self)
    }

    fn inspect_with(settings: Settings) -> Result<(Recovered, Inspected)> {
        Self::inspect(config(settings)?)
    }
}
