//! Engines in memory, which are [`Instance`]s of their protocols: opened and inspected in one way.

use crate::{EngineKind, Open, Settings};
use scaledb_base::Result;
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
