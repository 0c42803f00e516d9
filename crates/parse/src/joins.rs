//! Joins whose condition comes later: `a JOIN b JOIN c ON 1 ON 2` is `a JOIN (b JOIN c ON 1) ON 2`. The parser knows
//! the second form only.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A join whose condition has not come yet.
struct Open {
    /// Where its right side begins.
    from: usize,
    /// Whether its right side is a join by itself.
    joins: bool,
}

/// Puts the right sides that are joins in parentheses.
///
/// # Errors
/// The token in place of which a condition is wanted; none at the end of the text.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Option<TokenWithSpan>> {
    let inserts = inserts(&tokens).map_err(|at| tokens.get(at).cloned())?;
    if inserts.is_empty() {
        return Ok(tokens);
    }
    let mut rewritten = Vec::with_capacity(tokens.len() + inserts.len());
    let mut inserts = inserts.into_iter().peekable();
    for (at, token) in tokens.into_iter().enumerate() {
        while let Some((_, sign)) = inserts.next_if(|(place, _)| *place == at) {
            rewritten.push(TokenWithSpan { token: sign, span: token.span });
        }
        rewritten.push(token);
    }
    Ok(rewritten)
}

/// The parentheses that are wanted, each before the token of a number, in their order.
fn inserts(tokens: &[TokenWithSpan]) -> Result<Vec<(usize, Token)>, usize> {
    let mut inserts = Vec::new();
    // the open joins of the parentheses that enclose this place, and of this place
    let (mut outside, mut open): (Vec<Vec<Open>>, Vec<Open>) = (Vec::new(), Vec::new());
    // the words before this one
    let mut before = [None; 4];
    for (at, token) in tokens.iter().enumerate() {
        let word = match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
            Token::LParen => {
                outside.push(std::mem::take(&mut open));
                None
            }
            Token::RParen => {
                ends(&open, at)?;
                open = outside.pop().unwrap_or_default();
                None
            }
            // what is behind it is a name
            Token::Period => Some(Keyword::AS),
            Token::Comma | Token::SemiColon => {
                ends(&open, at)?;
                None
            }
            _ => None,
        };
        match word {
            Some(Keyword::JOIN) if before[0] != Some(Keyword::AS) => {
                if let Some(outer) = open.last_mut() {
                    outer.joins = true;
                }
                if has_condition(before) {
                    open.push(Open { from: at + 1, joins: false });
                }
            }
            Some(Keyword::ON | Keyword::USING) => {
                if let Some(Open { from, joins: true }) = open.pop() {
                    inserts.push((from, Token::LParen));
                    inserts.push((at, Token::RParen));
                }
            }
            // ROWS FROM, IS DISTINCT FROM
            Some(Keyword::FROM) if matches!(before[0], Some(Keyword::ROWS | Keyword::DISTINCT)) => {}
            Some(
                Keyword::SELECT
                | Keyword::FROM
                | Keyword::WHERE
                | Keyword::GROUP
                | Keyword::ORDER
                | Keyword::UNION
                | Keyword::INTERSECT
                | Keyword::EXCEPT
                | Keyword::RETURNING,
            ) => ends(&open, at)?,
            _ => {}
        }
        before.rotate_right(1);
        before[0] = word;
    }
    ends(&open, tokens.len())?;
    inserts.sort_by_key(|(at, _)| *at);
    Ok(inserts)
}

/// A list of tables ends here.
fn ends(open: &[Open], at: usize) -> Result<(), usize> {
    if open.is_empty() { Ok(()) } else { Err(at) }
}

/// Whether a join with these words before JOIN, the last one first, has a condition.
fn has_condition(before: [Option<Keyword>; 4]) -> bool {
    let mut words = before.into_iter().flatten().peekable();
    words.next_if(|word| *word == Keyword::OUTER);
    words.next_if(|word| matches!(word, Keyword::INNER | Keyword::LEFT | Keyword::RIGHT | Keyword::FULL));
    !matches!(words.next(), Some(Keyword::CROSS | Keyword::NATURAL))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_condition_belongs_to_the_last_join_without_one() {
        for (text, wanted) in [
            ("a join b join c on 1=1 on 2=2", "a JOIN (b JOIN c ON 1 = 1) ON 2 = 2"),
            (
                "a left join b join c join d on 1=1 on 2=2 on 3=3",
                "a LEFT JOIN (b JOIN (c JOIN d ON 1 = 1) ON 2 = 2) ON 3 = 3",
            ),
            (
                "a join b join c on 1=1 left join d using (x) on 3=3",
                "a JOIN (b JOIN c ON 1 = 1 LEFT JOIN d USING(x)) ON 3 = 3",
            ),
            ("a join b cross join c on 1=1", "a JOIN (b CROSS JOIN c) ON 1 = 1"),
            ("a join b natural left outer join c on 1=1", "a JOIN (b NATURAL LEFT OUTER JOIN c) ON 1 = 1"),
            ("a natural join b join c on 1=1", "a NATURAL JOIN b JOIN c ON 1 = 1"),
            ("a join b on 1=1 join c on 2=2", "a JOIN b ON 1 = 1 JOIN c ON 2 = 2"),
            ("a join (b join c on 1=1) on 2=2", "a JOIN (b JOIN c ON 1 = 1) ON 2 = 2"),
        ] {
            let text = format!("select * from {text}");
            let wanted = format!("SELECT * FROM {wanted}");
            assert_eq!(crate::statement(&text).unwrap().to_string(), wanted);
        }
    }

    #[test]
    fn many_open_joins_are_refused_in_time() {
        let joins = "join a ".repeat(100_000);
        let ons = "on true ".repeat(100_000);
        let text = format!("select * from a {joins} {ons}");
        assert!(crate::with_stack(&text, || crate::statement(&text)).is_err());
    }
}
