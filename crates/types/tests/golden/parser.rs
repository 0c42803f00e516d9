//! Expressions as trees: the subset of SQL that the cases use.

use crate::lexer::{Token, tokens};

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Cast(Box<Expr>, String),
    Call(String, Vec<Expr>),
    Array(Vec<Expr>),
    Subscript(Box<Expr>, Vec<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    Distinct(Box<Expr>, Box<Expr>),
    Common(&'static str, Vec<Expr>),
    NullIf(Box<Expr>, Box<Expr>),
}

pub(crate) struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

/// Words that start a typed literal or a type.
const TYPE_WORDS: &[&str] = &[
    "bool",
    "boolean",
    "int2",
    "int4",
    "int8",
    "int",
    "integer",
    "smallint",
    "bigint",
    "float4",
    "float8",
    "real",
    "double",
    "numeric",
    "decimal",
    "text",
    "varchar",
    "character",
    "char",
    "bpchar",
    "name",
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "json",
    "jsonb",
    "oid",
    "regtype",
    "int2vector",
    "oidvector",
];

impl Parser {
    pub(crate) fn new(source: &str) -> Self {
        Self { tokens: tokens(source), at: 0 }
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn word(&mut self, word: &str) -> bool {
        let hit = matches!(self.peek(), Token::Word(w) if w == word);
        self.at += usize::from(hit);
        hit
    }

    fn symbol(&mut self, symbol: char) -> bool {
        let hit = *self.peek() == Token::Symbol(symbol);
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, symbol: char) {
        assert!(self.symbol(symbol), "expected {symbol:?}, found {:?} at {}", self.peek(), self.at);
    }

    pub(crate) fn finish(mut self) -> Expr {
        let expr = self.expr(0);
        assert_eq!(*self.peek(), Token::End, "rest");
        expr
    }

    /// Binding strengths, weakest first: 1 OR, 2 AND, 3 NOT, 4 IS, 5 comparison, 6 LIKE, 7 other operators, 8 + -, 9 *
    /// / %, 10 ^, 11 AT TIME ZONE, 12 sign.
    fn expr(&mut self, least: u8) -> Expr {
        let mut left = self.prefix();
        loop {
            let at = self.at;
            let token = self.next();
            let boxed = |e: Expr| Box::new(e);
            left = match token {
                Token::Word(w) if w == "or" && least <= 1 => Expr::Or(boxed(left), boxed(self.expr(2))),
                Token::Word(w) if w == "and" && least <= 2 => Expr::And(boxed(left), boxed(self.expr(3))),
                Token::Word(w) if w == "is" && least <= 4 => {
                    let not = self.word("not");
                    let test = if self.word("null") {
                        Expr::IsNull(boxed(left))
                    } else if self.word("distinct") {
                        assert!(self.word("from"));
                        Expr::Distinct(boxed(left), boxed(self.expr(5)))
                    } else {
                        panic!("IS what?")
                    };
                    if not { Expr::Not(boxed(test)) } else { test }
                }
                Token::Word(w)
                    if least <= 6 && matches!(w.as_str(), "like" | "ilike" | "similar" | "not") =>
                {
                    let (not, w) = if w == "not" {
                        match self.next() {
                            Token::Word(w) => (true, w),
                            other => panic!("NOT {other:?}"),
                        }
                    } else {
                        (false, w)
                    };
                    let mut operator = match w.as_str() {
                        "like" => "~~",
                        "ilike" => "~~*",
                        _ => {
                            assert!(self.word("to"));
                            "~"
                        }
                    }
                    .to_owned();
                    let mut pattern = self.expr(7);
                    if self.word("escape") {
                        let escape = self.expr(7);
                        let name = if w == "similar" { "similar_to_escape" } else { "like_escape" };
                        pattern = Expr::Call(name.into(), vec![pattern, escape]);
                    } else if w == "similar" {
                        pattern = Expr::Call("similar_to_escape".into(), vec![pattern]);
                    }
                    if not {
                        operator.insert(0, '!');
                    }
                    Expr::Call(operator, vec![left, pattern])
                }
                Token::Word(w) if w == "at" && least <= 11 => {
                    assert!(self.word("time") && self.word("zone"));
                    let zone = self.expr(12);
                    Expr::Call("timezone".into(), vec![zone, left])
                }
                Token::Operator(op) => {
                    let strength = match op.as_str() {
                        "=" | "<>" | "!=" | "<" | ">" | "<=" | ">=" => 5,
                        "+" | "-" => 8,
                        "*" | "/" | "%" => 9,
                        "^" => 10,
                        _ => 7,
                    };
                    if strength < least {
                        self.at = at;
                        return left;
                    }
                    let right = self.expr(strength + 1);
                    Expr::Call(op, vec![left, right])
                }
                Token::Cast => {
                    let ty = self.type_name();
                    Expr::Cast(boxed(left), ty)
                }
                Token::Symbol('[') => {
                    let mut subscripts = vec![self.expr(0)];
                    self.expect(']');
                    while self.symbol('[') {
                        subscripts.push(self.expr(0));
                        self.expect(']');
                    }
                    Expr::Subscript(boxed(left), subscripts)
                }
                _ => {
                    self.at = at;
                    return left;
                }
            };
        }
    }

    /// A type's name as text, for `Type::parse`.
    fn type_name(&mut self) -> String {
        let mut name = match self.next() {
            Token::Word(word) => word,
            Token::Quoted(name) => format!("\"{name}\""),
            other => panic!("no type: {other:?}"),
        };
        for follow in [
            "precision",
            "varying",
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "to",
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
        ] {
            if self.word(follow) {
                name = format!("{name} {follow}");
            }
        }
        if self.symbol('(') {
            name.push('(');
            loop {
                match self.next() {
                    Token::Number(n) => name.push_str(&n),
                    Token::Symbol(')') => break,
                    Token::Symbol(c) => name.push(c),
                    Token::Operator(op) => name.push_str(&op),
                    other => panic!("{other:?} in a type"),
                }
            }
            name.push(')');
        }
        for with in ["with", "without"] {
            if self.word(with) {
                assert!(self.word("time") && self.word("zone"));
                name = format!("{name} {with} time zone");
            }
        }
        while *self.peek() == Token::Symbol('[') && self.tokens[self.at + 1] == Token::Symbol(']') {
            self.at += 2;
            name.push_str("[]");
        }
        name
    }

    fn args(&mut self) -> Vec<Expr> {
        let mut found = Vec::new();
        if self.symbol(')') {
            return found;
        }
        loop {
            found.push(self.expr(0));
            if self.symbol(')') {
                return found;
            }
            self.expect(',');
        }
    }

    fn prefix(&mut self) -> Expr {
        match self.next() {
            Token::Number(n) => Expr::Number(n),
            Token::Text(text) => Expr::Text(text),
            Token::Symbol('(') => {
                let expr = self.expr(0);
                self.expect(')');
                // what was in parentheses is no number that a sign belongs to
                expr
            }
            Token::Operator(op) => {
                let strength = if matches!(op.as_str(), "+" | "-") { 12 } else { 8 };
                Expr::Call(op, vec![self.expr(strength)])
            }
            Token::Word(word) => self.after_word(word),
            Token::Quoted(name) if *self.peek() != Token::Symbol('(') => {
                self.at -= 1;
                let ty = self.type_name();
                let Token::Text(text) = self.next() else { panic!("{name}") };
                Expr::Cast(Box::new(Expr::Text(text)), ty)
            }
            other => panic!("unexpected {other:?}"),
        }
    }

    fn after_word(&mut self, word: String) -> Expr {
        let boxed = |e: Expr| Box::new(e);
        match word.as_str() {
            "null" => return Expr::Null,
            "true" => return Expr::Bool(true),
            "false" => return Expr::Bool(false),
            "not" => return Expr::Not(boxed(self.expr(3))),
            "array" if self.symbol('[') => {
                let mut found = Vec::new();
                if !self.symbol(']') {
                    loop {
                        found.push(self.array_part());
                        if self.symbol(']') {
                            break;
                        }
                        self.expect(',');
                    }
                }
                return Expr::Array(found);
            }
            _ => {}
        }
        if TYPE_WORDS.contains(&word.as_str()) && !matches!(self.peek(), Token::Symbol('('))
            || word == "double"
        {
            self.at -= 1;
            let ty = self.type_name();
            let Token::Text(text) = self.next() else { panic!("a literal of {ty}") };
            return Expr::Cast(boxed(Expr::Text(text)), ty);
        }
        if matches!(
            word.as_str(),
            "timestamp" | "timestamptz" | "time" | "interval" | "numeric" | "char" | "varchar"
        ) {
            // `timestamp(3) '...'`, or a function of that name
            let at = self.at;
            self.at -= 1;
            let ty = self.type_name();
            if let Token::Text(text) = self.next() {
                return Expr::Cast(boxed(Expr::Text(text)), ty);
            }
            self.at = at;
        }
        self.expect('(');
        match word.as_str() {
            "cast" => {
                let value = self.expr(0);
                assert!(self.word("as"));
                let ty = self.type_name();
                self.expect(')');
                Expr::Cast(boxed(value), ty)
            }
            "extract" => {
                let field = match self.next() {
                    Token::Word(w) | Token::Text(w) => w,
                    other => panic!("{other:?}"),
                };
                assert!(self.word("from"));
                let value = self.expr(0);
                self.expect(')');
                Expr::Call("extract".into(), vec![Expr::Text(field), value])
            }
            "position" => {
                let part = self.expr(7);
                assert!(self.word("in"));
                let whole = self.expr(0);
                self.expect(')');
                Expr::Call("position".into(), vec![whole, part])
            }
            "trim" => {
                let name = [("leading", "ltrim"), ("trailing", "rtrim"), ("both", "btrim")];
                let found = name.into_iter().find(|(w, _)| self.word(w)).map_or("btrim", |(_, name)| name);
                let mut args = Vec::new();
                if *self.peek() != Token::Word("from".into()) {
                    args.push(self.expr(0));
                }
                if self.word("from") {
                    args.insert(0, self.expr(0));
                }
                self.expect(')');
                Expr::Call(found.into(), args)
            }
            "substring" | "overlay" => {
                let mut args = vec![self.expr(0)];
                loop {
                    if self.symbol(')') {
                        return Expr::Call(word, args);
                    }
                    let separated =
                        self.symbol(',') || self.word("placing") || self.word("from") || self.word("for");
                    assert!(separated);
                    args.push(self.expr(0));
                }
            }
            "coalesce" => Expr::Common("COALESCE", self.args()),
            "greatest" => Expr::Common("GREATEST", self.args()),
            "least" => Expr::Common("LEAST", self.args()),
            "nullif" => {
                let mut args = self.args();
                let right = args.pop().unwrap();
                Expr::NullIf(boxed(args.pop().unwrap()), boxed(right))
            }
            _ => Expr::Call(word, self.args()),
        }
    }

    /// An element of `ARRAY[...]`, in which brackets nest.
    fn array_part(&mut self) -> Expr {
        if self.symbol('[') {
            let mut found = Vec::new();
            loop {
                found.push(self.array_part());
                if self.symbol(']') {
                    return Expr::Array(found);
                }
                self.expect(',');
            }
        }
        self.expr(0)
    }
}
