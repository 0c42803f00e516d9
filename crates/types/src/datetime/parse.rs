use crate::{Env, Result, SqlError, Type, Value};
pub(crate) fn parse_date(_: &str, _: &Env) -> Result<Value> {
    Err(SqlError::unsupported("date input"))
}
pub(crate) fn parse_time(_: &str, _: Type, _: &Env) -> Result<Value> {
    Err(SqlError::unsupported("time input"))
}
pub(crate) fn parse_timestamp(_: &str, _: Type, _: &Env) -> Result<Value> {
    Err(SqlError::unsupported("timestamp input"))
}
pub(crate) fn parse_timestamptz(_: &str, _: Type, _: &Env) -> Result<Value> {
    Err(SqlError::unsupported("timestamptz input"))
}
