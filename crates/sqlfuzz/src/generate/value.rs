//! Expressions: of every type, over the columns that are in sight.

use super::{Column, Generator};
use crate::tree::{Node, Ty};

const WORDS: &[&str] =
    &["", "a", "b", "ab", "A", "aB", "é", " ", "a ", "ab  ", "10", "9", "abc", "%", "a_c", "NULL"];
/// The types that text may be compared as: in some of them blanks at the end do not count.
const STRINGS: &[&str] = &["text", "varchar", "varchar(2)", "char(3)", "char", "bpchar"];
const JSONS: &[&str] =
    &["1", "null", "\"a\"", "[1, 2]", "{\"a\": 1}", "{\"a\": {\"b\": 2}, \"c\": [1]}", "true", "[]"];

/// A type with a modifier, whose values are of this type.
fn modified(ty: Ty) -> Option<&'static str> {
    Some(match ty {
        Ty::Numeric => "numeric(12,1)",
        Ty::Text => "varchar(2)",
        Ty::Timestamp => "timestamp(0)",
        Ty::Time => "time(0)",
        Ty::Interval => "interval hour to minute",
        _ => return None,
    })
}

impl Generator {
    /// A constant; NULL now and then.
    pub(super) fn literal(&mut self, ty: Ty) -> Node {
        if self.one_in(8) {
            return Node::Literal(ty, None);
        }
        let number = i64::try_from(self.below(8)).unwrap_or(0) - 1;
        let text = match ty {
            Ty::Bool => self.pick(&["true", "false"]).to_owned(),
            Ty::Int2 | Ty::Int4 | Ty::Int8 => number.to_string(),
            Ty::Numeric => format!("{}{}", number, self.pick(&["", ".5", ".25", ".10", ".0"])),
            Ty::Float8 | Ty::Float4 => format!("{}{}", number, self.pick(&["", ".5", ".25"])),
            Ty::Text => self.pick(WORDS).to_owned(),
            Ty::Date => format!("2000-0{}-{}", 1 + self.below(3), self.pick(&["01", "15", "28"])),
            Ty::Timestamp => format!(
                "2000-0{}-01 {}",
                1 + self.below(3),
                self.pick(&["00:00:00", "12:30:00", "23:59:59.5"])
            ),
            // no two of them are equal and print otherwise
            Ty::Interval => {
                self.pick(&["1 day", "2 hours", "1 mon", "-3 days", "00:30", "0", "1 year 2 mons"]).to_owned()
            }
            Ty::Time => self.pick(&["00:00", "12:30", "23:59:59.5", "06:00"]).to_owned(),
            Ty::Ints => self.pick(&["{}", "{1}", "{1,2}", "{2,NULL}", "{1,2,3}", "{NULL}"]).to_owned(),
            Ty::Json => self.pick(JSONS).to_owned(),
            Ty::Timestamptz => self
                .pick(&[
                    "2000-01-01 00:00:00+00",
                    "2000-01-01 01:00:00+02",
                    "2000-03-26 01:30:00+00",
                    "1999-12-31 23:59:59.5-05",
                ])
                .to_owned(),
            Ty::Bytea => self.pick(&["", "a", "ab", "\\x00", "\\x61ff", "A"]).to_owned(),
            Ty::Uuid => self
                .pick(&[
                    "00000000-0000-0000-0000-000000000000",
                    "00000000-0000-0000-0000-000000000001",
                    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                ])
                .to_owned(),
            Ty::Texts => {
                self.pick(&["{}", "{a}", "{a,b}", "{b,NULL}", "{\"a b\",\"\"}", "{NULL}"]).to_owned()
            }
            Ty::Mood => self.pick(&["sad", "ok", "happy", "A b"]).to_owned(),
            Ty::Span => self
                .pick(&[
                    "[1,3)", "[2,2]", "(0,5]", "[3,9)", "empty", "(,2)", "[4,)", "(,)", "[-1,1)", "(3,6)",
                ])
                .to_owned(),
            Ty::Inet => self
                .pick(&[
                    "10.0.0.1",
                    "10.0.0.1/8",
                    "10.0.0.0/8",
                    "10.128.0.0/9",
                    "0.0.0.0/0",
                    "::1",
                    "::1/64",
                    "::/0",
                    "255.255.255.255",
                ])
                .to_owned(),
            Ty::Timetz => {
                self.pick(&["00:00+00", "02:00+02", "12:30-05:30", "24:00-08", "23:59:59.5+15"]).to_owned()
            }
            Ty::Bits => {
                self.pick(&["", "0", "1", "00", "101", "00000000", "000000001", "11111111"]).to_owned()
            }
            Ty::Numbers => self
                .pick(&["[1.0,3)", "[2,2]", "(0,5.5]", "[3,9)", "empty", "(,2.50)", "[4,)", "(,)"])
                .to_owned(),
        };
        Node::Of(crate::tree::Class::Value(ty), Box::new(Node::Literal(ty, Some(text))))
    }

