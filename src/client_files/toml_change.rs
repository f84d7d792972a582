//! Changes to a TOML file: an entry is put in or taken out, comments and order stay.

use serde_json::{Map, Value};
use toml_edit::{Array, InlineTable, Item, Table, value};

use super::{fault::FileFault, toml};

/// The text with an entry under a table of the top.
pub(super) fn put(
    text: &str,
    list: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let mut document = toml::document(text)?;
    let is_empty = document.is_empty();
    let servers = document.entry(list).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = servers.is_inline_table();
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| FileFault::new(format!("`{list}` is no table")))?;
    match servers.get_mut(name).and_then(Item::as_table_like_mut) {
        Some(present) => {
            let gone: Vec<String> = present
                .iter()
                .map(|(key, _)| key.to_owned())
                .filter(|key| !entry.contains_key(key))
                .collect();
            for key in gone {
                present.remove(&key);
            }
            for (key, wanted) in entry {
                let is_there = present
                    .get(key)
                    .is_some_and(|item| toml::of_item(item) == *wanted);
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
    let mut document = toml::document(text)?;
    if let Some(servers) = document.get_mut(list).and_then(Item::as_table_like_mut) {
        servers.remove(name);
        let is_left_empty = servers.is_empty();
        let is_implicit = document
            .get(list)
            .and_then(Item::as_table)
            .is_some_and(Table::is_implicit);
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
