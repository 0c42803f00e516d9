//! Who has which line: the directory, and the physical pages that addresses are given.
//!
//! A page of memory gets the next number when it is touched for the first time, so that nothing depends on the
//! addresses that the system gave.

/// Cores of a machine, those of background threads included.
pub(crate) const MAX_CORES: usize = 256;

/// No core.
pub(crate) const NOBODY: u16 = u16::MAX;

const LINES_OF_PAGE: usize = 64;
const TOP_BITS: usize = 18;
const LOW_BITS: usize = 18;

/// A set of cores.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cores([u64; MAX_CORES / 64]);

impl Cores {
    pub(crate) fn only(core: usize) -> Self {
        let mut cores = Self::default();
        cores.add(core);
        cores
    }
    pub(crate) fn add(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }
    pub(crate) fn remove(&mut self, core: usize) {
        self.0[core / 64] &= !(1 << (core % 64));
    }
    pub(crate) fn has(self, core: usize) -> bool {
        self.0[core / 64] >> (core % 64) & 1 == 1
    }
    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; MAX_CORES / 64]
    }
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(i, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(i * 64 + bit)
            })
        })
    }
}

/// A line of memory.
///
/// `owner != NOBODY` implies `sharers == {owner}`: the line may be written there without asking.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// Cores that have it in their L1 or L2.
    pub(crate) sharers: Cores,
    /// Cores that had it until another wrote.
    pub(crate) lost_by: Cores,
    /// When the last transfer that changed the owner ends, in picoseconds.
    pub(crate) free_at: u64,
    /// Last-level caches that have it.
    pub(crate) domains: u32,
    pub(crate) owner: u16,
    /// Who wrote last.
    pub(crate) writer: u16,
    /// Words that `writer` wrote when it got the line.
    pub(crate) written: u8,
    /// The socket whose memory it is.
    pub(crate) home: u8,
    /// Its name's number, and its place in what the name stands for.
    pub(crate) name: u32,
    pub(crate) element: u32,
    /// Its number among the lines that cores lost time on, plus 1.
    pub(crate) contended: u32,
}

const UNTOUCHED: Line = Line {
    sharers: Cores([0; MAX_CORES / 64]),
    lost_by: Cores([0; MAX_CORES / 64]),
    free_at: 0,
    domains: 0,
    owner: NOBODY,
    writer: NOBODY,
    written: 0,
    home: 0,
    name: 0,
    element: 0,
    contended: 0,
};

/// The lines of all pages that were touched.
pub(crate) struct Directory {
    /// Page numbers, by address, in two levels; 0: not touched.
    numbers: Vec<Option<Box<[u32]>>>,
    pages: Vec<Box<[Line; LINES_OF_PAGE]>>,
    addresses: Vec<u64>,
}

impl Directory {
    pub(crate) fn new() -> Self {
        let mut numbers = Vec::new();
        numbers.resize_with(1 << TOP_BITS, || None);
        // no line has the number 0
        Self { numbers, pages: vec![Box::new([UNTOUCHED; LINES_OF_PAGE])], addresses: vec![0] }
    }

    /// The number of a line by its address over 64; a page that is new belongs to `socket`.
    #[inline]
    pub(crate) fn number(&mut self, line: u64, socket: usize) -> u32 {
        let page = line as usize / LINES_OF_PAGE;
        let (top, low) = (page >> LOW_BITS & ((1 << TOP_BITS) - 1), page & ((1 << LOW_BITS) - 1));
        let numbers = &mut self.numbers[top];
        let numbers = numbers.get_or_insert_with(|| vec![0; 1 << LOW_BITS].into_boxed_slice());
        if numbers[low] == 0 {
            numbers[low] = self.pages.len() as u32;
            let new = Line { home: socket as u8, ..UNTOUCHED };
            self.pages.push(Box::new([new; LINES_OF_PAGE]));
            self.addresses.push(page as u64 * LINES_OF_PAGE as u64);
        }
        numbers[low] * LINES_OF_PAGE as u32 + (line as u32 % LINES_OF_PAGE as u32)
    }

    #[inline]
    pub(crate) fn line(&mut self, number: u32) -> &mut Line {
        &mut self.pages[number as usize / LINES_OF_PAGE][number as usize % LINES_OF_PAGE]
    }

    /// The address over 64 of a line.
    #[inline]
    pub(crate) fn address(&self, number: u32) -> u64 {
        self.addresses[number as usize / LINES_OF_PAGE] + u64::from(number) % LINES_OF_PAGE as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_as_they_are_touched() {
        let mut directory = Directory::new();
        let (high, low) = (0x7FFF_1234_5000 / 64, 0x1000 / 64);
        let (first, second) = (directory.number(high + 3, 1), directory.number(low, 0));
        assert_eq!((first, second), (64 + 3, 128));
        assert_eq!((directory.address(first), directory.address(second)), (high + 3, low));
        assert_eq!((directory.line(first).home, directory.line(second).home), (1, 0));
        assert_eq!(directory.number(high + 3, 0), first);
    }

    #[test]
    fn a_set_of_cores_is_listed_in_order() {
        let mut cores = Cores::only(200);
        cores.add(3);
        cores.add(64);
        cores.remove(64);
        assert_eq!(cores.iter().collect::<Vec<_>>(), [3, 200]);
    }
}
