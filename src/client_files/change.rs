//! An entry is put into the text of a client's file, or taken out of it, whatever it is written in. What comes out is read again and held
//! against what it should say.

use serde_json::{Map, Value};

use super::{clients::Client, fault::FileFault, formats::FileFormat, toml_change, yaml_edit};
use crate::config;

const NOT_SAFE: &str = "it is laid out in a way that is not changed by a program";

/// The text with an entry of this name.
pub(super) fn put(
    client: Client,
    format: FileFormat,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let list = client.list_keys(&format.read(text)?);
    let edited = match (format, list.first()) {
        (FileFormat::Json, _) => {
            let keys = below(&list, name);
            let edited = config::json_with(text, &keys, &Value::Object(entry.clone()))?;
            edited.ok_or_else(|| FileFault::new(NOT_SAFE))?
        }
        (FileFormat::Toml, Some(list)) => toml_change::put(text, list, name, entry)?,
        (FileFormat::Yaml, Some(list)) => yaml_edit::put(text, list, name, entry)?,
        (_, None) => return Err(FileFault::new(NOT_SAFE)),
    };
    let now = at(&format.read(&edited)?, &list, name).cloned();
    if now.as_ref().and_then(Value::as_object) == Some(entry) {
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
        (FileFormat::Yaml, Some(list)) => yaml_edit::take_out(text, list, name)?,
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

fn below(list: &[String], name: &str) -> Vec<String> {
    list.iter().cloned().chain([name.to_owned()]).collect()
}

fn at<'a>(root: &'a Value, list: &[String], name: &str) -> Option<&'a Value> {
    let list = list.iter().try_fold(root, |value, key| value.get(key))?;
    list.get(name)
}
