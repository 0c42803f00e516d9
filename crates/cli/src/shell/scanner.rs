//! Cuts what is typed or read into statements and backslash commands.

use scaledb_sql::lex::{Kind, Lexer};

/// A part of the input that can be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A statement, without its semicolon.
    Statement(String),
    /// A line that a backslash begins, without the backslash.
    Command(String),
}

/// What the input ends in: the prompt shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// Nothing: a statement may begin.
    Nothing,
    /// A statement that has no semicolon yet.
    Statement,
    /// Parentheses that are not closed.
    Parentheses,
    /// A text literal.
    Text,
    /// A quoted name.
    Name,
    /// A dollar-quoted literal.
    Dollar,
    /// A comment.
    Comment,
}

impl Within {
    /// The sign of psql's prompt.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Nothing => '=',
            Self::Statement => '-',
            Self::Parentheses => '(',
            Self::Text => '\'',
            Self::Name => '"',
            Self::Dollar => '$',
            Self::Comment => '*',
        }
    }
}

/// Input that has not been run yet.
///
/// `scanned <= text.len()`, and stands between two tokens: what is before it is not looked at again when a line
/// is added.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    text: String,
    scanned: usize,
    /// Open parentheses before `scanned`.
    depth: usize,
    /// The quote or comment that `scanned` stands before, if one is open.
    open: Option<Within>,
}

impl Scanner {
    /// Adds a line, which ends with a line feed.
    pub(crate) fn push(&mut self, line: &str) {
        self.text.push_str(line);
        // a long literal is not read from its beginning for each of its lines
        let closes = match self.open {
            Some(Within::Text) => line.contains('\''),
            Some(Within::Name) => line.contains('"'),
            Some(Within::Dollar) => line.contains('$'),
            Some(Within::Comment) => line.contains('/'),
            _ => true,
        };
        if closes {
            self.open = None;
        }
    }

    /// The next part that is complete.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        if self.open.is_some() {
            return None;
        }
        for token in Lexer::starting_at(&self.text, self.scanned) {
            match token.kind {
                Kind::Open => {
                    self.open = Some(opened(&self.text[token.start..]));
                    self.scanned = token.start;
                    return None;
                }
                Kind::Semicolon if self.depth == 0 => {
                    let statement = bare(&self.text[..token.start]).to_owned();
                    self.cut(0, token.end);
                    return Some(Piece::Statement(statement));
                }
                Kind::Operator if token.of(&self.text).starts_with('\\') => {
                    let rest = &self.text[token.start + 1..];
                    let end = rest.find('\n').unwrap_or(rest.len());
                    let command = rest[..end].trim_end().to_owned();
                    // what stands before it stays: a command may be about it
                    let behind = token.start + 1 + end;
                    self.text.replace_range(token.start..behind, "");
                    self.scanned = token.start;
                    return Some(Piece::Command(command));
                }
                Kind::Punct if matches!(token.of(&self.text), "(" | "[") => self.depth += 1,
                Kind::Punct if matches!(token.of(&self.text), ")" | "]") => {
                    self.depth = self.depth.saturating_sub(1);
                }
                _ => {}
            }
            self.scanned = token.end;
        }
        if bare(&self.text).is_empty() {
            self.clear();
        }
        None
    }

    /// Removes a range of the text that was scanned.
    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.scanned = 0;
        self.depth = 0;
    }

    /// What the input ends in.
    pub(crate) fn within(&self) -> Within {
        match self.open {
            Some(open) => open,
            None if self.statement().is_empty() => Within::Nothing,
            None if self.depth > 0 => Within::Parentheses,
            None => Within::Statement,
        }
    }

    /// The statement that is not complete yet.
    pub(crate) fn statement(&self) -> &str {
        // lines behind a command are not part of it yet
        let end = if self.open.is_some() { self.text.len() } else { self.scanned };
        self.text[..end].trim()
    }

    /// Takes the statement as if it were complete.
    pub(crate) fn take(&mut self) -> String {
        let statement = bare(self.statement()).to_owned();
        if self.open.is_some() {
            self.clear();
        } else {
            self.cut(0, self.scanned);
        }
        statement
    }

    /// Puts a text in the place of what was there.
    pub(crate) fn replace(&mut self, text: &str) {
        self.clear();
        self.push(text);
    }

    /// Forgets what was not complete.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A statement without the comments before it: places of errors are counted from its first word.
