//! Switches for techniques that only make Cicada faster, in builds with the feature `ablations`: to measure what each
//! is worth (table 2).

/// A technique that a database can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Technique {
    /// A reader waits for a pending version below its timestamp; else it takes the one before, and finds out at the
    /// commit (section 3.2).
    WaitForPending,
    /// A transaction that writes a record with a newer version than the one that it sees gives up at once (*write
    /// latest version only*, section 3.2).
    LatestOnly,
    /// The most contended writes are installed first (section 3.5).
    SortByContention,
    /// What was read is checked before anything is installed (section 3.5).
    CheckEarly,
}

/// The techniques in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Techniques {
    #[cfg(feature = "ablations")]
    off: Option<Technique>,
}

impl Techniques {
    /// All but one.
    #[cfg(feature = "ablations")]
    pub fn without(technique: Technique) -> Self {
        Self { off: Some(technique) }
    }

    /// Whether a technique is used; always, in a build without the feature.
    #[inline(always)]
    pub(crate) fn on(self, technique: Technique) -> bool {
        #[cfg(feature = "ablations")]
        return self.off != Some(technique);
        #[cfg(not(feature = "ablations"))]
        {
            let _ = technique;
            true
        }
    }
}
