//! Small integers in few bytes: seven bits in each, the low ones first; the top bit says that more follow
//! (LEB128).

/// Appends `value`: one byte below 128, five at most.
#[inline]
pub fn push(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a value from the front; `None` if there is none, or one of more than 32 bits.
#[inline]
pub fn take(from: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u32::from(byte & 0x7F);
        if shift == 28 && bits > 0x0F {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_nothing_longer_does() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX - 1, u32::MAX] {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            assert_eq!(bytes.len(), (32 - value.leading_zeros()).max(1).div_ceil(7) as usize);
            for len in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..len]), None, "{value} cut to {len}");
            }
            bytes.push(9);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(value), &[9][..]));
        }
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x1F][..]), None, "33 bits");
        assert_eq!(take(&mut &[0x80; 9][..]), None, "it does not end");
    }
}
