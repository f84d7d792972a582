//! An entry is put into the text of a client's file, or taken out of it, whatever it is written in. What comes out is read again and held
//! against what it should say.

use serde_json::{Map, Value};

use super::{clients::Client, fault::FileFault, formats::FileFormat, toml_change, yaml};
use crate::config;

const NOT_SAFE: &str = "it is laid out in a way that is not changed by a program";

/// The file with an entry, as a value; or why its list cannot take one.
fn with_entry(
    mut root: Value,
    format: FileFormat,
    list: &[String],
    name: &str,
    entry: &Map<String, Value>,
) -> Result<Value, FileFault> {
    // An empty text, and in YAML a key with nothing behind it, is an empty map.
    let is_empty =
        |value: &Value, depth: usize| value.is_null() && (depth == 0 || format == FileFormat::Yaml);
    let mut value = &mut root;
    for (depth, key) in list.iter().map(Some).chain([None]).enumerate() {
        if is_empty(value, depth) {
            *value = Value::Object(Map::new());
        }
        let found = match value {
            Value::Object(members) => match key {
                Some(key) => {
                    let empty = || Value::Object(Map::new());
                    value = members.entry(key).or_insert_with(empty);
                    continue;
                }
                None => {
                    members.insert(name.to_owned(), Value::Object(entry.clone()));
                    break;
                }
            },
            Value::Null => "null",
            Value::Array(_) => "a list",
            _ => "a single value",
        };
        let path = list.get(..depth).unwrap_or_default().join(".");
        return Err(FileFault::new(if depth == 0 {
            "it holds no map of keys".to_owned()
        } else {
            format!("`{path}` in it is {found} and no map of servers")
        }));
    }
    Ok(root)
}

/// The text with an entry of this name.
pub(super) fn put(
    client: Client,
    format: FileFormat,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let root = format.read(text)?;
    let list = client.list_keys(&root);
    let expected = with_entry(root, format, &list, name, entry)?;
    let edited = match (format, list.first()) {
        (FileFormat::Json, _) => {
            let edited =
                config::json_with(text, &below(&list, name), &Value::Object(entry.clone()))?;
            edited.ok_or_else(|| FileFault::new(NOT_SAFE))?
        }
        (FileFormat::Toml, Some(list)) => toml_change::put(text, list, name, entry)?,
        (FileFormat::Yaml, Some(list)) => yaml::put(text, list, name, entry)?,
        (_, None) => return Err(FileFault::new(NOT_SAFE)),
    };
    if format.read(&edited)? == expected {
        Ok(edited)
    } else {
        Err(FileFault::new(NOT_SAFE))
    }
}

/// The text without the entry of this name.
pub(super) fn take_out(
    client: Client,
    format: FileFormat,
    text: &str,
    name: &str,
) -> Result<String, FileFault> {
    let list = client.list_keys(&format.read(text)?);
    let edited = match (format, list.first()) {
        (FileFormat::Json, _) => {
            let edited = config::json_without(text, &below(&list, name))?;
            edited.ok_or_else(|| FileFault::new(NOT_SAFE))?
        }
        (FileFormat::Toml, Some(list)) => toml_change::take_out(text, list, name)?,
        (FileFormat::Yaml, Some(list)) => yaml::take_out(text, list, name)?,
        (_, None) => return Err(FileFault::new(NOT_SAFE)),
    };
    match at(&format.read(&edited)?, &list, name) {
        None => Ok(edited),
        Some(_) => Err(FileFault::new(NOT_SAFE)),
    }
}

/// What stands under this name in the file's own list.
pub(super) fn present(
    client: Client,
    format: FileFormat,
    text: &str,
    name: &str,
) -> Result<Option<Value>, FileFault> {
    let root = format.read(text)?;
    let list = client.list_keys(&root);
    Ok(at(&root, &list, name).cloned())
}

/// Whether a text has a list of servers, empty or not.
pub(super) fn has_list(client: Client, format: FileFormat, text: &str) -> bool {
    let Ok(root) = format.read(text) else {
        return false;
    };
    let list = client.list_keys(&root);
    let found = list.iter().try_fold(&root, |value, key| value.get(key));
    found.is_some()
}

/// The text without its list of servers, where that is JSON and an empty map.
pub(super) fn without_empty_list(client: Client, format: FileFormat, text: String) -> String {
    let without = || {
        let root = format.read(&text).ok()?;
        let list = client.list_keys(&root);
        let found = list.iter().try_fold(&root, |value, key| value.get(key))?;
        let is_empty = found.as_object().is_some_and(Map::is_empty);
        config::json_without(&text, &list)
            .ok()?
            .filter(|_| is_empty)
    };
    let without = (format == FileFormat::Json).then(without).flatten();
    without.unwrap_or(text)
}

fn below(list: &[String], name: &str) -> Vec<String> {
    list.iter().cloned().chain([name.to_owned()]).collect()
}

fn at<'a>(root: &'a Value, list: &[String], name: &str) -> Option<&'a Value> {
    let list = list.iter().try_fold(root, |value, key| value.get(key))?;
    list.get(name)
}
