//! `information_schema.check_constraints`: the conditions of CHECK constraints, with NOT NULL among them.

use super::not_nulls;
use crate::system::Facts;
use crate::system::definitions::domain_check;
use crate::system::printed::{printed_expression, without_parentheses};
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "check_constraints", oid: 13021, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME), ("check_clause", Type::VARCHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let owned = catalog.tables().filter(|table| catalog.has_rights_of(current, catalog.owner_of(table.oid)));
    let mut rows = Vec::new();
    for table in owned {
        let row = |name: &str, clause: &str| {
            Row::empty(&TABLE)
                .text("constraint_catalog", facts.names().1)
                .text("constraint_schema", &table.schema)
                .text("constraint_name", name)
                .text("check_clause", clause)
        };
        for check in &table.checks {
            let expression = without_parentheses(&seen_expression(facts, &check.expression));
            rows.push(row(&check.name, &format!("({})", printed_expression(&expression))));
        }
        let named = not_nulls(catalog, table);
        rows.extend(named.map(|(name, column)| row(&name, &format!("{} IS NOT NULL", column.name))));
    }
    let domains = catalog.domains().filter(|desc| catalog.has_rights_of(current, catalog.owner_of(desc.oid)));
    for desc in domains {
        for check in &desc.checks {
            let text = domain_check(facts, check, false);
            rows.push(
                Row::empty(&TABLE)
                    .text("constraint_catalog", facts.names().1)
                    .text("constraint_schema", &desc.schema)
                    .text("constraint_name", &check.name)
                    .text("check_clause", text.strip_prefix("CHECK ").unwrap_or(&text)),
            );
        }
    }
    Ok(rows)
}
