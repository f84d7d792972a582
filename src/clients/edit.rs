//! An entry is put into the text of a client's file, or taken out of it, whatever it is written in. What comes out is read again and held
//! against what it should say.

use serde_json::{Map, Value, json};

use super::{
    client::Client, fault::FileFault, formats::FileFormat, servers::ClientServer, toml, yaml,
};
use crate::config;

const NOT_SAFE: &str = "its layout is too unusual to edit safely";

/// The file with an entry, as a value; or why its list cannot take one.
fn with_entry(
    mut root: Value,
    format: FileFormat,
    list: &[String],
    name: &str,
    entry: &Map<String, Value>,
) -> Result<Value, FileFault> {
    if root.is_null() {
        root = json!({});
    }
    let mut value = &mut root;
    for (depth, key) in list.iter().enumerate() {
        value = map_in(value, list.get(..depth).unwrap_or_default())?
            .entry(key)
            .or_insert_with(|| json!({}));
        // In YAML a key with nothing behind it has an empty map.
        if value.is_null() && format == FileFormat::Yaml {
            *value = json!({});
        }
    }
    map_in(value, list)?.insert(name.to_owned(), json!(entry));
    Ok(root)
}

/// The members of what stands under these keys; or what it is instead of a map.
fn map_in<'a>(
    value: &'a mut Value,
    keys: &[String],
) -> Result<&'a mut Map<String, Value>, FileFault> {
    let (path, found) = (
        keys.join("."),
        match value {
            Value::Object(members) => return Ok(members),
            Value::Null => "null",
            Value::Array(_) => "a list",
            _ => "a single value",
        },
    );
    Err(FileFault::new(if path.is_empty() {
        "its top level is not an object".to_owned()
    } else {
        format!("its `{path}` is {found}, not a map of servers")
    }))
}

/// The text with an entry of this name.
pub(super) fn put(
    client: Client,
    format: FileFormat,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let list = list_of(client, &format.read(text)?);
    put_in(format, text, &list, name, entry)
}

/// The text with this server, as another text of its file has it.
pub(super) fn put_back(
    format: FileFormat,
    text: &str,
    server: &ClientServer,
    other: &str,
) -> Result<String, FileFault> {
    let entry = server.entry.as_object().cloned().unwrap_or_default();
    let (list, name) = (&server.list, &server.name);
    let expected = with_entry(format.read(text)?, format, list, name, &entry)?;
    let is_it = |edited: &String| format.read(edited).is_ok_and(|read| read == expected);
    let edited = config::json_with_written(text, &below(list, name), other).filter(is_it);
    edited.map_or_else(|| put_in(format, text, list, name, &entry), Ok)
}

/// The text with an entry of this name in the list to which these keys lead.
fn put_in(
    format: FileFormat,
    text: &str,
    list: &[String],
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let root = format.read(text)?;
    let expected = with_entry(root, format, list, name, entry)?;
    let edited = match (format, list.first()) {
        (FileFormat::Json, _) => {
            let edited =
                config::json_with(text, &below(list, name), &Value::Object(entry.clone()))?;
            edited.ok_or_else(|| FileFault::new(NOT_SAFE))?
        }
        (FileFormat::Toml, Some(list)) => toml::put(text, list, name, entry)?,
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
    let list = list_of(client, &format.read(text)?);
    without(format, text, &list, name)
}

/// The text without the entry of this name in the list to which these keys lead.
pub(super) fn without(
    format: FileFormat,
    text: &str,
    list: &[String],
    name: &str,
) -> Result<String, FileFault> {
    if at(&format.read(text)?, list, name).is_none() {
        return Err(FileFault::new(NOT_SAFE));
    }
    let edited = match (format, list.first()) {
        (FileFormat::Json, _) => {
            let edited = config::json_without(text, &below(list, name))?;
            edited.ok_or_else(|| FileFault::new(NOT_SAFE))?
        }
        (FileFormat::Toml, Some(list)) => toml::take_out(text, list, name)?,
        (FileFormat::Yaml, Some(list)) => yaml::take_out(text, list, name)?,
        (_, None) => return Err(FileFault::new(NOT_SAFE)),
    };
    match at(&format.read(&edited)?, list, name) {
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
    let list = list_of(client, &root);
    Ok(at(&root, &list, name).cloned())
}

/// Whether a text has a list of servers, empty or not.
pub(super) fn has_list(client: Client, format: FileFormat, text: &str) -> bool {
    let Ok(root) = format.read(text) else {
        return false;
    };
    let list = list_of(client, &root);
    let found = list.iter().try_fold(&root, |value, key| value.get(key));
    found.is_some()
}

/// The text without its list of servers, where that is JSON and an empty map.
pub(super) fn without_empty_list(client: Client, format: FileFormat, text: String) -> String {
    let without = || {
        let root = format.read(&text).ok()?;
        let list = list_of(client, &root);
        let found = list.iter().try_fold(&root, |value, key| value.get(key))?;
        let is_empty = found.as_object().is_some_and(Map::is_empty);
        config::json_without(&text, &list)
            .ok()?
            .filter(|_| is_empty)
    };
    let without = (format == FileFormat::Json).then(without).flatten();
    without.unwrap_or(text)
}

/// The keys that lead to the list of a file in which our entry stands.
fn list_of(client: Client, root: &Value) -> Vec<String> {
    let keys = client.own_list(root).iter();
    keys.map(|key| (*key).to_owned()).collect()
}

pub(super) fn below(list: &[String], name: &str) -> Vec<String> {
    list.iter().cloned().chain([name.to_owned()]).collect()
}

fn at<'a>(root: &'a Value, list: &[String], name: &str) -> Option<&'a Value> {
    let list = list.iter().try_fold(root, |value, key| value.get(key))?;
    list.get(name)
}
