//! Compiled expressions.

use super::depends::Depends;
use super::domain::Domain;
use super::{Node, Slot};
use crate::functions::{ScalarFn, SessionFn};
use scaledb_catalog::{RoutineDesc, Volatility};
use scaledb_types::{Base, Type, Value};
use std::cmp::Ordering;

/// A comparison of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Compare {
    /// Whether the order satisfies the comparison.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }

    /// Its operator.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }

    /// That of an operator.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];
        all.into_iter().find(|op| op.name() == name)
    }

    /// The comparison with its sides exchanged.
    pub fn flip(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    /// As SQL has it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// A test that never is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Null,
    NotNull,
    True,
    NotTrue,
    False,
    NotFalse,
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub enum Ask {
    /// The only value of its only row; NULL without a row.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// Whether the values compare so with one of its rows (`= ANY`, `IN`) or, negated by the binder, with all.
    Any(Vec<Expr>, Compare),
    /// Whether the values compare so with its only row; NULL without a row.
    One(Vec<Expr>, Compare),
    /// Its rows as an array.
    Array(Type),
    /// The first value of its only row, whose other values it leaves in these slots, for expressions that are computed
    /// after this one; NULL without a row.
    Row(Vec<Slot>),
}

/// A subquery in an expression.
#[derive(Debug)]
pub struct Subquery {
    pub node: std::sync::Arc<Node>,
    pub output: Vec<Expr>,
    pub ask: Ask,
    /// Where its rows are kept, if it reads no slots of its surroundings.
    pub keep: Option<usize>,
    /// Whether a function in it may answer differently each time.
    pub volatile: bool,
    /// What it reads of its surroundings.
    pub depends: Depends,
    /// How its rows are found by the values that it compares with its surroundings.
    pub lookup: Option<std::sync::Arc<Lookup>>,
}

/// A subquery without what ties it to its surroundings: run once, its rows kept by the keys that tie them.
#[derive(Debug)]
pub struct Lookup {
    pub node: Node,
    /// Of each row, and of the surroundings.
    pub inner_keys: Vec<Expr>,
    pub outer_keys: Vec<Expr>,
    /// What is kept of a row.
    pub slots: Vec<Slot>,
    /// What else must hold of a row that is found, the surroundings being as they are.
    pub rest: Option<Expr>,
    /// Aggregates without groups of their own: where no row is found, there is one with the results of none.
    pub aggregates: Option<Vec<super::Aggregate>>,
    /// Where the rows are kept.
    pub number: usize,
    /// Rows that `node` reads, by what is known of the tables.
    pub reads: u64,
}

impl Subquery {
    /// The same subquery, asked for something else.
    pub fn asking(&self, ask: Ask) -> Self {
        Self {
            node: self.node.clone(),
            output: self.output.clone(),
            ask,
            keep: self.keep,
            volatile: self.volatile,
            depends: self.depends.clone(),
            lookup: self.lookup.clone(),
        }
    }
}

/// An expression. Its nesting is bounded by the binder.
#[derive(Clone, Debug)]
pub enum Expr {
    Const(Value),
    Slot(Slot),
    Param(usize),
    Compare(Compare, Box<(Expr, Expr)>),
    Call(Box<(ScalarFn, Vec<Expr>)>),
    Session(Box<(SessionFn, Vec<Expr>)>),
    /// A call of a function that somebody has written.
    Routine(Box<(std::sync::Arc<RoutineDesc>, Vec<Expr>)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Test(Test, Box<Expr>),
    /// `IS DISTINCT FROM`; negated if true.
    Distinct(bool, Box<(Expr, Expr)>),
    /// A value that is computed once, the slot that holds it for as long as it is read, and what reads it there.
    Once(Slot, Box<(Expr, Expr)>),
    /// Conditions with results, and what else.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Coalesce(Vec<Expr>),
    /// GREATEST, or LEAST if false.
    Extreme(bool, Vec<Expr>),
    /// Whether the value is in the list.
    In(Box<Expr>, Vec<Expr>),
    /// The comparison with ANY element of an array, or with ALL if true.
    Quantified(bool, Compare, Box<(Expr, Expr)>),
    /// The same for an operator that is a function.
    QuantifiedCall(bool, Box<(ScalarFn, Expr, Expr)>),
    Array(Type, Vec<Expr>),
    /// A value that becomes one of a domain.
    Domain(Box<Domain>),
    Subquery(std::sync::Arc<Subquery>),
}

impl Expr {
    /// Calls `f` with each expression that this one is made of, those of subqueries left out.
    pub fn children<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Const(_) | Self::Slot(_) | Self::Param(_) => {}
            Self::Compare(_, pair)
            | Self::Distinct(_, pair)
            | Self::Quantified(_, _, pair)
            | Self::Once(_, pair) => {
                f(&pair.0);
                f(&pair.1);
            }
            Self::Call(call) => call.1.iter().for_each(f),
            Self::Session(call) => call.1.iter().for_each(f),
            Self::Routine(call) => call.1.iter().for_each(f),
            Self::And(list) | Self::Or(list) | Self::Coalesce(list) | Self::Extreme(_, list) => {
                list.iter().for_each(f);
            }
            Self::Array(_, list) => list.iter().for_each(f),
            Self::Not(inner) | Self::Test(_, inner) => f(inner),
            Self::Case(branches, other) => {
                for (condition, result) in branches {
                    f(condition);
                    f(result);
                }
                f(other);
            }
            Self::In(value, list) => {
                f(value);
                list.iter().for_each(f);
            }
            Self::QuantifiedCall(_, parts) => {
                f(&parts.1);
                f(&parts.2);
            }
            Self::Domain(domain) => {
                f(&domain.input);
                domain.checks.iter().for_each(|check| f(&check.condition));
            }
            Self::Subquery(sub) => {
                if let Ask::Any(values, _) | Ask::One(values, _) = &sub.ask {
                    values.iter().for_each(f);
                }
            }
        }
    }

    /// The expression with what it is made of replaced; subqueries stay as they are.
    pub fn map_children<E>(
        self,
        f: &mut dyn FnMut(Expr) -> std::result::Result<Expr, E>,
    ) -> std::result::Result<Expr, E> {
        fn all<E>(
            list: Vec<Expr>,
            f: &mut dyn FnMut(Expr) -> std::result::Result<Expr, E>,
        ) -> std::result::Result<Vec<Expr>, E> {
            list.into_iter().map(f).collect()
        }
        Ok(match self {
            Self::Const(_) | Self::Slot(_) | Self::Param(_) => self,
            Self::Compare(op, pair) => Self::Compare(op, Box::new((f(pair.0)?, f(pair.1)?))),
            Self::Distinct(negated, pair) => Self::Distinct(negated, Box::new((f(pair.0)?, f(pair.1)?))),
            Self::Quantified(every, op, pair) => {
                Self::Quantified(every, op, Box::new((f(pair.0)?, f(pair.1)?)))
            }
            Self::Once(slot, pair) => Self::Once(slot, Box::new((f(pair.0)?, f(pair.1)?))),
            Self::Call(call) => Self::Call(Box::new((call.0, all(call.1, f)?))),
            Self::Session(call) => Self::Session(Box::new((call.0, all(call.1, f)?))),
            Self::Routine(call) => Self::Routine(Box::new((call.0, all(call.1, f)?))),
            Self::And(list) => Self::And(all(list, f)?),
            Self::Or(list) => Self::Or(all(list, f)?),
            Self::Coalesce(list) => Self::Coalesce(all(list, f)?),
            Self::Extreme(greatest, list) => Self::Extreme(greatest, all(list, f)?),
            Self::Array(ty, list) => Self::Array(ty, all(list, f)?),
            Self::Not(inner) => Self::Not(Box::new(f(*inner)?)),
            Self::Test(test, inner) => Self::Test(test, Box::new(f(*inner)?)),
            Self::Case(branches, other) => {
                let mut mapped = Vec::with_capacity(branches.len());
                for (condition, result) in branches {
                    mapped.push((f(condition)?, f(result)?));
                }
                Self::Case(mapped, Box::new(f(*other)?))
            }
            Self::In(value, list) => Self::In(Box::new(f(*value)?), all(list, f)?),
            Self::QuantifiedCall(every, parts) => {
                Self::QuantifiedCall(every, Box::new((parts.0, f(parts.1)?, f(parts.2)?)))
            }
            // the conditions read nothing but the value
            Self::Domain(mut domain) => {
                let input = std::mem::replace(&mut domain.input, Self::Const(Value::Null));
                domain.input = f(input)?;
                Self::Domain(domain)
            }
            Self::Subquery(sub) => match &sub.ask {
                Ask::Any(values, op) => {
                    let values = all(values.clone(), f)?;
                    Self::Subquery(std::sync::Arc::new(sub.asking(Ask::Any(values, *op))))
                }
                Ask::One(values, op) => {
                    let values = all(values.clone(), f)?;
                    Self::Subquery(std::sync::Arc::new(sub.asking(Ask::One(values, *op))))
                }
                _ => Self::Subquery(sub),
            },
        })
    }

    /// Calls `f` with each slot that the expression reads.
    pub fn slots(&self, f: &mut dyn FnMut(Slot)) {
        match self {
            Self::Slot(slot) => f(*slot),
            Self::Subquery(sub) => sub.depends.slots.iter().for_each(|slot| f(*slot)),
            // its own slot is not one of its surroundings
            Self::Once(own, pair) => {
                pair.0.slots(f);
                pair.1.slots(&mut |slot| {
                    if slot != *own {
                        f(slot);
                    }
                });
                return;
            }
            Self::Domain(domain) => {
                domain.input.slots(f);
                return;
            }
            _ => {}
        }
        self.children(&mut |child| child.slots(f));
    }

    /// Calls `f` with the number of each WITH query that a subquery of it reads.
    pub fn ctes(&self, f: &mut dyn FnMut(usize)) {
        if let Self::Subquery(sub) = self {
            sub.depends.ctes.iter().for_each(|number| f(*number));
        }
        self.children(&mut |child| child.ctes(f));
    }

    /// Whether evaluating it may need the engine's worker.
    pub fn needs_worker(&self) -> bool {
        match self {
            Self::Subquery(_) | Self::Routine(_) => true,
            Self::Session(call) if call.0.needs_worker() => true,
            _ => {
                let mut needs = false;
                self.children(&mut |child| needs |= child.needs_worker());
                needs
            }
        }
    }

    /// Whether there is a subquery in it.
    pub fn has_subquery(&self) -> bool {
        let mut has = matches!(self, Self::Subquery(_));
        self.children(&mut |child| has |= child.has_subquery());
        has
    }

    /// Whether its value is known without computing what may fail: it is there, or an integer that becomes wider.
    pub fn is_at_hand(&self) -> bool {
        match self {
            Self::Const(_) | Self::Slot(_) | Self::Param(_) => true,
            Self::Call(call) => call.0.is_widening() && call.1.iter().all(Self::is_at_hand),
            _ => false,
        }
    }

    /// Whether a function in it may answer differently each time, those of subqueries left out.
    pub fn is_volatile(&self) -> bool {
        let mut volatile = match self {
            Self::Call(call) => call.0.is_volatile(),
            Self::Session(call) => !call.0.is_stable(),
            Self::Routine(call) => call.0.volatility == Volatility::Volatile,
            Self::QuantifiedCall(_, parts) => parts.0.is_volatile(),
            _ => false,
        };
        self.children(&mut |child| volatile |= child.is_volatile());
        volatile
    }

    /// Whether a function in it may answer differently each time, those of subqueries included.
    pub fn has_volatile(&self) -> bool {
        let mut volatile = matches!(self, Self::Subquery(sub) if sub.volatile);
        self.children(&mut |child| volatile |= child.has_volatile());
        volatile || self.is_volatile()
    }

    /// Whether its value depends on nothing but the slots that it reads: not on the settings of a session, not on the
    /// time, and not on rows of tables.
    pub fn is_fixed(&self) -> bool {
        let mut fixed = match self {
            Self::Call(call) => call.0.is_fixed(),
            Self::QuantifiedCall(_, parts) => parts.0.is_fixed(),
            // what somebody says of a function is taken at their word
            Self::Routine(call) => call.0.volatility == Volatility::Immutable,
            Self::Session(_) | Self::Subquery(_) | Self::Param(_) => false,
            _ => true,
        };
        self.children(&mut |child| fixed &= child.is_fixed());
        fixed
    }

    /// Puts what constants settle in place of what they settle: a strict function of NULL, `AND` with false, `OR` with
    /// true. The rest of it is not evaluated then.
    pub fn simplify(&mut self) {
        fn settles(expr: &Expr) -> bool {
            let mut found = expr.settled().is_some();
            expr.children(&mut |child| found = found || settles(child));
            found
        }
        fn simplified(expr: Expr) -> Expr {
            let Ok(expr) = expr.map_children::<std::convert::Infallible>(&mut |child| Ok(simplified(child)));
            expr.settled().map_or(expr, Expr::Const)
        }
        if settles(self) {
            *self = simplified(std::mem::replace(self, Self::Const(Value::Null)));
        }
    }

    /// Its value, if constants in it settle that.
    fn settled(&self) -> Option<Value> {
        let has = |list: &[Expr], wanted: bool| {
            list.iter().any(|part| matches!(part, Self::Const(Value::Bool(value)) if *value == wanted))
        };
        match self {
            Self::And(list) if has(list, false) => Some(Value::Bool(false)),
            Self::Or(list) if has(list, true) => Some(Value::Bool(true)),
            Self::Compare(_, pair) if Self::is_null_for_all([&pair.0, &pair.1].into_iter()) => {
                Some(Value::Null)
            }
            Self::Call(call) if call.0.is_strict() && Self::is_null_for_all(call.1.iter()) => {
                Some(Value::Null)
            }
            _ => None,
        }
    }

    /// Whether a strict function of these arguments is NULL for every row, so that they need not be computed. What
    /// is computed without a row is computed in any case, for its errors.
    fn is_null_for_all<'e>(mut args: impl Iterator<Item = &'e Expr> + Clone) -> bool {
        let null = |arg: &Expr| matches!(arg, Self::Const(Value::Null));
        args.clone().any(null) && args.all(|arg| matches!(arg, Self::Const(_)) || arg.reads_a_row())
    }

    /// Whether its value is of a row, and computing it changes nothing.
    fn reads_a_row(&self) -> bool {
        let mut reads = false;
        self.slots(&mut |_| reads = true);
        reads && !self.needs_worker() && self.same(self)
    }

    /// Whether its evaluation tells nothing of the row that it reads but its answer: neither by an error nor by what a
    /// function does.
    pub fn is_leakproof(&self) -> bool {
        let itself = match self {
            Self::Slot(_) | Self::Const(_) | Self::Param(_) => return true,
            Self::Compare(..) | Self::In(..) | Self::And(_) | Self::Or(_) | Self::Not(_) | Self::Test(..) => {
                true
            }
            Self::Call(call) => call.0.is_widening(),
            Self::Session(_) => {
                let mut reads = false;
                self.slots(&mut |_| reads = true);
                return !reads && !self.has_volatile();
            }
            _ => false,
        };
        let mut parts = true;
        self.children(&mut |part| parts = parts && part.is_leakproof());
        itself && parts
    }

    /// The conditions that all must hold.
    pub fn into_conjuncts(self, out: &mut Vec<Expr>) {
        match self {
            Self::And(list) => list.into_iter().for_each(|part| part.into_conjuncts(out)),
            Self::Const(Value::Bool(true)) => {}
            Self::Or(sides) => super::factor::factored(sides, out),
            other => out.push(other),
        }
    }

    /// One condition of several: the cheap ones come first, as in PostgreSQL, and those that run subqueries last, so
    /// that they see few rows.
    pub fn all(mut conjuncts: Vec<Expr>) -> Option<Expr> {
        Self::sort(&mut conjuncts);
        Self::together(conjuncts)
    }

    /// Puts conditions in the order in which [`Self::all`] has them.
    pub fn sort(conjuncts: &mut [Expr]) {
        conjuncts.sort_by_cached_key(|conjunct| (conjunct.effort(), conjunct.calls()));
    }

    /// One condition of several, in their order.
    pub fn together(mut conjuncts: Vec<Expr>) -> Option<Expr> {
        if conjuncts.len() <= 1 { conjuncts.pop() } else { Some(Self::And(conjuncts)) }
    }

    /// How many functions and operators it calls, as PostgreSQL counts them. It takes half the elements of an array to
    /// be looked at, and ten elements to be in one that it does not know.
    fn calls(&self) -> usize {
        let mut calls = match self {
            Self::Compare(..) | Self::Call(_) | Self::Session(_) | Self::Distinct(..) | Self::Extreme(..) => {
                1
            }
            // what PostgreSQL thinks that one in PL/pgSQL takes
            Self::Routine(_) => 100,
            Self::In(_, list) => list.len().div_ceil(2),
            Self::Quantified(..) | Self::QuantifiedCall(..) => 5,
            _ => 0,
        };
        self.children(&mut |child| calls += child.calls());
        calls
    }

    /// What evaluating it takes: 0 for the row alone, 1 with a subquery that is run once, 2 with one that is run for
    /// each row.
    pub fn effort(&self) -> u8 {
        let mut effort = match self {
            Self::Subquery(sub) if sub.keep.is_some() => 1,
            Self::Subquery(_) => 2,
            _ => 0,
        };
        self.children(&mut |child| effort = effort.max(child.effort()));
        effort
    }

    /// Whether the two are the same expression, and always have one value.
    pub fn same(&self, other: &Expr) -> bool {
        self.same_with(other, &mut Pairs { own: Vec::new(), volatile: false })
    }

    /// Whether the two are written alike, which is what a clause asks that names an expression of another one: GROUP BY
    /// and the select list mean one call of a VOLATILE function.
    pub fn alike(&self, other: &Expr) -> bool {
        self.same_with(other, &mut Pairs { own: Vec::new(), volatile: true })
    }

    fn same_with(&self, other: &Expr, own: &mut Pairs) -> bool {
        match (self, other) {
            (Self::Const(a), Self::Const(b)) => a == b,
            (Self::Slot(a), Self::Slot(b)) => a == b || own.own.contains(&(*a, *b)),
            (Self::Once(x, a), Self::Once(y, b)) => {
                if !a.0.same_with(&b.0, own) {
                    return false;
                }
                own.own.push((*x, *y));
                let same = a.1.same_with(&b.1, own);
                own.own.pop();
                same
            }
            (Self::Param(a), Self::Param(b)) => a == b,
            (Self::Compare(x, a), Self::Compare(y, b)) => {
                x == y && a.0.same_with(&b.0, own) && a.1.same_with(&b.1, own)
            }
            (Self::Call(a), Self::Call(b)) => {
                a.0 == b.0 && same_all(&a.1, &b.1, own) && (own.volatile || !a.0.is_volatile())
            }
            (Self::Routine(a), Self::Routine(b)) => {
                let steady = own.volatile || a.0.volatility != Volatility::Volatile;
                let same = a.0.oid == b.0.oid && a.0.instance == b.0.instance && steady;
                same && same_all(&a.1, &b.1, own)
            }
            (Self::Session(a), Self::Session(b)) => {
                a.0 == b.0 && (own.volatile || a.0.is_stable()) && same_all(&a.1, &b.1, own)
            }
            (Self::And(a), Self::And(b))
            | (Self::Or(a), Self::Or(b))
            | (Self::Coalesce(a), Self::Coalesce(b)) => same_all(a, b, own),
            (Self::Extreme(x, a), Self::Extreme(y, b)) => x == y && same_all(a, b, own),
            (Self::Array(x, a), Self::Array(y, b)) => x == y && same_all(a, b, own),
            (Self::Not(a), Self::Not(b)) => a.same_with(b, own),
            (Self::Test(x, a), Self::Test(y, b)) => x == y && a.same_with(b, own),
            (Self::Distinct(x, a), Self::Distinct(y, b)) => {
                x == y && a.0.same_with(&b.0, own) && a.1.same_with(&b.1, own)
            }
            (Self::Case(a, x), Self::Case(b, y)) => {
                a.len() == b.len()
                    && x.same_with(y, own)
                    && a.iter().zip(b).all(|(a, b)| a.0.same_with(&b.0, own) && a.1.same_with(&b.1, own))
            }
            (Self::Quantified(x, p, a), Self::Quantified(y, q, b)) => {
                x == y && p == q && a.0.same_with(&b.0, own) && a.1.same_with(&b.1, own)
            }
            (Self::QuantifiedCall(x, a), Self::QuantifiedCall(y, b)) => {
                let function = a.0 == b.0 && (own.volatile || !a.0.is_volatile());
                x == y && function && a.1.same_with(&b.1, own) && a.2.same_with(&b.2, own)
            }
            (Self::In(x, a), Self::In(y, b)) => x.same_with(y, own) && same_all(a, b, own),
            // what a domain demands is the same in one catalog
            (Self::Domain(a), Self::Domain(b)) => {
                a.oid == b.oid && a.elements == b.elements && a.input.same_with(&b.input, own)
            }
            (Self::Subquery(a), Self::Subquery(b)) => std::sync::Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// How two expressions are compared.
struct Pairs {
    /// Slots that each has for itself, which are the same in pairs.
    own: Vec<(Slot, Slot)>,
    /// Whether calls of VOLATILE functions may be the same.
    volatile: bool,
}

fn same_all(a: &[Expr], b: &[Expr], own: &mut Pairs) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_with(b, own))
}