fn bare(text: &str) -> &str {
    match Lexer::new(text).next() {
        Some(first) => text[first.start..].trim(),
        None => "",
    }
}

/// What is open at the end of a text that begins, behind spaces and comments, with a quote or a comment.
fn opened(text: &str) -> Within {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.find('\n').map_or("", |end| comment[end..].trim_start());
    }
    match rest.as_bytes() {
        [b'/', b'*', ..] => Within::Comment,
        [b'$', ..] => Within::Dollar,
        [b'"', ..] | [_, b'&', b'"', ..] => Within::Name,
        _ => Within::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(scanner: &mut Scanner) -> Vec<Piece> {
        std::iter::from_fn(|| scanner.next()).collect()
    }

    fn statement(text: &str) -> Piece {
        Piece::Statement(text.to_owned())
    }

    fn command(text: &str) -> Piece {
        Piece::Command(text.to_owned())
    }

    #[test]
    fn a_semicolon_in_a_quote_or_parentheses_ends_nothing() {
        let mut scanner = Scanner::default();
        scanner.push("select ';', \";\" -- ;\n");
        assert_eq!(pieces(&mut scanner), []);
        scanner.push(", (1;2), $a$;$a$ /* ; */; select 2; select\n");
        let first = "select ';', \";\" -- ;\n, (1;2), $a$;$a$ /* ; */";
        assert_eq!(pieces(&mut scanner), [statement(first), statement("select 2")]);
        assert_eq!(scanner.statement(), "select");
    }

    #[test]
    fn the_prompt_says_what_is_open() {
        let cases = [
            ("", Within::Nothing),
            ("-- a\n", Within::Nothing),
            ("select\n", Within::Statement),
            ("select (\n", Within::Parentheses),
            ("select 'a\n", Within::Text),
            ("select E'\\'\n", Within::Text),
            ("select \"a\n", Within::Name),
            ("select $$a\n", Within::Dollar),
            ("select 1 -- '\n /* ; \n", Within::Comment),
        ];
        for (text, within) in cases {
            let mut scanner = Scanner::default();
            scanner.push(text);
            assert_eq!(scanner.next(), None, "{text}");
            assert_eq!(scanner.within(), within, "{text}");
        }
    }

    #[test]
    fn comments_before_a_statement_are_left_out() {
        let mut scanner = Scanner::default();
        scanner.push("-- a\n/* b */ select -- c\n1;\n-- d\n");
        assert_eq!(pieces(&mut scanner), [statement("select -- c\n1")]);
        assert_eq!(scanner.take(), "");
    }

    #[test]
    fn a_literal_of_many_lines_is_one() {
        let mut scanner = Scanner::default();
        scanner.push("select 'a\n");
        assert_eq!(scanner.next(), None);
        scanner.push("b;\n");
        assert_eq!(scanner.next(), None);
        scanner.push("c', 1;\n");
        assert_eq!(scanner.next(), Some(statement("select 'a\nb;\nc', 1")));
        assert_eq!(scanner.next(), None);
        assert_eq!(scanner.within(), Within::Nothing);
    }

    #[test]
    fn a_backslash_begins_a_command_unless_it_is_quoted() {
        let mut scanner = Scanner::default();
        scanner.push("\\d t\nselect '\\d', (1 \\p\n) \\gx\n");
        assert_eq!(scanner.next(), Some(command("d t")));
        assert_eq!(scanner.next(), Some(command("p")));
        assert_eq!(scanner.statement(), "select '\\d', (1");
        assert_eq!(scanner.within(), Within::Parentheses);
        assert_eq!(scanner.next(), Some(command("gx")));
        assert_eq!(scanner.take(), "select '\\d', (1 \n)");
        scanner.push("\\?\n");
        assert_eq!(scanner.next(), Some(command("?")));
    }
}
