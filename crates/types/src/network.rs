//! `inet` and `cidr`: an address of IPv4 or IPv6, and how many of its first bits are those of its network.
//!
//! Both have the same values; of a `cidr` all bits behind those of the network are zero. What is read is what
//! PostgreSQL reads, with all that it lets pass.
//!
//! ```text
//! in memory   address, left-aligned in 128 bits | bits | family
//! as a key    family (1) | network (4 or 16) | bits (1) | address from the byte on that the network ends in
//! ```

use crate::error::{Result, SqlError, SqlState};
use std::cmp::Ordering;

/// An address and the number of bits of its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inet {
    /// Left-aligned: of IPv4 the last 12 bytes are zero.
    address: [u8; 16],
    /// `bits <= max_bits()`
    bits: u8,
    v6: bool,
}

/// Family bytes of PostgreSQL's binary format.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

/// The first `bits` bits of an address.
fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

#[cold]
fn bits_behind_the_mask(code: SqlState, message: String) -> SqlError {
    SqlError::new(code, message).detail("Value has bits set to right of mask.")
}

impl Inet {
    /// From an address that is left-aligned in 128 bits.
    fn new(v6: bool, address: u128, bits: u8) -> Self {
        Self { address: address.to_be_bytes(), bits, v6 }
    }

    /// Whether it is an address of IPv6.
    pub fn is_v6(&self) -> bool {
        self.v6
    }

    /// Bits of the network.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Bits of an address of the family.
    pub fn max_bits(&self) -> u8 {
        if self.v6 { 128 } else { 32 }
    }

    /// Bytes of an address of the family.
    fn width(&self) -> usize {
        usize::from(self.max_bits() / 8)
    }

    /// Left-aligned in 128 bits.
    pub(crate) fn address(&self) -> u128 {
        u128::from_be_bytes(self.address)
    }

    /// The bytes of the address.
    fn bytes(&self) -> &[u8] {
        &self.address[..self.width()]
    }

    /// Another address of the same family, with so many bits.
    pub(crate) fn with(&self, address: u128, bits: u8) -> Self {
        Self::new(self.v6, address & mask(self.max_bits()), bits.min(self.max_bits()))
    }

    /// The first bits of the address, the others zero.
    pub(crate) fn masked(&self, bits: u8) -> u128 {
        self.address() & mask(bits)
    }

    /// The network alone, as a `cidr` has it.
    #[must_use]
    pub fn network(&self) -> Self {
        self.with(self.masked(self.bits), self.bits)
    }

    /// Whether no bit behind those of the network is set, as in a `cidr`.
    pub fn is_network(&self) -> bool {
        self.masked(self.bits) == self.address()
    }

    /// Whether both are of one family and agree in the first bits.
    pub(crate) fn agrees(&self, other: &Self, bits: u8) -> bool {
        self.v6 == other.v6 && self.masked(bits) == other.masked(bits)
    }

    /// Reads an `inet`, or a `cidr`.
    ///
    /// # Errors
    ///
    /// 22P02.
    pub fn parse(text: &str, cidr: bool) -> Result<Self> {
        let name = if cidr { "cidr" } else { "inet" };
        let bytes = text.as_bytes();
        let read = match (bytes.contains(&b':'), cidr) {
            (true, _) => parse_v6(bytes),
            (false, true) => parse_cidr_v4(bytes),
            (false, false) => parse_inet_v4(bytes),
        };
        let inet = read.ok_or_else(|| SqlError::invalid_text(name, text))?;
        if cidr && !inet.is_network() {
            let what = format!("invalid cidr value: \"{text}\"");
            return Err(bits_behind_the_mask(SqlState::INVALID_TEXT_REPRESENTATION, what));
        }
        Ok(inet)
    }

    /// Appends the address, and behind it the number of bits of the network if it is not the whole address, or
    /// `always`.
    pub fn write_text(&self, always: bool, out: &mut Vec<u8>) {
        self.write_host(out);
        if always || self.bits != self.max_bits() {
            out.extend_from_slice(format!("/{}", self.bits).as_bytes());
        }
    }

    /// Appends the address alone.
    pub(crate) fn write_host(&self, out: &mut Vec<u8>) {
        if self.v6 { write_v6(&self.address, out) } else { write_dotted(self.bytes(), out) }
    }

    /// The network without the zeros that its number of bits tells.
    pub(crate) fn abbreviated(&self) -> String {
        let mut out = Vec::new();
        if self.v6 {
            self.abbreviate_v6(&mut out)
        } else {
            self.abbreviate_v4(&mut out)
        }
        out.extend_from_slice(format!("/{}", self.bits).as_bytes());
        String::from_utf8_lossy(&out).into_owned()
    }

