//! Causal timestamps: what a client, or a value, knows of each shard.

use smallvec::SmallVec;

use crate::codec::{self, Malformed, Reader};
use crate::limits::{MAX_DATACENTERS, MAX_ENTRIES};
use crate::{Datacenter, Rule, Rules, Slot, Stamp};

/// How a timestamp is compressed. All clients and servers of a store use the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An entry for each shard: up to 16,384.
    Exact,
    /// Shards whose numbers are congruent modulo this share an entry.
    Structural(u8),
    /// Entries for the shards with the newest stamps, and a last one, the catch-all, for all others: this many
    /// together. A single entry is the timestamp of Pileus.
    Temporal(u8),
    /// For each datacenter one as in `Temporal`, so that the clock of one datacenter does not date what another one
    /// wrote.
    Isolated(u8),
}

impl Default for Shape {
    /// Two entries for each datacenter: four, if two have masters.
    fn default() -> Self {
        Self::Isolated(2)
    }
}

impl Shape {
    fn parts(self) -> (u8, u8) {
        match self {
            Self::Exact => (0, 1),
            Self::Structural(n) => (1, n),
            Self::Temporal(n) => (2, n),
            Self::Isolated(n) => (3, n),
        }
    }

    fn of(kind: u8, n: u8) -> Result<Self, Malformed> {
        if n == 0 || usize::from(n) > MAX_ENTRIES {
            return Err(Malformed("a timestamp has 1 to 64 entries"));
        }
        match kind {
            0 => Ok(Self::Exact),
            1 => Ok(Self::Structural(n)),
            2 => Ok(Self::Temporal(n)),
            3 => Ok(Self::Isolated(n)),
            _ => Err(Malformed("no such kind of timestamp")),
        }
    }

    /// Its name and size, such as `isolated:2`; `FromStr` reads it.
    fn name(self) -> &'static str {
        ["exact", "structural", "temporal", "isolated"][usize::from(self.parts().0)]
    }

    /// How many shards have an entry of their own.
    fn capacity(self) -> usize {
        match self {
            Self::Exact => usize::from(Slot::COUNT),
            Self::Structural(n) => usize::from(n),
            Self::Temporal(n) | Self::Isolated(n) => usize::from(n) - 1,
        }
    }

    fn index(self, slot: Slot) -> u16 {
        match self {
            Self::Structural(n) => slot.get() % u16::from(n),
            _ => slot.get(),
        }
    }

    fn part(self, datacenter: Datacenter) -> u8 {
        if matches!(self, Self::Isolated(_)) { datacenter.0 } else { 0 }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str(self.name()),
            _ => write!(f, "{}:{}", self.name(), self.parts().1),
        }
    }
}

impl std::str::FromStr for Shape {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (name, n) = text.split_once(':').unwrap_or((text, "1"));
        let n = n.parse().map_err(|_| Malformed("not a number of entries"))?;
        let kind = ["exact", "structural", "temporal", "isolated"].iter().position(|known| *known == name);
        let kind = kind.ok_or(Malformed("a timestamp is exact, structural:N, temporal:N or isolated:N"))?;
        Self::of(kind as u8, n)
    }
}

/// What is known of each shard: for each slot a stamp, up to which its writes are known.
///
/// A compressed timestamp never knows less than the exact one, so it is safe; that it may seem to know more costs
/// reads that are taken for stale and are not. [`merge`](Self::merge) is commutative, associative and idempotent.
///
/// ```text
/// get(slot) = max(all, rest, entry of the slot)          for the part of the slot's datacenter
/// each entry > max(all, rest); no part has more entries than the shape allows; parts and entries are sorted
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    shape: Shape,
    /// Of all shards everywhere: of timestamps of another shape only their maximum is kept.
    all: Stamp,
    parts: SmallVec<[Part; 2]>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Part {
    datacenter: u8,
    /// The catch-all.
    rest: Stamp,
    entries: SmallVec<[(u16, Stamp); 3]>,
}

impl Part {
    fn get(&self, index: u16) -> Stamp {
        self.entry(index).unwrap_or_default().max(self.rest)
    }

    fn entry(&self, index: u16) -> Option<Stamp> {
        // for a few entries a walk is faster than a search by halves
        if self.entries.len() <= 8 {
            return self.entries.iter().find(|(at, _)| *at == index).map(|(_, stamp)| *stamp);
        }
        self.entries.binary_search_by_key(&index, |(at, _)| *at).ok().map(|at| self.entries[at].1)
    }

    fn max(&self) -> Stamp {
        self.entries.iter().map(|(_, stamp)| *stamp).max().unwrap_or_default().max(self.rest)
    }

