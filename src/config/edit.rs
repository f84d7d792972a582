//! Edits of the text of a configuration file. Pure. They keep comments, the order of keys, unknown keys, and whether `mcpServers` is a map
//! or an array.

use jsonc_parser::{ast, common::Ranged};
use serde_json::{Map, Value};

use super::{
    ConfigError, Document, LineColumn, NotUndone,
    document::{self, SERVERS, split_mark, tree},
    masks::UnknownMask,
    splice::{self, NewMember},
    tree::{Place, container, property, remove, remove_member, set, value_at, with_a_value},
};
use crate::{
    failure::Failure,
    text::{ServerName, names::BadServerName},
};

/// One change: a value is set or removed. It may contain secrets, so it has no `Debug`.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// The keys that lead to the value: `["activity", "max_age"]`, `["mcpServers", "github", "env", "TOKEN"]`. A whole entry can be added
    /// if no other has its name, ignoring case, and removed even if it is broken.
    pub path: Vec<String>,
    /// The new value; nothing to remove the old one. An object in place of an object changes only the members that differ.
    pub value: Option<Value>,
}

impl Change {
    /// Adds a server with this entry, or removes one.
    pub fn of_server(name: &str, entry: Option<Map<String, Value>>) -> Self {
        Self {
            path: vec![SERVERS.to_owned(), name.to_owned()],
            value: entry.map(Value::Object),
        }
    }

    /// Sets a key of a server, or removes it.
    pub fn of_key(server: &str, key: &str, value: Option<Value>) -> Self {
        let path = [SERVERS, server, key].map(str::to_owned).to_vec();
        Self { path, value }
    }

