//! The flags of `like_regex`, which are those of XQuery, and what they mean to regular expressions here.

use super::regexp::{Flags, Regex, cached};
use crate::error::{Result, SqlError, SqlState};

/// Flags of `like_regex`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathFlags {
    ignore_case: bool,
    /// `s`: a dot matches a newline, too.
    dot_all: bool,
    /// `m`: newlines end lines.
    lines: bool,
    expanded: bool,
    /// `q`: the pattern is a plain text; the flags but `i` mean nothing then.
    quoted: bool,
}

impl PathFlags {
    /// The flags of letters, which may be repeated.
    ///
    /// # Errors
    ///
    /// 42601 for another letter, 0A000 for `x`.
    pub(crate) fn of(letters: &str) -> Result<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            match letter {
                'i' => flags.ignore_case = true,
                's' => flags.dot_all = true,
                'm' => flags.lines = true,
                'x' => flags.expanded = true,
                'q' => flags.quoted = true,
                other => {
                    let what = "invalid input syntax for type jsonpath";
                    let detail = format!("Unrecognized flag character \"{other}\" in LIKE_REGEX predicate.");
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).detail(detail));
                }
            }
        }
        if flags.expanded && !flags.quoted {
            let what = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(SqlError::unsupported(what));
        }
        Ok(flags)
    }

    /// The letters, each once.
    pub(crate) fn letters(self) -> String {
        let all = [
            (self.ignore_case, 'i'),
            (self.dot_all, 's'),
            (self.lines, 'm'),
            (self.expanded, 'x'),
            (self.quoted, 'q'),
        ];
        all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect()
    }

    /// The regular expression of a pattern with these flags.
    ///
    /// # Errors
    ///
    /// 2201B if it is none.
    pub(crate) fn regex(self, pattern: &str) -> Result<Regex> {
        let flags = Flags {
            ignore_case: self.ignore_case,
            literal: self.quoted,
            dots: !self.dot_all && !self.quoted,
            anchors: self.lines && !self.quoted,
            ..Flags::default()
        };
        cached(pattern, flags)
    }
}
