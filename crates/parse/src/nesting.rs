//! How deeply a text nests, found before it is parsed.
//!
//! The parser goes back and tries again at each level, and gives up only at the deepest: brackets by the ten thousand
//! would keep it busy for seconds, and it cannot be cancelled. One look at the tokens says that they are too many.

use super::lex::{Kind, Lexer};

/// Whether the text opens more than `limit` brackets and CASEs within each other, or has more prefix operators, or
/// names with dots between them, in a row.
pub(super) fn is_deeper_than(limit: usize, text: &str) -> bool {
    let (mut brackets, mut cases, mut row, mut dots) = (0usize, 0usize, 0usize, 0usize);
    let mut open = false;
    for token in Lexer::new(text) {
        let word = token.of(text);
        let prefixes = match token.kind {
            Kind::Operator => word.len(),
            Kind::Word if PREFIXES.iter().any(|prefix| word.eq_ignore_ascii_case(prefix)) => 1,
            _ => 0,
        };
        row = if prefixes > 0 { row + prefixes } else { 0 };
        // a name of many words is read again for each; so many brackets make a type that nests
        dots = match token.kind {
            Kind::Punct if word == "." => dots + 1,
            Kind::Word | Kind::Quoted => dots,
            Kind::Punct if word == "]" && open => dots + 1,
            Kind::Punct if word == "[" => dots,
            _ => 0,
        };
        open = word == "[";
        match (token.kind, word) {
            (Kind::Punct, "(" | "[") => brackets += 1,
            (Kind::Punct, ")" | "]") => brackets = brackets.saturating_sub(1),
            (Kind::Word, word) if word.eq_ignore_ascii_case("case") => cases += 1,
            (Kind::Word, word) if word.eq_ignore_ascii_case("end") => cases = cases.saturating_sub(1),
            _ => {}
        }
        if brackets + cases + row > limit || dots > limit {
            return true;
        }
    }
    false
}

/// Words that may stand before each other any number of times, each around what follows.
const PREFIXES: [&str; 8] = ["not", "array", "interval", "date", "time", "timestamp", "exists", "lateral"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_cases_and_rows_of_operators_count() {
        for (one, rest) in [
            ("(", ""),
            ("array[", ""),
            ("case when ", ""),
            ("not ", ""),
            ("- ", "1"),
            ("a.", "a"),
            ("[]", ""),
        ] {
            let text = |times: usize| format!("select {}{rest}", one.repeat(times));
            assert!(!is_deeper_than(20, &text(10)), "{one}");
            assert!(is_deeper_than(20, &text(21)), "{one}");
        }
    }

    #[test]
    fn what_is_closed_does_not_count() {
        let text = "(1), [2], case when - 1 then not a end, ".repeat(1_000);
        assert!(!is_deeper_than(5, &text));
        assert!(!is_deeper_than(5, &format!("select '{}'", "(".repeat(100))));
    }
}
