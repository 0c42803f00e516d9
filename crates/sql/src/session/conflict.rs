//! What a conflict was about: the table or index, and the key, as the client knows them.

use crate::stored::{column_type, stored_of};
use scaledb_base::TableId;
use scaledb_keys::{Direction, KeyReader, Nulls};
use scaledb_planner::plan::{BoundTable, IndexColumn, IndexRef};
use scaledb_row::{Datum, read_key};
use scaledb_types::{Env, Value};

/// The name of a table or index of the engine, and a key of it, if it is the table's.
pub(super) fn describe(table: &BoundTable, id: TableId, key: &[u8], env: &Env) -> Option<(String, String)> {
    let name = &table.desc.name;
    let (place, index) = if table.info.id == id {
        (format!("table \"{name}\""), IndexRef::Primary)
    } else {
        let number = table.info.indexes.iter().position(|index| index.id == id)?;
        let index = &table.desc.indexes[number].name;
        (format!("table \"{name}\", index \"{index}\""), IndexRef::Secondary(number))
    };
    let mut reader = KeyReader::new(key);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    let hidden = table.hidden_columns(index);
    for (number, column) in table.index_columns(index).iter().enumerate() {
        let Some(value) = read(&mut reader, table, column, env) else { break };
        if number < hidden {
            continue;
        }
        names.push(table.key_name(column));
        values.push(value);
    }
    let shown = if names.is_empty() {
        String::new()
    } else {
        format!("{})=({}", names.join(", "), values.join(", "))
    };
    Some((place, shown))
}

/// The text of a column of a key.
fn read(reader: &mut KeyReader<'_>, table: &BoundTable, column: &IndexColumn, env: &Env) -> Option<String> {
    let engine = &table.info.schema.columns()[column.engine];
    let nulls = if column.nulls_first { Nulls::First } else { Nulls::Last };
    if engine.nullable && reader.null_marker(nulls).ok()? {
        return Some("null".to_owned());
    }
    let d = if column.descending { Direction::Descending } else { Direction::Ascending };
    if column.separate {
        reader.bytes(d).ok()?;
        return Some("...".to_owned());
    }
    let load = |datum: Datum<'_>| Value::load(column.ty, &stored_of(datum)).ok();
    let value = read_key(reader, column_type(column.ty), d, load).ok()??;
    value.to_text(column.ty, env).map(|text| text.to_string())
}