    fn abbreviate_v4(&self, out: &mut Vec<u8>) {
        let network = self.network();
        let shown = usize::from(self.bits).div_ceil(8).max(1);
        write_dotted(&network.address[..shown], out);
    }

    /// As PostgreSQL does, which looks for zeros in the words of the network only.
    fn abbreviate_v6(&self, out: &mut Vec<u8>) {
        if self.bits == 0 {
            out.extend_from_slice(b"::");
            return;
        }
        let bytes = self.network().address;
        let words = usize::from(self.bits).div_ceil(16).max(2);
        let word = |at: usize| u16::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1]]);
        let (mut start, mut len) = (0, 0);
        let (mut run_start, mut run) = (0, 0);
        for at in 0..words {
            if word(at) == 0 {
                if run == 0 {
                    run_start = at;
                }
                run += 1;
            } else if run > len {
                (start, len, run) = (run_start, run, 0);
            }
            // a run that is no longer than one before it goes on behind what is not zero, as in PostgreSQL
        }
        if run > len {
            (start, len) = (run_start, run);
        }
        let embedded = len == 6
            || len == 5 && bytes[10] == 0xFF && bytes[11] == 0xFF
            || len == 7 && bytes[14] != 0 && bytes[15] != 1;
        let dotted = len != words && start == 0 && embedded;
        let begin = out.len();
        for at in 0..words {
            if len != 0 && (start..start + len).contains(&at) {
                if at == start {
                    out.push(b':');
                }
                if at == words - 1 {
                    out.push(b':');
                }
            } else if dotted && at > 5 {
                out.push(if at == 6 { b':' } else { b'.' });
                let last = at == 7 && self.bits <= 120;
                write_dotted(&bytes[at * 2..at * 2 + if last { 1 } else { 2 }], out);
            } else {
                if out.len() > begin {
                    out.push(b':');
                }
                out.extend_from_slice(format!("{:x}", word(at)).as_bytes());
            }
        }
    }

    /// Reads PostgreSQL's binary format.
    ///
    /// # Errors
    ///
    /// 22P03, 08P01.
    pub fn from_binary(bytes: &[u8], cidr: bool) -> Result<Self> {
        let name = if cidr { "cidr" } else { "inet" };
        let invalid =
            |what: &str| SqlError::invalid_binary(format!("invalid {what} in external \"{name}\" value"));
        let short = || SqlError::new(SqlState::PROTOCOL_VIOLATION, "no data left in message");
        let at = |at: usize| bytes.get(at).copied().ok_or_else(short);
        let v6 = match at(0)? {
            FAMILY_V4 => false,
            FAMILY_V6 => true,
            _ => return Err(invalid("address family")),
        };
        let found = Self::new(v6, 0, 0);
        let bits = at(1)?;
        if bits > found.max_bits() {
            return Err(invalid("bits"));
        }
        at(2)?;
        if usize::from(at(3)?) != found.width() {
            return Err(invalid("length"));
        }
        let mut address = [0; 16];
        let body = bytes.get(4..4 + found.width()).ok_or_else(short)?;
        if bytes.len() > 4 + found.width() {
            return Err(SqlError::invalid_binary("incorrect binary data format"));
        }
        address[..found.width()].copy_from_slice(body);
        let inet = Self { address, bits, v6 };
        if cidr && !inet.is_network() {
            let what = "invalid external \"cidr\" value".to_owned();
            return Err(bits_behind_the_mask(SqlState::INVALID_BINARY_REPRESENTATION, what));
        }
        Ok(inet)
    }

    /// Appends PostgreSQL's binary format.
    pub fn write_binary(&self, cidr: bool, out: &mut Vec<u8>) {
        let family = if self.v6 { FAMILY_V6 } else { FAMILY_V4 };
        out.extend_from_slice(&[family, self.bits, cidr.into(), self.width() as u8]);
        out.extend_from_slice(self.bytes());
    }

    /// Appends bytes that sort as the values do. No key is a prefix of another.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        out.push(self.v6.into());
        out.extend_from_slice(&self.network().address[..self.width()]);
        out.push(self.bits);
        out.extend_from_slice(&self.bytes()[usize::from(self.bits / 8)..]);
    }

    /// The value of a key.
    pub fn read_key(key: &[u8]) -> Option<Self> {
        let (family, rest) = key.split_first()?;
        let v6 = match family {
            0 => false,
            1 => true,
            _ => return None,
        };
        let empty = Self::new(v6, 0, 0);
        let (network, rest) = rest.split_at_checked(empty.width())?;
        let (bits, host) = rest.split_first()?;
        let whole = usize::from(*bits / 8);
        if *bits > empty.max_bits() || host.len() != empty.width() - whole {
            return None;
        }
        let mut address = [0; 16];
        address[..whole].copy_from_slice(&network[..whole]);
        address[whole..empty.width()].copy_from_slice(host);
        let inet = Self { address, bits: *bits, v6 };
        (&inet.network().address[..empty.width()] == network).then_some(inet)
    }
}

