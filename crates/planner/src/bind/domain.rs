//! Values become ones of domains: what the domains demand is a part of the expression.

use super::names::Naming;
use super::scope::{Scope, ScopeColumn, ScopeTable};
use super::{Binder, Typed};
use crate::plan::Slot;
use crate::plan::domain::{Check, Domain};
use crate::plan::expr::Expr;
use scaledb_catalog::DomainDesc;
use scaledb_parse::too_deep;
use scaledb_types::cast::{Context, no_cast};
use scaledb_types::{Base, DomainType, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::Expr as Ast;
use std::collections::HashMap;
use std::sync::Arc;

/// What the statement at hand knows of domains.
#[derive(Debug, Default)]
pub(super) struct Domains {
    /// By oid: a statement may have thousands of values for one.
    known: HashMap<u32, Demands>,
    /// The domains whose conditions are being bound.
    within: Vec<u32>,
}

/// What a domain demands, with all that the domains demand that it is over.
#[derive(Clone, Debug)]
struct Demands {
    not_null: bool,
    /// What holds a value while the conditions are looked at. All values of the domain take turns: each is
    /// computed before it comes there.
    slot: Slot,
    checks: Arc<[Check]>,
}

impl Binder<'_> {
    /// Makes an expression one of a domain, or of arrays of one.
    ///
    /// # Errors
    /// As [`Binder::coerce`], and what is wrong with the conditions.
    pub(super) fn coerce_to_domain(&mut self, typed: Typed, to: Type, context: Context) -> Result<Typed> {
        let (domain, base, elements) = match (to.as_domain(), to.array_of_domain()) {
            (Some(domain), _) => (domain, to.without_domain(), false),
            (None, Some(domain)) => (domain, to.value_type(), true),
            (None, None) => return self.coerce(typed, to, context),
        };
        let typed = match typed.expr {
            Expr::Param(number) if typed.ty.base == Base::Unknown => {
                self.decide_parameter(number, to)?;
                Typed::new(Expr::Param(number), to.value_type())
            }
            _ => typed,
        };
        let from = typed.ty;
        let input = self.coerce(typed, base, context).map_err(|error| match error.code() {
            SqlState::CANNOT_COERCE => no_cast(from, to),
            _ => error,
        })?;
        let input = input.expr;
        let Demands { not_null, slot, checks } = self.demands(domain)?;
        if !not_null && checks.is_empty() {
            return Ok(Typed::new(input, to));
        }
        let desc = self.domain_desc(domain)?;
        let checked = Domain {
            input,
            elements,
            explicit: context == Context::Explicit,
            oid: domain.oid(),
            schema: desc.schema.clone(),
            name: domain.sql().to_owned(),
            bare: desc.name.clone(),
            not_null,
            slot,
            checks,
        };
        Ok(Typed::new(Expr::Domain(Box::new(checked)), to))
    }

    /// A parameter whose type is a domain: its values come from outside.
    ///
    /// # Errors
    /// What is wrong with the conditions.
    pub(super) fn parameter_of_domain(&mut self, number: usize, ty: Type) -> Result<Typed> {
        self.coerce_to_domain(Typed::new(Expr::Param(number), ty.value_type()), ty, Context::Implicit)
    }

    /// The default that the domain of a column has, as an expression for the column.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn default_of_type(&mut self, ty: Type, column: &str) -> Result<Expr> {
        let Some(domain) = ty.domain else { return Ok(Expr::Const(Value::Null)) };
        let default = match ty.as_domain() {
            Some(_) => self.domain_desc(domain)?.default.clone(),
            None => None,
        };
        let typed = match default {
            Some(text) => {
                let ast = scaledb_parse::expression(&text)?;
                let scopes = std::mem::take(&mut self.scopes);
                let typed = self.apart(Naming::Kept, |binder| binder.expr(&ast));
                self.scopes = scopes;
                typed?
            }
            None => Typed::constant(Value::Null, Type::UNKNOWN),
        };
        self.assign(typed, ty, column)
    }

    fn domain_desc(&self, domain: DomainType) -> Result<Arc<DomainDesc>> {
        self.catalog.domain_of(domain.oid()).cloned().ok_or_else(|| {
            let what = format!("type with OID {} does not exist", domain.oid());
            SqlError::new(SqlState::UNDEFINED_OBJECT, what)
        })
    }

    fn demands(&mut self, domain: DomainType) -> Result<Demands> {
        self.depend_on(Type::of_domain(domain));
        if let Some(known) = self.domains.known.get(&domain.oid()) {
            return Ok(known.clone());
        }
        // a condition that makes values of its own domain would never end
        if self.domains.within.contains(&domain.oid()) {
            return Err(too_deep());
        }
        self.domains.within.push(domain.oid());
        let found = self.find_demands(domain);
        self.domains.within.pop();
        let found = found?;
        self.domains.known.insert(domain.oid(), found.clone());
        Ok(found)
    }

    fn find_demands(&mut self, domain: DomainType) -> Result<Demands> {
        let slot = self.slot();
        let chain: Vec<DomainType> = domain.chain().collect();
        let (mut not_null, mut checks) = (false, Vec::new());
        for domain in chain.into_iter().rev() {
            let desc = self.domain_desc(domain)?;
            not_null |= desc.not_null;
            let mut sorted: Vec<_> = desc.checks.iter().collect();
            sorted.sort_by(|a, b| a.name.cmp(&b.name));
            for check in sorted {
                let ast = scaledb_parse::expression(&check.expression)?;
                let condition =
                    self.apart(Naming::Kept, |binder| binder.domain_condition(&ast, domain.base(), slot))?;
                checks.push(Check { name: check.name.clone(), condition });
            }
        }
        Ok(Demands { not_null, slot, checks: checks.into() })
    }

    /// A condition on the value in a slot, which it names VALUE.
    ///
    /// # Errors
    /// What is wrong with it; 0A000 for a subquery.
    pub fn domain_condition(&mut self, ast: &Ast, ty: Type, slot: Slot) -> Result<Expr> {
        let scopes = std::mem::take(&mut self.scopes);
        // the value is no column of the aggregate whose argument may be at hand
        let named = std::mem::take(&mut self.named);
        let value = ScopeColumn { name: "value".to_owned(), ty, slot, origin: (0, 0), merged: false };
        self.scopes.push(Scope {
            // it has no name that can be written
            tables: vec![ScopeTable { columns: vec![value], ..ScopeTable::default() }],
            ..Scope::default()
        });
        let condition = self.condition(ast, "CHECK");
        (self.scopes, self.named) = (scopes, named);
        let condition = condition?;
        if condition.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in check constraint"));
        }
        Ok(condition)
    }
}