    /// A column of a type, if one is in sight.
    pub(super) fn column(&mut self, ty: Ty, scope: &[Column]) -> Option<Node> {
        let fits = |column: &&Column| column.ty == ty;
        let mut found: Vec<Column> = scope.iter().filter(fits).cloned().collect();
        if found.is_empty() || self.one_in(3) {
            found.extend(self.outer.iter().filter(fits).cloned());
        }
        if found.is_empty() {
            return None;
        }
        let column = self.pick(&found);
        Some(Node::value(ty, vec![Node::text(column.name)]))
    }

    fn leaf(&mut self, ty: Ty, scope: &[Column]) -> Node {
        if !self.one_in(5)
            && let Some(column) = self.column(ty, scope)
        {
            return if self.one_in(8) { self.indexed(ty, column) } else { column };
        }
        self.literal(ty)
    }

    /// An expression of a column that an index may be on.
    fn indexed(&mut self, ty: Ty, column: Node) -> Node {
        let (before, behind) = match ty {
            Ty::Int4 | Ty::Int8 => self.pick(&[("(", "% 5)"), ("coalesce(", ", 0)")]),
            Ty::Text => self.pick(&[("lower(", ")"), ("(", "|| 'x')"), ("coalesce(", ", 'b')")]),
            _ => return column,
        };
        Node::value(ty, vec![Node::text(before), column, Node::text(behind)])
    }

    /// A type that some column in sight has, most of the time.
    pub(super) fn ty_in_sight(&mut self, scope: &[Column]) -> Ty {
        if scope.is_empty() || self.one_in(4) { self.ty() } else { self.pick(scope).ty }
    }

