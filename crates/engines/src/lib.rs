//! The engines that there are: by name, and opened in one way. Commands, server, library and tests choose here, so that
//! a new engine is one variant of [`EngineKind`], one arm of [`open`] and of [`inspect`], and one line of `opened!`, if
//! it is an instance of a protocol of the kit; else one `impl` of [`Open`].
//!
//! ```text
//!  "cicada" ──► EngineKind ──► open(kind, settings, user) ──► user.with(engine)     static dispatch behind one match
//! ```

mod kind;
mod memory;
mod settings;

pub use kind::{EngineKind, UnknownEngine};
pub use scaledb_acc::Acc;
pub use scaledb_cicada::Cicada;
pub use scaledb_durability::{Durability, Inspected, Progress, Recovered};
pub use settings::Settings;

use scaledb_base::Result;
use scaledb_engine::Engine;

/// An engine that is opened with [`Settings`].
pub trait Open: Engine + Sized {
    /// Which one it is.
    const KIND: EngineKind;

    /// Opens it.
    ///
    /// # Errors
    /// [`Error::UnknownOption`](scaledb_base::Error::UnknownOption),
    /// [`Error::BadOption`](scaledb_base::Error::BadOption); [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory);
    /// [`Error::Directory`](scaledb_base::Error::Directory): it cannot be read or written, is damaged, or another
    /// engine's; [`Error::DirectoryInUse`](scaledb_base::Error::DirectoryInUse).
    fn open_with(settings: Settings) -> Result<Self>;

    /// What opening the directory found.
    fn recovered(&self) -> &Recovered;

    /// Reads a directory into memory, compares its tables with their indexes, and leaves the directory as it is.
    ///
    /// # Errors
    /// As [`Open::open_with`], and whatever does not fit together.
    fn inspect_with(settings: Settings) -> Result<(Recovered, Inspected)>;
}

/// What is done with an engine, whichever it is.
pub trait WithEngine {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<E: Open>(self, engine: E) -> Self::Output;
}

/// Opens an engine of this kind for `user`.
///
/// # Errors
/// As [`Open::open_with`].
pub fn open<U: WithEngine>(kind: EngineKind, settings: Settings, user: U) -> Result<U::Output> {
    Ok(match kind {
        EngineKind::Acc => user.with(Acc::open_with(settings)?),
        EngineKind::Cicada => user.with(Cicada::open_with(settings)?),
    })
}

/// Compares what a directory of this kind of engine holds: see [`Open::inspect_with`].
///
/// # Errors
/// As [`Open::inspect_with`].
pub fn inspect(kind: EngineKind, settings: Settings) -> Result<(Recovered, Inspected)> {
    match kind {
        EngineKind::Acc => Acc::inspect_with(settings),
        EngineKind::Cicada => Cicada::inspect_with(settings),
    }
}
