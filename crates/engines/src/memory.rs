//! Engines in memory, which are [`Instance`]s of their protocols: opened and inspected in one way.

use crate::{EngineKind, Open, Settings};
use scaledb_acc::AccShared;
use scaledb_base::Result;
use scaledb_cicada::CicadaShared;
use scaledb_durability::{Inspected, Recovered};
use scaledb_kit::{Instance, Protocol};

/// What a protocol adds, so that its instances can be opened with [`Settings`].
pub trait Opened: Protocol {
    /// Which engine it is.
    const KIND: EngineKind;

    /// The engine's configuration.
    ///
    /// # Errors
    /// [`Error::UnknownOption`](scaledb_base::Error::UnknownOption),
    /// [`Error::BadOption`](scaledb_base::Error::BadOption).
    fn config(settings: Settings) -> Result<Self::Config>;
}

/// Engines whose configurations have the same names for what every engine is told, and `set` for what is their own.
macro_rules! opened {
    ($($protocol:ty: $kind:ident, $engine:ident;)*) => {$(
        impl Opened for $protocol {
            const KIND: EngineKind = EngineKind::$kind;

            fn config(settings: Settings) -> Result<Self::Config> {
                let Settings { memory_budget, reserve, clock, background, durability, options } = settings;
                let default = Self::Config::default();
                let mut config = $engine::Config {
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
    )*};
}

opened! {
    AccShared: Acc, scaledb_acc;
    CicadaShared: Cicada, scaledb_cicada;
}

impl<P: Opened> Open for Instance<P> {
    const KIND: EngineKind = P::KIND;

    fn open_with(settings: Settings) -> Result<Self> {
        Self::open(P::config(settings)?)
    }

    fn recovered(&self) -> &Recovered {
        Self::recovered(self)
    }

    fn inspect_with(settings: Settings) -> Result<(Recovered, Inspected)> {
        Self::inspect(P::config(settings)?)
    }
}