    /// The server that it changes, and the keys inside its entry.
    pub fn server(&self) -> Option<(&str, &[String])> {
        match &self.path[..] {
            [servers, name, inside @ ..] if servers == SERVERS => Some((name, inside)),
            _ => None,
        }
    }
}

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text to change cannot be read.
    #[error("nothing was changed: the configuration file has a mistake: {0}")]
    Unreadable(ConfigError),
    /// The name to add is taken.
    #[error("nothing was added: a server {0:?} already exists")]
    ServerExists(String),
    /// The server to change is not there.
    #[error("no server {0:?} is configured")]
    UnknownServer(String),
    /// Several entries have the name of the server to remove.
    #[error("nothing was removed: {n} entries of the configuration are named {name:?}")]
    SeveralEntries {
        /// The name.
        name: String,
        /// How many entries have it.
        n: usize,
    },
    /// The server's entry is no object, so it has no keys.
    #[error("the entry of {0:?} must be an object such as {{\"command\": \"uvx\"}}")]
    NotAnEntry(String),
    /// The path is empty, or `mcpServers` alone.
    #[error("only one value can be changed at a time, and of `mcpServers` only one server")]
    NoKey,
    /// A server cannot have this name.
    #[error(transparent)]
    BadName(#[from] BadServerName),
    /// The value contains `***`, which stands for no stored value.
    #[error(transparent)]
    Masked(#[from] UnknownMask),
    /// The change cannot be undone.
    #[error(transparent)]
    NotUndone(#[from] NotUndone),
    /// The `TextChange` refuses this text.
    #[error("{}", .0.error)]
    Refused(Box<Failure>),
}

impl From<ConfigError> for EditError {
    fn from(error: ConfigError) -> Self {
        Self::Unreadable(error)
    }
}

/// Makes one change. A text without a value, such as an empty one, becomes an object.
pub fn edit(text: &str, change: &Change) -> Result<String, EditError> {
    let document = document::read(text)?;
    let (mark, json) = split_mark(text);
    let root = document.root.as_ref();
    let edited = match (change.server(), &change.value) {
        (Some((name, [])), Some(Value::Object(entry))) => {
            add_server(&document, &ServerName::parse(name)?, entry)?
        }
        (Some((name, [])), Some(_)) => return Err(EditError::NotAnEntry(name.to_owned())),
        (Some((name, [])), None) => remove_server(&document, name)?,
        (Some((name, [key, inside @ ..])), Some(value)) => set_key(json, name, key, inside, value)?,
        (Some((name, [key, inside @ ..])), None) => remove_key(json, name, key, inside)?,
        (None, _) if [vec![], vec![SERVERS.to_owned()]].contains(&change.path) => {
            return Err(EditError::NoKey);
        }
        (None, Some(value)) => set(&with_a_value(json, root), vec![], &change.path, value)?,
        (None, None) => remove(json, vec![], &change.path)?,
    };
    Ok(format!("{mark}{edited}"))
}

/// Makes several changes, one after the other, all or none.
pub fn edit_all(text: &str, changes: &[Change]) -> Result<String, EditError> {
    let edit = |text: String, change| edit(&text, change);
    changes.iter().try_fold(text.to_owned(), edit)
}

/// A server's entry as it is written, references unresolved, without its `name`. It may contain secrets.
pub fn written_entry(text: &str, name: &str) -> Result<Map<String, Value>, EditError> {
    let mut servers = document::read(text)?.servers.into_iter();
    match servers.find(|server| server.name.as_deref() == Some(name)) {
        None => Err(EditError::UnknownServer(name.to_owned())),
        Some(server) => match server.entry {
            Value::Object(entry) => Ok(entry),
            _ => Err(EditError::NotAnEntry(name.to_owned())),
        },
    }
}

/// The line at which a server's entry begins, counted from 1.
pub fn entry_line(text: &str, name: &str) -> Option<usize> {
    let document = document::read(text).ok()?;
    let mut entries = document.servers_in_tree();
    let (_, entry) = entries.find(|(server, _)| server.name.as_deref() == Some(name))?;
    Some(LineColumn::of_byte(document.text, entry.start()).line)
}

/// The names and entries of all servers as they are written, references unresolved. They may contain secrets.
pub fn written_entries(text: &str) -> Result<Vec<(String, Value)>, ConfigError> {
    let servers = document::read(text)?.servers.into_iter();
    let named = servers.filter_map(|server| Some((server.name?, server.entry)));
    Ok(named.collect())
}

/// Counts the entries, of those that are objects, for which `is_such` is true.
pub fn count_entries(
    text: &str,
    is_such: impl Fn(&Map<String, Value>) -> bool,
) -> Result<usize, EditError> {
    let servers = document::read(text)?.servers.into_iter();
    let such = servers.filter(|server| server.entry.as_object().is_some_and(&is_such));
    Ok(such.count())
}

fn add_server(
    document: &Document<'_>,
    name: &ServerName,
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let mut names = document
        .servers
        .iter()
        .filter_map(|server| server.name.as_deref());
    if let Some(taken) = names.find(|taken| taken.eq_ignore_ascii_case(name.as_str())) {
        return Err(EditError::ServerExists(taken.to_owned()));
    }
    let root = document.root.as_ref();
    let servers = root.and_then(|root| value_at(root, &[property(root, SERVERS)?]));
    if let Some(servers @ ast::Value::Array(_)) = servers {
        let mut element = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
        element.extend(entry.clone());
        let member = NewMember {
            key: None,
            value: &Value::Object(element),
        };
        return Ok(splice::append(document.text, &container(servers), &member));
    }
    let keys = [SERVERS.to_owned(), name.as_str().to_owned()];
    let text = with_a_value(document.text, root);
    Ok(set(&text, vec![], &keys, &entry.clone().into())?)
}

fn remove_server(document: &Document<'_>, name: &str) -> Result<String, EditError> {
    let (text, servers) = (document.text, document.servers.iter());
    let n = servers
        .filter(|server| server.name.as_deref() == Some(name))
        .count();
    if n > 1 {
        // The first is in force; without it, the next one would be.
        let name = name.to_owned();
        return Err(EditError::SeveralEntries { name, n });
    }
    let mut place = find_server(text, name)?;
    let index = place.pop().unwrap_or_default();
    Ok(remove_member(text, &place, index)?)
}

/// Sets a key under the spelling that the file has, so that two spellings do not contradict each other.
fn set_key(
    text: &str,
    server: &str,
    key: &str,
    inside: &[String],
    value: &Value,
) -> Result<String, EditError> {
    let place = find_entry(text, server)?;
    let present = present(text, &place, &spellings(key))?;
    let spelling = present.first().copied().unwrap_or(key);
    let mut text = text.to_owned();
    for other in present.iter().skip(1).chain(&inverse(key)) {
        text = remove(&text, place.clone(), &[(*other).to_owned()])?;
    }
    let mut keys = vec![spelling.to_owned()];
    keys.extend_from_slice(inside);
    Ok(set(&text, place, &keys, value)?)
}

/// Removes a key: by its proper name every spelling, by another spelling only that.
fn remove_key(text: &str, server: &str, key: &str, inside: &[String]) -> Result<String, EditError> {
    let place = find_entry(text, server)?;
    let names = if proper_name(key) == key {
        spellings(key)
    } else {
        vec![key]
    };
    let mut edited = text.to_owned();
    for spelling in names {
        let mut keys = vec![spelling.to_owned()];
        keys.extend_from_slice(inside);
        edited = remove(&edited, place.clone(), &keys)?;
    }
    Ok(edited)
}

/// Keys with several spellings, the proper name first.
const ALIASES: &[&[&str]] = &[&["cwd", "working_dir"], &["type", "protocol", "transport"]];

/// The spellings of a key that has several.
fn aliases(key: &str) -> &'static [&'static str] {
    let names = ALIASES.iter().find(|names| names.contains(&key));
    names.copied().unwrap_or_default()
}

/// Every spelling of a key, the given one first.
fn spellings(key: &str) -> Vec<&str> {
    let others = aliases(key).iter().copied();
    let others = others.filter(|other| *other != key);
    std::iter::once(key).chain(others).collect()
}

/// The name that stands for every spelling of a key. `enabled` also stands for `disabled`, whose value is the opposite.
pub(super) fn proper_name(key: &str) -> &str {
    match key {
        "disabled" => "enabled",
        key => aliases(key).first().copied().unwrap_or(key),
    }
}

/// The key with the opposite value.
fn inverse(key: &str) -> Option<&'static str> {
    match key {
        "enabled" => Some("disabled"),
        "disabled" => Some("enabled"),
        _ => None,
    }
}

