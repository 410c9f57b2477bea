//! Rows made of descriptions in JSON.

use crate::protocol::result_set::{Column, Kind, Value as Cell};
use serde_json::Value;

/// What stands at these places of a description, then `more`; of the columns' kinds.
pub fn row<const N: usize>(
    columns: &[Column],
    description: &Value,
    found_at: &[&str],
    more: [Value; N],
) -> Vec<Cell> {
    let found = found_at
        .iter()
        .map(|at| description.pointer(at).cloned().unwrap_or_default());
    let cells = columns.iter().zip(found.chain(more));
    cells
        .map(|(column, value)| cell(column.kind, value))
        .collect()
}

/// What is not known, and a text or a list with nothing in it, is NULL.
fn cell(kind: Kind, value: Value) -> Cell {
    match (kind, value) {
        (_, Value::Null) => Cell::Null,
        (Kind::Count, value) => value.as_u64().into(),
        (Kind::Real, value) => value.as_f64().into(),
        (Kind::Text, Value::Bool(on)) => if on { "yes" } else { "no" }.into(),
        (Kind::Text, Value::Array(list)) if list.is_empty() => Cell::Null,
        (Kind::Text, Value::Array(list)) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            texts.join(",").into()
        }
        (Kind::Text, value) => {
            let text = value.as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned).into()
        }
    }
}