    /// An expression of a type; `depth` bounds how deep it is.
    pub(super) fn value(&mut self, ty: Ty, scope: &[Column], depth: usize) -> Node {
        if depth == 0 || self.one_in(3) {
            return self.leaf(ty, scope);
        }
        let d = depth - 1;
        let calls = matches!(
            ty,
            Ty::Float4
                | Ty::Timestamptz
                | Ty::Bytea
                | Ty::Uuid
                | Ty::Texts
                | Ty::Mood
                | Ty::Span
                | Ty::Numbers
                | Ty::Inet
                | Ty::Timetz
                | Ty::Bits
        );
        if self.one_in(if calls { 2 } else { 4 }) {
            return self.call(ty, scope, d);
        }
        // forms that every type has
        if self.one_in(3) {
            return self.form(ty, scope, d);
        }
        let t = |text: &'static str| Node::text(text);
        let parts = match ty {
            Ty::Bool => return self.condition(scope, depth),
            Ty::Float4
            | Ty::Timestamptz
            | Ty::Bytea
            | Ty::Uuid
            | Ty::Texts
            | Ty::Mood
            | Ty::Span
            | Ty::Numbers
            | Ty::Inet
            | Ty::Timetz
            | Ty::Bits => return self.form(ty, scope, d),
            Ty::Int4 | Ty::Int8 | Ty::Numeric => match self.below(8) {
                0..=2 => {
                    let operator = self.pick(&["+", "-", "*"]);
                    vec![
                        t("("),
                        self.value(ty, scope, d),
                        Node::text(operator),
                        self.value(ty, scope, d),
                        t(")"),
                    ]
                }
                3 if ty == Ty::Int4 => vec![t("length("), self.value(Ty::Text, scope, d), t(")")],
                3 => vec![
                    t("("),
                    self.value(ty, scope, d),
                    t("/ nullif("),
                    self.value(ty, scope, d),
                    Node::text(format!(", '0'::{}))", ty.name())),
                ],
                4 => vec![t("abs("), self.value(ty, scope, d), t(")")],
                5 if ty == Ty::Int8 => {
                    let from = self.pick(&[Ty::Int2, Ty::Int4]);
                    vec![self.value(from, scope, d), t("::int8")]
                }
                5 if ty == Ty::Numeric => vec![t("round("), self.value(ty, scope, d), t(", 1)")],
                5 => vec![
                    t("mod("),
                    self.value(ty, scope, d),
                    t(", nullif("),
                    self.value(ty, scope, d),
                    t(", 0))"),
                ],
                6 if ty == Ty::Int4 => vec![
                    t("("),
                    self.value(Ty::Date, scope, d),
                    t("-"),
                    self.value(Ty::Date, scope, d),
                    t(")"),
                ],
                6 if ty == Ty::Numeric && self.one_in(2) => {
                    let field = self.pick(&["epoch", "day", "month", "hour", "second"]);
                    let of = self.pick(&[Ty::Timestamp, Ty::Interval, Ty::Interval]);
                    vec![Node::text(format!("extract({field} from")), self.value(of, scope, d), t(")")]
                }
                6 if ty == Ty::Numeric => vec![
                    t("("),
                    self.value(Ty::Numeric, scope, d),
                    t("+"),
                    self.value(Ty::Int4, scope, d),
                    t(")"),
                ],
                _ if ty == Ty::Int4 => match self.below(3) {
                    0 => vec![t("array_length("), self.value(Ty::Ints, scope, d), t(", 1)")],
                    1 => vec![
                        t("("),
                        self.value(Ty::Ints, scope, d),
                        t(")["),
                        self.value(Ty::Int4, scope, d),
                        t("]"),
                    ],
                    _ => vec![
                        t("position("),
                        self.value(Ty::Text, scope, d),
                        t("in"),
                        self.value(Ty::Text, scope, d),
                        t(")"),
                    ],
                },
                _ => vec![t("(-"), self.value(ty, scope, d), t(")")],
            },
            Ty::Int2 => vec![t("abs("), self.value(ty, scope, d), t(")")],
            Ty::Float8 => {
                let operator = self.pick(&["+", "-"]);
                let ty2 = self.pick(&[Ty::Float8, Ty::Int4]);
                vec![
                    t("("),
                    self.value(ty, scope, d),
                    Node::text(operator),
                    self.value(ty2, scope, d),
                    t("::float8)"),
                ]
            }
            Ty::Text => match self.below(6) {
                0 | 1 => vec![t("("), self.value(ty, scope, d), t("||"), self.value(ty, scope, d), t(")")],
                2 => {
                    let function = self.pick(&["upper(", "lower(", "trim(", "reverse(", "md5("]);
                    vec![Node::text(function), self.value(ty, scope, d), t(")")]
                }
                3 => {
                    let from = self.pick(&[
                        Ty::Int4,
                        Ty::Int2,
                        Ty::Int8,
                        Ty::Bool,
                        Ty::Date,
                        Ty::Ints,
                        Ty::Json,
                        Ty::Timestamp,
                        Ty::Interval,
                        Ty::Time,
                        Ty::Numeric,
                    ]);
                    vec![t("("), self.value(from, scope, d), t(")::text")]
                }
                4 => {
                    let function = self.pick(&["left(", "right(", "repeat("]);
                    vec![Node::text(function), self.value(ty, scope, d), t(", 2)")]
                }
                _ => {
                    let key = self.pick(&["->> 'a'", "->> 0", "#>> '{a,b}'"]);
                    vec![t("("), self.value(Ty::Json, scope, d), Node::text(key), t(")")]
                }
            },
            Ty::Date => vec![t("("), self.value(ty, scope, d), t("+"), self.literal(Ty::Int4), t(")")],
            Ty::Timestamp => match self.below(4) {
                0 => vec![t("("), self.value(ty, scope, d), t("+ interval '1 day 02:00')")],
                1 => {
                    let operator = self.pick(&["+", "-"]);
                    let by = self.value(Ty::Interval, scope, d);
                    vec![t("("), self.value(ty, scope, d), t(operator), by, t(")")]
                }
                2 => vec![
                    t("("),
                    self.value(Ty::Date, scope, d),
                    t("+"),
                    self.value(Ty::Time, scope, d),
                    t(")"),
                ],
                _ => {
                    let field = self.pick(&["month", "day", "hour", "week"]);
                    vec![Node::text(format!("date_trunc('{field}',")), self.value(ty, scope, d), t(")")]
                }
            },
            Ty::Interval => match self.below(4) {
                0 => vec![t("("), self.value(ty, scope, d), t("+"), self.value(ty, scope, d), t(")")],
                1 => vec![
                    t("("),
                    self.value(Ty::Timestamp, scope, d),
                    t("-"),
                    self.value(Ty::Timestamp, scope, d),
                    t(")"),
                ],
                2 => vec![
                    t("age("),
                    self.value(Ty::Timestamp, scope, d),
                    t(","),
                    self.value(Ty::Timestamp, scope, d),
                    t(")"),
                ],
                _ => vec![t("(-"), self.value(ty, scope, d), t(")")],
            },
            Ty::Time => match self.below(2) {
                0 => vec![t("("), self.value(Ty::Timestamp, scope, d), t(")::time")],
                _ => {
                    vec![t("("), self.value(ty, scope, d), t("+"), self.value(Ty::Interval, scope, d), t(")")]
                }
            },
            Ty::Ints => match self.below(3) {
                0 => {
                    let items = (0..1 + self.below(3)).map(|_| self.value(Ty::Int4, scope, d)).collect();
                    vec![t("array["), Node::list(1, items), t("]")]
                }
                1 => vec![t("("), self.value(ty, scope, d), t("||"), self.value(ty, scope, d), t(")")],
                _ if self.one_in(2) => {
                    let (query, _) = self.inner_query(&[Ty::Int4], scope, d, true);
                    let alias = self.name("x");
                    vec![t("array(select * from ("), query, Node::text(format!(") {alias} order by 1)"))]
                }
                _ => vec![
                    t("array_append("),
                    self.value(ty, scope, d),
                    t(","),
                    self.value(Ty::Int4, scope, d),
                    t(")"),
                ],
            },
            Ty::Json => match self.below(3) {
                0 => vec![
                    t("jsonb_build_object('a',"),
                    self.value(Ty::Int4, scope, d),
                    t(", 'b',"),
                    self.value(Ty::Text, scope, d),
                    t(")"),
                ],
                1 => vec![t("("), self.value(ty, scope, d), t("-> 'a')")],
                _ => {
                    let from = self.pick(&[Ty::Int4, Ty::Text, Ty::Bool, Ty::Ints]);
                    vec![t("to_jsonb("), self.value(from, scope, d), t(")")]
                }
            },
        };
        Node::value(ty, parts)
    }

