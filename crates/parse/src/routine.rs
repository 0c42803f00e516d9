//! CREATE, ALTER and DROP FUNCTION and PROCEDURE.

use super::cursor::Cursor;
use super::lex::Kind;
use super::plpgsql;
use scaledb_catalog::{Language, ParameterMode, RoutineKind, Volatility};
use scaledb_types::{Result, SqlError, SqlState};

/// A name, with its schema if that was given.
pub type Name = (Option<String>, String);

/// CREATE FUNCTION or CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRoutine {
    pub kind: RoutineKind,
    pub replaces: bool,
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub returns: Option<Returns>,
    pub language: Language,
    pub body: String,
    pub volatility: Volatility,
    pub strict: bool,
    pub security_definer: bool,
    pub leakproof: bool,
    /// Settings that hold while it runs: names and values.
    pub settings: Vec<(String, String)>,
}

/// A parameter: its name and type may only be told apart by what types there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub mode: ParameterMode,
    /// Whether the mode was said.
    pub has_mode: bool,
    /// The first word, if a type may stand behind it.
    pub first: Option<String>,
    /// All of the text, and what is behind the first word.
    pub text: String,
    pub rest: String,
    pub default: Option<String>,
}

/// What is behind RETURNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returns {
    pub set: bool,
    /// The type; none for RETURNS TABLE.
    pub ty: Option<String>,
}

/// A routine that a statement names: all of the name, if no parameters are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: Name,
    /// The types of its parameters; those that are returned only do not count.
    pub parameters: Option<Vec<Parameter>>,
}

/// What DROP and ALTER may say of the kind of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    Function,
    Procedure,
    /// ROUTINE: either.
    Any,
}

impl Kinds {
    /// The word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Any => "routine",
        }
    }

    pub fn has(self, kind: RoutineKind) -> bool {
        match self {
            Self::Function => kind == RoutineKind::Function,
            Self::Procedure => kind == RoutineKind::Procedure,
            Self::Any => true,
        }
    }
}

/// DROP FUNCTION and its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropRoutines {
    pub kinds: Kinds,
    pub if_exists: bool,
    pub routines: Vec<Signature>,
    pub cascade: bool,
}

/// ALTER FUNCTION and its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterRoutine {
    pub kinds: Kinds,
    pub routine: Signature,
    pub changes: Vec<RoutineChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutineChange {
    Rename(String),
    Schema(String),
    Owner(String),
    Volatility(Volatility),
    Strict(bool),
    SecurityDefiner(bool),
    Leakproof(bool),
    /// What only speed depends on, and is not kept: the word.
    Speed(&'static str),
    Set(String, String),
    /// RESET of one setting, or of all.
    Reset(Option<String>),
}

impl RoutineChange {
    /// What may be said once.
    fn kind(&self) -> &'static str {
        match self {
            Self::Rename(_) => "rename",
            Self::Schema(_) => "schema",
            Self::Owner(_) => "owner",
            Self::Volatility(_) => "volatility",
            Self::Strict(_) => "strict",
            Self::SecurityDefiner(_) => "security",
            Self::Leakproof(_) => "leakproof",
            Self::Speed(word) => word,
            Self::Set(..) => "set",
            Self::Reset(_) => "reset",
        }
    }

    /// Whether it may be said of a procedure.
    pub fn is_of_procedures(&self) -> bool {
        !matches!(self, Self::Volatility(_) | Self::Strict(_) | Self::Leakproof(_) | Self::Speed(_))
    }
}

/// FUNCTION, PROCEDURE or ROUTINE, if one of them is next.
pub(super) fn kinds(at: &mut Cursor<'_>) -> Option<Kinds> {
    let words = [("function", Kinds::Function), ("procedure", Kinds::Procedure), ("routine", Kinds::Any)];
    words.into_iter().find(|(word, _)| at.accept(word)).map(|(_, kinds)| kinds)
}

/// Whether a statement is CREATE, ALTER or DROP of a routine, behind its first word.
pub(super) fn is_about_routines(text: &str) -> bool {
    let mut at = Cursor::new(text);
    at.next();
    if at.accept("or") {
        at.accept("replace");
    }
    kinds(&mut at).is_some()
}

/// A name, with its schema if that is given.
pub(super) fn name(at: &mut Cursor<'_>) -> Result<Name> {
    let first = at.name()?;
    Ok(if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) })
}

