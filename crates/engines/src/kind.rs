//! Engines by name.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// An engine of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Asynchronous concurrency control.
    #[default]
    Acc,
    /// Optimistic multi-version concurrency control.
    Cicada,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Acc, Self::Cicada];

    /// Its name: in commands, in configurations, and in the directories that it writes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acc => "acc",
            Self::Cicada => "cicada",
        }
    }

    /// What it is, for a list of engines.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Acc => "Asynchronous concurrency control",
            Self::Cicada => "Optimistic multi-version concurrency control",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no engine of this program has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("engine {0} is not one of this program: use a version that has it")]
pub struct UnknownEngine(String);

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
