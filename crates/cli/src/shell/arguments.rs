//! The arguments of backslash commands, as psql reads them.

/// A command and what follows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation<'a> {
    /// Its name, without the backslash.
    pub(crate) name: &'a str,
    /// The rest of the line.
    pub(crate) rest: &'a str,
}

impl<'a> Invocation<'a> {
    /// Splits a line behind a backslash.
    pub(crate) fn parse(line: &'a str) -> Self {
        let end = match line.chars().next() {
            // signs are commands of their own
            Some(c @ ('?' | '!')) => c.len_utf8(),
            _ => line.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(line.len()),
        };
        Self { name: &line[..end], rest: line[end..].trim() }
    }

    /// The arguments: words, `'texts'` with backslashes, `"names"`, whose quotes stay.
    ///
    /// # Errors
    /// A quote that does not end.
    pub(crate) fn arguments(&self) -> Result<Vec<String>, String> {
        let mut arguments = Vec::new();
        let mut chars = self.rest.chars().peekable();
        loop {
            while chars.next_if(|c| c.is_whitespace()).is_some() {}
            if chars.peek().is_none() {
                return Ok(arguments);
            }
            let mut argument = String::new();
            while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                match c {
                    '\'' => loop {
                        match chars.next() {
                            Some('\'') if chars.next_if_eq(&'\'').is_some() => argument.push('\''),
                            Some('\'') => break,
                            Some('\\') => argument.push(match chars.next() {
                                Some('n') => '\n',
                                Some('t') => '\t',
                                Some('r') => '\r',
                                Some(other) => other,
                                None => return Err("unterminated quoted string".to_owned()),
                            }),
                            Some(other) => argument.push(other),
                            None => return Err("unterminated quoted string".to_owned()),
                        }
                    },
                    '"' => {
                        argument.push('"');
                        loop {
                            let Some(c) = chars.next() else {
                                return Err("unterminated quoted name".to_owned());
                            };
                            argument.push(c);
                            if c == '"' {
                                break;
                            }
                        }
                    }
                    c => argument.push(c),
                }
            }
            arguments.push(argument);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_words_texts_and_names() {
        let line = Invocation::parse("echo a 'b ''c\\n' \"D e\".f ");
        assert_eq!(line.name, "echo");
        assert_eq!(line.arguments().unwrap(), ["a", "b 'c\n", "\"D e\".f"]);
        assert_eq!(Invocation::parse("?"), Invocation { name: "?", rest: "" });
        assert_eq!(Invocation::parse("?x").rest, "x");
        assert!(Invocation::parse("echo 'a").arguments().is_err());
        assert!(Invocation::parse("echo \"a").arguments().is_err());
    }
}
