//! Sets and removes values in the text of a JSON document, by the keys that lead to them. It does not know what the values mean.
//!
//! Each step parses the text again, so that its places are right after the splice of the step before.

use std::borrow::Cow;

use jsonc_parser::{ast, common::Ranged};
use serde_json::{Map, Value};

use super::{
    ConfigError,
    document::{self, tree},
    splice::{self, Container, NewMember},
};

/// The position of a value: the index of the property or element at each level.
pub(super) type Place = Vec<usize>;

/// The text; if it has no value, with an object after its comments.
pub(super) fn with_a_value<'a>(text: &'a str, root: Option<&ast::Value<'_>>) -> Cow<'a, str> {
    if root.is_some() {
        return text.into();
    }
    let newline = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{newline}{{}}\n").into()
}

/// Sets the value under these keys in the object at `place`. Missing objects on the way are created.
pub(super) fn set(
    text: &str,
    mut place: Place,
    mut keys: &[String],
    value: &Value,
) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let mut at = root.as_ref().and_then(|root| value_at(root, &place));
    while let Some((key, inside)) = keys.split_first() {
        let Some(object) = at else {
            return Ok(text.to_owned());
        };
        let Some(index) = property(object, key) else {
            let value = nested(inside, value.clone());
            let member = NewMember {
                key: Some(key),
                value: &value,
            };
            return Ok(splice::append(text, &container(object), &member));
        };
        place.push(index);
        keys = inside;
        at = value_at(object, &[index]);
        if !matches!(at, Some(ast::Value::Object(_))) {
            return assign(text, &place, &nested(inside, value.clone()));
        }
    }
    assign(text, &place, value)
}

/// Makes the value at a place equal to the given one. Members of objects that are equal already stay as they are written.
fn assign(text: &str, place: &[usize], value: &Value) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let Some(current) = root.as_ref().and_then(|root| value_at(root, place)) else {
        return Ok(text.to_owned());
    };
    let now = document::value_of(current);
    let (Value::Object(now), Value::Object(wanted)) = (&now, value) else {
        if now == *value {
            return Ok(text.to_owned());
        }
        return Ok(splice::replace(text, &range(current), value));
    };
    let mut edited = text.to_owned();
    for key in now.keys().filter(|key| !wanted.contains_key(*key)) {
        edited = remove(&edited, place.to_vec(), std::slice::from_ref(key))?;
    }
    for (key, value) in wanted {
        edited = set(&edited, place.to_vec(), std::slice::from_ref(key), value)?;
    }
    Ok(edited)
}

/// Removes the value under these keys in the object at `place`, if there is one; of a repeated key all values.
pub(super) fn remove(text: &str, place: Place, keys: &[String]) -> Result<String, ConfigError> {
    let Some((key, inside)) = keys.split_first() else {
        return Ok(text.to_owned());
    };
    let root = tree(text)?;
    let object = root.as_ref().and_then(|root| value_at(root, &place));
    let Some(index) = object.and_then(|object| property(object, key)) else {
        return Ok(text.to_owned());
    };
    if inside.is_empty() {
        let text = remove_member(text, &place, index)?;
        return remove(&text, place, keys);
    }
    let mut child = place;
    child.push(index);
    remove(text, child, inside)
}

pub(super) fn remove_member(
    text: &str,
    place: &[usize],
    index: usize,
) -> Result<String, ConfigError> {
    let root = tree(text)?;
    let owner = root.as_ref().and_then(|root| value_at(root, place));
    Ok(match owner {
        Some(owner) => splice::remove(text, &container(owner), index),
        None => text.to_owned(),
    })
}

/// The value at a place.
pub(super) fn value_at<'a>(
    root: &'a ast::Value<'a>,
    place: &[usize],
) -> Option<&'a ast::Value<'a>> {
    place.iter().try_fold(root, |value, index| match value {
        ast::Value::Object(object) => Some(&object.properties.get(*index)?.value),
        ast::Value::Array(array) => array.elements.get(*index),
        _ => None,
    })
}

/// The index of a property; of repeated keys that of the last one, which counts.
pub(super) fn property(value: &ast::Value<'_>, key: &str) -> Option<usize> {
    let ast::Value::Object(object) = value else {
        return None;
    };
    let mut properties = object.properties.iter();
    properties.rposition(|property| property.name.as_str() == key)
}

/// The value under these keys, as it is written.
pub(super) fn written<'a>(text: &'a str, keys: &[String]) -> Option<&'a str> {
    let root = tree(text).ok()??;
    let mut keys = keys.iter();
    let at = keys.try_fold(&root, |at, key| value_at(at, &[property(at, key)?]))?;
    text.get(range(at))
}

pub(super) fn container(value: &ast::Value<'_>) -> Container {
    let members = match value {
        ast::Value::Object(object) => object.properties.iter().map(range).collect(),
        ast::Value::Array(array) => array.elements.iter().map(range).collect(),
        _ => Vec::new(),
    };
    Container {
        range: range(value),
        members,
    }
}

fn range(node: &impl Ranged) -> std::ops::Range<usize> {
    node.start()..node.end()
}

/// The value inside as many objects as there are keys.
fn nested(keys: &[String], value: Value) -> Value {
    keys.iter().rev().fold(value, |inner, key| {
        Value::Object(Map::from_iter([(key.clone(), inner)]))
    })
}