    /// Keeps the newest `capacity` entries; the next one is the catch-all.
    fn compress(&mut self, capacity: usize, all: Stamp) {
        if self.entries.len() == capacity + 1 {
            // one more than there may be: most often an update
            let oldest = (0..=capacity).min_by_key(|&at| self.entries[at].1).unwrap_or_default();
            self.rest = self.rest.max(self.entries.remove(oldest).1);
        } else if self.entries.len() > capacity {
            let mut newest: SmallVec<[Stamp; 8]> = self.entries.iter().map(|(_, stamp)| *stamp).collect();
            newest.sort_unstable_by(|a, b| b.cmp(a));
            self.rest = self.rest.max(newest[capacity]);
        }
        if self.rest <= all {
            self.rest = Stamp::ZERO;
        }
        let floor = self.rest.max(all);
        self.entries.retain(|(_, stamp)| *stamp > floor);
    }

    fn merge(&mut self, other: &Self) {
        self.rest = self.rest.max(other.rest);
        let mut merged = SmallVec::new();
        let (mut ours, mut theirs) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let both = (a.0, a.1.max(b.1));
                    ours.next();
                    theirs.next();
                    Some(both)
                }
                (Some(a), Some(b)) if a.0 > b.0 => theirs.next().copied(),
                (None, Some(_)) => theirs.next().copied(),
                _ => ours.next().copied(),
            };
            match next {
                Some(entry) => merged.push(entry),
                None => break,
            }
        }
        self.entries = merged;
    }
}

impl Default for Timestamp {
    fn default() -> Self {
        Self::new(Shape::default())
    }
}

impl Timestamp {
    /// Knows of no write.
    pub fn new(shape: Shape) -> Self {
        Self { shape, all: Stamp::ZERO, parts: SmallVec::new() }
    }

    /// How it is compressed.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether it knows of no write.
    pub fn is_empty(&self) -> bool {
        self.all == Stamp::ZERO && self.parts.is_empty()
    }

    /// Up to where a slot of a datacenter is known: at least to what it was updated with.
    pub fn get(&self, datacenter: Datacenter, slot: Slot) -> Stamp {
        let part = self.part(datacenter).map_or(Stamp::ZERO, |part| part.get(self.shape.index(slot)));
        part.max(self.all)
    }

    /// The same, and what is known of the slot itself in the vectors of other datacenters: a slot that has lost all
    /// that it had begins anew, and may belong to another datacenter then.
    pub fn get_of(&self, datacenter: Datacenter, slot: Slot, rules: Rules) -> Stamp {
        let here = self.get(datacenter, slot);
        if !matches!(self.shape, Shape::Isolated(_)) || !rules.on(Rule::OtherDatacentersCount) {
            return here;
        }
        let others = self.parts.iter().filter(|part| part.datacenter != datacenter.0);
        others.filter_map(|part| part.entry(slot.get())).fold(here, Stamp::max)
    }

    /// The same of a slot of which nobody has said where it began.
    pub fn get_anywhere(&self, slot: Slot) -> Stamp {
        let index = self.shape.index(slot);
        self.parts.iter().map(|part| part.get(index)).max().unwrap_or_default().max(self.all)
    }

    /// The entry of the slot itself, if it has one: exactly the stamp of a write.
    pub fn exact(&self, datacenter: Datacenter, slot: Slot) -> Option<Stamp> {
        if matches!(self.shape, Shape::Structural(_)) {
            return None;
        }
        self.part(datacenter)?.entry(slot.get())
    }

    /// The greatest stamp that it knows.
    pub fn max(&self) -> Stamp {
        self.parts.iter().map(Part::max).max().unwrap_or_default().max(self.all)
    }

    /// The greatest stamp that it knows of a datacenter. It is what may pull the clock of a shard there forward.
    pub fn max_of(&self, datacenter: Datacenter) -> Stamp {
        self.part(datacenter).map_or(Stamp::ZERO, Part::max).max(self.all)
    }

