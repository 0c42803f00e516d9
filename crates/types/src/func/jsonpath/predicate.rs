//! What is true, false or unknown of items.

use super::compare::compare;
use super::evaluate::{Evaluation, Fail, Scope};
use super::item::Item;
use crate::func::regexp::SHORT;
use crate::jsonpath::{Path, Predicate};

/// True, false, or None for unknown; an error is one of the statement.
type Truth = Result<Option<bool>, Fail>;

impl<'a> Evaluation<'a> {
    pub(super) fn predicate(&mut self, predicate: &'a Predicate, scope: &Scope<'a>) -> Truth {
        self.deeper(|evaluation| evaluation.predicate_here(predicate, scope))
    }

    fn predicate_here(&mut self, predicate: &'a Predicate, scope: &Scope<'a>) -> Truth {
        self.tick()?;
        match predicate {
            Predicate::And(sides) => Ok(match self.predicate(&sides.0, scope)? {
                Some(false) => Some(false),
                left => match self.predicate(&sides.1, scope)? {
                    Some(true) => left,
                    right => right,
                },
            }),
            Predicate::Or(sides) => Ok(match self.predicate(&sides.0, scope)? {
                Some(true) => Some(true),
                left => match self.predicate(&sides.1, scope)? {
                    Some(false) => left,
                    right => right,
                },
            }),
            Predicate::Not(operand) => Ok(self.predicate(operand, scope)?.map(|truth| !truth)),
            Predicate::IsUnknown(operand) => Ok(Some(self.predicate(operand, scope)?.is_none())),
            Predicate::Exists(operand) => self.exists(operand, scope),
            Predicate::Compare(operator, sides) => {
                let Some(left) = self.quietly(&sides.0, scope, true)? else { return Ok(None) };
                let Some(right) = self.quietly(&sides.1, scope, true)? else { return Ok(None) };
                let (zoned, env) = (self.zoned, self.env);
                self.of_pairs(&left, &right, |_, a, b| compare(*operator, a, b, zoned, env))
            }
            Predicate::StartsWith(sides) => {
                let Some(left) = self.quietly(&sides.0, scope, true)? else { return Ok(None) };
                let Some(right) = self.quietly(&sides.1, scope, false)? else { return Ok(None) };
                self.of_pairs(&left, &right, |_, whole, initial| {
                    Ok(whole
                        .as_str()
                        .zip(initial.as_str())
                        .map(|(whole, initial)| whole.starts_with(initial)))
                })
            }
            Predicate::LikeRegex(operand, pattern) => {
                let Some(items) = self.quietly(operand, scope, true)? else { return Ok(None) };
                let regex = pattern.flags.regex(&pattern.text).map_err(Fail::Hard)?;
                self.of_pairs(&items, &[Item::Null], |evaluation, item, _| {
                    let Some(text) = item.as_str() else { return Ok(None) };
                    if text.len() > SHORT {
                        evaluation.check()?;
                    }
                    Ok(Some(regex.is_match(text)))
                })
            }
        }
    }

    /// The items of an operand; None if there is an error instead, so that the predicate is unknown.
    fn quietly(
        &mut self,
        path: &'a Path,
        scope: &Scope<'a>,
        unwrap: bool,
    ) -> Result<Option<Vec<Item<'a>>>, Fail> {
        match self.operand(path, &Scope { throws: false, ..scope.clone() }, unwrap) {
            Ok(items) => Ok(Some(items)),
            Err(Fail::Soft(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn exists(&mut self, path: &'a Path, scope: &Scope<'a>) -> Truth {
        if !self.lax {
            // there may be an error behind the first item
            let items = self.quietly(path, scope, false)?;
            self.release(items.as_ref().map_or(0, Vec::len));
            return Ok(items.map(|items| !items.is_empty()));
        }
        match self.path(path, &Scope { throws: false, ..scope.clone() }, None) {
            Ok(found) => Ok(Some(found)),
            Err(Fail::Soft(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether something is true of a pair of items. In lax mode the first such pair decides, in strict mode all must
    /// be comparable.
    fn of_pairs(
        &mut self,
        left: &[Item<'a>],
        right: &[Item<'a>],
        test: impl Fn(&Self, &Item<'a>, &Item<'a>) -> Truth,
    ) -> Truth {
        self.release(left.len() + right.len());
        let (mut found, mut unknown) = (false, false);
        for a in left {
            for b in right {
                self.tick()?;
                match test(self, a, b)? {
                    None if !self.lax => return Ok(None),
                    None => unknown = true,
                    Some(true) if self.lax => return Ok(Some(true)),
                    Some(truth) => found |= truth,
                }
            }
        }
        Ok(if unknown && !found { None } else { Some(found) })
    }
}