/// What is behind CREATE.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<CreateRoutine> {
    let replaces = at.accept("or");
    if replaces {
        at.expect("replace")?;
    }
    let kind = match kinds(at) {
        Some(Kinds::Procedure) => RoutineKind::Procedure,
        Some(Kinds::Function) => RoutineKind::Function,
        _ => return Err(at.unexpected()),
    };
    let name = name(at)?;
    let mut parameters = parameters(at, true)?;
    let mut returns = None;
    if kind == RoutineKind::Function && at.accept("returns") {
        if at.accept("table") {
            let columns = self::parameters(at, false)?;
            parameters
                .extend(columns.into_iter().map(|column| Parameter { mode: ParameterMode::Table, ..column }));
            returns = Some(Returns { set: true, ty: None });
        } else {
            let set = at.accept("setof");
            let ty = until(at, &CLAUSES)?;
            returns = Some(Returns { set, ty: Some(ty) });
        }
    }
    let (mut language, mut body) = (None, None);
    let mut created = CreateRoutine {
        kind,
        replaces,
        name,
        parameters,
        returns,
        language: Language::Sql,
        body: String::new(),
        volatility: Volatility::Volatile,
        strict: false,
        security_definer: false,
        leakproof: false,
        settings: Vec::new(),
    };
    let none = |what: &str| SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what.to_owned());
    let mut said = Vec::new();
    let mut once = |what: &'static str| {
        if said.contains(&what) {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        said.push(what);
        Ok(())
    };
    while at.ahead.is_some() {
        if at.accept("language") {
            once("language")?;
            let name = plpgsql::language_name(at)?;
            language = Some(match name.as_str() {
                "sql" => Language::Sql,
                "plpgsql" => Language::PlPgSql,
                "c" | "internal" => {
                    return Err(SqlError::unsupported(format!("language {name} is not supported")));
                }
                _ => return Err(plpgsql::no_language(&name)),
            });
        } else if at.accept("as") {
            once("as")?;
            body = Some(plpgsql::body(at)?);
            if at.accept_sign(",") {
                return Err(SqlError::unsupported("functions in libraries of objects are not supported"));
            }
        } else if at.accept("return") {
            // an expression in place of a body
            if body.is_some() {
                return Err(none("duplicate function body specified"));
            }
            body = Some(format!("SELECT {}", at.rest()));
            language = language.or(Some(Language::Sql));
        } else if at.accept("begin") {
            return Err(
                SqlError::unsupported("BEGIN ATOMIC is not supported").hint("Write the body as a text.")
            );
        } else if at.accept("set") {
            created.settings.push(setting(at)?);
        } else if let Some(change) = promise(at)? {
            once(change.kind())?;
            if kind == RoutineKind::Procedure && !change.is_of_procedures() {
                return Err(none("invalid attribute in procedure definition"));
            }
            match change {
                RoutineChange::Volatility(volatility) => created.volatility = volatility,
                RoutineChange::Strict(strict) => created.strict = strict,
                RoutineChange::SecurityDefiner(definer) => created.security_definer = definer,
                RoutineChange::Leakproof(leakproof) => created.leakproof = leakproof,
                _ => {}
            }
        } else if at.accept("window") {
            return Err(SqlError::unsupported("window functions written in SQL are not supported"));
        } else {
            return Err(at.unexpected());
        }
    }
    created.body = body.ok_or_else(|| none("no function body specified"))?;
    created.language = language.ok_or_else(|| none("no language specified"))?;
    Ok(created)
}

/// `name = value` behind SET.
fn setting(at: &mut Cursor<'_>) -> Result<(String, String)> {
    let mut name = at.name()?;
    if at.accept_sign(".") {
        name = format!("{name}.{}", at.name()?);
    }
    if at.accept("from") {
        return Err(SqlError::unsupported("SET .. FROM CURRENT is not supported"));
    }
    if !at.accept("to") {
        at.expect_sign("=")?;
    }
    let mut values = vec![super::cursor::value(at)?];
    while at.accept_sign(",") {
        values.push(super::cursor::value(at)?);
    }
    Ok((name, values.join(", ")))
}

