//! Values of sequences that a transaction block has taken: who runs the block again takes them again, for its client
//! may have seen them, and nobody else ever gets them.

/// Values that may be taken again. A block that takes more takes new ones in their place.
const MOST: usize = 4_096;

/// Values whose memory is kept for the next block.
const KEPT: usize = 64;

/// The values, in the order in which they were taken, each with the number under which its sequence notes its values.
#[derive(Default)]
pub(crate) struct Drawn {
    values: Vec<(u32, i64)>,
    /// While the block is run again: how many were taken again.
    again: Option<usize>,
    /// Values that are taken are kept.
    on: bool,
}

impl Drawn {
    /// A statement of a block begins, whose steps have taken the first `len` values.
    pub(crate) fn begin_statement(&mut self, len: usize) {
        self.on = true;
        self.values.truncate(len);
    }

    /// The block has ended.
    pub(crate) fn end(&mut self) {
        if self.on {
            self.on = false;
            self.values.clear();
            self.values.shrink_to(KEPT);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// A statement is run again whose earlier ones have taken the first `taken` values again.
    pub(crate) fn repeat(&mut self, taken: usize) {
        self.again = Some(taken);
    }

    /// How many were taken again, or there are.
    pub(crate) fn taken(&self) -> usize {
        self.again.unwrap_or(self.values.len())
    }

    /// What follows is run for the first time. What the last run has not taken, because it was cut short, is there for
    /// the next one.
    pub(crate) fn end_repeat(&mut self, complete: bool) {
        if let Some(taken) = self.again.take()
            && complete
        {
            self.values.truncate(taken);
        }
    }

    /// The value to take, if the block is run again and has taken one of this sequence at this place.
    pub(crate) fn next(&self, sequence: u32) -> Option<i64> {
        let &(known, value) = self.values.get(self.again?)?;
        (known == sequence).then_some(value)
    }

    /// Notes a value that was taken.
    pub(crate) fn add(&mut self, sequence: u32, value: i64) {
        let at = self.taken();
        if self.values.get(at) != Some(&(sequence, value)) {
            // behind another one than before, all are others
            self.values.truncate(at);
            if !self.on || at >= MOST {
                return;
            }
            self.values.push((sequence, value));
        }
        if let Some(taken) = &mut self.again {
            *taken += 1;
        }
    }
}
