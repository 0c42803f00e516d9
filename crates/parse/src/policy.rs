//! CREATE, ALTER and DROP POLICY, and ALTER TABLE .. ROW LEVEL SECURITY.

use super::cursor::{Cursor, parenthesized};
use super::roles::{RoleName, role};
use super::routine::{Name, name};
use scaledb_catalog::PolicyCommand;
use scaledb_types::{Result, SqlError, SqlState};

/// A statement about policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyStatement {
    Create(CreatePolicy),
    Alter(AlterPolicy),
    Rename { name: String, if_exists: bool, table: Name, to: String },
    Drop { name: String, if_exists: bool, table: Name },
    Secure(SecureRows),
}

/// CREATE POLICY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePolicy {
    pub name: String,
    pub table: Name,
    pub permissive: bool,
    pub command: PolicyCommand,
    /// None if it does not say: PUBLIC.
    pub roles: Vec<RoleName>,
    pub using: Option<String>,
    pub check: Option<String>,
}

/// ALTER POLICY, but for another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterPolicy {
    pub name: String,
    pub table: Name,
    /// None if they stay.
    pub roles: Vec<RoleName>,
    pub using: Option<String>,
    pub check: Option<String>,
}

/// ALTER TABLE .. ROW LEVEL SECURITY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureRows {
    pub table: Name,
    pub if_exists: bool,
    /// ENABLE and DISABLE, FORCE and NO FORCE, in their order.
    pub changes: Vec<SecurityChange>,
}

/// What becomes of a table's row-level security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityChange {
    Enabled(bool),
    Forced(bool),
}

/// Whether a statement is one of these.
pub(super) fn is_about(text: &str) -> bool {
    let mut at = Cursor::new(text);
    let alters = at.accept("alter");
    if !alters {
        at.next();
    }
    at.accept("policy") || alters && at.accept("table") && secure_rows_of(&mut at).is_some()
}

/// What is behind CREATE.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<PolicyStatement> {
    at.expect("policy")?;
    let name = at.name()?;
    at.expect("on")?;
    let table = self::name(at)?;
    let mut permissive = true;
    if at.accept("as") {
        // any word may stand there as far as the grammar goes
        let token = at.ahead;
        let word = at.name()?;
        permissive = match word.as_str() {
            "permissive" => true,
            "restrictive" => false,
            _ => {
                let what = format!("unrecognized row security option \"{word}\"");
                let hint = "Only PERMISSIVE or RESTRICTIVE policies are supported currently.";
                let error = SqlError::new(SqlState::SYNTAX_ERROR, what).hint(hint);
                let place = token.map(|token| at.text[..token.start].chars().count() as u32 + 1);
                return Err(place.map_or(error.clone(), |place| error.position(place)));
            }
        };
    }
    let mut command = PolicyCommand::All;
    if at.accept("for") {
        let words = [
            ("all", PolicyCommand::All),
            ("select", PolicyCommand::Select),
            ("insert", PolicyCommand::Insert),
            ("update", PolicyCommand::Update),
            ("delete", PolicyCommand::Delete),
        ];
        let found = words.into_iter().find(|(word, _)| at.accept(word));
        command = found.ok_or_else(|| at.unexpected())?.1;
    }
    let (roles, using, check) = clauses(at)?;
    Ok(PolicyStatement::Create(CreatePolicy { name, table, permissive, command, roles, using, check }))
}

/// TO, USING and WITH CHECK.
fn clauses(at: &mut Cursor<'_>) -> Result<(Vec<RoleName>, Option<String>, Option<String>)> {
    let mut roles = Vec::new();
    if at.accept("to") {
        roles.push(role(at)?);
        while at.accept_sign(",") {
            roles.push(role(at)?);
        }
    }
    let condition = |at: &mut Cursor<'_>| {
        if !at.ahead.is_some_and(|token| token.is_sign(at.text, "(")) {
            return Err(at.unexpected());
        }
        Ok(parenthesized(at)?.trim().to_owned())
    };
    let using = if at.accept("using") { Some(condition(at)?) } else { None };
    let check = if at.accept("with") {
        at.expect("check")?;
        Some(condition(at)?)
    } else {
        None
    };
    Ok((roles, using, check))
}

