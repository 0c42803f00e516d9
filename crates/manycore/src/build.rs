//! How a program was built that measures points.

use serde::{Deserialize, Serialize};

/// How a program was built: what decides whether its points may stand beside those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// With `--cfg sim`: the cores are simulated.
    pub simulated: bool,
    /// Without debug assertions.
    pub optimized: bool,
    /// Cicada can do without single techniques.
    pub ablations: bool,
    /// A hash of the sources of the engines, the workloads, and of what they stand on.
    pub sources: String,
}

impl Build {
    /// Of this program.
    pub fn this() -> Self {
        Self {
            simulated: scaledb_sync::SIMULATED,
            optimized: !cfg!(debug_assertions),
            ablations: cfg!(feature = "ablations"),
            sources: env!("MANYCORE_SOURCES").to_owned(),
        }
    }

    /// What is wrong with it as a simulator for a program of build `asking`.
    ///
    /// # Errors
    /// A sentence.
    pub fn simulates_for(&self, asking: &Self) -> Result<(), String> {
        let wrong = match () {
            () if !self.simulated => "it was built without --cfg sim and measures real cores",
            () if !self.ablations => "it was built without the feature ablations",
            () if self.sources != asking.sources => "it was built from other sources than this program",
            () => return Ok(()),
        };
        Err(wrong.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Build;

    #[test]
    fn a_simulator_of_another_build_is_refused() {
        let asking = Build::this();
        let right = Build { simulated: true, ablations: true, ..asking.clone() };
        assert_eq!(right.simulates_for(&asking), Ok(()));
        for wrong in [
            Build { simulated: false, ..right.clone() },
            Build { ablations: false, ..right.clone() },
            Build { sources: "others".to_owned(), ..right.clone() },
        ] {
            assert!(wrong.simulates_for(&asking).is_err(), "{wrong:?}");
        }
    }
}
