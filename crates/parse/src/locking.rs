//! `FOR UPDATE` and its like, as the general parser can take them: it knows two of the four strengths, one table behind
//! OF, and only one place for the clause.
//!
//! The tokens of a clause are put in the parser's form: `FOR UPDATE OF "strength".table.table`. So errors keep their
//! places.

use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{LockClause, NonBlock};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// How strongly rows are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl Strength {
    const ALL: [Self; 4] = [Self::KeyShare, Self::Share, Self::NoKeyUpdate, Self::Update];

    /// The clause.
    pub fn words(self) -> &'static str {
        match self {
            Self::KeyShare => "FOR KEY SHARE",
            Self::Share => "FOR SHARE",
            Self::NoKeyUpdate => "FOR NO KEY UPDATE",
            Self::Update => "FOR UPDATE",
        }
    }

    /// The statement, as errors call it.
    pub fn statement(self) -> &'static str {
        match self {
            Self::KeyShare => "SELECT FOR KEY SHARE",
            Self::Share => "SELECT FOR SHARE",
            Self::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
            Self::Update => "SELECT FOR UPDATE",
        }
    }
}

/// What a clause says: its strength, its tables (none: all), and whether it waits.
pub type Clause<'q> = (Strength, Vec<&'q sqlparser::ast::Ident>, Option<NonBlock>);

/// What a clause says, in the form that the tokens were given for the parser.
///
/// # Errors
/// 42601.
pub fn clause(clause: &LockClause) -> Result<Clause<'_>> {
    let parts = clause.of.iter().flat_map(|of| &of.0);
    let mut idents = parts.filter_map(|part| part.as_ident());
    let first = idents.next().map_or("", |ident| ident.value.as_str());
    let Some(strength) = Strength::ALL.into_iter().find(|strength| strength.words() == first) else {
        let what = format!("FOR {} must specify unqualified relation names", clause.lock_type);
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
    };
    Ok((strength, idents.collect(), clause.nonblock))
}

/// Puts the clauses of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is(token, Keyword::FOR)) {
        return tokens;
    }
    let mut at = 0;
    while at < tokens.len() {
        let Some(found) = Found::at(&tokens, at) else {
            at += 1;
            continue;
        };
        let end = found.end;
        let own = found.tokens(&tokens[at]);
        tokens.drain(at..end);
        let to = place(&tokens, at);
        at = to + own.len();
        tokens.splice(to..to, own);
    }
    tokens
}

fn is(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

/// Whether a token is what [`rewrite`] writes in front of the tables of a clause.
fn is_strength(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_some() && words_of(&word.value).is_some())
}

/// The words of a clause, if a text is these.
pub(super) fn words_of(text: &str) -> Option<&'static str> {
    Strength::ALL.into_iter().map(Strength::words).find(|words| *words == text)
}

/// The next token that is no space.
fn next(tokens: &[TokenWithSpan], from: usize) -> usize {
    let space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    from + tokens[from.min(tokens.len())..].iter().take_while(|token| space(token)).count()
}

/// Walks over keywords; the place behind them.
fn words(tokens: &[TokenWithSpan], mut at: usize, wanted: &[Keyword]) -> Option<usize> {
    for &keyword in wanted {
        at = next(tokens, at);
        if !tokens.get(at).is_some_and(|token| is(token, keyword)) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Where the parser wants a clause that begins at `at`: there, unless LIMIT or its like follow.
fn place(tokens: &[TokenWithSpan], at: usize) -> usize {
    let tail = [Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH];
    let first = next(tokens, at);
    if !tokens.get(first).is_some_and(|token| tail.iter().any(|&keyword| is(token, keyword))) {
        return at;
    }
    let mut depth = 0usize;
    for (number, token) in tokens.iter().enumerate().skip(first) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return number,
            Token::RParen => depth -= 1,
            Token::SemiColon | Token::EOF if depth == 0 => return number,
            _ => {}
        }
        let ends = [Keyword::FOR, Keyword::RETURNING, Keyword::ON].iter().any(|&keyword| is(token, keyword));
        if depth == 0 && ends {
            return number;
        }
    }
    tokens.len()
}

/// A clause in a list of tokens.
struct Found {
    strength: Strength,
    tables: Vec<TokenWithSpan>,
    /// NOWAIT, SKIP LOCKED.
    policy: Vec<TokenWithSpan>,
    /// Behind it.
    end: usize,
}

impl Found {
    fn at(tokens: &[TokenWithSpan], start: usize) -> Option<Self> {
        use Keyword::{FOR, KEY, LOCKED, NO, NOWAIT, OF, SHARE, SKIP, UPDATE};
        let forms: [(Strength, &[Keyword]); 4] = [
            (Strength::Update, &[FOR, UPDATE]),
            (Strength::Share, &[FOR, SHARE]),
            (Strength::NoKeyUpdate, &[FOR, NO, KEY, UPDATE]),
            (Strength::KeyShare, &[FOR, KEY, SHARE]),
        ];
        if !is(&tokens[start], FOR) {
            return None;
        }
        let mut forms = forms.into_iter();
        let (strength, mut end) =
            forms.find_map(|(strength, form)| Some((strength, words(tokens, start, form)?)))?;
        let mut tables = Vec::new();
        if let Some(behind) = words(tokens, end, &[OF]) {
            let mut at = behind;
            loop {
                at = next(tokens, at);
                let name = tokens.get(at).filter(|token| matches!(token.token, Token::Word(_)))?;
                tables.push(name.clone());
                at += 1;
                let sign = tokens.get(next(tokens, at)).map(|token| &token.token);
                match sign {
                    // a name with a schema is left for the error, and what was written here, and printed, as it is
                    Some(Token::Period) => return None,
                    _ if tables.len() == 1 && is_strength(&tables[0]) => return None,
                    Some(Token::Comma) => at = next(tokens, at) + 1,
                    _ => break,
                }
            }
            end = at;
        }
        let mut policy = Vec::new();
        for form in [&[NOWAIT][..], &[SKIP, LOCKED][..]] {
            if let Some(behind) = words(tokens, end, form) {
                policy = tokens[end..behind].to_vec();
                end = behind;
            }
        }
        Some(Self { strength, tables, policy, end })
    }

    /// The clause in the parser's form.
    fn tokens(self, first: &TokenWithSpan) -> Vec<TokenWithSpan> {
        let span = first.span;
        let word = |value: &str, quote_style, keyword| {
            let value = value.to_owned();
            TokenWithSpan { token: Token::Word(Word { value, quote_style, keyword }), span }
        };
        let mut own = vec![
            word("FOR", None, Keyword::FOR),
            word("UPDATE", None, Keyword::UPDATE),
            word("OF", None, Keyword::OF),
            word(self.strength.words(), Some('"'), Keyword::NoKeyword),
        ];
        for table in self.tables {
            own.push(TokenWithSpan { token: Token::Period, span });
            own.push(table);
        }
        own.extend(self.policy);
        own
    }
}
