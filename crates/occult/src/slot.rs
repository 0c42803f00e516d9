//! Slots of Redis Cluster: a shard is a slot.

use std::sync::LazyLock;

/// One of the 16,384 slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// How many there are.
    pub const COUNT: u16 = 16_384;

    /// The slot of a number; none if there is no such slot.
    pub fn new(number: u16) -> Option<Self> {
        (number < Self::COUNT).then_some(Self(number))
    }

    /// Its number.
    pub fn get(self) -> u16 {
        self.0
    }
}

/// The slot of a key, as Redis Cluster computes it: a CRC16 of what is between the first `{` and the next `}`, if
/// that is not empty, or of the whole key.
pub fn slot_of(key: &[u8]) -> Slot {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    Slot(crc16(tag.unwrap_or(key)) % Slot::COUNT)
}

/// The name of the key under which the state of a slot is stored. It is in that slot, so it moves with it, and it
/// is the first key of each command.
pub fn slot_key(slot: Slot) -> &'static str {
    let (at, names) = (usize::from(slot.0), &*NAMES);
    let begin = at.checked_sub(1).map_or(0, |before| names.ends[before]);
    &names.text[begin as usize..names.ends[at] as usize]
}

/// Whether a key is the one of the state of its slot.
pub(crate) fn is_slot_key(key: &[u8]) -> bool {
    key.starts_with(PREFIX.as_bytes()) && key == slot_key(slot_of(key)).as_bytes()
}

/// How each name begins.
const PREFIX: &str = "occult:{";

/// All names one after the other: 16,384 texts of their own would take three times as much memory, in each server.
struct Names {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

/// For each slot a name with the smallest number that hashes to it.
static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut numbers = vec![None; usize::from(Slot::COUNT)];
    let mut missing = numbers.len();
    for number in 0_u32.. {
        let slot = slot_of(number.to_string().as_bytes());
        let of = &mut numbers[usize::from(slot.0)];
        if of.is_none() {
            *of = Some(number);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    let (mut text, mut ends) = (String::new(), Vec::with_capacity(numbers.len()));
    for number in numbers.into_iter().flatten() {
        text.push_str(&format!("{PREFIX}{number}}}"));
        ends.push(text.len() as u32);
    }
    text.shrink_to_fit();
    Names { text, ends }
});

/// CRC-16/XMODEM, a table of one entry per byte.
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut crc = (byte as u16) << 8;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        table
    };
    bytes.iter().fold(0, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hash_as_redis_says() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        // what CLUSTER KEYSLOT answers
        assert_eq!(slot_of(b"foo").get(), 12_182);
        assert_eq!(slot_of(b"somekey").get(), 11_058);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{}{bar}"), Slot(crc16(b"foo{}{bar}") % Slot::COUNT));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
    }

    #[test]
    fn each_slot_has_a_key_of_its_own_in_it() {
        for slot in (0..Slot::COUNT).map(Slot) {
            assert_eq!(slot_of(slot_key(slot).as_bytes()), slot);
            assert!(is_slot_key(slot_key(slot).as_bytes()));
            assert!(slot_key(slot).len() <= 16);
        }
    }
}