/// What a routine promises; `None` if something else stands there.
fn promise(at: &mut Cursor<'_>) -> Result<Option<RoutineChange>> {
    Ok(Some(if at.accept("immutable") {
        RoutineChange::Volatility(Volatility::Immutable)
    } else if at.accept("stable") {
        RoutineChange::Volatility(Volatility::Stable)
    } else if at.accept("volatile") {
        RoutineChange::Volatility(Volatility::Volatile)
    } else if at.accept("strict") {
        RoutineChange::Strict(true)
    } else if at.accept("called") {
        ["on", "null", "input"].into_iter().try_for_each(|word| at.expect(word))?;
        RoutineChange::Strict(false)
    } else if at.accept("returns") {
        ["null", "on", "null", "input"].into_iter().try_for_each(|word| at.expect(word))?;
        RoutineChange::Strict(true)
    } else if at.accept("not") {
        at.expect("leakproof")?;
        RoutineChange::Leakproof(false)
    } else if at.accept("leakproof") {
        RoutineChange::Leakproof(true)
    } else if at.accept("external") || at.ahead.is_some_and(|token| token.is(at.text, "security")) {
        at.expect("security")?;
        let definer = !at.accept("invoker");
        if definer {
            at.expect("definer")?;
        }
        RoutineChange::SecurityDefiner(definer)
    } else if at.accept("parallel") {
        at.name()?;
        RoutineChange::Speed("parallel")
    } else if at.accept("cost") {
        super::cursor::value(at)?;
        RoutineChange::Speed("cost")
    } else if at.accept("rows") {
        super::cursor::value(at)?;
        RoutineChange::Speed("rows")
    } else {
        return Ok(None);
    }))
}

/// What a clause behind RETURNS begins with.
const CLAUSES: [&str; 18] = [
    "language",
    "as",
    "immutable",
    "stable",
    "volatile",
    "strict",
    "called",
    "returns",
    "not",
    "leakproof",
    "external",
    "security",
    "parallel",
    "cost",
    "rows",
    "set",
    "return",
    "window",
];

/// The text up to one of these words that stands in no parenthesis.
fn until(at: &mut Cursor<'_>, ends: &[&str]) -> Result<String> {
    let start = at.ahead.map_or(at.text.len(), |token| token.start);
    let (mut depth, mut end) = (0usize, start);
    while let Some(token) = at.ahead {
        if depth == 0 && ends.iter().any(|word| token.is(at.text, word)) {
            break;
        }
        if token.is_sign(at.text, "(") {
            depth += 1;
        } else if token.is_sign(at.text, ")") {
            depth = depth.saturating_sub(1);
        }
        end = token.end;
        at.next();
    }
    if end == start {
        return Err(at.unexpected());
    }
    Ok(at.text[start..end].to_owned())
}

/// Parameters in parentheses, or columns if they have no modes.
fn parameters(at: &mut Cursor<'_>, modes: bool) -> Result<Vec<Parameter>> {
    at.expect_sign("(")?;
    let mut parameters = Vec::new();
    if at.accept_sign(")") {
        return Ok(parameters);
    }
    loop {
        parameters.push(parameter(at, modes)?);
        if at.accept_sign(")") {
            return Ok(parameters);
        }
        at.expect_sign(",")?;
    }
}

fn parameter(at: &mut Cursor<'_>, modes: bool) -> Result<Parameter> {
    let mut mode = modes.then(|| mode_of(at)).transpose()?.flatten();
    let first = at.ahead;
    let first_name = first.and_then(|token| super::lex::name_of(token, at.text));
    let start = first.map_or(at.text.len(), |token| token.start);
    let (mut depth, mut end, mut second) = (0usize, start, None);
    let mut default = None;
    while let Some(token) = at.ahead {
        let text = at.text;
        if depth == 0 {
            if token.is_sign(text, ",") || token.is_sign(text, ")") {
                break;
            }
            let sign = token.of(text);
            let assigns = token.kind == Kind::Operator && (sign.starts_with('=') || sign.starts_with(":="));
            if assigns || token.is(text, "default") {
                match sign {
                    _ if !assigns => at.next().map(drop),
                    sign => {
                        let length = if sign.starts_with(":=") { 2 } else { 1 };
                        at.go_to(token.start + length);
                        Some(())
                    }
                };
                default = Some(default_of(at)?);
                break;
            }
            // the mode may stand behind the name
            if modes && mode.is_none() && second.is_none() && Some(token) != first {
                mode = mode_of(at)?;
                if mode.is_some() {
                    continue;
                }
            }
        }
        if token.is_sign(text, "(") || token.is_sign(text, "[") {
            depth += 1;
        } else if token.is_sign(text, ")") || token.is_sign(text, "]") {
            depth = depth.saturating_sub(1);
        }
        if Some(token) != first {
            second.get_or_insert(token.start);
        }
        end = token.end;
        at.next();
    }
    if end == start {
        return Err(at.unexpected());
    }
    let rest = second.map_or(String::new(), |second| at.text[second..end].to_owned());
    let (mode, has_mode) = (mode.unwrap_or(ParameterMode::In), mode.is_some());
    let text = match second {
        Some(_) => at.text[start..end].to_owned(),
        None => at.text[start..first.map_or(end, |token| token.end)].to_owned(),
    };
    Ok(Parameter { mode, has_mode, first: first_name, text, rest, default })
}

