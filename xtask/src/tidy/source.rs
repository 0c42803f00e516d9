//! Rust source, split into code and comments.

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code; what string and character literals contain is left out.
    pub(crate) code: String,
    /// The text of comments, with their marks.
    pub(crate) comment: String,
    /// Whether the line belongs to a `#[cfg(test)]` module.
    pub(crate) test: bool,
}

impl Line {
    pub(crate) fn is_blank(&self) -> bool {
        self.code.trim().is_empty() && self.comment.trim().is_empty()
    }

    /// Whether there is a comment and nothing else.
    pub(crate) fn is_comment(&self) -> bool {
        self.code.trim().is_empty() && !self.comment.trim().is_empty()
    }
}

/// A file, line by line.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, Copy)]
enum LexerState {
    Code,
    LineComment,
    /// With its depth.
    BlockComment(u32),
    String,
    /// With the number of `#`.
    RawString(usize),
}

impl Source {
    pub(crate) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut lines = Vec::new();
        let mut line = Line::default();
        let mut state = LexerState::Code;
        let mut at = 0;
        let starts =
            |at: usize, what: &str| what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
        while at < chars.len() {
            let c = chars[at];
            if c == '\n' {
                lines.push(std::mem::take(&mut line));
                if matches!(state, LexerState::LineComment) {
                    state = LexerState::Code;
                }
                at += 1;
                continue;
            }
            let mut taken = 1;
            match state {
                LexerState::Code if starts(at, "//") => {
                    state = LexerState::LineComment;
                    line.comment.push_str("//");
                    taken = 2;
                }
                LexerState::Code if starts(at, "/*") => {
                    state = LexerState::BlockComment(1);
                    line.comment.push_str("/*");
                    taken = 2;
                }
                LexerState::Code if c == '"' => {
                    state = LexerState::String;
                    line.code.push('"');
                }
                LexerState::Code
                    if c == 'r' && !line.code.ends_with(|c: char| c.is_alphanumeric() || c == '_') =>
                {
                    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
                    line.code.push('r');
                    if chars.get(at + 1 + hashes) == Some(&'"') {
                        state = LexerState::RawString(hashes);
                        line.code.push('"');
                        taken = 2 + hashes;
                    }
                }
                LexerState::Code if c == '\'' => {
                    line.code.push('\'');
                    taken = literal_length(&chars[at..]).unwrap_or(1);
                }
                LexerState::Code => line.code.push(c),
                LexerState::LineComment => line.comment.push(c),
                LexerState::BlockComment(depth) if starts(at, "*/") => {
                    state = if depth == 1 { LexerState::Code } else { LexerState::BlockComment(depth - 1) };
                    line.comment.push_str("*/");
                    taken = 2;
                }
                LexerState::BlockComment(depth) if starts(at, "/*") => {
                    state = LexerState::BlockComment(depth + 1);
                    line.comment.push_str("/*");
                    taken = 2;
                }
                LexerState::BlockComment(_) => line.comment.push(c),
                // an escaped line end is left for the next round, which counts it
                LexerState::String if c == '\\' => {
                    taken = if chars.get(at + 1) == Some(&'\n') { 1 } else { 2 }
                }
                LexerState::String if c == '"' => {
                    state = LexerState::Code;
                    line.code.push('"');
                }
                LexerState::RawString(hashes) if c == '"' && starts(at + 1, &"#".repeat(hashes)) => {
                    state = LexerState::Code;
                    line.code.push('"');
                    taken = 1 + hashes;
                }
                LexerState::String | LexerState::RawString(_) => {}
            }
            at += taken;
        }
        if line != Line::default() {
            lines.push(line);
        }
        mark_tests(&mut lines);
        Self { lines }
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(i, line)| (i + 1, line))
    }
}

/// The length of a character literal; none for a lifetime.
fn literal_length(chars: &[char]) -> Option<usize> {
    if chars.get(1) == Some(&'\\') {
        let end = chars.iter().skip(3).position(|&c| c == '\'')?;
        Some(end + 4)
    } else {
        (chars.get(2) == Some(&'\'')).then_some(3)
    }
}

/// Marks what follows `#[cfg(test)]`, or that with further conditions, and stands in braces.
fn mark_tests(lines: &mut [Line]) {
    let mut depth = 0i32;
    let mut waiting = false;
    let mut until = None;
    for line in lines {
        waiting |= until.is_none()
            && ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|mark| line.code.contains(mark));
        line.test = waiting || until.is_some();
        for c in line.code.chars() {
            match c {
                '{' => {
                    if std::mem::take(&mut waiting) {
                        until = Some(depth);
                    }
                    depth += 1;
                }
                '}' => {
                    depth -= 1;
                    if until == Some(depth) {
                        until = None;
                    }
                }
                ';' => waiting = false,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        Source::parse(text).lines.into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_are_no_code() {
        let source = Source::parse("a // b\n/* c /* d */\ne */ f");
        assert_eq!(source.lines[0].code, "a ");
        assert_eq!(source.lines[0].comment, "// b");
        assert!(source.lines[1].is_comment());
        assert_eq!(source.lines[2].code, " f");
    }

    #[test]
    fn literals_are_left_out() {
        assert_eq!(code(r#"a("unsafe \" {", 'x', '\'', b'{')"#), [r#"a("", ', ', b')"#]);
        assert_eq!(code("r#\"un\"safe\n// \"# x"), ["r\"", "\" x"]);
        assert_eq!(code("\"a\\\n  b\" c"), ["\"", "\" c"]);
        assert_eq!(code("for r in x"), ["for r in x"]);
    }

    #[test]
    fn lifetimes_are_no_literals() {
        assert_eq!(code("fn f<'a>(x: &'a str) // '"), ["fn f<'a>(x: &'a str) "]);
    }

    #[test]
    fn test_modules_are_marked() {
        let source = Source::parse("a\n#[cfg(test)]\nmod tests {\n fn f() {}\n}\nb");
        let test: Vec<bool> = source.lines.iter().map(|line| line.test).collect();
        assert_eq!(test, [false, true, true, true, true, false]);
        let source = Source::parse("#[cfg(test)]\nuse a;\nfn f() {\n}\n");
        let test: Vec<bool> = source.lines.iter().map(|line| line.test).collect();
        assert_eq!(test, [true, true, false, false]);
        let source = Source::parse("#[cfg(all(test, not(loom)))]\nmod tests {\n}\nb");
        let test: Vec<bool> = source.lines.iter().map(|line| line.test).collect();
        assert_eq!(test, [true, true, true, false]);
    }
}
