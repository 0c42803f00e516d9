//! Paths as text.
//!
//! Operators stand in brackets as PostgreSQL puts them, and where a step behind them would otherwise belong to their
//! last operand: PostgreSQL prints `$[(1 + 2).type()]` as `$[1 + 2.type()]`, which is another path, or none.

use super::{Arithmetic, Head, LAST, MAX_PRINTED, Path, Predicate, Step};
use crate::error::{Result, SqlError, SqlState};
use crate::json::write_string;

/// What binds tighter is greater.
mod priority {
    pub(super) const OR: u8 = 0;
    pub(super) const AND: u8 = 1;
    pub(super) const COMPARE: u8 = 2;
    pub(super) const ADD: u8 = 3;
    pub(super) const MUL: u8 = 4;
    pub(super) const SIGN: u8 = 5;
    pub(super) const REST: u8 = 6;
}

impl Path {
    fn priority(&self) -> u8 {
        match &self.head {
            Head::Signed(..) => priority::SIGN,
            Head::Binary(Arithmetic::Add | Arithmetic::Sub, _) => priority::ADD,
            Head::Binary(..) => priority::MUL,
            Head::Predicate(predicate) => predicate.priority(),
            _ => priority::REST,
        }
    }
}

impl Predicate {
    fn priority(&self) -> u8 {
        match self {
            Self::Or(_) => priority::OR,
            Self::And(_) => priority::AND,
            Self::Compare(..) | Self::StartsWith(_) => priority::COMPARE,
            _ => priority::REST,
        }
    }
}

/// The text of a path.
///
/// # Errors
///
/// 54000 if it is too long.
pub(super) fn text_of(lax: bool, path: &Path) -> Result<Box<str>> {
    let mut printer = Printer { out: Vec::new() };
    if !lax {
        printer.put("strict ");
    }
    printer.path(path, true)?;
    Ok(String::from_utf8_lossy(&printer.out).into())
}

#[cold]
pub(super) fn too_long() -> SqlError {
    let what = format!("a jsonpath has at most {MAX_PRINTED} bytes as it is printed");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
}

struct Printer {
    out: Vec<u8>,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        write_string(text, &mut self.out);
    }

    fn path(&mut self, path: &Path, brackets: bool) -> Result<()> {
        let more = !path.steps.is_empty();
        // its own brackets, or those that keep the steps apart
        let open = match &path.head {
            Head::Number(_) => more,
            Head::Signed(..) | Head::Binary(..) => brackets || more,
            // these have brackets of their own, and one more pair before a step
            Head::Predicate(predicate) => match **predicate {
                Predicate::Not(_) | Predicate::IsUnknown(_) | Predicate::Exists(_) => more,
                _ => brackets || more,
            },
            _ => false,
        };
        if open {
            self.put("(");
        }
        match &path.head {
            Head::Null => self.put("null"),
            Head::Bool(v) => self.put(if *v { "true" } else { "false" }),
            Head::Number(v) => v.write_text(&mut self.out),
            Head::String(v) => self.string(v),
            Head::Variable(name) => {
                self.put("$");
                self.string(name);
            }
            Head::Root => self.put("$"),
            Head::Current => self.put("@"),
            Head::Last => self.put("last"),
            Head::Signed(sign, operand) => {
                self.put(sign.symbol());
                self.path(operand, operand.priority() <= priority::SIGN)?;
            }
            Head::Binary(operator, sides) => {
                let own = path.priority();
                self.path(&sides.0, sides.0.priority() <= own)?;
                self.put(" ");
                self.put(operator.symbol());
                self.put(" ");
                self.path(&sides.1, sides.1.priority() <= own)?;
            }
            Head::Predicate(predicate) => self.predicate(predicate, false)?,
        }
        if open {
            self.put(")");
        }
        for step in &path.steps {
            self.step(step)?;
        }
        if self.out.len() > MAX_PRINTED { Err(too_long()) } else { Ok(()) }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Key(key) => {
                self.put(".");
                self.string(key);
            }
            Step::AnyKey => self.put(".*"),
            Step::AnyElement => self.put("[*]"),
            Step::Elements(subscripts) => {
                self.put("[");
                for (at, subscript) in subscripts.iter().enumerate() {
                    if at > 0 {
                        self.put(",");
                    }
                    self.path(&subscript.from, false)?;
                    if let Some(to) = &subscript.to {
                        self.put(" to ");
                        self.path(to, false)?;
                    }
                }
                self.put("]");
            }
            Step::Any(0, LAST) => self.put(".**"),
            Step::Any(first, last) => {
                let level = |level: &u32| match *level {
                    LAST => "last".to_owned(),
                    level => level.to_string(),
                };
                self.put(".**{");
                self.put(&level(first));
                if first != last {
                    self.put(" to ");
                    self.put(&level(last));
                }
                self.put("}");
            }
            Step::Filter(predicate) => {
                self.put("?(");
                self.predicate(predicate, false)?;
                self.put(")");
            }
            Step::Method(method) => {
                self.put(".");
                self.put(method.name());
                self.put("()");
            }
            Step::Datetime(template) => {
                self.put(".datetime(");
                if let Some(template) = template {
                    self.string(template);
                }
                self.put(")");
            }
        }
        Ok(())
    }

    fn predicate(&mut self, predicate: &Predicate, brackets: bool) -> Result<()> {
        let own = predicate.priority();
        let open = brackets
            && !matches!(predicate, Predicate::Not(_) | Predicate::IsUnknown(_) | Predicate::Exists(_));
        if open {
            self.put("(");
        }
        match predicate {
            Predicate::And(sides) | Predicate::Or(sides) => {
                self.predicate(&sides.0, sides.0.priority() <= own)?;
                self.put(if own == priority::AND { " && " } else { " || " });
                self.predicate(&sides.1, sides.1.priority() <= own)?;
            }
            Predicate::Not(operand) => {
                self.put("!(");
                self.predicate(operand, false)?;
                self.put(")");
            }
            Predicate::IsUnknown(operand) => {
                self.put("(");
                self.predicate(operand, false)?;
                self.put(") is unknown");
            }
            Predicate::Compare(operator, sides) => {
                self.path(&sides.0, sides.0.priority() <= own)?;
                self.put(" ");
                self.put(operator.symbol());
                self.put(" ");
                self.path(&sides.1, sides.1.priority() <= own)?;
            }
            Predicate::StartsWith(sides) => {
                self.path(&sides.0, sides.0.priority() <= own)?;
                self.put(" starts with ");
                self.path(&sides.1, false)?;
            }
            Predicate::LikeRegex(operand, pattern) => {
                self.path(operand, true)?;
                self.put(" like_regex ");
                self.string(&pattern.text);
                let flags = pattern.flags.letters();
                if !flags.is_empty() {
                    self.put(" flag \"");
                    self.put(&flags);
                    self.put("\"");
                }
            }
            Predicate::Exists(operand) => {
                self.put("exists (");
                self.path(operand, false)?;
                self.put(")");
            }
        }
        if open {
            self.put(")");
        }
        Ok(())
    }
}
