//! Looking ahead: a client that sends several statements at once tells the keys of their rows before they run. The
//! memory of these rows is asked for at once, so that their cache misses overlap instead of coming one by one.

use super::Session;
use crate::exec::codec;
use scaledb_engine::{Engine, PREFETCH, Worker};
use scaledb_keys::KeyBuf;
use scaledb_planner::plan::point::{MOST_COLUMNS, PointKey, Source};
use scaledb_types::{Env, Type, Value};

/// The longest value that is worth being looked at: keys are small.
const LONG: usize = 64;

impl<E: Engine> Session<E> {
    /// Whether [`foresee`](Self::foresee) has any use now: a transaction runs.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.in_transaction())
    }

    /// Takes note of a statement that will run soon: the values are those of [`bind`](Self::bind), each with its
    /// format. Returns whether there is room for another one before [`prefetch`](Self::prefetch). A hint: whatever it
    /// says, it changes nothing that a client can see.
    pub fn foresee<'v>(
        &mut self,
        statement: &str,
        values: impl Iterator<Item = (i16, Option<&'v [u8]>)>,
    ) -> bool {
        if let Ok(statement) = self.statement(statement)
            && let compiled = &statement.compiled
            && let Some(point) = &compiled.point
            && let Some(key) = key(point, &compiled.params, values, &self.env)
        {
            let compiled = compiled.clone();
            self.foreseen.push((compiled, key));
        }
        self.foreseen.len() < PREFETCH
    }

    /// Asks for the memory of the rows of all statements that were foreseen.
    pub fn prefetch(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.prefetch(self.foreseen.iter().filter_map(|(compiled, key)| {
                let point = compiled.point.as_ref()?;
                Some((point.index, &key[..], &point.projection))
            }));
        }
        self.foreseen.clear();
    }
}

/// The key that the parameters make; `None` if there is none, or none that is cheap.
fn key<'v>(
    point: &PointKey,
    types: &[Type],
    values: impl Iterator<Item = (i16, Option<&'v [u8]>)>,
    env: &Env,
) -> Option<KeyBuf> {
    let mut found = [const { None }; MOST_COLUMNS];
    for (number, (format, bytes)) in values.enumerate() {
        for ((_, source), found) in point.columns.iter().zip(&mut found) {
            if !matches!(source, Source::Param(of) if *of == number) {
                continue;
            }
            let bytes = bytes.filter(|bytes| bytes.len() <= LONG)?;
            let ty = *types.get(number)?;
            *found = Some(if format == 0 {
                Value::parse(scaledb_types::utf8(bytes).ok()?, ty, env).ok()?
            } else {
                Value::from_binary(bytes, ty).ok()?
            });
        }
    }
    let mut key = KeyBuf::new();
    for ((column, source), found) in point.columns.iter().zip(&found) {
        let value = match source {
            Source::Param(_) => found.as_ref()?,
            Source::Const(value) => value,
        };
        codec::push_key(&mut key, &point.table, column, value).ok()?;
    }
    Some(key)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Database;
    use crate::session::routine::NoRows;
    use scaledb_acc::Acc;
    use scaledb_row::Projection;

    fn session() -> Session<Acc> {
        let mut session = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap())
            .unwrap()
            .session("user", "database");
        let script = "
            create table t (a int, b text, c bigint, primary key (b, a));
            create unique index on t (c desc);
            insert into t values (7, 'seven', 70);
            begin; select 1 from t";
        session.simple(script, &mut NoRows).unwrap();
        session
    }

    /// Whether what is foreseen of the statement is the row that it finds: none, or one that is there.
    fn foresees(session: &mut Session<Acc>, sql: &str, values: &[(i16, Option<&[u8]>)]) -> bool {
        session.parse("", sql, &[]).unwrap();
        assert!(session.foresee("", values.iter().copied()));
        let Some((compiled, key)) = session.foreseen.first().cloned() else { return false };
        let point = compiled.point.as_ref().unwrap();
        let there =
            session.worker.as_mut().unwrap().get(point.index, &key, &Projection::existence(), |_, _| ());
        assert!(there.unwrap().is_some(), "another key: {sql}");
        session.prefetch();
        assert!(session.foreseen.is_empty());
        true
    }

    #[test]
    fn the_row_of_a_statement_is_foreseen_from_its_parameters() {
        let session = &mut session();
        assert!(session.looks_ahead());
        let (seven, text): ((i16, _), _) = ((1, Some(&7_i32.to_be_bytes()[..])), (0, Some(&b"seven"[..])));
        let c = (1, Some(&70_i64.to_be_bytes()[..]));
        for sql in [
            "select c from t where a = $1 and b = $2",
            "select c + 1 from t where b = $2 and a = $1 order by c limit 1",
            "select sum(c) from t where a = $1 and b = $2",
            "update t set c = c + 1 where a = $1 and b = $2 returning c",
            "delete from t where a = $1 and b = $2",
            "insert into t values ($1, $2)",
            "insert into t (b, a) values ($2, $1) on conflict do nothing",
        ] {
            assert!(foresees(session, sql, &[seven, text]), "{sql}");
            assert!(foresees(session, sql, &[(0, Some(b"7")), (1, Some(b"seven"))]), "{sql}");
        }
        assert!(foresees(session, "select a from t where c = $1", &[c]));
        assert!(foresees(session, "select a from t where b = 'seven' and a = $1", &[seven]));
    }

    #[test]
    fn what_tells_no_row_is_passed_over() {
        let session = &mut session();
        let (a, b): ((i16, _), _) = ((1, Some(&7_i32.to_be_bytes()[..])), (0, Some(&b"seven"[..])));
        for sql in [
            "select c from t where a = $1 and b > $2",
            "select c from t where a = $1 and b in ($2, 'eight')",
            "select c from t where a = $1 + 1 and b = $2",
            "select x.c from t x, t y where x.a = $1 and x.b = $2",
            "insert into t values ($1, $2), (1, 'x')",
        ] {
            assert!(!foresees(session, sql, &[a, b]), "{sql}");
        }
        let sql = "select c from t where a = $1 and b = $2";
        let long = [b'x'; LONG + 1];
        for values in [
            &[][..],
            &[a],
            &[(1, None), b],
            &[(1, Some(&b"7"[..])), b],
            &[(0, Some(b"seven")), b],
            &[a, (0, Some(&long))],
            &[a, (0, Some(b"\xff"))],
        ] {
            assert!(!foresees(session, sql, values), "{values:?}");
        }
        assert!(session.foresee("no such statement", std::iter::empty()));
        assert!(session.foreseen.is_empty());
        session.simple("commit", &mut NoRows).unwrap();
        assert!(!session.looks_ahead());
        session.prefetch();
    }

    #[test]
    fn there_is_an_end_to_what_is_foreseen() {
        let session = &mut session();
        session.parse("", "select a from t where c = $1", &[]).unwrap();
        let mut count = 0;
        while session.foresee("", std::iter::once((0, Some(&b"70"[..])))) {
            count += 1;
        }
        assert_eq!((count, session.foreseen.len()), (PREFETCH - 1, PREFETCH));
        session.prefetch();
    }
}