/// The mode that is next, if one is.
fn mode_of(at: &mut Cursor<'_>) -> Result<Option<ParameterMode>> {
    Ok(if at.accept("inout") {
        Some(ParameterMode::InOut)
    } else if at.accept("in") {
        Some(if at.accept("out") { ParameterMode::InOut } else { ParameterMode::In })
    } else if at.accept("out") {
        Some(ParameterMode::Out)
    } else if at.accept("variadic") {
        Some(ParameterMode::Variadic)
    } else {
        None
    })
}

/// The expression behind DEFAULT.
fn default_of(at: &mut Cursor<'_>) -> Result<String> {
    let start = at.ahead.map_or(at.text.len(), |token| token.start);
    let (mut depth, mut end) = (0usize, start);
    while let Some(token) = at.ahead {
        if depth == 0 && (token.is_sign(at.text, ",") || token.is_sign(at.text, ")")) {
            break;
        }
        if token.is_sign(at.text, "(") || token.is_sign(at.text, "[") {
            depth += 1;
        } else if token.is_sign(at.text, ")") || token.is_sign(at.text, "]") {
            depth = depth.saturating_sub(1);
        }
        end = token.end;
        at.next();
    }
    if end == start {
        return Err(at.unexpected());
    }
    Ok(at.text[start..end].to_owned())
}

/// A routine that a statement names.
pub(super) fn signature(at: &mut Cursor<'_>) -> Result<Signature> {
    let name = name(at)?;
    let given = at.ahead.is_some_and(|token| token.is_sign(at.text, "("));
    let parameters = if given { Some(parameters(at, true)?) } else { None };
    Ok(Signature { name, parameters })
}

/// What is behind DROP.
pub(super) fn drop_routines(at: &mut Cursor<'_>) -> Result<DropRoutines> {
    let kinds = kinds(at).ok_or_else(|| at.unexpected())?;
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let mut routines = vec![signature(at)?];
    while at.accept_sign(",") {
        routines.push(signature(at)?);
    }
    let cascade = at.accept("cascade");
    if !cascade {
        at.accept("restrict");
    }
    Ok(DropRoutines { kinds, if_exists, routines, cascade })
}

/// What is behind ALTER.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<AlterRoutine> {
    let kinds = kinds(at).ok_or_else(|| at.unexpected())?;
    let routine = signature(at)?;
    let mut changes = Vec::new();
    if at.accept("rename") {
        at.expect("to")?;
        changes.push(RoutineChange::Rename(at.name()?));
    } else if at.accept("owner") {
        at.expect("to")?;
        changes.push(RoutineChange::Owner(at.name()?));
    } else {
        while at.ahead.is_some() {
            if at.accept("set") {
                if at.accept("schema") {
                    changes.push(RoutineChange::Schema(at.name()?));
                } else {
                    let (name, value) = setting(at)?;
                    changes.push(RoutineChange::Set(name, value));
                }
            } else if at.accept("reset") {
                changes.push(RoutineChange::Reset(if at.accept("all") { None } else { Some(at.name()?) }));
            } else if let Some(change) = promise(at)? {
                changes.push(change);
            } else {
                return Err(at.unexpected());
            }
        }
    }
    Ok(AlterRoutine { kinds, routine, changes })
}

/// A body as a statement has it: between dollars, with this word between these, or one that is not in it.
pub fn dollars(body: &str, word: &str) -> String {
    let tag = (0..).map(|n| if n == 0 { format!("${word}$") } else { format!("${word}{n}$") });
    let tag = tag.into_iter().find(|tag| !body.contains(tag.as_str())).unwrap_or_default();
    format!("{tag}{body}{tag}")
}

/// The statements of a body in SQL.
pub fn statements(body: &str) -> Vec<String> {
    super::lex::split(body).into_iter().map(str::to_owned).collect()
}