impl Ord for Inet {
    /// Families, then networks, a network before those within it, then addresses.
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |inet: &Self| (inet.v6, inet.masked(inet.bits), inet.bits, inet.address);
        parts(self).cmp(&parts(other))
    }
}

impl PartialOrd for Inet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Decimal octets with dots in between.
fn write_dotted(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        out.extend_from_slice(itoa::Buffer::new().format(*byte).as_bytes());
    }
}

/// Words in hex, the longest run of two or more zeros left out.
fn write_v6(bytes: &[u8; 16], out: &mut Vec<u8>) {
    let word = |at: usize| u16::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1]]);
    let (mut start, mut len) = (0, 0);
    let mut run = 0;
    for at in 0..8 {
        run = if word(at) == 0 { run + 1 } else { 0 };
        if run > len {
            (start, len) = (at + 1 - run, run);
        }
    }
    if len < 2 {
        len = 0;
    }
    for at in 0..8 {
        if (start..start + len).contains(&at) {
            if at == start {
                out.push(b':');
            }
            continue;
        }
        if at > 0 {
            out.push(b':');
        }
        // an address of IPv4 in one of IPv6
        if at == 6 && start == 0 && (len == 6 || len == 5 && word(5) == 0xFFFF) {
            write_dotted(&bytes[12..], out);
            break;
        }
        out.extend_from_slice(format!("{:x}", word(at)).as_bytes());
    }
    if len > 0 && start + len == 8 {
        out.push(b':');
    }
}

/// Reads bytes one by one; behind the last one there are zeros, as in C, which texts do not have.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> u8 {
        let byte = self.peek(0);
        self.at += 1;
        byte
    }

    /// The decimal number that begins with a digit that was read, up to a limit, and what follows it.
    fn number(&mut self, first: u8, limit: u32) -> Option<(u8, u8)> {
        let mut number = 0_u32;
        let mut byte = first;
        loop {
            number = number * 10 + u32::from(byte - b'0');
            if number > limit {
                return None;
            }
            byte = self.next();
            if !byte.is_ascii_digit() {
                return Some((number as u8, byte));
            }
        }
    }

    /// The bits behind a slash that was read, nothing behind them; None within if there is no slash.
    fn bits_v4(&mut self, behind: u8) -> Option<Option<u8>> {
        match behind {
            0 => Some(None),
            b'/' if self.peek(0).is_ascii_digit() => {
                let first = self.next();
                let (bits, end) = self.number(first, 32)?;
                (end == 0).then_some(Some(bits))
            }
            _ => None,
        }
    }
}

/// Four octets at most.
#[derive(Default)]
struct Octets {
    bytes: [u8; 4],
    count: usize,
}

impl Octets {
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.count)? = byte;
        self.count += 1;
        Some(())
    }

    fn with_bits(&self, bits: u8) -> Inet {
        Inet::new(false, u128::from(u32::from_be_bytes(self.bytes)) << 96, bits)
    }
}

/// Octets may be left out behind those that the bits ask for.
fn parse_inet_v4(bytes: &[u8]) -> Option<Inet> {
    let mut scan = Scan { bytes, at: 0 };
    let mut octets = Octets::default();
    let mut byte = scan.next();
    while byte.is_ascii_digit() {
        let (octet, behind) = scan.number(byte, 255)?;
        octets.push(octet)?;
        byte = behind;
        match byte {
            0 | b'/' => break,
            b'.' => byte = scan.next(),
            _ => return None,
        }
    }
    let bits = match scan.bits_v4(byte)? {
        Some(bits) => bits,
        None if octets.count == 4 => 32,
        None => return None,
    };
    (octets.count > 0 && usize::from(bits / 8) <= octets.count).then(|| octets.with_bits(bits))
}

