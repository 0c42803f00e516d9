//! The functions by which the values of types are read and written, as `pg_type` names them: drivers tell types by
//! them.

use scaledb_types::{Base, Type};

/// Reads text, writes text, reads PostgreSQL's binary format, writes it: each an oid and a name.
pub(super) type TypeFunctions = [(u32, &'static str); 4];

pub(super) const ARRAY: TypeFunctions =
    [(750, "array_in"), (751, "array_out"), (2_400, "array_recv"), (2_401, "array_send")];
const ENUM: TypeFunctions =
    [(3_504, "enum_in"), (3_505, "enum_out"), (3_532, "enum_recv"), (3_533, "enum_send")];
const RANGE: TypeFunctions =
    [(3_834, "range_in"), (3_835, "range_out"), (3_836, "range_recv"), (3_837, "range_send")];
/// Those that read domains; what writes them are the functions of their bases.
pub(super) const DOMAIN: [(u32, &str); 2] = [(2_597, "domain_in"), (2_598, "domain_recv")];

/// Those of a type.
pub(super) fn functions_of(ty: Type) -> TypeFunctions {
    if ty.array { ARRAY } else { of_base(ty.base) }
}

fn of_base(base: Base) -> TypeFunctions {
    match base {
        Base::Bool => [(1_242, "boolin"), (1_243, "boolout"), (2_436, "boolrecv"), (2_437, "boolsend")],
        Base::Int2 => [(38, "int2in"), (39, "int2out"), (2_404, "int2recv"), (2_405, "int2send")],
        Base::Int4 => [(42, "int4in"), (43, "int4out"), (2_406, "int4recv"), (2_407, "int4send")],
        Base::Int8 => [(460, "int8in"), (461, "int8out"), (2_408, "int8recv"), (2_409, "int8send")],
        Base::Float4 => [(200, "float4in"), (201, "float4out"), (2_424, "float4recv"), (2_425, "float4send")],
        Base::Float8 => [(214, "float8in"), (215, "float8out"), (2_426, "float8recv"), (2_427, "float8send")],
        Base::Numeric => {
            [(1_701, "numeric_in"), (1_702, "numeric_out"), (2_460, "numeric_recv"), (2_461, "numeric_send")]
        }
        Base::Text | Base::Refcursor => {
            [(46, "textin"), (47, "textout"), (2_414, "textrecv"), (2_415, "textsend")]
        }
        Base::Varchar => {
            [(1_046, "varcharin"), (1_047, "varcharout"), (2_432, "varcharrecv"), (2_433, "varcharsend")]
        }
        Base::Bpchar => {
            [(1_044, "bpcharin"), (1_045, "bpcharout"), (2_430, "bpcharrecv"), (2_431, "bpcharsend")]
        }
        Base::Name => [(34, "namein"), (35, "nameout"), (2_422, "namerecv"), (2_423, "namesend")],
        Base::Char => [(1_245, "charin"), (33, "charout"), (2_434, "charrecv"), (2_435, "charsend")],
        Base::Bytea => [(1_244, "byteain"), (31, "byteaout"), (2_412, "bytearecv"), (2_413, "byteasend")],
        Base::Date => [(1_084, "date_in"), (1_085, "date_out"), (2_468, "date_recv"), (2_469, "date_send")],
        Base::Time => [(1_143, "time_in"), (1_144, "time_out"), (2_470, "time_recv"), (2_471, "time_send")],
        Base::Timetz => {
            [(1_350, "timetz_in"), (1_351, "timetz_out"), (2_472, "timetz_recv"), (2_473, "timetz_send")]
        }
        Base::Timestamp => [
            (1_312, "timestamp_in"),
            (1_313, "timestamp_out"),
            (2_474, "timestamp_recv"),
            (2_475, "timestamp_send"),
        ],
        Base::Timestamptz => [
            (1_150, "timestamptz_in"),
            (1_151, "timestamptz_out"),
            (2_476, "timestamptz_recv"),
            (2_477, "timestamptz_send"),
        ],
        Base::Interval => [
            (1_160, "interval_in"),
            (1_161, "interval_out"),
            (2_478, "interval_recv"),
            (2_479, "interval_send"),
        ],
        Base::Uuid => [(2_952, "uuid_in"), (2_953, "uuid_out"), (2_961, "uuid_recv"), (2_962, "uuid_send")],
        Base::Inet => [(910, "inet_in"), (911, "inet_out"), (2_496, "inet_recv"), (2_497, "inet_send")],
        Base::Cidr => [(1_267, "cidr_in"), (1_427, "cidr_out"), (2_498, "cidr_recv"), (2_499, "cidr_send")],
        Base::Macaddr => {
            [(436, "macaddr_in"), (437, "macaddr_out"), (2_494, "macaddr_recv"), (2_495, "macaddr_send")]
        }
        Base::Macaddr8 => [
            (4_110, "macaddr8_in"),
            (4_111, "macaddr8_out"),
            (3_446, "macaddr8_recv"),
            (3_447, "macaddr8_send"),
        ],
        Base::Bit => [(1_564, "bit_in"), (1_565, "bit_out"), (2_456, "bit_recv"), (2_457, "bit_send")],
        Base::Varbit => {
            [(1_579, "varbit_in"), (1_580, "varbit_out"), (2_458, "varbit_recv"), (2_459, "varbit_send")]
        }
        Base::Money => [(886, "cash_in"), (887, "cash_out"), (2_492, "cash_recv"), (2_493, "cash_send")],
        Base::Json => [(321, "json_in"), (322, "json_out"), (323, "json_recv"), (324, "json_send")],
        Base::Jsonb => {
            [(3_806, "jsonb_in"), (3_804, "jsonb_out"), (3_805, "jsonb_recv"), (3_803, "jsonb_send")]
        }
        Base::Jsonpath => [
            (4_001, "jsonpath_in"),
            (4_003, "jsonpath_out"),
            (4_002, "jsonpath_recv"),
            (4_004, "jsonpath_send"),
        ],
        Base::Oid => [(1_798, "oidin"), (1_799, "oidout"), (2_418, "oidrecv"), (2_419, "oidsend")],
        Base::Xid => [(50, "xidin"), (51, "xidout"), (2_440, "xidrecv"), (2_441, "xidsend")],
        Base::Regclass => {
            [(2_218, "regclassin"), (2_219, "regclassout"), (2_452, "regclassrecv"), (2_453, "regclasssend")]
        }
        Base::Regtype => {
            [(2_220, "regtypein"), (2_221, "regtypeout"), (2_454, "regtyperecv"), (2_455, "regtypesend")]
        }
        Base::Regproc => {
            [(44, "regprocin"), (45, "regprocout"), (2_444, "regprocrecv"), (2_445, "regprocsend")]
        }
        Base::Regnamespace => [
            (4_084, "regnamespacein"),
            (4_085, "regnamespaceout"),
            (4_087, "regnamespacerecv"),
            (4_088, "regnamespacesend"),
        ],
        Base::Regrole => {
            [(4_098, "regrolein"), (4_092, "regroleout"), (4_094, "regrolerecv"), (4_095, "regrolesend")]
        }
        Base::Regprocedure => [
            (2_212, "regprocedurein"),
            (2_213, "regprocedureout"),
            (2_446, "regprocedurerecv"),
            (2_447, "regproceduresend"),
        ],
        Base::Int2vector => [
            (40, "int2vectorin"),
            (41, "int2vectorout"),
            (2_410, "int2vectorrecv"),
            (2_411, "int2vectorsend"),
        ],
        Base::Oidvector => {
            [(54, "oidvectorin"), (55, "oidvectorout"), (2_420, "oidvectorrecv"), (2_421, "oidvectorsend")]
        }
        Base::Unknown => {
            [(109, "unknownin"), (110, "unknownout"), (2_416, "unknownrecv"), (2_417, "unknownsend")]
        }
        Base::Void => [(2_298, "void_in"), (2_299, "void_out"), (3_120, "void_recv"), (3_121, "void_send")],
        Base::Record => {
            [(2_290, "record_in"), (2_291, "record_out"), (2_402, "record_recv"), (2_403, "record_send")]
        }
        // nothing calls them
        Base::Polymorphic(_) => [(0, "-"), (0, "-"), (0, "-"), (0, "-")],
        Base::Range(_) => RANGE,
        Base::Enum(_) => ENUM,
    }
}

/// Those of all types, each once.
pub(super) fn type_functions() -> impl Iterator<Item = (u32, &'static str)> {
    // a refcursor has those of text
    let own = Base::all().filter(|base| !matches!(base, Base::Range(_) | Base::Refcursor)).flat_map(of_base);
    ARRAY.into_iter().chain(ENUM).chain(RANGE).chain(DOMAIN).chain(own)
}

/// What such a function is called with.
pub(super) fn arguments_of(name: &str) -> String {
    // the other functions of these types get the modifier with the text
    let modified = |base: &Base| {
        use Base::{Bit, Bpchar, Interval, Numeric, Time, Timestamp, Timestamptz, Timetz, Varbit, Varchar};
        matches!(
            base,
            Bpchar | Varchar | Numeric | Time | Timetz | Timestamp | Timestamptz | Interval | Bit | Varbit
        )
    };
    let of = |base: &Base| of_base(*base).iter().position(|(_, known)| *known == name);
    let shared = |functions: TypeFunctions| functions.iter().position(|(_, known)| *known == name);
    if let Some(at) = DOMAIN.iter().position(|(_, known)| *known == name) {
        return ["cstring,oid,integer", "internal,oid,integer"][at].to_owned();
    }
    let (at, value, more) = if let Some(at) = shared(ARRAY) {
        (at, "anyarray".to_owned(), ",oid,integer")
    } else if let Some(at) = shared(RANGE) {
        (at, "anyrange".to_owned(), ",oid,integer")
    } else if let Some(at) = shared(ENUM) {
        (at, "anyenum".to_owned(), ",oid")
    } else if let Some((base, at)) = Base::all().find_map(|base| Some((base, of(&base)?))) {
        let more = match base {
            _ if modified(&base) => ",oid,integer",
            Base::Record => ",oid,integer",
            _ => "",
        };
        (at, Type::of(base).sql_name(), more)
    } else {
        return String::new();
    };
    match at {
        0 => format!("cstring{more}"),
        2 => format!("internal{more}"),
        _ => value,
    }
}
