//! Texts as paths.
//!
//! The grammar has expressions, which are items, and predicates, which are true or false. Both may stand in brackets,
//! and only what follows these says which of them is allowed there. An error is found at the first token that nothing
//! goes on with, and is told as one at that token.

use super::print::{text_of, too_long};
use super::scan::{Keyword, Scanner, Token};
use super::{
    Arithmetic, Compare, Head, JsonPath, LAST, MAX_DEPTH, MAX_PATTERNS, MAX_PRINTED, Method, Path, Pattern,
    Predicate, Sign, Step, Subscript,
};
use crate::error::{Result, SqlError, SqlState};
use crate::func::PathFlags;
use crate::numeric::Numeric;
use crate::value::Text;

/// Stack that is left at least before it is made larger, and by how much it is.
const RED_ZONE: usize = 64 << 10;
const STACK: usize = 1 << 20;

/// How tightly operators bind.
mod binding {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const COMPARE: u8 = 3;
    pub(super) const ADD: u8 = 4;
    pub(super) const MUL: u8 = 5;
    pub(super) const SIGN: u8 = 6;
}

/// What was parsed, and how deep it is.
struct Parsed {
    what: What,
    depth: usize,
}

enum What {
    Path(Path),
    Predicate(Predicate),
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    token: Token,
    /// Bytes of numbers as they are printed.
    printed: usize,
    patterns: usize,
    /// How many brackets are open.
    open: usize,
}

impl JsonPath {
    /// The path of a text.
    ///
    /// # Errors
    ///
    /// 42601 or 22P02 if it is none, 2201B for a wrong regular expression, 54001 if it nests too deeply.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser =
            Parser { scanner: Scanner::new(text), token: Token::End, printed: 0, patterns: 0, open: 0 };
        parser.advance()?;
        if parser.token == Token::End {
            return Err(SqlError::invalid_text("jsonpath", text));
        }
        let lax = match parser.token {
            Token::Word(word @ (Keyword::Lax | Keyword::Strict), _) => {
                parser.advance()?;
                word == Keyword::Lax
            }
            _ => true,
        };
        let path = parser.expression(binding::OR)?.what.into_path();
        if parser.token != Token::End {
            return Err(parser.unexpected());
        }
        stacker::maybe_grow(STACK / 2, STACK, || {
            Surroundings { filtered: false, subscript: false }.check(&path)?;
            Ok(Self { lax, text: text_of(lax, &path)?, path })
        })
    }
}

impl What {
    /// A predicate is an item, too: true, false or null.
    fn into_path(self) -> Path {
        match self {
            Self::Path(path) => path,
            Self::Predicate(predicate) => Head::Predicate(Box::new(predicate)).into(),
        }
    }
}

impl From<Head> for Path {
    fn from(head: Head) -> Self {
        Self { head, steps: Vec::new() }
    }
}

/// One more than the depth of what it consists of.
fn over(depth: usize) -> Result<usize> {
    if depth >= MAX_DEPTH {
        let what = format!("a jsonpath nests {MAX_DEPTH} levels deep at most");
        return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what));
    }
    Ok(depth + 1)
}

