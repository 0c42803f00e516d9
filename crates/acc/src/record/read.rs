//! Reading a row, by a seqlock for each group: in the present, or as of the boundary of a snapshot.

use super::block::Shape;
use super::{Presence, Record, Stuck, Version, Word};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Result, Timestamp};
use scaledb_row::{GroupSet, Layout, Projection};
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::hint::Backoff;

impl Record {
    /// Copies the columns of `cols` to their places in `out`, which grows if need be, and the words of
    /// their groups to `seen`: what `out` holds was the row while all these words were current.
    ///
    /// # Errors
    /// [`Stuck`] when a commit holds a lock for too long; clean-up is waited for.
    #[inline]
    pub fn read(
        self,
        layout: &Layout,
        cols: &Projection,
        out: &mut Vec<u64>,
        seen: &mut [Word; MAX_GROUPS],
    ) -> Result<Presence, Stuck> {
        let groups = cols.groups();
        let mut backoff = Backoff::new();
        loop {
            let (mut locked, mut absent) = (false, false);
            for group in groups.iter() {
                let word = self.after_clean_up(group);
                locked |= word.is_locked();
                absent |= word.is_absent();
                seen[group] = word;
            }
            if !locked {
                let shape = self.shape();
                if !absent {
                    self.copy_row(layout, shape, cols, out);
                }
                // pairs with the Release fence in `try_lock`: if a row word was new, so is the header word
                fence(Ordering::Acquire);
                if groups.iter().all(|g| self.group_word(g).load(Ordering::Relaxed) == seen[g].0) {
                    return Ok(if absent { Presence::Absent } else { Presence::Live(shape.row_words()) });
                }
            }
            if !backoff.wait() {
                return Err(Stuck);
            }
        }
    }

    /// [`Record::read`] without its check: for tests that show that it is needed. Returns the row's length.
    #[cfg(feature = "mutations")]
    pub fn read_unchecked(
        self,
        layout: &Layout,
        cols: &Projection,
        out: &mut Vec<u64>,
        seen: &mut [Word; MAX_GROUPS],
    ) -> Option<usize> {
        let mut absent = false;
        let mut backoff = Backoff::new();
        for group in cols.groups().iter() {
            let mut word = self.word(group);
            while word.is_locked() {
                backoff.wait_forever();
                word = self.word(group);
            }
            absent |= word.is_absent();
        }
        let shape = self.shape();
        if !absent {
            self.copy_row(layout, shape, cols, out);
        }
        // as they are now, so that a validation of the words alone does not notice
        for group in cols.groups().iter() {
            seen[group] = self.word(group).unlocked();
        }
        (!absent).then_some(shape.row_words().min(out.len()))
    }

    #[inline]
    fn copy_row(self, layout: &Layout, shape: Shape, cols: &Projection, out: &mut Vec<u64>) {
        let row = self.row(shape);
        // a torn shape may claim more than there is; the header words tell later
        let len = shape.row_words().min(row.len());
        if out.len() < len {
            out.resize(len, 0);
        }
        for span in cols.spans() {
            let range = span.start as usize..(span.start + span.words) as usize;
            if range.end <= len {
                for (to, from) in out[range.clone()].iter_mut().zip(&row[range]) {
                    *to = from.load(Ordering::Relaxed); // ordered by the fence in `read`
                }
            }
        }
        if cols.var() && layout.fixed_words() < len {
            let range = layout.fixed_words()..len;
            for (to, from) in out[range.clone()].iter_mut().zip(&row[range]) {
                *to = from.load(Ordering::Relaxed); // ordered by the fence in `read`
            }
        }
    }

    /// The row as of snapshot boundary `boundary`: the state after all commits before it. Copies the
    /// columns of `cols` to `out`. Waits for commits in flight, without a bound: they are short.
    ///
    /// The caller's snapshot is registered, so that the versions it needs are kept.
    #[inline]
    pub fn read_at(
        self,
        boundary: Timestamp,
        layout: &Layout,
        cols: &Projection,
        out: &mut Vec<u64>,
    ) -> Presence {
        // what nearly all rows of a scan are: of one group, live, and older than the snapshot
        if layout.groups() == 1 {
            let word = self.word(0);
            if word.is_live() && word.ts() < boundary {
                let shape = self.shape();
                self.copy_row(layout, shape, cols, out);
                // pairs with the Release fence in `try_lock`
                fence(Ordering::Acquire);
                if self.group_word(0).load(Ordering::Relaxed) == word.0 {
                    return Presence::Live(shape.row_words());
                }
            }
        }
        self.read_any_at(boundary, layout, cols, out)
    }

    fn read_any_at(
        self,
        boundary: Timestamp,
        layout: &Layout,
        cols: &Projection,
        out: &mut Vec<u64>,
    ) -> Presence {
        let groups = layout.groups();
        let all = GroupSet::all(groups);
        let mut seen = [Word(0); MAX_GROUPS];
        let mut backoff = Backoff::new();
        loop {
            for group in all.iter() {
                seen[group] = self.word(group);
            }
            let current = Self::current(&seen, groups);
            if current == Word::PLACEHOLDER {
                // never live: its insert commits behind the boundary, or not at all
                return Presence::Absent;
            }
            if current.ts() < boundary && !seen[..groups].iter().any(|w| w.is_locked()) {
                let shape = self.shape();
                if !current.is_absent() {
                    self.copy_row(layout, shape, cols, out);
                }
                // pairs with the Release fence in `try_lock`
                fence(Ordering::Acquire);
                if all.iter().all(|g| self.group_word(g).load(Ordering::Relaxed) == seen[g].0) {
                    return if current.is_absent() {
                        Presence::Absent
                    } else {
                        Presence::Live(shape.row_words())
                    };
                }
            } else if current.ts() >= boundary {
                // pairs with the Release in `retain`; the version is there, for it was retained before the
                // word that we saw was stored
                return self.read_chain(boundary, layout, cols, out);
            } else {
                backoff.wait_forever();
            }
        }
    }

    fn read_chain(
        self,
        boundary: Timestamp,
        layout: &Layout,
        cols: &Projection,
        out: &mut Vec<u64>,
    ) -> Presence {
        // pairs with the Release in `retain`.
        // SAFETY: versions up to the first one before the boundary are kept for this snapshot.
        let mut version = unsafe { Version::from_raw(self.chain().load(Ordering::Acquire)) };
        while let Some(v) = version {
            if v.word().ts() < boundary {
                if v.word().is_absent() {
                    return Presence::Absent;
                }
                return Presence::Live(v.copy(cols.spans(), cols.var(), layout.fixed_words(), out));
            }
            version = v.next();
        }
        Presence::Absent // inserted after the boundary
    }
}
