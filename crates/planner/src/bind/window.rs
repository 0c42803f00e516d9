//! Calls of window functions, WINDOW clauses, and frames.

use super::function::over_ordered_set;
use super::names::fold;
use super::tail::sort_key;
use super::{Binder, Typed};
use crate::functions::{self, AggregateFn, ScalarFn};
use crate::plan::expr::Expr;
use crate::plan::window::{Edge, Exclude, Frame, OwnFn, Reach, Units};
use crate::plan::{SortKey, Window, WindowFn};
use scaledb_parse::frames;
use scaledb_types::cast::Context;
use scaledb_types::func::{common_type, resolve_operator};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    Expr as Ast, FunctionArg, NamedWindowDefinition, NamedWindowExpr, OrderByExpr, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

/// What a WINDOW clause or a call says of a window, with what the window that it names says.
#[derive(Clone, Debug)]
pub struct Definition {
    name: String,
    partition: Vec<Ast>,
    order: Vec<OrderByExpr>,
    frame: Option<(WindowFrame, Exclude)>,
    /// Whether a call has bound it.
    bound: bool,
}

/// 42P20.
#[cold]
fn windowing(what: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::WINDOWING_ERROR, what.into())
}

/// 42809.
#[cold]
pub(super) fn without_over(function: OwnFn) -> SqlError {
    let what = format!("window function {} requires an OVER clause", function.name());
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
}