/// How tightly a token binds as an operator.
fn binds(token: &Token) -> Option<u8> {
    Some(match token {
        Token::Sign("||") => binding::OR,
        Token::Sign("&&") => binding::AND,
        Token::Sign("==" | "!=" | "<>" | "<" | ">" | "<=" | ">=")
        | Token::Word(Keyword::Starts | Keyword::LikeRegex, _) => binding::COMPARE,
        Token::Sign("+" | "-") => binding::ADD,
        Token::Sign("*" | "/" | "%") => binding::MUL,
        _ => return None,
    })
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token> {
        let next = self.scanner.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    #[cold]
    fn unexpected(&self) -> SqlError {
        self.scanner.error("syntax error")
    }

    fn is(&self, sign: &'static str) -> bool {
        self.token == Token::Sign(sign)
    }

    fn expect(&mut self, sign: &'static str) -> Result<()> {
        if !self.is(sign) {
            return Err(self.unexpected());
        }
        self.advance().map(drop)
    }

    fn expect_word(&mut self, word: Keyword) -> Result<()> {
        if !self.is_word(word) {
            return Err(self.unexpected());
        }
        self.advance().map(drop)
    }

    fn is_word(&self, word: Keyword) -> bool {
        matches!(self.token, Token::Word(found, _) if found == word)
    }

    /// What is in brackets, behind the first.
    fn inside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.open = over(self.open)?;
        let parsed = stacker::maybe_grow(RED_ZONE, STACK, || parse(self))?;
        self.open -= 1;
        Ok(parsed)
    }

    /// Operands with operators between them that bind at least so tightly.
    fn expression(&mut self, least: u8) -> Result<Parsed> {
        let mut left = self.operand(least)?;
        while let Some(binds) = binds(&self.token).filter(|binds| *binds >= least) {
            let logical = binds <= binding::AND;
            let Parsed { what, depth } = left;
            left = match what {
                What::Predicate(first) if logical => {
                    self.advance()?;
                    let right = self.expression(binds + 1)?;
                    let depth = over(depth.max(right.depth))?;
                    let sides = Box::new((first, self.predicate(right)?));
                    let and = binds == binding::AND;
                    let what = if and { Predicate::And(sides) } else { Predicate::Or(sides) };
                    Parsed { what: What::Predicate(what), depth }
                }
                What::Path(first) if binds == binding::COMPARE => self.test(first, depth)?,
                What::Path(first) if !logical => {
                    let operator = match self.advance()? {
                        Token::Sign("+") => Arithmetic::Add,
                        Token::Sign("-") => Arithmetic::Sub,
                        Token::Sign("*") => Arithmetic::Mul,
                        Token::Sign("/") => Arithmetic::Div,
                        _ => Arithmetic::Mod,
                    };
                    let right = self.expression(binds + 1)?;
                    let depth = over(depth.max(right.depth))?;
                    let sides = Box::new((first, self.path(right)?));
                    Parsed { what: What::Path(Head::Binary(operator, sides).into()), depth }
                }
                _ => return Err(self.unexpected()),
            };
        }
        Ok(left)
    }

    /// What must be a predicate; that it is none is seen at the token behind it.
    fn predicate(&self, parsed: Parsed) -> Result<Predicate> {
        match parsed.what {
            What::Predicate(predicate) => Ok(predicate),
            What::Path(_) => Err(self.unexpected()),
        }
    }

    /// What must be an expression.
    fn path(&self, parsed: Parsed) -> Result<Path> {
        match parsed.what {
            What::Path(path) => Ok(path),
            What::Predicate(_) => Err(self.unexpected()),
        }
    }

    /// The rest of a predicate that begins with an expression.
    fn test(&mut self, left: Path, depth: usize) -> Result<Parsed> {
        let (predicate, depth) = match self.advance()? {
            Token::Word(Keyword::Starts, _) => {
                self.expect_word(Keyword::With)?;
                let initial =
                    match self.advance_if(|token| matches!(token, Token::String(_) | Token::Variable(_)))? {
                        Token::Variable(name) => Head::Variable(name.into()),
                        Token::String(text) => Head::String(text.into()),
                        _ => return Err(self.unexpected()),
                    };
                (Predicate::StartsWith(Box::new((left, initial.into()))), over(depth)?)
            }
            Token::Word(Keyword::LikeRegex, _) => {
                let text = self.string()?;
                let flags = match self.token {
                    Token::Word(Keyword::Flag, _) => {
                        self.advance()?;
                        self.string()?
                    }
                    _ => String::new(),
                };
                (Predicate::LikeRegex(Box::new(left), self.pattern(text, &flags)?), over(depth)?)
            }
            operator => {
                let compare = match operator {
                    Token::Sign("==") => Compare::Equal,
                    Token::Sign("<") => Compare::Less,
                    Token::Sign(">") => Compare::Greater,
                    Token::Sign("<=") => Compare::LessOrEqual,
                    Token::Sign(">=") => Compare::GreaterOrEqual,
                    _ => Compare::NotEqual,
                };
                let right = self.expression(binding::ADD)?;
                let depth = over(depth.max(right.depth))?;
                (Predicate::Compare(compare, Box::new((left, self.path(right)?))), depth)
            }
        };
        Ok(Parsed { what: What::Predicate(predicate), depth })
    }

    fn advance_if(&mut self, fits: impl Fn(&Token) -> bool) -> Result<Token> {
        if !fits(&self.token) {
            return Err(self.unexpected());
        }
        self.advance()
    }

    fn string(&mut self) -> Result<String> {
        match self.advance_if(|token| matches!(token, Token::String(_)))? {
            Token::String(text) => Ok(text),
            _ => Err(self.unexpected()),
        }
    }

    fn pattern(&mut self, text: String, letters: &str) -> Result<Pattern> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            let what = format!("a jsonpath has at most {MAX_PATTERNS} regular expressions");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what));
        }
        let flags = PathFlags::of(letters)?;
        flags.regex(&text)?;
        Ok(Pattern { text: text.into(), flags })
    }

    /// An operand with the signs before it and the steps behind it; predicates where those are allowed.
    fn operand(&mut self, least: u8) -> Result<Parsed> {
        let predicates = least <= binding::COMPARE;
        match &self.token {
            Token::Sign("+" | "-") => self.signed(),
            Token::Sign("!") if predicates => {
                self.advance()?;
                let inner = match &self.token {
                    Token::Word(Keyword::Exists, _) => self.exists()?,
                    Token::Sign("(") => {
                        let inner = self.inside(|parser| {
                            parser.advance()?;
                            parser.expression(binding::OR)
                        })?;
                        let depth = inner.depth;
                        let predicate = self.predicate(inner)?;
                        self.expect(")")?;
                        Parsed { what: What::Predicate(predicate), depth }
                    }
                    _ => return Err(self.unexpected()),
                };
                let depth = over(inner.depth)?;
                let inner = Predicate::Not(Box::new(self.predicate(inner)?));
                Ok(Parsed { what: What::Predicate(inner), depth })
            }
            Token::Word(Keyword::Exists, _) if predicates => self.exists(),
            Token::Sign("(") => self.bracketed(predicates),
            _ => {
                let head = self.head()?;
                self.steps(head.into(), 1)
            }
        }
    }

    /// Signs, and what they stand before. A sign before a number is a part of it.
    fn signed(&mut self) -> Result<Parsed> {
        let mut signs = Vec::new();
        while let Token::Sign(sign @ ("+" | "-")) = self.token {
            over(signs.len())?;
            signs.push(if sign == "+" { Sign::Plus } else { Sign::Minus });
            self.advance()?;
        }
        let operand = self.operand(binding::SIGN)?;
        let mut depth = operand.depth;
        let mut path = self.path(operand)?;
        for sign in signs.into_iter().rev() {
            path = match (path, sign) {
                (Path { head: Head::Number(number), steps }, Sign::Plus) if steps.is_empty() => {
                    Head::Number(number).into()
                }
                (Path { head: Head::Number(number), steps }, Sign::Minus) if steps.is_empty() => {
                    Head::Number(number.neg()).into()
                }
                (path, sign) => {
                    depth = over(depth)?;
                    Head::Signed(sign, Box::new(path)).into()
                }
            };
        }
        Ok(Parsed { what: What::Path(path), depth })
    }

    /// `exists (..)`
    fn exists(&mut self) -> Result<Parsed> {
        self.advance()?;
        if !self.is("(") {
            return Err(self.unexpected());
        }
        let inner = self.inside(|parser| {
            parser.advance()?;
            parser.expression(binding::ADD)
        })?;
        let depth = over(inner.depth)?;
        let path = self.path(inner)?;
        self.expect(")")?;
        Ok(Parsed { what: What::Predicate(Predicate::Exists(Box::new(path))), depth })
    }

    /// What begins with a bracket.
    fn bracketed(&mut self, predicates: bool) -> Result<Parsed> {
        let inner = self.inside(|parser| {
            parser.advance()?;
            parser.expression(binding::OR)
        })?;
        self.expect(")")?;
        let depth = inner.depth;
        match inner.what {
            What::Predicate(predicate) if predicates && self.is_word(Keyword::Is) => {
                self.advance()?;
                self.expect_word(Keyword::Unknown)?;
                let what = What::Predicate(Predicate::IsUnknown(Box::new(predicate)));
                Ok(Parsed { what, depth: over(depth)? })
            }
            What::Predicate(predicate) => match &self.token {
                Token::Sign("." | "[" | "?") => {
                    self.steps(Head::Predicate(Box::new(predicate)).into(), over(depth)?)
                }
                _ => Ok(Parsed { what: What::Predicate(predicate), depth }),
            },
            What::Path(path) => self.steps(path, depth),
        }
    }

    fn head(&mut self) -> Result<Head> {
        let near = self.scanner.read();
        let head = match &self.token {
            Token::String(text) => Head::String(text.into()),
            Token::Variable(name) => Head::Variable(name.into()),
            Token::Word(Keyword::Null, _) => Head::Null,
            Token::Word(Keyword::True, _) => Head::Bool(true),
            Token::Word(Keyword::False, _) => Head::Bool(false),
            Token::Word(Keyword::Last, _) => Head::Last,
            Token::Sign("$") => Head::Root,
            Token::Sign("@") => Head::Current,
            Token::Integer | Token::Number => Head::Number(self.number(near)?),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(head)
    }

    fn number(&mut self, text: &str) -> Result<Numeric> {
        let number: Numeric = text.parse()?;
        let mut printed = Vec::new();
        number.write_text(&mut printed);
        self.printed += printed.len();
        if self.printed > MAX_PRINTED { Err(too_long()) } else { Ok(number) }
    }

    /// The steps behind a path.
    fn steps(&mut self, mut path: Path, mut depth: usize) -> Result<Parsed> {
        loop {
            let (step, inner) = match &self.token {
                Token::Sign(".") => {
                    self.advance()?;
                    (self.member()?, 0)
                }
                Token::Sign("[") => self.inside(|parser| {
                    parser.advance()?;
                    parser.elements()
                })?,
                Token::Sign("?") => {
                    self.advance()?;
                    if !self.is("(") {
                        return Err(self.unexpected());
                    }
                    let inner = self.inside(|parser| {
                        parser.advance()?;
                        parser.expression(binding::OR)
                    })?;
                    let depth = inner.depth;
                    let predicate = self.predicate(inner)?;
                    self.expect(")")?;
                    (Step::Filter(predicate), depth)
                }
                _ => return Ok(Parsed { what: What::Path(path), depth }),
            };
            depth = depth.max(over(inner)?);
            path.steps.push(step);
        }
    }

    /// What is in square brackets, behind the first, and how deep it is.
    fn elements(&mut self) -> Result<(Step, usize)> {
        if self.is("*") {
            self.advance()?;
            self.expect("]")?;
            return Ok((Step::AnyElement, 0));
        }
        let (mut subscripts, mut deepest) = (Vec::new(), 0);
        loop {
            let from = self.subscript(&mut deepest)?;
            let to = match self.token {
                Token::Word(Keyword::To, _) => {
                    self.advance()?;
                    Some(self.subscript(&mut deepest)?)
                }
                _ => None,
            };
            subscripts.push(Subscript { from, to });
            if !self.is(",") {
                self.expect("]")?;
                return Ok((Step::Elements(subscripts), deepest));
            }
            self.advance()?;
        }
    }

    fn subscript(&mut self, deepest: &mut usize) -> Result<Path> {
        let parsed = self.expression(binding::ADD)?;
        *deepest = (*deepest).max(parsed.depth);
        self.path(parsed)
    }

    /// What is behind a dot.
    fn member(&mut self) -> Result<Step> {
        match self.advance_if(|token| {
            matches!(
                token,
                Token::Sign("*" | "**") | Token::Word(..) | Token::Identifier(_) | Token::String(_)
            )
        })? {
            Token::Sign("*") => Ok(Step::AnyKey),
            Token::Sign(_) => self.levels(),
            Token::Word(Keyword::Datetime, _) if self.is("(") => {
                self.advance()?;
                let template = match &self.token {
                    Token::String(text) => Some(Text::from(text)),
                    _ => None,
                };
                if template.is_some() {
                    self.advance()?;
                }
                self.expect(")")?;
                Ok(Step::Datetime(template))
            }
            Token::Word(word, written) => {
                let method = match word {
                    Keyword::Abs => Some(Method::Abs),
                    Keyword::Ceiling => Some(Method::Ceiling),
                    Keyword::Double => Some(Method::Double),
                    Keyword::Floor => Some(Method::Floor),
                    Keyword::KeyValue => Some(Method::KeyValue),
                    Keyword::Size => Some(Method::Size),
                    Keyword::Type => Some(Method::Type),
                    _ => None,
                };
                match method.filter(|_| self.is("(")) {
                    Some(method) => {
                        self.advance()?;
                        self.expect(")")?;
                        Ok(Step::Method(method))
                    }
                    None => Ok(Step::Key(written.into())),
                }
            }
            Token::Identifier(key) | Token::String(key) => Ok(Step::Key(key.into())),
            _ => Err(self.unexpected()),
        }
    }

    /// The levels of `.**`, behind the stars.
    fn levels(&mut self) -> Result<Step> {
        if !self.is("{") {
            return Ok(Step::Any(0, LAST));
        }
        self.advance()?;
        let first = self.level()?;
        let last = match self.token {
            Token::Word(Keyword::To, _) => {
                self.advance()?;
                self.level()?
            }
            _ => first,
        };
        self.expect("}")?;
        Ok(Step::Any(first, last))
    }

    fn level(&mut self) -> Result<u32> {
        let level = match &self.token {
            Token::Word(Keyword::Last, _) => LAST,
            Token::Integer => {
                let text = self.scanner.read();
                let level = text.parse::<i32>().ok().and_then(|level| u32::try_from(level).ok());
                level.ok_or_else(|| {
                    SqlError::out_of_range(format!("value \"{text}\" is out of range for type integer"))
                })?
            }
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(level)
    }
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct Surroundings {
    /// In a filter, so that there is a current item.
    filtered: bool,
    /// In a subscript, so that there is a last element.
    subscript: bool,
}

impl Surroundings {
    /// Refuses `@` and `last` where they mean nothing.
    fn check(self, path: &Path) -> Result<()> {
        match &path.head {
            Head::Current if !self.filtered => {
                let what = "@ is not allowed in root expressions";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            Head::Last if !self.subscript => {
                let what = "LAST is allowed only in array subscripts";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            Head::Signed(_, operand) => self.check(operand)?,
            Head::Binary(_, sides) => {
                self.check(&sides.0)?;
                self.check(&sides.1)?;
            }
            Head::Predicate(predicate) => self.check_predicate(predicate)?,
            _ => {}
        }
        for step in &path.steps {
            match step {
                Step::Filter(predicate) => Self { filtered: true, ..self }.check_predicate(predicate)?,
                Step::Elements(subscripts) => {
                    let inside = Self { subscript: true, ..self };
                    for Subscript { from, to } in subscripts {
                        inside.check(from)?;
                        to.iter().try_for_each(|to| inside.check(to))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_predicate(self, predicate: &Predicate) -> Result<()> {
        match predicate {
            Predicate::And(sides) | Predicate::Or(sides) => {
                self.check_predicate(&sides.0)?;
                self.check_predicate(&sides.1)
            }
            Predicate::Not(operand) | Predicate::IsUnknown(operand) => self.check_predicate(operand),
            Predicate::Compare(_, sides) | Predicate::StartsWith(sides) => {
                self.check(&sides.0)?;
                self.check(&sides.1)
            }
            Predicate::LikeRegex(operand, _) | Predicate::Exists(operand) => self.check(operand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_printed_as_postgresql_does() {
        for (text, printed) in [
            ("$.a.*[*]", "$.\"a\".*[*]"),
            ("strict $[0, last - 1 to last]", "strict $[0,last - 1 to last]"),
            ("$.a.**{2 to 2}.**{0 to last}.**{last to 5}", "$.\"a\".**{2}.**.**{last to 5}"),
            ("$--+1", "($ - -1)"),
            ("1 * 2 + 4 % -3 <> false", "(1 * 2 + 4 % -3 != false)"),
            ("(1.).e3", "(1).\"e3\""),
            (
                "$ ? (@.a == 1 || !(@.x >= 123) && @.b == 7)",
                "$?(@.\"a\" == 1 || !(@.\"x\" >= 123) && @.\"b\" == 7)",
            ),
            ("$ ? ((@ starts with $v) is unknown)", "$?((@ starts with $\"v\") is unknown)"),
            ("$ ? (@ like_regex \"p\" flag \"xsmsq\")", "$?(@ like_regex \"p\" flag \"smxq\")"),
            ("((($ + 1)).a + ((2)).b ? ((((@ > 1)))))", "(($ + 1).\"a\" + (2).\"b\"?(@ > 1))"),
            ("$.last.size().datetime(\"x\").keyvalue", "$.\"last\".size().datetime(\"x\").\"keyvalue\""),
        ] {
            assert_eq!(JsonPath::parse(text).unwrap().text(), printed, "{text}");
        }
    }

    #[test]
    fn brackets_stay_where_a_step_needs_them() {
        for text in [
            "$[(1 + 2).type()]",
            "(exists ($)).type()",
            "(!($ == 1)).type()",
            "(($ == 1) is unknown).type()",
            "$?(exists ((1 == 1).type()))",
            "($ * 1).\"a\"",
        ] {
            let path = JsonPath::parse(text).unwrap();
            assert_eq!(path.text(), text);
        }
    }

    #[test]
    fn errors_name_what_was_read_last() {
        for (text, message) in [
            ("$ $", "syntax error at or near \"$\" of jsonpath input"),
            ("$.a b", "syntax error at end of jsonpath input"),
            ("(1 < 2) < 3", "syntax error at or near \"<\" of jsonpath input"),
            ("1 + ($ == 1)", "syntax error at end of jsonpath input"),
            ("$ ? (@)", "syntax error at or near \")\" of jsonpath input"),
            ("00", "trailing junk after numeric literal at or near \"00\" of jsonpath input"),
            ("1.type()", "trailing junk after numeric literal at or near \"1.t\" of jsonpath input"),
            ("1e+", "invalid numeric literal at or near \"1e+\" of jsonpath input"),
            ("\"\\u00", "invalid unicode sequence at or near \"\\u00\" of jsonpath input"),
            ("\"\\x4", "invalid hex character sequence at or near \"\\x4\" of jsonpath input"),
            ("\"a", "unexpected end of quoted string at end of jsonpath input"),
            ("/* a", "unexpected end of comment at end of jsonpath input"),
            ("@", "@ is not allowed in root expressions"),
            ("$ ? (last == 1)", "LAST is allowed only in array subscripts"),
            ("", "invalid input syntax for type jsonpath: \"\""),
        ] {
            assert_eq!(JsonPath::parse(text).unwrap_err().message(), message, "{text}");
        }
    }
}
