//! What a machine finds after a power loss: all that was synced, and of the rest what luck decides.
//!
//! **Contents.** A sector is written whole or not at all. The system may write each dirty sector at any time,
//! and in any order: what is found is the sector as it was after any of the writes since the last sync, or
//! before them. Its neighbours are found as of other times, so that a write is torn. The length is that of
//! any time since the last sync. A sector that a file has grown by and that was not written holds zeros, or
//! what the block held in a file that was removed.
//!
//! **Names.** Any subset of the changes since the last sync of names. A journalling file system keeps their
//! order; POSIX does not promise it, and the subset is harsher: it finds the removal of an old file that is
//! allowed to overtake the rename of the new one. A rename happens whole or not at all. A file that is synced
//! and whose name is not may be gone.

use super::content::{BLOCK, Content, SECTOR};
use super::state::{Change, DiskState, FileId, Names, Node};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_sync::Arc;
use std::ops::Range;

/// Which of some changes survive: chosen for each file and for the names, so that each extreme has its turn.
#[derive(Debug, Clone, Copy)]
enum Luck {
    Nothing,
    Everything,
    /// All before one of them.
    InOrder,
    /// Each one that falls below the number, of 256.
    Each(u8),
    AllButOne,
    OnlyOne,
}

impl Luck {
    fn draw(rng: &mut SmallRng) -> Self {
        match rng.random_range(0..8) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::InOrder,
            3 => Self::Each(128),
            4 => Self::Each(20),
            5 => Self::Each(236),
            6 => Self::AllButOne,
            _ => Self::OnlyOne,
        }
    }

    /// Which of `count` changes survive.
    fn survivors(self, count: usize, rng: &mut SmallRng) -> Vec<bool> {
        if count == 0 {
            return Vec::new();
        }
        let one = rng.random_range(0..count);
        let survives = |i: usize, rng: &mut SmallRng| match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::InOrder => i < one,
            Self::Each(share) => rng.random::<u8>() < share,
            Self::AllButOne => i != one,
            Self::OnlyOne => i == one,
        };
        (0..count).map(|i| survives(i, rng)).collect()
    }
}

/// The disk that is found when `state` loses power.
pub(super) fn image(state: &DiskState, seed: u64) -> DiskState {
    let mut rng = SmallRng::seed_from_u64(seed);
    let names = if state.name_changes.is_empty() {
        state.durable_names.clone()
    } else {
        let mut names = Names::clone(&state.durable_names);
        let survivors = Luck::draw(&mut rng).survivors(state.name_changes.len(), &mut rng);
        let kept = state.name_changes.iter().zip(survivors).filter(|(_, survives)| *survives);
        kept.for_each(|(change, _)| change.apply(&mut names));
        Arc::new(names)
    };
    let mut named: Vec<FileId> = names.values().copied().collect();
    named.sort_unstable();
    let found = |(file, node): (&FileId, &Node)| {
        named.binary_search(file).ok()?;
        let content = if node.changes.is_empty() {
            node.durable.clone()
        } else {
            Arc::new(surviving(node, state, &mut rng))
        };
        Some((*file, Node { seen: content.clone(), durable: content, ..Node::default() }))
    };
    DiskState {
        files: state.files.iter().filter_map(found).collect(),
        durable_names: names.clone(),
        names,
        name_changes: Arc::default(),
        recycled: state.recycled.clone(),
    }
}

/// What is found of a file that is not synced: a copy of its durable content with some of the changes.
pub(super) fn surviving(node: &Node, state: &DiskState, rng: &mut SmallRng) -> Content {
    let mut found = Content::clone(&node.durable);
    let fate = Fate::draw(&node.changes, rng);
    let kept = fate.lengths.min(node.changes.len());
    let mut length = found.len();
    for change in &node.changes[..kept] {
        length = match change {
            Change::Write { offset, bytes } => length.max(offset + bytes.len()),
            Change::SetLen(len) => *len,
        };
    }
    let lost = Lost::draw(rng);
    let grown = node.durable.len().div_ceil(SECTOR);
    let mut met = Vec::new(); // of the sectors from `grown` on
    for (i, change) in node.changes.iter().enumerate() {
        match change {
            // its zeros come with the length
            Change::SetLen(len) => {
                if i < kept {
                    found.set_len(*len);
                }
            }
            Change::Write { offset, bytes } => {
                for (sector, from, to) in sectors(*offset, bytes.len()) {
                    let first = sector >= grown && is_first(&mut met, sector - grown);
                    if i < fate.version(sector, node.changes.len()) {
                        found.put(&bytes[from..to], offset + from);
                    } else if first {
                        // no later write of this sector has survived either
                        lost.fill(&mut found, sector, state, rng);
                    }
                }
            }
        }
    }
    found.set_len(length);
    found
}