/// The type that a value has by itself.
pub fn type_of(value: &Value) -> Type {
    Type::of(match value {
        Value::Null => Base::Unknown,
        Value::Bool(_) => Base::Bool,
        Value::Int2(_) => Base::Int2,
        Value::Int4(_) => Base::Int4,
        Value::Int8(_) => Base::Int8,
        Value::Float4(_) => Base::Float4,
        Value::Float8(_) => Base::Float8,
        Value::Numeric(_) => Base::Numeric,
        Value::Text(_) => Base::Text,
        Value::Char(_) => Base::Char,
        Value::Bytea(_) => Base::Bytea,
        Value::Date(_) => Base::Date,
        Value::Time(_) => Base::Time,
        Value::Timestamp(_) => Base::Timestamp,
        Value::Timestamptz(_) => Base::Timestamptz,
        Value::Interval(_) => Base::Interval,
        Value::Timetz(_) => Base::Timetz,
        Value::Bits(_) => Base::Varbit,
        Value::Money(_) => Base::Money,
        Value::Uuid(_) => Base::Uuid,
        Value::Inet(_) => Base::Inet,
        Value::Macaddr(_) => Base::Macaddr,
        Value::Macaddr8(_) => Base::Macaddr8,
        Value::Jsonb(_) => Base::Jsonb,
        Value::Jsonpath(_) => Base::Jsonpath,
        Value::Oid(_) => Base::Oid,
        Value::Enum(v) => Base::Enum(v.ty()),
        Value::Record(_) => Base::Record,
        Value::Range(v) => Base::Range(v.ty()),
        Value::Array(array) => return Type::array_of(array.element().base),
    })
}
