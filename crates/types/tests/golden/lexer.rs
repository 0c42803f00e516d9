//! Tokens of the expressions.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Word(String),
    Quoted(String),
    Number(String),
    Text(String),
    Operator(String),
    Symbol(char),
    Cast,
    End,
}

const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";

fn text(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, escapes: bool) -> String {
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\'' if chars.peek() == Some(&'\'') => {
                chars.next();
                out.push('\'');
            }
            '\'' => break,
            '\\' if escapes => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// All tokens, an end behind them.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        let token = match c {
            c if c.is_whitespace() => continue,
            'E' | 'e' if chars.peek() == Some(&'\'') => {
                chars.next();
                Token::Text(text(&mut chars, true))
            }
            '\'' => Token::Text(text(&mut chars, false)),
            '"' => {
                let name: String = chars.by_ref().take_while(|c| *c != '"').collect();
                Token::Quoted(name)
            }
            ':' if chars.peek() == Some(&':') => {
                chars.next();
                Token::Cast
            }
            c if c.is_ascii_digit() || c == '.' && chars.peek().is_some_and(char::is_ascii_digit) => {
                let mut number = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.') {
                    number.push(c);
                    if matches!(c, 'e' | 'E') {
                        number.extend(chars.next_if(|c| matches!(c, '+' | '-')));
                    }
                }
                Token::Number(number)
            }
            c if c.is_alphabetic() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                Token::Word(word.to_lowercase())
            }
            c if OPERATOR.contains(c) => {
                let mut operator = String::from(c);
                while let Some(c) = chars.next_if(|c| OPERATOR.contains(*c)) {
                    operator.push(c);
                }
                // a sign ends an operator only if another character of it allows that
                while operator.len() > 1
                    && operator.ends_with(['+', '-'])
                    && !operator.contains(|c| "~!@#%^&|`?".contains(c))
                {
                    let sign = operator.pop().unwrap();
                    // the sign is an operator of its own
                    found.push(Token::Operator(std::mem::take(&mut operator)));
                    operator.push(sign);
                }
                Token::Operator(operator)
            }
            c => Token::Symbol(c),
        };
        found.push(token);
    }
    found.push(Token::End);
    found
}
