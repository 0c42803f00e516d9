//! `hashtext`: the hash that PostgreSQL has for texts (Bob Jenkins' lookup3), which clients lock by.

use super::Registry;
use super::args::code;

fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    [a, b, c]
}

fn finish([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    [a, b, c]
}

/// The state behind all bytes.
fn hash(bytes: &[u8], seed: u64) -> [u32; 3] {
    let first = 0x9E37_79B9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut state = [first; 3];
    if seed != 0 {
        state[0] = state[0].wrapping_add((seed >> 32) as u32);
        state[1] = state[1].wrapping_add(seed as u32);
        state = mix(state);
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        for (part, bytes) in state.iter_mut().zip(chunk.chunks(4)) {
            *part = part.wrapping_add(word(bytes));
        }
        state = mix(state);
    }
    // the lowest byte of the third word is for the length
    let rest = chunks.remainder();
    let (low, high) = rest.split_at(rest.len().min(8));
    for (part, bytes) in state.iter_mut().zip(low.chunks(4)) {
        *part = part.wrapping_add(word(bytes));
    }
    state[2] = state[2].wrapping_add(word(high) << 8);
    finish(state)
}

fn hash_extended(bytes: &[u8], seed: i64) -> i64 {
    let [_, b, c] = hash(bytes, seed as u64);
    (u64::from(b) << 32 | u64::from(c)) as i64
}

pub(super) fn register(r: &mut Registry) {
    r.add("hashtext(text) int4", code!(|text: &str| Ok(hash(text.as_bytes(), 0)[2] as i32)));
    r.add(
        "hashtextextended(text,int8) int8",
        code!(|text: &str, seed: i64| Ok(hash_extended(text.as_bytes(), seed))),
    );
}

#[cfg(test)]
mod tests {
    use super::{hash, hash_extended};

    #[test]
    fn texts_have_the_hashes_that_they_have_in_postgresql() {
        let of = |text: &str| hash(text.as_bytes(), 0)[2] as i32;
        assert_eq!([of("x"), of("")], [1_074_944_137, -1_477_818_771]);
        assert_eq!(of("abcdefghijklmnopqrstuvwxyz0123456789"), 1_318_422_268);
        assert_eq!(hash_extended(b"hello world, this is long", 5), 7_804_259_045_075_872_070);
    }
}
