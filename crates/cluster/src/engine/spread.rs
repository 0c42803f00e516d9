//! Which partition a key is in.

use scaledb_keys::{Direction, Nulls};
use scaledb_row::{Column, ColumnType, KeyPart};
use scaledb_scar::PartitionId;

/// How the keys of a table or an index are spread over partitions.
#[derive(Clone, Debug)]
pub(crate) enum Spread {
    /// All are in partition 0, which every node keeps.
    Everywhere,
    /// By a hash of these first columns of the key; of the whole key if there are none.
    ByHash(Vec<(Column, KeyPart)>),
}

impl Spread {
    /// Whether every node keeps all of it.
    pub(crate) fn is_everywhere(&self) -> bool {
        matches!(self, Self::Everywhere)
    }

    /// The partition of a whole key, among so many. All agree on it, for ever: it decides where to look.
    pub(crate) fn partition(&self, key: &[u8], partitions: usize) -> PartitionId {
        match self {
            Self::ByHash(columns) if partitions > 1 => {
                // what is not made of these columns is no key of the table, and is nowhere
                let prefix = self.prefix(key, columns).unwrap_or(key);
                PartitionId(1 + (hash(prefix) % (partitions as u64 - 1)) as u16)
            }
            _ => PartitionId(0),
        }
    }

    /// The partitions that may hold keys from `start` to below `end`.
    pub(crate) fn partitions(&self, start: &[u8], end: Option<&[u8]>, partitions: usize) -> Vec<PartitionId> {
        match self {
            Self::ByHash(columns) if partitions > 1 => {
                let one = match columns.is_empty() {
                    true => end.is_some_and(|end| is_next(start, end)).then_some(start),
                    false => self.prefix(start, columns).filter(|prefix| all_begin_with(prefix, end)),
                };
                match one {
                    Some(_) => vec![self.partition(start, partitions)],
                    None => (1..partitions).map(|partition| PartitionId(partition as u16)).collect(),
                }
            }
            _ => vec![PartitionId(0)],
        }
    }

    fn prefix<'k>(&self, key: &'k [u8], columns: &[(Column, KeyPart)]) -> Option<&'k [u8]> {
        if columns.is_empty() {
            return Some(key);
        }
        let mut at = 0;
        for (column, part) in columns {
            at += length(column, part, key.get(at..)?)?;
        }
        key.get(..at)
    }
}

/// Whether `end` is the key right behind `start`.
fn is_next(start: &[u8], end: &[u8]) -> bool {
    end.split_last().is_some_and(|(&last, rest)| last == 0 && rest == start)
}

/// Whether all keys of a range that starts with `prefix`, and ends before `end`, start with it.
fn all_begin_with(prefix: &[u8], end: Option<&[u8]>) -> bool {
    let Some(end) = end else { return prefix.iter().all(|&byte| byte == 0xFF) };
    // the first key behind them: the prefix, counted up
    let counted = prefix.iter().rposition(|&byte| byte < 0xFF);
    counted.is_none_or(|at| {
        let behind = prefix[..at].iter().copied().chain([prefix[at] + 1]);
        end.iter().copied().le(behind)
    })
}

/// How many bytes of a key a column takes, that begins it.
fn length(column: &Column, part: &KeyPart, bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    if column.nullable {
        match (bytes.first()?, part.nulls) {
            (0x01, _) => at = 1,
            (0x00, Nulls::First) | (0x02, Nulls::Last) => return Some(1),
            _ => return None,
        }
    }
    let fixed = match column.ty {
        ColumnType::Bool => 1,
        ColumnType::Int2 => 2,
        ColumnType::Int4 | ColumnType::Date | ColumnType::Float4 => 4,
        ColumnType::Int8 | ColumnType::Time | ColumnType::Timestamp | ColumnType::Float8 => 8,
        ColumnType::Uuid => 16,
        ColumnType::Fixed(bytes) => usize::from(bytes),
        ColumnType::Text(_) | ColumnType::Bytes(_) => {
            return Some(at + variable(part.direction, bytes.get(at..)?)?);
        }
        ColumnType::Tail => return None,
    };
    (bytes.len() >= at + fixed).then_some(at + fixed)
}

