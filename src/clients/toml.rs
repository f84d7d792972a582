//! TOML as JSON values, and an entry put into it or taken out of it, its comments and order kept.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::fault::{FileFault, line_of};

/// The text as a value.
pub(super) fn read(text: &str) -> Result<Value, FileFault> {
    Ok(Value::Object(of_table(document(text)?.as_table())))
}

/// The text as a document that keeps its comments.
fn document(text: &str) -> Result<DocumentMut, FileFault> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let problem = format!("not valid TOML: {}", error.message());
        FileFault::at(line_of(text, at), problem)
    })
}

fn of_table(table: &dyn TableLike) -> Map<String, Value> {
    let members = table.iter();
    members
        .map(|(key, item)| (key.to_owned(), of_item(item)))
        .collect()
}

fn of_item(item: &Item) -> Value {
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

/// The text with an entry under a table of the top.
pub(super) fn put(
    text: &str,
    list: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let mut document = document(text)?;
    let is_empty = document.is_empty();
    let servers = document.entry(list).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = servers.is_inline_table();
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| FileFault::new(format!("`{list}` is not a table")))?;
    match servers.get_mut(name).and_then(Item::as_table_like_mut) {
        Some(present) => {
            let keys = present.iter().map(|(key, _)| key.to_owned());
            let gone: Vec<String> = keys.filter(|key| !entry.contains_key(key)).collect();
            for key in gone {
                present.remove(&key);
            }
            for (key, wanted) in entry {
                let is_there = present
                    .get(key)
                    .is_some_and(|item| of_item(item) == *wanted);
                if !is_there {
                    present.insert(key, Item::Value(of_json(wanted)?));
                }
            }
        }
        None if is_inline => {
            servers.insert(name, Item::Value(of_json(&Value::Object(entry.clone()))?));
        }
        None => {
            let mut table = Table::new();
            for (key, wanted) in entry {
                table.insert(key, Item::Value(of_json(wanted)?));
            }
            if !is_empty {
                table.decor_mut().set_prefix("\n");
            }
            servers.insert(name, Item::Table(table));
        }
    }
    Ok(document.to_string())
}

/// The text without an entry.
pub(super) fn take_out(text: &str, list: &str, name: &str) -> Result<String, FileFault> {
    let mut document = document(text)?;
    if let Some(servers) = document.get_mut(list).and_then(Item::as_table_like_mut) {
        servers.remove(name);
        let is_left_empty = servers.is_empty();
        let table = document.get(list).and_then(Item::as_table);
        let is_implicit = table.is_some_and(Table::is_implicit);
        if is_left_empty && is_implicit {
            document.remove(list);
        }
    }
    Ok(document.to_string())
}

fn of_json(json: &Value) -> Result<toml_edit::Value, FileFault> {
    let item = match json {
        Value::String(text) => value(text.as_str()),
        Value::Bool(is) => value(*is),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => value(number),
            (None, Some(number)) => value(number),
            (None, None) => return Err(FileFault::new("a number is out of range")),
        },
        Value::Array(values) => {
            let values: Result<Array, FileFault> = values.iter().map(of_json).collect();
            value(values?)
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (key, member) in members {
                table.insert(key, of_json(member)?);
            }
            value(table)
        }
        Value::Null => return Err(FileFault::new("TOML has no null")),
    };
    item.into_value()
        .map_err(|_| FileFault::new("a value cannot be written as TOML"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{put, take_out};

    fn entry(url: &str) -> Map<String, Value> {
        let entry = json!({ "url": url });
        entry.as_object().expect("an entry").clone()
    }

    #[test]
    fn an_entry_is_put_in_and_taken_out_and_comments_stay() {
        for (before, expected) in [
            ("", "[mcp_servers.us]\nurl = \"u\"\n"),
            (
                "# c\na = 1 # one\n\n[tui]\nb = 2\n",
                "# c\na = 1 # one\n\n[tui]\nb = 2\n\n[mcp_servers.us]\nurl = \"u\"\n",
            ),
            (
                "[mcp_servers.one]\ncommand = 'x' # c\n\n[mcp_servers.one.env]\nA = 'b'\n\n[tui]\nb = 2\n",
                "[mcp_servers.one]\ncommand = 'x' # c\n\n[mcp_servers.one.env]\nA = 'b'\n\n[mcp_servers.us]\nurl = \"u\"\n\n[tui]\nb = 2\n",
            ),
            (
                "mcp_servers = { one = { command = 'x' } }\n",
                "mcp_servers = { one = { command = 'x' } , us = { url = \"u\" } }\n",
            ),
        ] {
            let with = put(before, "mcp_servers", "us", &entry("u")).expect("it can be put in");
            assert_eq!(with, expected);
            let again = put(&with, "mcp_servers", "us", &entry("u")).expect("it can be put in");
            assert_eq!(again, with);
            let changed = put(&with, "mcp_servers", "us", &entry("v")).expect("it can be put in");
            assert_eq!(changed, with.replace("\"u\"", "\"v\""));
            let without = take_out(&with, "mcp_servers", "us").expect("it can be taken out");
            assert_eq!(without.replace(' ', ""), before.replace(' ', ""));
        }
        assert!(put("mcp_servers = 1\n", "mcp_servers", "us", &entry("u")).is_err());
        assert!(put("[a\n", "mcp_servers", "us", &entry("u")).is_err());
    }
}