impl Binder<'_> {
    /// A call with OVER.
    pub(super) fn window(
        &mut self,
        name: &str,
        list: &[FunctionArg],
        filter: Option<&Ast>,
        over: &WindowType,
    ) -> Result<Typed> {
        let own = OwnFn::named(name);
        if own.is_none() && !functions::is_aggregate(name) {
            let what =
                format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let scope = self.scope();
        if let Some(why) = scope.without_windows {
            return Err(windowing(why));
        }
        if scope.windows.is_none() || !scope.clause.is_empty() {
            let clause = if scope.clause.is_empty() { "this clause" } else { scope.clause };
            return Err(windowing(format!("window functions are not allowed in {clause}")));
        }
        if scope.grouping.as_ref().is_some_and(|grouping| grouping.inside) {
            let what = "aggregate function calls cannot contain window function calls";
            return Err(SqlError::new(SqlState::GROUPING_ERROR, what));
        }
        let nested = "window function calls cannot be nested";
        let (function, ty) = self.windows_barred(nested, |binder| {
            let args = binder.sets_barred("OVER", |binder| binder.args(list))?;
            match own {
                Some(own) => binder.own_function(own, args),
                None => binder.window_aggregate(name, args, filter),
            }
        })?;
        let definition = match over {
            WindowType::NamedWindow(name) => {
                let at = self.named_window(&fold(name))?;
                let named = &mut self.scope().named_windows[at];
                named.bound = true;
                named.clone()
            }
            WindowType::WindowSpec(spec) => self.definition(String::new(), spec)?,
        };
        let (partition, order, frame) = self.bind_definition(&definition)?;
        // the same call in ORDER BY or DISTINCT ON is the one of the select list
        let mut window = Window { function, partition, order, frame, slot: 0 };
        if let Some(known) = self.scope().windows.iter().flatten().find(|known| known.same(&window)) {
            return Ok(Typed::new(Expr::Slot(known.slot), ty));
        }
        let slot = self.slot();
        self.used[slot] = true;
        window.slot = slot;
        // a record is that of a row of the window
        let (WindowFn::Own(_, args) | WindowFn::Aggregate(_, args, _)) = &window.function;
        if let Some(fields) = args.first().and_then(|arg| self.fields_of(arg)).filter(|_| ty == Type::RECORD)
        {
            self.records.insert(slot, fields);
        }
        self.scope().windows.get_or_insert_default().push(window);
        Ok(Typed::new(Expr::Slot(slot), ty))
    }

    /// Takes in the windows of a WINDOW clause.
    pub(super) fn window_clause(&mut self, clause: &[NamedWindowDefinition]) -> Result<()> {
        for NamedWindowDefinition(name, window) in clause {
            let name = fold(name);
            if self.named_window(&name).is_ok() {
                return Err(windowing(format!("window \"{name}\" is already defined")));
            }
            let NamedWindowExpr::WindowSpec(spec) = window else {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, "a window is defined in parentheses"));
            };
            let definition = self.definition(name, spec)?;
            self.scope().named_windows.push(definition);
        }
        Ok(())
    }

    /// Binds windows that no call has bound, for what is wrong with them.
    pub(super) fn unused_windows(&mut self) -> Result<()> {
        let named = std::mem::take(&mut self.scope().named_windows);
        for definition in named.iter().filter(|definition| !definition.bound) {
            self.bind_definition(definition)?;
        }
        Ok(())
    }

    /// Binds what must not contain calls of window functions, and why.
    fn windows_barred<R>(&mut self, why: &'static str, bind: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope().without_windows.replace(why);
        let bound = bind(self);
        self.scope().without_windows = before;
        bound
    }

    fn named_window(&mut self, name: &str) -> Result<usize> {
        let named = &self.scope().named_windows;
        named.iter().position(|definition| definition.name == name).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("window \"{name}\" does not exist"))
        })
    }

    /// What a window's text says, with what it takes over from the window that it names.
    fn definition(&mut self, name: String, spec: &WindowSpec) -> Result<Definition> {
        let (exclude, partition) = frames::exclusion(spec);
        let exclude = match exclude {
            Some("CURRENT ROW") => Exclude::CurrentRow,
            Some("GROUP") => Exclude::Group,
            Some("TIES") => Exclude::Ties,
            _ => Exclude::Nothing,
        };
        let is_call = name.is_empty();
        let mut definition = Definition {
            name,
            partition: partition.to_vec(),
            order: spec.order_by.clone(),
            frame: spec.window_frame.clone().map(|frame| (frame, exclude)),
            bound: false,
        };
        if let Some((frame, _)) = &definition.frame {
            check_frame(frame)?;
        }
        let Some(base) = &spec.window_name else { return Ok(definition) };
        let at = self.named_window(&fold(base))?;
        let Definition { name, partition, order, frame, .. } = &self.scope().named_windows[at];
        if !definition.partition.is_empty() {
            return Err(windowing(format!("cannot override PARTITION BY clause of window \"{name}\"")));
        }
        if !order.is_empty() && !definition.order.is_empty() {
            return Err(windowing(format!("cannot override ORDER BY clause of window \"{name}\"")));
        }
        if frame.is_some() {
            let error = windowing(format!("cannot copy window \"{name}\" because it has a frame clause"));
            let bare = is_call && definition.order.is_empty() && definition.frame.is_none();
            return Err(if bare { error.hint("Omit the parentheses in this OVER clause.") } else { error });
        }
        definition.partition.clone_from(partition);
        if !order.is_empty() {
            definition.order.clone_from(order);
        }
        Ok(definition)
    }

    fn bind_definition(&mut self, definition: &Definition) -> Result<(Vec<Expr>, Vec<SortKey>, Frame)> {
        let what = "window definitions";
        let why = "window functions are not allowed in window definitions";
        self.windows_barred(why, |binder| {
            binder.sets_barred(what, |binder| {
                let mut partition = Vec::new();
                for ast in &definition.partition {
                    partition.push(binder.expr_decided(ast)?.expr);
                }
                let mut order: Vec<SortKey> = Vec::new();
                let mut types = Vec::new();
                for item in &definition.order {
                    let Typed { expr, ty, .. } = binder.expr_decided(&item.expr)?;
                    if !order.iter().any(|key| key.expr.same(&expr)) {
                        order.push(sort_key(expr, item));
                        types.push(ty);
                    }
                }
                let frame = match &definition.frame {
                    Some((frame, exclude)) => binder.frame(frame, *exclude, &types)?,
                    None => Frame::DEFAULT,
                };
                Ok((partition, order, frame))
            })
        })
    }

    /// A frame in an order of keys of these types.
    fn frame(&mut self, frame: &WindowFrame, exclude: Exclude, order: &[Type]) -> Result<Frame> {
        let end = frame.end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        let distant = |edge: &WindowFrameBound| {
            matches!(edge, WindowFrameBound::Preceding(Some(_)) | WindowFrameBound::Following(Some(_)))
        };
        let key = match frame.units {
            WindowFrameUnits::Rows => None,
            WindowFrameUnits::Groups if order.is_empty() => {
                return Err(windowing("GROUPS mode requires an ORDER BY clause"));
            }
            WindowFrameUnits::Groups => None,
            WindowFrameUnits::Range if distant(&frame.start_bound) || distant(end) => {
                let [key] = order else {
                    let what = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
                    return Err(windowing(what));
                };
                Some(*key)
            }
            WindowFrameUnits::Range => None,
        };
        let units = match frame.units {
            WindowFrameUnits::Rows => Units::Rows,
            WindowFrameUnits::Groups => Units::Groups,
            WindowFrameUnits::Range => Units::Range(key.map(reach).transpose()?),
        };
        let start = self.edge(&frame.start_bound, &units, key)?;
        let end = self.edge(end, &units, key)?;
        Ok(Frame { units, start, end, exclude })
    }

    fn edge(&mut self, edge: &WindowFrameBound, units: &Units, key: Option<Type>) -> Result<Edge> {
        let (offset, follows) = match edge {
            WindowFrameBound::CurrentRow => return Ok(Edge::Current),
            WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => {
                return Ok(Edge::Unbounded);
            }
            WindowFrameBound::Preceding(Some(offset)) => (offset, false),
            WindowFrameBound::Following(Some(offset)) => (offset, true),
        };
        let (word, clause) = match units {
            Units::Rows => ("ROWS", "window ROWS"),
            Units::Range(_) => ("RANGE", "window RANGE"),
            Units::Groups => ("GROUPS", "window GROUPS"),
        };
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let typed = self.offset(offset);
        self.scope().clause = before;
        let typed = typed?;
        let mut own = false;
        let columns: std::collections::HashSet<_> = self.scope().slots().collect();
        typed.expr.slots(&mut |slot| own |= columns.contains(&slot));
        if own {
            let what = format!("argument of {word} must not contain variables");
            return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
        }
        let expr = match key {
            Some(key) => self.distance(typed, key)?,
            None => {
                let ty = typed.ty;
                self.coerce(typed, Type::INT8, Context::Assignment).map_err(|error| match error.code() {
                    SqlState::DATATYPE_MISMATCH | SqlState::CANNOT_COERCE => {
                        let ty = ty.sql_name();
                        let what = format!("argument of {word} must be type bigint, not type {ty}");
                        SqlError::new(SqlState::DATATYPE_MISMATCH, what)
                    }
                    _ => error,
                })?
            }
        };
        Ok(if follows { Edge::Following(expr.expr) } else { Edge::Preceding(expr.expr) })
    }

    /// A text as a distance has no type of its own; the parser takes it for an interval.
    fn offset(&mut self, ast: &Ast) -> Result<Typed> {
        if let Ast::Interval(interval) = ast
            && interval.leading_field.is_none()
            && interval.last_field.is_none()
            && interval.fractional_seconds_precision.is_none()
            && let Ast::Value(value) = &*interval.value
            && let sqlparser::ast::Value::SingleQuotedString(text) = &value.value
        {
            return Ok(Typed::constant(Value::text(text), Type::UNKNOWN));
        }
        self.expr(ast)
    }

    /// A distance between keys of a type.
    fn distance(&mut self, typed: Typed, key: Type) -> Result<Typed> {
        let ty = typed.ty;
        let refused = || {
            let (key, ty) = (key.sql_name(), ty.sql_name());
            let what = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key} and offset type {ty}"
            );
            SqlError::unsupported(what).hint("Cast the offset value to an appropriate type.")
        };
        let to = match key.base {
            Base::Int2 | Base::Int4 | Base::Int8 => Type::INT8,
            Base::Float4 | Base::Float8 => Type::FLOAT8,
            Base::Numeric => Type::NUMERIC,
            _ => Type::INTERVAL,
        };
        let is_open = ty.base == Base::Unknown && !ty.array;
        if !is_open && (ty.array || !fits(ty.base, to.base)) {
            return Err(refused());
        }
        self.coerce(typed, to, Context::Implicit)
    }

    /// A function that is called over windows only.
    fn own_function(&mut self, own: OwnFn, args: Vec<Typed>) -> Result<(WindowFn, Type)> {
        use OwnFn::{
            CumeDist, DenseRank, FirstValue, Lag, LastValue, Lead, NthValue, Ntile, PercentRank, Rank,
            RowNumber,
        };
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let missing = || AggregateFn::missing(own.name(), &types);
        let any = match (own, args.len()) {
            (RowNumber | Rank | DenseRank | PercentRank | CumeDist, 0) => None,
            (Ntile, 1) => None,
            (FirstValue | LastValue, 1) | (NthValue, 2) | (Lag | Lead, 1..=3) => Some(0),
            _ => return Err(missing()),
        };
        // a count is the argument behind the value, or the only one
        let count = any.map_or(0, |value| value + 1);
        let mut exprs = Vec::with_capacity(args.len());
        let mut ty = match (own, any) {
            (PercentRank | CumeDist, _) => Type::FLOAT8,
            (Ntile, _) => Type::INT4,
            (_, None) => Type::INT8,
            (_, Some(value)) => types[value],
        };
        if let Some(other) = types.get(2) {
            // the value and what stands for a missing one
            ty = common_type(&[types[0], *other], own.name()).map_err(|_| missing())?;
        } else if any.is_some() && ty.base == Base::Unknown && !ty.array {
            let what = "could not determine polymorphic type because input has type unknown";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        let ty = ty.of_result();
        for (number, arg) in args.into_iter().enumerate() {
            let is_count = number == count;
            let base = arg.ty.base;
            if is_count && (arg.ty.array || !matches!(base, Base::Int2 | Base::Int4 | Base::Unknown)) {
                return Err(missing());
            }
            let to = if is_count { Type::INT4 } else { ty };
            let same = !is_count && arg.ty.same(to);
            exprs.push(if same { arg.expr } else { self.coerce(arg, to, Context::Implicit)?.expr });
        }
        Ok((WindowFn::Own(own, exprs), ty))
    }

    fn window_aggregate(
        &mut self,
        name: &str,
        args: Vec<Typed>,
        filter: Option<&Ast>,
    ) -> Result<(WindowFn, Type)> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let (function, params) = AggregateFn::resolve(name, &types)?;
        if function.is_ordered_set() {
            return Err(over_ordered_set(name));
        }
        let mut exprs = Vec::with_capacity(args.len());
        for (arg, param) in args.into_iter().zip(params) {
            exprs.push(self.coerce(arg, param, Context::Implicit)?.expr);
        }
        let ty = function.result();
        let filter = filter.map(|filter| self.condition(filter, "FILTER")).transpose()?;
        Ok((WindowFn::Aggregate(function, exprs, filter), ty))
    }
}

