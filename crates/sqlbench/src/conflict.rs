//! Conflicts, told from errors by what the database says.

use crate::client::Failure;
use scaledb_workloads::driver::ConflictAt;

/// The conflict that a failure is; the failure itself, if it is none.
///
/// Those are serialization failures and deadlocks; and a key that is taken, since order numbers come from a counter
/// that was read in the same transaction: another one has moved it.
pub(crate) fn conflict(failure: Failure) -> Result<ConflictAt, Failure> {
    match &failure {
        Failure::Refused { code, message, detail } => match code.as_str() {
            "40001" | "40P01" | "23505" => {
                let detail = detail.as_deref().unwrap_or_default();
                Ok(ConflictAt { kind: format!("{code} {}", kind(detail, message)), table: place(detail) })
            }
            _ => Err(failure),
        },
        Failure::Connection(_) | Failure::Inconsistent(_) => Err(failure),
    }
}

/// The error of a transaction that met this conflict again and again.
pub(crate) fn given_up(conflict: ConflictAt) -> Failure {
    let message = format!("a transaction failed again and again on {}", conflict.table);
    Failure::Refused { code: conflict.kind, message, detail: None }
}

/// ScaleDB's words for what it met, made short; or another database's message.
fn kind<'a>(detail: &'a str, message: &'a str) -> &'a str {
    const KINDS: [(&str, &str); 6] = [
        ("what this transaction read was", "read changed"),
        ("is committing a change to", "write locked"),
        ("what this transaction writes was", "write changed"),
        ("found missing was inserted", "absent appeared"),
        ("inserted into a range", "range phantom"),
        ("could not be read", "read locked"),
    ];
    let known = KINDS.iter().find(|(words, _)| detail.contains(words));
    known.map_or_else(|| message.split(',').next().unwrap_or(message).get(..40).unwrap_or(message), |k| k.1)
}

/// The table, or its index, in ScaleDB's detail of a conflict: `In table "t", index "i", key (k): why.`
fn place(detail: &str) -> String {
    let Some(rest) = detail.strip_prefix("In ") else { return "-".to_owned() };
    let mut names = rest.split('"').skip(1).step_by(2);
    let (table, second) = (names.next(), names.next());
    let index = second.filter(|_| rest.contains(", index \""));
    index.or(table).unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_told_from_errors() {
        let refused = |code: &str, detail: Option<&str>| Failure::Refused {
            code: code.to_owned(),
            message: "could not serialize access due to read/write dependencies among transactions"
                .to_owned(),
            detail: detail.map(str::to_owned),
        };
        let at = |failure| conflict(failure).map(|at| (at.kind, at.table)).map_err(|f| f.to_string());
        let own = "In table \"orders\", index \"orders_pkey\", key (o_id)=(5): what this transaction found missing \
                   was inserted by another one.";
        assert_eq!(
            at(refused("40001", Some(own))),
            Ok(("40001 absent appeared".into(), "orders_pkey".into()))
        );
        let own = "In table \"stock\", key (s_i_id)=(5): another transaction is committing a change to the same row.";
        assert_eq!(at(refused("40001", Some(own))), Ok(("40001 write locked".into(), "stock".into())));
        let other = at(refused("40001", Some("Reason code: Canceled on identification as a pivot.")));
        assert_eq!(other.unwrap().1, "-");
        assert!(at(refused("40P01", None)).is_ok() && at(refused("42P01", None)).is_err());
        assert!(at(Failure::Inconsistent("a row is missing")).is_err());
    }
}
