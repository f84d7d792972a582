//! TOML as JSON values.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, Item, TableLike};

use super::fault::FileFault;

/// The text as a value.
pub(super) fn read(text: &str) -> Result<Value, FileFault> {
    Ok(Value::Object(of_table(document(text)?.as_table())))
}

/// The text as a document that keeps its comments.
pub(super) fn document(text: &str) -> Result<DocumentMut, FileFault> {
    text.parse::<DocumentMut>().map_err(|error| {
        let problem = error.message().replace('\n', ", ");
        let at = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().get(..at).unwrap_or_default();
        FileFault::at(1 + memchr::memchr_iter(b'\n', before).count(), problem)
    })
}

fn of_table(table: &dyn TableLike) -> Map<String, Value> {
    let members = table.iter();
    members
        .map(|(key, item)| (key.to_owned(), of_item(item)))
        .collect()
}

pub(super) fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => Value::Object(of_table(table)),
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|table| Value::Object(of_table(table)))
            .collect(),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(is) => Value::from(*is.value()),
        toml_edit::Value::Datetime(moment) => Value::from(moment.value().to_string()),
        toml_edit::Value::Array(array) => of_array(array),
        toml_edit::Value::InlineTable(table) => Value::Object(of_table(table)),
    }
}

fn of_array(array: &Array) -> Value {
    array.iter().map(of_value).collect()
}
