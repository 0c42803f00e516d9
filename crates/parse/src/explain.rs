//! EXPLAIN and its options.

use super::cursor::{Cursor, pieces};
use super::utility::Utility;
use scaledb_types::{Result, SqlError, SqlState};

/// What EXPLAIN shows, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The statement is run.
    pub analyze: bool,
    pub verbose: bool,
    /// With how many rows an operator is thought to yield.
    pub costs: bool,
    /// With the time of each operator.
    pub timing: bool,
    /// With the time of planning, and of the whole run.
    pub summary: bool,
    pub format: Format,
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Yaml,
}

/// EXPLAIN, behind the word.
pub(super) fn explain(at: &mut Cursor<'_>) -> Result<Utility> {
    let mut options = Options {
        analyze: false,
        verbose: false,
        costs: true,
        timing: true,
        summary: false,
        format: Format::Text,
    };
    let (mut timing, mut summary) = (None, None);
    // what is no option begins a query in parentheses
    let mut behind = at.behind();
    let queries = behind.next().is_some_and(|token| {
        let word = |word: &&str| token.is(at.text, word);
        token.is_sign(at.text, "(") || ["select", "values", "with", "table"].iter().any(word)
    });
    if !queries && at.accept_sign("(") {
        for option in pieces(at)? {
            let mut words = option.split_ascii_whitespace().map(str::to_lowercase);
            let name = words.next().unwrap_or_default();
            let value = words.next();
            match name.as_str() {
                "format" => options.format = format(value.as_deref())?,
                _ => {
                    let on = truth(&name, value.as_deref());
                    match name.as_str() {
                        "analyze" | "analyse" => options.analyze = on?,
                        "verbose" => options.verbose = on?,
                        "costs" => options.costs = on?,
                        "timing" => timing = Some(on?),
                        "summary" => summary = Some(on?),
                        "buffers" => refuse(on?, "BUFFERS", "there are no buffers: tables are in memory")?,
                        "wal" => {
                            refuse(on?, "WAL", "the log is not written by operators, but at the commit")?
                        }
                        "settings" => {
                            refuse(on?, "SETTINGS", "no setting changes how statements are planned")?
                        }
                        _ => {
                            let what = format!("unrecognized EXPLAIN option \"{name}\"");
                            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                        }
                    }
                }
            }
        }
    } else {
        options.analyze = at.accept("analyze") || at.accept("analyse");
        options.verbose = at.accept("verbose");
    }
    if timing == Some(true) && !options.analyze {
        return Err(SqlError::invalid_parameter("EXPLAIN option TIMING requires ANALYZE"));
    }
    options.timing = options.analyze && timing.unwrap_or(true);
    options.summary = summary.unwrap_or(options.analyze);
    Ok(Utility::Explain { options, text: at.rest().to_owned() })
}

fn truth(name: &str, value: Option<&str>) -> Result<bool> {
    match value {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let what = format!("{name} requires a Boolean value");
            Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
        }
    }
}

fn format(value: Option<&str>) -> Result<Format> {
    match value.map(|value| value.trim_matches(['\'', '"'])) {
        Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some("yaml") => Ok(Format::Yaml),
        Some("xml") => Err(SqlError::unsupported("EXPLAIN (FORMAT XML) is not supported")
            .hint("Use FORMAT JSON or FORMAT YAML.")),
        Some(other) => {
            let what = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(SqlError::invalid_parameter(what))
        }
        None => Err(SqlError::new(SqlState::SYNTAX_ERROR, "format requires a parameter")),
    }
}

fn refuse(on: bool, option: &str, why: &str) -> Result<()> {
    if on {
        Err(SqlError::unsupported(format!("EXPLAIN ({option}) is not supported: {why}")))
    } else {
        Ok(())
    }
}