fn is_first(met: &mut Vec<bool>, number: usize) -> bool {
    if met.len() <= number {
        met.resize(number + 1, false);
    }
    !std::mem::replace(&mut met[number], true)
}

/// The sectors of a write, each with the part of the write that lies in it.
fn sectors(offset: usize, len: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = offset + len;
    (offset / SECTOR..end.div_ceil(SECTOR)).map(move |sector| {
        let (start, stop) = ((sector * SECTOR).max(offset), ((sector + 1) * SECTOR).min(end));
        (sector, start - offset, stop - offset)
    })
}

/// As of which change the sectors and the length of a file are found.
struct Fate {
    luck: Luck,
    /// The change that the luck speaks of, and its sectors or one of them.
    change: usize,
    sectors: Range<usize>,
    /// Lengths are found as of this change.
    lengths: usize,
    seed: u64,
}

impl Fate {
    fn draw(changes: &[Change], rng: &mut SmallRng) -> Self {
        let luck = Luck::draw(rng);
        let change = rng.random_range(0..changes.len());
        let mut sectors = match &changes[change] {
            Change::Write { offset, bytes } => offset / SECTOR..(offset + bytes.len()).div_ceil(SECTOR),
            Change::SetLen(_) => 0..0,
        };
        if rng.random() && !sectors.is_empty() {
            let one = rng.random_range(sectors);
            sectors = one..one + 1;
        }
        let lengths = match luck {
            Luck::Nothing => 0,
            Luck::Everything | Luck::AllButOne => changes.len(),
            Luck::InOrder => change + rng.random_range(0..2),
            Luck::OnlyOne => rng.random_range(0..2) * changes.len(),
            Luck::Each(_) => rng.random_range(0..=changes.len()),
        };
        Self { luck, change, sectors, lengths, seed: rng.random() }
    }

    /// How many of the `count` changes have reached this sector.
    fn version(&self, sector: usize, count: usize) -> usize {
        match self.luck {
            Luck::Nothing => 0,
            Luck::Everything => count,
            Luck::InOrder => self.change + usize::from(sector < self.sectors.start),
            Luck::Each(share) => {
                let random = mix(self.seed ^ sector as u64);
                let earlier = (random >> 8) as usize % count;
                if (random as u8) < share { count } else { earlier }
            }
            Luck::AllButOne if self.sectors.contains(&sector) => self.change,
            Luck::AllButOne => count,
            Luck::OnlyOne if self.sectors.contains(&sector) => count,
            Luck::OnlyOne => 0,
        }
    }
}

/// Spreads the bits of a number (splitmix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What a new sector holds that was never written.
#[derive(Debug, Clone, Copy)]
enum Lost {
    Zeros,
    /// What a removed file had there: for a log, old groups at the right place.
    Recycled,
    Noise,
}

impl Lost {
    fn draw(rng: &mut SmallRng) -> Self {
        match rng.random_range(0..8) {
            0..4 => Self::Zeros,
            4..7 => Self::Recycled,
            _ => Self::Noise,
        }
    }

    fn fill(self, content: &mut Content, sector: usize, state: &DiskState, rng: &mut SmallRng) {
        let at = sector * SECTOR;
        match self {
            Self::Zeros => {}
            Self::Recycled => {
                if !state.recycled.is_empty() {
                    let block = &state.recycled[rng.random_range(0..state.recycled.len())];
                    content.put(&block[at % BLOCK..at % BLOCK + SECTOR], at);
                }
            }
            Self::Noise => {
                let mut noise = [0; SECTOR];
                rng.fill(&mut noise);
                content.put(&noise, at);
            }
        }
    }
}
