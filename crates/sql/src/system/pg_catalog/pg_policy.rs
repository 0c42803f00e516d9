//! `pg_policy` and `pg_policies`: policies of tables.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::seen::seen_condition;
use crate::system::table::{OIDS, Row, SystemCatalog};
use scaledb_catalog::{EVERYBODY, PolicyDesc, PolicyExpression, TableDesc};
use scaledb_types::{Array, Base, Result, Type, Value};
use sqlparser::ast::Expr as Ast;
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_policy", oid: 3256, rows,
    columns: &[
        ("oid", Type::OID), ("polname", Type::NAME), ("polrelid", Type::OID), ("polcmd", Type::CHAR),
        ("polpermissive", Type::BOOL), ("polroles", OIDS), ("polqual", Type::TEXT),
        ("polwithcheck", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const VIEW: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_policies", oid: 12061, rows: rows_by_name,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("policyname", Type::NAME),
        ("permissive", Type::TEXT), ("roles", Type::array_of(Base::Name)), ("cmd", Type::TEXT),
        ("qual", Type::TEXT), ("with_check", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in facts.catalog().tables() {
        for policy in table.policies() {
            let roles = policy.roles.iter().map(|&role| Value::Oid(role)).collect();
            let row = Row::of(&TABLE)
                .oid("oid", policy.oid)
                .text("polname", &policy.name)
                .oid("polrelid", table.oid)
                .letter("polcmd", policy.command.letter())
                .flag("polpermissive", policy.permissive)
                .set("polroles", Value::Array(Arc::new(Array::new(Type::OID, roles))));
            let row = with_text(facts, row, (table, policy), ("polqual", &policy.using));
            rows.push(with_text(facts, row, (table, policy), ("polwithcheck", &policy.check)));
        }
    }
    Ok(rows)
}

fn rows_by_name(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in facts.catalog().tables() {
        for policy in table.policies() {
            let mut roles: Vec<String> = match policy.roles.contains(&EVERYBODY) {
                true => vec!["public".to_owned()],
                false => policy.roles.iter().filter_map(|&role| role_name(facts, role)).collect(),
            };
            roles.sort();
            let roles = roles.into_iter().map(Value::from).collect();
            let row = Row::of(&VIEW)
                .text("schemaname", &table.schema)
                .text("tablename", &table.name)
                .text("policyname", &policy.name)
                .text("permissive", if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" })
                .set("roles", Value::Array(Arc::new(Array::new(Type::NAME, roles))))
                .text("cmd", policy.command.word());
            let row = with_text(facts, row, (table, policy), ("qual", &policy.using));
            rows.push(with_text(facts, row, (table, policy), ("with_check", &policy.check)));
        }
    }
    Ok(rows)
}

fn with_text(
    facts: &dyn Facts,
    row: Row,
    (table, policy): (&TableDesc, &PolicyDesc),
    (name, expression): (&str, &Option<PolicyExpression>),
) -> Row {
    let Some(expression) = expression else { return row };
    let (view, begin) = expression.as_view(table, policy);
    let text = seen_condition(facts, &view, begin).unwrap_or_else(|_| expression.text.clone());
    row.text(name, &shown(&text))
}

/// An expression as the catalog shows it: in parentheses, unless it is a name, a literal or a call.
fn shown(text: &str) -> String {
    match scaledb_parse::expression(text) {
        Ok(
            Ast::Identifier(_)
            | Ast::CompoundIdentifier(_)
            | Ast::Value(_)
            | Ast::Function(_)
            | Ast::Nested(_),
        ) => text.to_owned(),
        _ => format!("({text})"),
    }
}
