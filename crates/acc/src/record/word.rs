//! The header word of a conflict group: commit timestamp and flags.

use scaledb_base::Timestamp;
use std::fmt;

/// ```text
///  63 ........................ 3   2          1        0
///  commit_ts                       obsolete   absent   locked
/// ```
///
/// | state | flags | who may leave it |
/// |---|---|---|
/// | placeholder of an insert in flight | locked, absent | its commit (to live) or its abort (to obsolete) |
/// | live | none | a commit that locks it |
/// | deleted | absent | an insert that locks it (to live), clean-up (to obsolete) |
/// | cleaned up | locked, obsolete, as before | clean-up: to obsolete, or back to what it was |
/// | gone | obsolete, absent | nobody: whoever meets it looks the key up again |
///
/// While a word is locked its timestamp is that of the last commit. A commit's lock is waited for with patience
/// that ends, or two commits would wait for each other. Clean-up waits for nobody while it has a lock, and whoever
/// meets that one waits for it, however long its thread is off its core: nobody else is in the way.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Word(pub u64);

impl Word {
    const LOCKED: u64 = 1;
    const ABSENT: u64 = 2;
    const OBSOLETE: u64 = 4;

    /// The word of a placeholder: an insert that has not committed.
    pub const PLACEHOLDER: Self = Self(Self::LOCKED | Self::ABSENT);

    /// A live row, committed at `ts`.
    #[inline]
    pub fn live(ts: Timestamp) -> Self {
        Self(ts.raw() << Timestamp::SPARE_BITS)
    }

    /// A row deleted at `ts`.
    #[inline]
    pub fn absent(ts: Timestamp) -> Self {
        Self(ts.raw() << Timestamp::SPARE_BITS | Self::ABSENT)
    }

    /// When the state was committed.
    #[inline]
    pub fn ts(self) -> Timestamp {
        Timestamp::from_raw(self.0 >> Timestamp::SPARE_BITS)
    }

    /// Whether a commit, or clean-up, holds the lock.
    #[inline]
    pub fn is_locked(self) -> bool {
        self.0 & Self::LOCKED != 0
    }

    /// Whether there is a row, and nobody holds a lock.
    #[inline]
    pub fn is_live(self) -> bool {
        self.0 & (Self::LOCKED | Self::ABSENT | Self::OBSOLETE) == 0
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_absent(self) -> bool {
        self.0 & Self::ABSENT != 0
    }

    /// Whether a committed delete was the last that happened: not locked, and not obsolete.
    #[inline]
    pub fn is_deleted(self) -> bool {
        self.0 & (Self::LOCKED | Self::ABSENT | Self::OBSOLETE) == Self::ABSENT
    }

    /// Whether the record has left the indexes.
    #[inline]
    pub fn is_obsolete(self) -> bool {
        self.0 & (Self::LOCKED | Self::OBSOLETE) == Self::OBSOLETE
    }

    /// Whether clean-up holds the lock.
    #[inline]
    pub fn is_cleaned(self) -> bool {
        self.0 & (Self::LOCKED | Self::OBSOLETE) == Self::LOCKED | Self::OBSOLETE
    }

    /// The word with the lock.
    #[inline]
    #[must_use]
    pub fn locked(self) -> Self {
        Self(self.0 | Self::LOCKED)
    }

    /// The word with the lock of clean-up.
    #[inline]
    #[must_use]
    pub fn cleaned(self) -> Self {
        Self(self.0 | Self::LOCKED | Self::OBSOLETE)
    }

    /// The word without the lock.
    #[inline]
    #[must_use]
    pub fn unlocked(self) -> Self {
        let lock = if self.is_cleaned() { Self::LOCKED | Self::OBSOLETE } else { Self::LOCKED };
        Self(self.0 & !lock)
    }

    /// The word of a record that leaves the indexes, unlocked.
    #[inline]
    #[must_use]
    pub fn obsolete(self) -> Self {
        Self(self.unlocked().0 | Self::OBSOLETE | Self::ABSENT)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.ts())?;
        for (flag, name) in
            [(self.is_locked(), " locked"), (self.is_absent(), " absent"), (self.is_obsolete(), " obsolete")]
        {
            if flag {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_base::WorkerId;

    fn committed() -> [Word; 2] {
        let ts = Timestamp::new(9, WorkerId(1));
        [Word::live(ts), Word::absent(ts)]
    }

    #[test]
    fn each_state_is_told_from_the_others() {
        let [live, deleted] = committed();
        let states = [
            (live, "live"),
            (deleted, "absent deleted"),
            (Word::PLACEHOLDER, "locked absent"),
            (live.locked(), "locked"),
            (deleted.locked(), "locked absent"),
            (live.cleaned(), "locked cleaned"),
            (deleted.cleaned(), "locked absent cleaned"),
            (live.obsolete(), "absent obsolete"),
            (deleted.obsolete(), "absent obsolete"),
            (Word::PLACEHOLDER.obsolete(), "absent obsolete"),
        ];
        for (word, expected) in states {
            let told = [
                (word.is_live(), "live"),
                (word.is_locked(), "locked"),
                (word.is_absent(), "absent"),
                (word.is_deleted(), "deleted"),
                (word.is_obsolete(), "obsolete"),
                (word.is_cleaned(), "cleaned"),
            ];
            let told: Vec<&str> = told.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
            assert_eq!(told.join(" "), expected, "{word:?}");
        }
    }

    #[test]
    fn a_lock_that_ends_leaves_the_word_that_it_was_put_on() {
        for word in committed() {
            for locked in
                [word, word.locked(), word.cleaned(), word.locked().locked(), word.cleaned().cleaned()]
            {
                assert_eq!((locked.unlocked(), locked.ts()), (word, word.ts()));
                assert_eq!(locked.obsolete(), word.obsolete());
            }
            let gone = word.obsolete();
            assert_eq!((gone.unlocked(), gone.obsolete(), gone.ts()), (gone, gone, word.ts()));
        }
    }
}