/// What is behind ALTER.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<PolicyStatement> {
    if at.accept("table") {
        let changed = secure_rows_of(at).ok_or_else(|| at.unexpected())?;
        return Ok(PolicyStatement::Secure(changed));
    }
    let (if_exists, name, table) = existing(at)?;
    if at.accept("rename") {
        at.expect("to")?;
        return Ok(PolicyStatement::Rename { name, if_exists, table, to: at.name()? });
    }
    let (roles, using, check) = clauses(at)?;
    Ok(PolicyStatement::Alter(AlterPolicy { name, table, roles, using, check }))
}

/// What is behind DROP.
pub(super) fn drop_policy(at: &mut Cursor<'_>) -> Result<PolicyStatement> {
    let (if_exists, name, table) = existing(at)?;
    if !at.accept("cascade") {
        at.accept("restrict");
    }
    Ok(PolicyStatement::Drop { name, if_exists, table })
}

/// `POLICY [IF EXISTS] name ON table`.
fn existing(at: &mut Cursor<'_>) -> Result<(bool, String, Name)> {
    at.expect("policy")?;
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let name = at.name()?;
    at.expect("on")?;
    Ok((if_exists, name, self::name(at)?))
}

/// `[IF EXISTS] [ONLY] table ENABLE ROW LEVEL SECURITY, ..`; none if it is anything else.
fn secure_rows_of(at: &mut Cursor<'_>) -> Option<SecureRows> {
    let if_exists = at.accept("if");
    if if_exists && !at.accept("exists") {
        return None;
    }
    at.accept("only");
    let table = self::name(at).ok()?;
    at.accept_sign("*");
    let mut changes = Vec::new();
    loop {
        changes.push(if at.accept("enable") {
            SecurityChange::Enabled(true)
        } else if at.accept("disable") {
            SecurityChange::Enabled(false)
        } else if at.accept("force") {
            SecurityChange::Forced(true)
        } else if at.accept("no") && at.accept("force") {
            SecurityChange::Forced(false)
        } else {
            return None;
        });
        for word in ["row", "level", "security"] {
            if !at.accept(word) {
                return None;
            }
        }
        if !at.accept_sign(",") {
            return Some(SecureRows { table, if_exists, changes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::{Utility, parse};

    fn policy(text: &str) -> PolicyStatement {
        match parse(text) {
            Some(Ok(Utility::Policy(statement))) => *statement,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_policy_has_all_of_its_clauses() {
        let text =
            "CREATE POLICY p ON s.t AS RESTRICTIVE FOR UPDATE TO a, PUBLIC USING (x = ')') WITH CHECK ((y))";
        let PolicyStatement::Create(created) = policy(text) else { panic!("CREATE POLICY") };
        assert_eq!(created.table, (Some("s".to_owned()), "t".to_owned()));
        assert_eq!(
            (created.permissive, created.command, created.roles.len()),
            (false, PolicyCommand::Update, 2)
        );
        assert_eq!(created.using.as_deref(), Some("x = ')'"));
        assert_eq!(created.check.as_deref(), Some("(y)"));
    }

    #[test]
    fn other_changes_of_a_table_are_no_business_of_policies() {
        assert!(is_about(
            "ALTER TABLE IF EXISTS ONLY t NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY"
        ));
        assert!(!is_about("ALTER TABLE t ENABLE TRIGGER x"));
        assert!(!is_about("ALTER TABLE t DROP COLUMN a"));
        assert!(!is_about("CREATE TABLE policy (a int)"));
    }

    #[test]
    fn a_kind_of_policy_that_there_is_not_is_refused() {
        let error =
            parse("CREATE POLICY p ON t AS UGLY USING (true)").expect("a policy").expect_err("refused");
        assert!(error.message().contains("unrecognized row security option \"ugly\""), "{error:?}");
    }
}