    /// CASE, COALESCE and their like, and scalar subqueries.
    fn form(&mut self, ty: Ty, scope: &[Column], d: usize) -> Node {
        let t = |text: &'static str| Node::text(text);
        if let Some(modified) = modified(ty)
            && self.one_in(10)
        {
            let parts = vec![t("("), self.value(ty, scope, d), Node::text(format!(")::{modified}"))];
            return Node::value(ty, parts);
        }
        let parts = match self.below(9) {
            0 => {
                let mut parts =
                    vec![t("case when"), self.condition(scope, d), t("then"), self.value(ty, scope, d)];
                if self.one_in(2) {
                    parts.push(Node::maybe(vec![
                        t("when"),
                        self.condition(scope, d),
                        t("then"),
                        self.value(ty, scope, d),
                    ]));
                }
                parts.push(Node::maybe(vec![t("else"), self.value(ty, scope, d)]));
                parts.push(t("end"));
                parts
            }
            1 => {
                let by = self.ty_in_sight(scope);
                if by == Ty::Json {
                    return self.leaf(ty, scope);
                }
                vec![
                    t("case"),
                    self.value(by, scope, d),
                    t("when"),
                    self.value(by, scope, d),
                    t("then"),
                    self.value(ty, scope, d),
                    t("else"),
                    self.value(ty, scope, d),
                    t("end"),
                ]
            }
            2 | 3 => {
                let items = (0..2 + self.below(2)).map(|_| self.value(ty, scope, d)).collect();
                vec![t("coalesce("), Node::list(1, items), t(")")]
            }
            4 => vec![t("nullif("), self.value(ty, scope, d), t(","), self.value(ty, scope, d), t(")")],
            5 if ty != Ty::Json => {
                let function = self.pick(&["greatest(", "least("]);
                let items = (0..2 + self.below(2)).map(|_| self.value(ty, scope, d)).collect();
                vec![Node::text(function), Node::list(1, items), t(")")]
            }
            _ => {
                let (query, _) = self.scalar_query(ty, scope, d);
                vec![t("("), query, t(")")]
            }
        };
        Node::value(ty, parts)
    }

