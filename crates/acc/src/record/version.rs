//! Versions that left their record but that a snapshot may still read.
//!
//! An update happens in place. Only when a snapshot boundary lies between the commit of the row as it
//! is and the commit that overwrites it does the old row go into a version first. Versions of a record
//! form a chain, newest first; a reader at S follows it to the first version from before S and never
//! looks behind it, so that the tail of a chain can be freed without being unlinked: its worker frees a
//! version when every snapshot, running or to come, lies after the commit that superseded it.

use super::word::Word;
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_row::Span;
use std::ptr::NonNull;

#[repr(C)]
struct Header {
    /// The record's word while this version was current: its commit and whether it was absent.
    word: Word,
    /// The version before this one, or null.
    next: *const Header,
    /// The words of the row behind this header.
    row_words: usize,
}

/// A row as it was. Immutable once it is part of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(NonNull<u8>);

impl Version {
    /// Bytes of the block of a version of `row_words` words.
    fn bytes(row_words: usize) -> usize {
        size_of::<Header>() + row_words * size_of::<u64>()
    }

    /// A version with room for a row, not part of any chain; `fill` writes the row.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    pub(crate) fn create(
        local: &mut Local,
        word: Word,
        next: u64,
        row_words: usize,
        fill: impl FnOnce(&mut [u64]),
    ) -> Result<Self> {
        let block = local.alloc(Self::bytes(row_words))?;
        let next = std::ptr::with_exposed_provenance(next as usize);
        // SAFETY: the block is fresh, large enough, and aligned to 8.
        unsafe {
            block.cast::<Header>().write(Header { word, next, row_words });
            let row = block.as_ptr().add(size_of::<Header>()).cast::<u64>();
            row.write_bytes(0, row_words);
            fill(std::slice::from_raw_parts_mut(row, row_words));
        }
        Ok(Self(block))
    }

    /// # Safety
    /// `raw` came from [`Version::raw`], and the version is not freed while the result is in use.
    pub(crate) unsafe fn from_raw(raw: u64) -> Option<Self> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(raw as usize)).map(Self)
    }

    pub(crate) fn raw(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    fn header(&self) -> &Header {
        // SAFETY: a version is a valid block until it is freed, see `free` and `from_raw`.
        unsafe { self.0.cast().as_ref() }
    }

    pub(crate) fn word(self) -> Word {
        self.header().word
    }

    pub(crate) fn next(self) -> Option<Self> {
        NonNull::new(self.header().next.cast_mut().cast()).map(Self)
    }

    fn row(&self) -> &[u64] {
        // SAFETY: `create` made the block that long and filled it.
        unsafe {
            std::slice::from_raw_parts(
                self.0.as_ptr().add(size_of::<Header>()).cast(),
                self.header().row_words,
            )
        }
    }

    /// Copies the words of `spans`, and those from `fixed_words` on if `var`, to the same places of
    /// `out`. Returns the length of the row.
    pub(crate) fn copy(self, spans: &[Span], var: bool, fixed_words: usize, out: &mut Vec<u64>) -> usize {
        let row = self.row();
        if out.len() < row.len() {
            out.resize(row.len(), 0);
        }
        for span in spans {
            let range = span.start as usize..(span.start + span.words) as usize;
            out[range.clone()].copy_from_slice(&row[range]);
        }
        if var {
            out[fixed_words..row.len()].copy_from_slice(&row[fixed_words..]);
        }
        row.len()
    }

    /// Frees the version.
    ///
    /// # Safety
    /// No snapshot, running or to come, reads at or before the commit that superseded it, and it is freed
    /// once.
    pub unsafe fn free(self, local: &mut Local) {
        let bytes = Self::bytes(self.header().row_words);
        // SAFETY: allocated in `create` with this size; nobody reads it, says the caller.
        unsafe { local.free(self.0, bytes) };
    }
}

// SAFETY: a version is immutable; whoever frees it says that nobody reads it.
unsafe impl Send for Version {}