/// Octets may be left out, and the bits follow from the classes that networks once had.
fn parse_cidr_v4(bytes: &[u8]) -> Option<Inet> {
    let mut scan = Scan { bytes, at: 0 };
    let mut octets = Octets::default();
    let mut byte = scan.next();
    if byte == b'0' && matches!(scan.peek(0), b'x' | b'X') && scan.peek(1).is_ascii_hexdigit() {
        scan.next();
        let mut half: Option<u8> = None;
        byte = scan.next();
        while let Some(digit) = char::from(byte).to_digit(16) {
            let digit = digit as u8;
            half = match half {
                None => Some(digit),
                Some(high) => {
                    octets.push(high << 4 | digit)?;
                    None
                }
            };
            byte = scan.next();
        }
        if let Some(high) = half {
            octets.push(high << 4)?;
        }
    } else if byte.is_ascii_digit() {
        loop {
            let (octet, behind) = scan.number(byte, 255)?;
            octets.push(octet)?;
            byte = behind;
            match byte {
                0 | b'/' => break,
                b'.' => byte = scan.next(),
                _ => return None,
            }
            if !byte.is_ascii_digit() {
                return None;
            }
        }
    } else {
        return None;
    }
    let given = octets.count as u8 * 8;
    let bits = scan.bits_v4(byte)?.unwrap_or_else(|| {
        let first = octets.bytes[0];
        let class = match first {
            240.. => 32,
            224.. => 8,
            192.. => 24,
            128.. => 16,
            _ => 8,
        };
        let bits = given.max(class);
        if bits == 8 && first == 224 { 4 } else { bits }
    });
    Some(octets.with_bits(bits))
}

/// A decimal number without leading zeros, to the end.
fn exact_bits(bytes: &[u8]) -> Option<u8> {
    let leading_zero = bytes.len() > 1 && bytes[0] == b'0';
    if bytes.is_empty() || leading_zero || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u32 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    (number <= 128).then_some(number as u8)
}

/// The octets that an address of IPv6 may end with, and the bits behind them.
fn embedded_v4(bytes: &[u8]) -> Option<([u8; 4], Option<u8>)> {
    let mut octets = Octets::default();
    let (mut value, mut digits) = (0_u32, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits > 0 && value == 0 {
                    return None;
                }
                digits += 1;
                value = value * 10 + u32::from(byte - b'0');
                if value > 255 {
                    return None;
                }
            }
            b'.' | b'/' => {
                octets.push(value as u8)?;
                if *byte == b'/' {
                    return Some((octets.bytes, Some(exact_bits(&bytes[at + 1..])?)));
                }
                (value, digits) = (0, 0);
            }
            _ => return None,
        }
    }
    if digits == 0 {
        return None;
    }
    octets.push(value as u8)?;
    Some((octets.bytes, None))
}

fn parse_v6(bytes: &[u8]) -> Option<Inet> {
    let mut scan = Scan { bytes, at: 0 };
    if scan.peek(0) == b':' {
        scan.next();
        if scan.peek(0) != b':' {
            return None;
        }
    }
    let mut address = [0_u8; 16];
    let mut len = 0;
    // where `::` stands
    let mut gap = None;
    let mut token = scan.at;
    let (mut value, mut digits) = (0_u16, 0);
    let mut bits = None;
    let mut push = |len: &mut usize, part: &[u8]| {
        address.get_mut(*len..*len + part.len())?.copy_from_slice(part);
        *len += part.len();
        Some(())
    };
    loop {
        let byte = scan.next();
        if let Some(digit) = char::from(byte).to_digit(16) {
            digits += 1;
            if digits > 4 {
                return None;
            }
            value = value << 4 | digit as u16;
            continue;
        }
        match byte {
            0 => break,
            b':' => {
                token = scan.at;
                if digits == 0 {
                    if gap.is_some() {
                        return None;
                    }
                    gap = Some(len);
                    continue;
                }
                if scan.peek(0) == 0 {
                    return None;
                }
                push(&mut len, &value.to_be_bytes())?;
                (value, digits) = (0, 0);
            }
            b'.' => {
                let (octets, found) = embedded_v4(bytes.get(token..)?)?;
                push(&mut len, &octets)?;
                bits = found;
                digits = 0;
                break;
            }
            b'/' => {
                bits = Some(exact_bits(bytes.get(scan.at..)?)?);
                break;
            }
            _ => return None,
        }
    }
    if digits > 0 {
        push(&mut len, &value.to_be_bytes())?;
    }
    match gap {
        // it stands for some zeros
        Some(_) if len == 16 => return None,
        Some(gap) => {
            address.copy_within(gap..len, 16 - (len - gap));
            address[gap..16 - (len - gap)].fill(0);
        }
        None if len < 16 => return None,
        None => {}
    }
    Some(Inet { address, bits: bits.unwrap_or(128), v6: true })
}