    /// An expression of type bool.
    pub(super) fn condition(&mut self, scope: &[Column], depth: usize) -> Node {
        if depth == 0 {
            return self.comparison(scope, 0);
        }
        let d = depth - 1;
        if self.one_in(6) {
            return self.call(Ty::Bool, scope, d);
        }
        let t = |text: &'static str| Node::text(text);
        let parts = match self.below(17) {
            0..=2 => {
                let separator = self.pick(&[" and ", " or "]);
                let items = (0..2 + self.below(2)).map(|_| self.condition(scope, d)).collect();
                vec![t("("), Node::List { separator, least: 1, items }, t(")")]
            }
            3 => vec![t("(not"), self.condition(scope, d), t(")")],
            4 => {
                let ty = self.ty_in_sight(scope);
                let test = self.pick(&["is null)", "is not null)"]);
                vec![t("("), self.value(ty, scope, d), Node::text(test)]
            }
            5 => {
                let test =
                    self.pick(&["is true)", "is not true)", "is false)", "is unknown)", "is not unknown)"]);
                vec![t("("), self.condition(scope, d), Node::text(test)]
            }
            6 | 7 => {
                let ty = self.ty_in_sight(scope);
                let not = self.pick(&["in (", "in (", "not in ("]);
                let inner = if self.one_in(2) {
                    self.inner_query(&[ty], scope, d, true).0
                } else {
                    Node::list(1, (0..1 + self.below(4)).map(|_| self.value(ty, scope, d.min(1))).collect())
                };
                let value = self.value(ty, scope, d);
                if ty == Ty::Text && self.one_in(3) {
                    let string = self.pick(STRINGS);
                    vec![t("(("), value, Node::text(format!(")::{string} {not}")), inner, t("))")]
                } else {
                    vec![t("("), value, Node::text(not), inner, t("))")]
                }
            }
            8 | 9 => {
                let not = self.pick(&["exists (", "exists (", "not exists ("]);
                let types = [self.ty()];
                let (query, _) = self.inner_query(&types, scope, d, true);
                vec![t("("), Node::text(not), query, t("))")]
            }
            10 => {
                let ty = self.ty_in_sight(scope);
                let operator = self.operator(ty);
                let all = self.pick(&["any (", "all (", "some ("]);
                let (query, _) = self.inner_query(&[ty], scope, d, true);
                vec![t("("), self.value(ty, scope, d), Node::text(operator), Node::text(all), query, t("))")]
            }
            11 => {
                let all = self.pick(&["any (", "all ("]);
                let operator = self.operator(Ty::Int4);
                vec![
                    t("("),
                    self.value(Ty::Int4, scope, d),
                    Node::text(operator),
                    Node::text(all),
                    self.value(Ty::Ints, scope, d),
                    t("))"),
                ]
            }
            12 => {
                let ty = self.ty_in_sight(scope);
                let between = self.pick(&["between", "not between", "between symmetric"]);
                vec![
                    t("("),
                    self.value(ty, scope, d),
                    Node::text(between),
                    self.value(ty, scope, d),
                    t("and"),
                    self.value(ty, scope, d),
                    t(")"),
                ]
            }
            13 => {
                let like = self.pick(&[
                    "like 'a%')",
                    "like '%b')",
                    "not like '_')",
                    "ilike 'A%')",
                    "~ '^a')",
                    "= '')",
                ]);
                vec![t("("), self.value(Ty::Text, scope, d), Node::text(like)]
            }
            15 => {
                let types = [self.ty_in_sight(scope), self.ty_in_sight(scope)];
                let test = match self.below(4) {
                    0 => "in (".to_owned(),
                    1 => "not in (".to_owned(),
                    _ => {
                        let operator = self.pick(&["=", "<>", "<", "<=", ">", ">="]);
                        format!("{operator} {}", self.pick(&["any (", "all ("]))
                    }
                };
                let (query, _) = self.inner_query(&types, scope, d, true);
                vec![
                    t("(("),
                    self.value(types[0], scope, d),
                    t(","),
                    self.value(types[1], scope, d),
                    Node::text(format!(") {test}")),
                    query,
                    t("))"),
                ]
            }
            14 => {
                let (one, two) = (self.ty_in_sight(scope), self.ty_in_sight(scope));
                let operator = self.pick(&["=", "<>", "<", ">="]);
                let row = |g: &mut Self| {
                    vec![t("("), g.value(one, scope, d), t(","), g.value(two, scope, d), t(")")]
                };
                let mut parts = vec![t("(")];
                parts.extend(row(self));
                parts.push(Node::text(operator));
                parts.extend(row(self));
                parts.push(t(")"));
                parts
            }
            _ => return self.comparison(scope, d),
        };
        Node::value(Ty::Bool, parts)
    }