/// Those of the keys that the entry has.
fn present<'a>(text: &str, entry: &[usize], keys: &[&'a str]) -> Result<Vec<&'a str>, EditError> {
    let root = tree(text)?;
    let entry = root.as_ref().and_then(|root| value_at(root, entry));
    let has = |key: &&&str| entry.is_some_and(|entry| property(entry, key).is_some());
    Ok(keys.iter().filter(has).copied().collect())
}

fn find_entry(text: &str, server: &str) -> Result<Place, EditError> {
    let place = find_server(text, server)?;
    let root = tree(text)?;
    match root.as_ref().and_then(|root| value_at(root, &place)) {
        Some(ast::Value::Object(_)) => Ok(place),
        _ => Err(EditError::NotAnEntry(server.to_owned())),
    }
}

fn find_server(text: &str, server: &str) -> Result<Place, EditError> {
    let unknown = || EditError::UnknownServer(server.to_owned());
    let root = tree(text)?;
    let Some(ast::Value::Object(root)) = &root else {
        return Err(unknown());
    };
    let lists = root.properties.iter().enumerate();
    lists
        .filter(|(_, property)| property.name.as_str() == SERVERS)
        .find_map(|(list, servers)| Some(vec![list, index_of(&servers.value, server)?]))
        .ok_or_else(unknown)
}

/// The index of the server of that name in either shape of `mcpServers`.
fn index_of(servers: &ast::Value<'_>, server: &str) -> Option<usize> {
    match servers {
        ast::Value::Object(map) => {
            let mut properties = map.properties.iter();
            properties.position(|property| property.name.as_str() == server)
        }
        ast::Value::Array(array) => array.elements.iter().position(|element| {
            let entry = document::value_of(element);
            entry.get("name").and_then(Value::as_str) == Some(server)
        }),
        _ => None,
    }
}
