//! The text that a statement is counted under: its constants are left out, so that they stay private and all runs
//! of an application's statement are one.

use scaledb_parse::lex::{Kind, Lexer};

/// Bytes of a text.
const MAX_TEXT: usize = 1_024;

/// The text without constants, cut if it is long.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let parameters = Lexer::new(text).filter(|token| token.kind == Kind::Param);
    let highest = parameters.filter_map(|token| token.of(text)[1..].parse::<u64>().ok()).max();
    let mut next = highest.unwrap_or(0);
    let mut shown = String::with_capacity(text.len().min(MAX_TEXT));
    let mut copied = 0;
    for token in Lexer::new(text) {
        if shown.len() >= MAX_TEXT {
            break;
        }
        match token.kind {
            Kind::Number | Kind::Text | Kind::Special => {
                next = next.saturating_add(1);
                shown.push_str(&text[copied..token.start]);
                shown.push_str(&format!("${next}"));
                copied = token.end;
            }
            // a text that does not end may be a constant
            Kind::Open => {
                shown.push_str(&text[copied..token.start]);
                copied = text.len();
            }
            _ => {}
        }
    }
    if shown.len() < MAX_TEXT {
        shown.push_str(&text[copied..]);
    }
    shown.truncate(shown.floor_char_boundary(MAX_TEXT));
    shown
}

/// A number for the text, the same in every process.
pub(super) fn fingerprint(text: &str) -> i64 {
    // FNV-1a
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_left_out_wherever_they_stand() {
        assert_eq!(
            shown(" select a from t where b = 'x' order by 1 "),
            "select a from t where b = $1 order by $2"
        );
        assert_eq!(shown("select $2, 'it''s', E'\\n', $$a$$"), "select $2, $3, $4, $5");
        assert_eq!(shown("set x = 'secret' -- done"), "set x = $1 -- done");
        assert_eq!(shown("select 'open"), "select ");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = format!("select \"{}\"", "ä".repeat(MAX_TEXT));
        assert!(shown(&long).len() <= MAX_TEXT);
        assert!(shown(&format!("select {}", "1,".repeat(10_000))).len() <= MAX_TEXT);
        assert_ne!(fingerprint("a"), fingerprint("b"));
    }
}