    fn operator(&mut self, ty: Ty) -> &'static str {
        if ty == Ty::Bool {
            self.pick(&["=", "<>"])
        } else {
            self.pick(&["=", "=", "<>", "<", "<=", ">", ">="])
        }
    }

    /// A comparison of two expressions of one type.
    pub(super) fn comparison(&mut self, scope: &[Column], depth: usize) -> Node {
        let ty = self.ty_in_sight(scope);
        let mut operator = self.operator(ty);
        if self.one_in(8) {
            operator = self.pick(&["is distinct from", "is not distinct from"]);
        }
        let numbers = [Ty::Int2, Ty::Int4, Ty::Int8, Ty::Numeric];
        let other = if numbers.contains(&ty) && self.one_in(4) { self.pick(&numbers) } else { ty };
        let mut parts = vec![
            Node::text("("),
            self.value(ty, scope, depth),
            Node::text(operator),
            self.value(other, scope, depth),
            Node::text(")"),
        ];
        if ty == Ty::Text && self.one_in(3) {
            let (one, two) = (self.pick(STRINGS), self.pick(STRINGS));
            parts[0] = Node::text("((");
            parts[2] = Node::text(format!(")::{one} {operator} ("));
            parts[4] = Node::text(format!(")::{two})"));
        }
        Node::value(Ty::Bool, parts)
    }
}
