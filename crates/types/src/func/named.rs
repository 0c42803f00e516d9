//! The names of parameters, of the functions that have any that matter, and what they are where they are not given.

use crate::ty::Type;

/// A parameter: its name, and the type and text of its default.
pub type Parameter = (&'static str, Option<(Type, &'static str)>);

const ZERO: Option<(Type, &str)> = Some((Type::INT4, "0"));
const TRUE: Option<(Type, &str)> = Some((Type::BOOL, "true"));
const FALSE: Option<(Type, &str)> = Some((Type::BOOL, "false"));

/// The parameters of a function in their order, if they have names.
pub fn named_parameters(function: &str) -> Option<&'static [Parameter]> {
    Some(match function {
        "make_interval" => &[
            ("years", ZERO),
            ("months", ZERO),
            ("weeks", ZERO),
            ("days", ZERO),
            ("hours", ZERO),
            ("mins", ZERO),
            ("secs", Some((Type::FLOAT8, "0"))),
        ],
        "make_date" => &[("year", None), ("month", None), ("day", None)],
        "make_time" => &[("hour", None), ("min", None), ("sec", None)],
        "make_timestamp" => {
            &[("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None), ("sec", None)]
        }
        "make_timestamptz" => &[
            ("year", None),
            ("month", None),
            ("mday", None),
            ("hour", None),
            ("min", None),
            ("sec", None),
            ("timezone", None),
        ],
        "jsonb_set" => {
            &[("jsonb_in", None), ("path", None), ("replacement", None), ("create_if_missing", TRUE)]
        }
        "jsonb_set_lax" => &[
            ("jsonb_in", None),
            ("path", None),
            ("replacement", None),
            ("create_if_missing", TRUE),
            ("null_value_treatment", Some((Type::TEXT, "use_json_null"))),
        ],
        "jsonb_insert" => {
            &[("jsonb_in", None), ("path", None), ("replacement", None), ("insert_after", FALSE)]
        }
        "jsonb_path_exists"
        | "jsonb_path_exists_tz"
        | "jsonb_path_match"
        | "jsonb_path_match_tz"
        | "jsonb_path_query"
        | "jsonb_path_query_tz"
        | "jsonb_path_query_array"
        | "jsonb_path_query_array_tz"
        | "jsonb_path_query_first"
        | "jsonb_path_query_first_tz" => {
            &[("target", None), ("path", None), ("vars", Some((Type::JSONB, "{}"))), ("silent", FALSE)]
        }
        "parse_ident" => &[("str", None), ("strict", TRUE)],
        _ => return None,
    })
}