/// Whether a distance of a type becomes one of another by itself.
fn fits(from: Base, to: Base) -> bool {
    let integer = matches!(from, Base::Int2 | Base::Int4 | Base::Int8);
    match to {
        Base::Int8 => integer,
        Base::Numeric => integer || from == Base::Numeric,
        Base::Float8 => integer || matches!(from, Base::Numeric | Base::Float4 | Base::Float8),
        _ => matches!(from, Base::Interval | Base::Time),
    }
}

/// How distances are added to keys of a type.
fn reach(key: Type) -> Result<Reach> {
    let operators = |key: Type, by: Type, dates: bool| {
        let operator = |name| Ok(ScalarFn::new(resolve_operator(name, Some(key), by)?));
        Ok::<_, SqlError>(Reach::Operators { plus: operator("+")?, minus: operator("-")?, dates })
    };
    match key.base {
        Base::Int2 | Base::Int4 | Base::Int8 if !key.array => Ok(Reach::Integer),
        Base::Float4 | Base::Float8 if !key.array => Ok(Reach::Float),
        Base::Time if !key.array => Ok(Reach::Time),
        Base::Numeric if !key.array => operators(Type::NUMERIC, Type::NUMERIC, false),
        Base::Date if !key.array => operators(Type::TIMESTAMP, Type::INTERVAL, true),
        Base::Timestamp | Base::Timestamptz | Base::Interval if !key.array => {
            operators(key.plain(), Type::INTERVAL, false)
        }
        _ => {
            let key = key.sql_name();
            let what =
                format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key}");
            Err(SqlError::unsupported(what))
        }
    }
}

/// What no frame may say.
fn check_frame(frame: &WindowFrame) -> Result<()> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let wrong = match (&frame.start_bound, &frame.end_bound) {
        (Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, Some(Preceding(None))) => "frame end cannot be UNBOUNDED PRECEDING",
        (CurrentRow, Some(Preceding(_))) => "frame starting from current row cannot have preceding rows",
        (Following(_), None) => "frame starting from following row cannot end with current row",
        (Following(_), Some(Preceding(_) | CurrentRow)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => return Ok(()),
    };
    Err(windowing(wrong))
}
