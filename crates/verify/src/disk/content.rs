//! The bytes of a file, in blocks that copies share.

use scaledb_sync::Arc;

/// What reaches the disk whole or not at all.
pub const SECTOR: usize = 512;

/// What copies share, and what is allocated.
pub(super) const BLOCK: usize = 4096;

/// The bytes of a block.
pub(super) type Block = [u8; BLOCK];

/// A copy costs a word per block.
///
/// Bytes at and behind `len` are zero. A block that was never written is not allocated, and reads as zeros.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    len: usize,
    blocks: Vec<Option<Arc<Block>>>,
}

impl Content {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many blocks are allocated.
    pub(super) fn allocated(&self) -> usize {
        self.blocks.iter().flatten().count()
    }

    /// Blocks that a write of `len` bytes at `offset` would have to allocate.
    pub(super) fn missing(&self, offset: usize, len: usize) -> usize {
        pieces(offset, len).filter(|piece| self.blocks.get(piece.block).is_none_or(Option::is_none)).count()
    }

    /// The allocated blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.blocks.iter().flatten()
    }

    /// False, and nothing is read, where the file is too short.
    #[must_use]
    pub(super) fn read(&self, to: &mut [u8], offset: usize) -> bool {
        if offset.checked_add(to.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        for piece in pieces(offset, to.len()) {
            let to = &mut to[piece.from..piece.from + piece.len];
            match self.blocks.get(piece.block).and_then(Option::as_ref) {
                Some(block) => to.copy_from_slice(&block[piece.at..piece.at + piece.len]),
                None => to.fill(0),
            }
        }
        true
    }

    /// Writes without a look at the length: what lies behind it stays invisible only if the length is set.
    pub(super) fn put(&mut self, from: &[u8], offset: usize) {
        for piece in pieces(offset, from.len()) {
            if self.blocks.len() <= piece.block {
                self.blocks.resize(piece.block + 1, None);
            }
            let block = self.blocks[piece.block].get_or_insert_with(|| Arc::new([0; BLOCK]));
            Arc::make_mut(block)[piece.at..piece.at + piece.len]
                .copy_from_slice(&from[piece.from..piece.from + piece.len]);
        }
    }

    /// Writes; the file grows if it must.
    pub(super) fn write(&mut self, from: &[u8], offset: usize) {
        self.put(from, offset);
        self.len = self.len.max(offset + from.len());
    }

    /// Cuts or extends the file; what is cut off reads as zeros if the file grows again.
    pub(super) fn set_len(&mut self, len: usize) {
        self.len = len;
        self.blocks.truncate(len.div_ceil(BLOCK));
        let inside = len % BLOCK;
        if inside != 0
            && let Some(Some(block)) = self.blocks.get_mut(len / BLOCK)
            && block[inside..].iter().any(|byte| *byte != 0)
        {
            Arc::make_mut(block)[inside..].fill(0);
        }
    }

    /// Turns bits over; false where the file is too short.
    pub(super) fn flip(&mut self, offset: usize, bits: u8) -> bool {
        let mut byte = [0];
        let inside = self.read(&mut byte, offset);
        if inside {
            self.put(&[byte[0] ^ bits], offset);
        }
        inside
    }
}

/// The part of a range that lies in one block.
struct Piece {
    block: usize,
    /// In the block.
    at: usize,
    /// In the range.
    from: usize,
    len: usize,
}

fn pieces(offset: usize, len: usize) -> impl Iterator<Item = Piece> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (block, at) = ((offset + from) / BLOCK, (offset + from) % BLOCK);
        let piece = Piece { block, at, from, len: (BLOCK - at).min(len - from) };
        from += piece.len;
        (piece.len > 0).then_some(piece)
    })
}
