//! The modes of locks, and which exclude each other.

use serde::{Deserialize, Serialize};

/// PostgreSQL's modes of table locks. Those of rows and advisory keys are some of them: the conflicts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Mode {
    /// Of statements that read a table; `FOR KEY SHARE` of a row.
    AccessShare,
    /// Of statements that lock rows; `FOR SHARE` of a row.
    RowShare,
    /// Of statements that write a table.
    RowExclusive,
    /// `SHARE UPDATE EXCLUSIVE`.
    ShareUpdateExclusive,
    /// `SHARE`; a shared advisory lock.
    Share,
    /// `SHARE ROW EXCLUSIVE`.
    ShareRowExclusive,
    /// `EXCLUSIVE`; `FOR NO KEY UPDATE` of a row; an advisory lock.
    Exclusive,
    /// `ACCESS EXCLUSIVE`; `FOR UPDATE` of a row.
    AccessExclusive,
}

/// For each mode, the modes that exclude it: bit `n` for the mode of number `n`.
const CONFLICTS: [u8; 8] =
    [0b1000_0000, 0b1100_0000, 0b1111_0000, 0b1111_1000, 0b1110_1100, 0b1111_1100, 0b1111_1110, 0b1111_1111];

impl Mode {
    /// All modes, the weakest first.
    pub const ALL: [Self; 8] = [
        Self::AccessShare,
        Self::RowShare,
        Self::RowExclusive,
        Self::ShareUpdateExclusive,
        Self::Share,
        Self::ShareRowExclusive,
        Self::Exclusive,
        Self::AccessExclusive,
    ];

    /// Whether two owners cannot have these at once.
    #[inline]
    pub fn excludes(self, other: Self) -> bool {
        CONFLICTS[self as usize] & 1 << other as u8 != 0
    }

    /// Whether it excludes all that `other` excludes: an owner that has it needs no `other` besides.
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        CONFLICTS[self as usize] & CONFLICTS[other as usize] == CONFLICTS[other as usize]
    }

    /// Whether it excludes what statements take of the tables that they use.
    pub fn is_strong(self) -> bool {
        self >= Self::Share
    }

    /// The name in `pg_locks`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessShare => "AccessShareLock",
            Self::RowShare => "RowShareLock",
            Self::RowExclusive => "RowExclusiveLock",
            Self::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            Self::Share => "ShareLock",
            Self::ShareRowExclusive => "ShareRowExclusiveLock",
            Self::Exclusive => "ExclusiveLock",
            Self::AccessExclusive => "AccessExclusiveLock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual_and_as_postgresql_lists_them() {
        for a in Mode::ALL {
            for b in Mode::ALL {
                assert_eq!(a.excludes(b), b.excludes(a), "{a:?} {b:?}");
            }
        }
        let own = |mode: Mode| mode.excludes(mode);
        let own: Vec<bool> = Mode::ALL.into_iter().map(own).collect();
        assert_eq!(own, [false, false, false, true, false, true, true, true]);
        assert!(Mode::Share.excludes(Mode::RowExclusive) && !Mode::Share.excludes(Mode::RowShare));
        assert!(Mode::Exclusive.excludes(Mode::RowShare) && !Mode::Exclusive.excludes(Mode::AccessShare));
    }

    #[test]
    fn a_stronger_mode_covers_a_weaker_one_but_share_does_not_cover_row_exclusive() {
        for mode in Mode::ALL {
            assert!(mode.covers(mode) && Mode::AccessExclusive.covers(mode));
        }
        assert!(!Mode::Share.covers(Mode::RowExclusive) && !Mode::RowShare.covers(Mode::Exclusive));
    }
}