/// Bytes up to the mark of their end, 00 01; 00 FF is a zero byte. A descending column has all of this inverted.
fn variable(direction: Direction, bytes: &[u8]) -> Option<usize> {
    let mask = if direction == Direction::Descending { 0xFF } else { 0 };
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte ^ mask == 0)? + 2;
        match bytes.get(at - 1)? ^ mask {
            0x01 => return Some(at),
            0xFF => {}
            _ => return None,
        }
    }
}

/// FNV-1a, and its bits mixed, since the remainder looks at the low ones.
fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ fnv >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_keys::KeyBuf;

    const PARTITIONS: usize = 8;

    fn by(columns: &[(ColumnType, bool, Direction)]) -> Spread {
        let column = |(i, &(ty, nullable, direction)): (usize, &(ColumnType, bool, Direction))| {
            let column = Column::new(&format!("c{i}"), ty);
            let column = if nullable { column.nullable() } else { column };
            (column, KeyPart { direction, ..KeyPart::asc(i) })
        };
        Spread::ByHash(columns.iter().enumerate().map(column).collect())
    }

    fn one(spread: &Spread, start: &[u8], end: Option<&[u8]>) -> Option<PartitionId> {
        match spread.partitions(start, end, PARTITIONS)[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    #[test]
    fn keys_that_share_the_columns_share_the_partition_and_others_are_spread() {
        use ColumnType::{Int4, Text};
        use Direction::{Ascending, Descending};
        for direction in [Ascending, Descending] {
            let spread = by(&[(Text(100), true, direction), (Int4, false, direction)]);
            let mut seen = std::collections::BTreeSet::new();
            for number in 0..100 {
                for text in ["", "a", "a\0b", "\u{1}", "ÿÿ"] {
                    let mut key = KeyBuf::new();
                    key.push_null_marker(false, Nulls::Last);
                    key.push_bytes(text.as_bytes(), direction);
                    key.push_i32(number, direction);
                    let prefix = key.clone();
                    let place = spread.partition(&key, PARTITIONS);
                    seen.insert(place.0);
                    key.push_i32(77, Ascending);
                    assert_eq!(spread.partition(&key, PARTITIONS), place);
                    let mut end = prefix.clone();
                    assert!(end.next_prefix());
                    assert_eq!(one(&spread, &prefix, Some(&end)), Some(place));
                    assert_eq!(one(&spread, &key, Some(&end)), Some(place));
                    assert_eq!(one(&spread, &prefix, None), None);
                    end.push_u8(0, Ascending);
                    assert_eq!(one(&spread, &prefix, Some(&end)), None);
                }
            }
            assert_eq!(seen.into_iter().collect::<Vec<_>>(), (1..8).collect::<Vec<u16>>());
        }
    }

    #[test]
    fn of_whole_keys_one_is_in_one_partition_and_ranges_are_in_all() {
        let spread = by(&[]);
        let key = KeyBuf::new().i32(5);
        let next = KeyBuf::new().i32(5).u8(0);
        let place = spread.partition(&key, PARTITIONS);
        assert_eq!(one(&spread, &key, Some(&next)), Some(place));
        assert_eq!(one(&spread, &key, Some(&KeyBuf::new().i32(6))), None);
        assert_eq!(spread.partitions(&[], None, PARTITIONS).len(), 7);
        assert_eq!(spread.partition(&key, 1), PartitionId(0));
        assert_eq!(Spread::Everywhere.partitions(&[], None, PARTITIONS), [PartitionId(0)]);
    }

    #[test]
    fn what_is_no_key_is_somewhere() {
        let spread = by(&[
            (ColumnType::Text(9), true, Direction::Ascending),
            (ColumnType::Uuid, false, Direction::Ascending),
        ]);
        let mut random = 1_u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes: Vec<u8> = (0..random % 20).map(|i| (random >> (i % 8)) as u8 % 3).collect();
            assert!(spread.partition(&bytes, PARTITIONS).0 < PARTITIONS as u16);
            assert!(!spread.partitions(&bytes, None, PARTITIONS).is_empty());
        }
    }
}
