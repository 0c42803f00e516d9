//! Errors and notices as the user sees them.

use super::connection::Report;
use super::table::width;
use std::fmt::Write;

/// Columns of a statement that are shown around the place of an error.
const SHOWN: usize = 60;

/// The text of a report: severity, state, message, the place in the statement, detail, hint.
pub(crate) fn text(report: &Report, statement: &str) -> String {
    let mut out = String::new();
    // writing to a string does not fail
    let _ = writeln!(out, "{}:  {}: {}", report.severity.as_str(), report.code, report.message);
    if let Some(position) = report.position {
        caret(&mut out, statement, position as usize);
    }
    for (name, field) in [("DETAIL", &report.detail), ("HINT", &report.hint)] {
        if let Some(field) = field {
            let _ = writeln!(out, "{name}:  {field}");
        }
    }
    out
}

/// The line of the statement that has the character of this number, and a caret below it.
fn caret(out: &mut String, statement: &str, position: usize) {
    let Some(before) = position.checked_sub(1) else { return };
    let at = statement.char_indices().nth(before).map_or(statement.len(), |(at, _)| at);
    let start = statement[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = statement[at..].find('\n').map_or(statement.len(), |found| at + found);
    let number = statement[..start].matches('\n').count() + 1;
    // of a long line, what stands around the place
    let mut from = start;
    while width(&statement[from..at]) > SHOWN / 2 && width(&statement[from..end]) > SHOWN {
        from += statement[from..].chars().next().map_or(1, char::len_utf8);
    }
    let mut to = end;
    while width(&statement[from..to]) > SHOWN {
        to -= statement[..to].chars().next_back().map_or(1, char::len_utf8);
    }
    let ellipsis = |cut: bool| if cut { "..." } else { "" };
    let prefix = format!("LINE {number}: {}", ellipsis(from > start));
    let line = statement[from..to].replace(['\t', '\r'], " ");
    let _ = writeln!(out, "{prefix}{line}{}", ellipsis(to < end));
    let _ = writeln!(out, "{:1$}^", "", prefix.len() + width(&statement[from..at]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(statement: &str, position: usize) -> String {
        let mut out = String::new();
        caret(&mut out, statement, position);
        out
    }

    #[test]
    fn the_caret_stands_below_the_character() {
        assert_eq!(at("select x", 8), "LINE 1: select x\n               ^\n");
        assert_eq!(at("select 1,\n  '日本', x\nfrom t", 19), "LINE 2:   '日本', x\n                  ^\n");
        assert_eq!(at("select", 7), "LINE 1: select\n              ^\n");
        assert_eq!(at("", 4_000), "LINE 1: \n        ^\n");
        assert_eq!(at("a", 0), "");
    }

    #[test]
    fn of_a_long_line_the_surroundings_are_shown() {
        let statement = format!("select {}x{}", "1 + ".repeat(100), " + 2".repeat(100));
        let shown = at(&statement, 408);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("LINE 1: ...") && lines[0].ends_with("..."), "{shown}");
        assert_eq!(lines[0].as_bytes()[lines[1].len() - 1], b'x', "{shown}");
    }
}