    /// Notes that a slot is known up to a stamp.
    pub fn update(&mut self, datacenter: Datacenter, slot: Slot, stamp: Stamp) {
        if stamp <= self.get(datacenter, slot) {
            return;
        }
        let (shape, all) = (self.shape, self.all);
        let index = shape.index(slot);
        let part = self.part_mut(shape.part(datacenter));
        match part.entries.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(at) => part.entries[at].1 = stamp,
            Err(at) => part.entries.insert(at, (index, stamp)),
        }
        part.compress(shape.capacity(), all);
    }

    /// Adds all that another one knows.
    pub fn merge(&mut self, other: &Self) {
        // a timestamp of another size is of the same kind: its entries are entries here
        let kinds = (self.shape.parts(), other.shape.parts());
        let same =
            kinds.0 == kinds.1 || kinds.0.0 == kinds.1.0 && !matches!(self.shape, Shape::Structural(_));
        let (shape, before) = (self.shape, self.all);
        self.all = self.all.max(if same { other.all } else { other.max() });
        let all = self.all;
        if all > before {
            for part in &mut self.parts {
                part.compress(shape.capacity(), all);
            }
        }
        if same {
            for theirs in &other.parts {
                let part = self.part_mut(theirs.datacenter);
                part.merge(theirs);
                part.compress(shape.capacity(), all);
            }
        }
        self.parts.retain(|part| part.rest != Stamp::ZERO || !part.entries.is_empty());
    }

    fn part(&self, datacenter: Datacenter) -> Option<&Part> {
        let wanted = self.shape.part(datacenter);
        self.parts.iter().find(|part| part.datacenter == wanted)
    }

    fn part_mut(&mut self, datacenter: u8) -> &mut Part {
        let at = self.parts.iter().position(|part| part.datacenter >= datacenter).unwrap_or(self.parts.len());
        if self.parts.get(at).is_none_or(|part| part.datacenter != datacenter) {
            self.parts.insert(at, Part { datacenter, ..Part::default() });
        }
        &mut self.parts[at]
    }

    /// Appends its bytes. Stamps are written as distances from the greatest one, so a few entries take about 30
    /// bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (kind, n) = self.shape.parts();
        out.extend([kind, n]);
        codec::put_number(out, self.parts.len() as u64);
        let max = self.max();
        codec::put_stamp(out, max);
        put_distance(out, max, self.all);
        for part in &self.parts {
            out.push(part.datacenter);
            put_distance(out, max, part.rest);
            codec::put_number(out, part.entries.len() as u64);
            for (index, stamp) in &part.entries {
                out.extend_from_slice(&index.to_be_bytes());
                put_distance(out, max, *stamp);
            }
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        self.encode(&mut out);
        out
    }

    /// Reads what [`encode`](Self::encode) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are none of a timestamp.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, n) = (reader.byte()?, reader.byte()?);
        let shape = Shape::of(kind, n)?;
        let parts = reader.number()?;
        if parts > MAX_DATACENTERS as u64 {
            return Err(Malformed("more datacenters than there can be"));
        }
        let max = reader.stamp()?;
        let mut timestamp = Self::new(shape);
        timestamp.all = distance(reader, max)?;
        let mut last = None;
        for _ in 0..parts {
            let datacenter = reader.datacenter()?.0;
            if last.is_some_and(|last| last >= datacenter) || shape.part(Datacenter(datacenter)) != datacenter
            {
                return Err(Malformed("the datacenters are not in order"));
            }
            last = Some(datacenter);
            let mut part = Part { datacenter, rest: distance(reader, max)?, entries: SmallVec::new() };
            let mut after = 0;
            for _ in 0..reader.count(shape.capacity())? {
                let index = reader.take(2)?;
                let index = u16::from_be_bytes([index[0], index[1]]);
                let slot = Slot::new(index).ok_or(Malformed("no such slot"))?;
                if index < after || shape.index(slot) != index {
                    return Err(Malformed("the slots are not in order"));
                }
                after = index + 1;
                part.entries.push((index, distance(reader, max)?));
            }
            part.compress(shape.capacity(), timestamp.all);
            if part.rest != Stamp::ZERO || !part.entries.is_empty() {
                timestamp.parts.push(part);
            }
        }
        Ok(timestamp)
    }

    /// Passes over what [`encode`](Self::encode) has written, which somebody has read before.
    pub(crate) fn skip(reader: &mut Reader<'_>) -> Result<(), Malformed> {
        reader.take(2)?;
        let parts = reader.number()?;
        reader.take(8)?;
        reader.number()?;
        for _ in 0..parts {
            reader.take(1)?;
            reader.number()?;
            for _ in 0..reader.number()? {
                reader.take(2)?;
                reader.number()?;
            }
        }
        Ok(())
    }

    /// Of bytes that hold nothing else.
    ///
    /// # Errors
    ///
    /// If they are none of a timestamp.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let timestamp = Self::decode(&mut reader)?;
        reader.end()?;
        Ok(timestamp)
    }
}

/// Zero is the stamp of nothing; others are one more than their distance from the greatest.
fn put_distance(out: &mut Vec<u8>, max: Stamp, stamp: Stamp) {
    let distance = if stamp == Stamp::ZERO { 0 } else { (max.to_bits() - stamp.to_bits()).saturating_add(1) };
    codec::put_number(out, distance);
}

fn distance(reader: &mut Reader<'_>, max: Stamp) -> Result<Stamp, Malformed> {
    match reader.number()? {
        0 => Ok(Stamp::ZERO),
        distance => {
            let bits = max.to_bits().checked_sub(distance - 1);
            bits.map(Stamp::from_bits).ok_or(Malformed("a stamp beyond the greatest"))
        }
    }
}
