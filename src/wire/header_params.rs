//! Arguments that travel as headers too (revision 2026-07-28, server/tools, "x-mcp-header"): which of a tool's arguments, and
//! under which names.

use std::collections::HashSet;

use super::Raw;

/// The key of the annotation in a property's schema.
const ANNOTATION: &str = "x-mcp-header";

/// What the name of such a header begins with.
pub const PREFIX: &str = "Mcp-Param-";

/// Limit: how deep properties are looked into.
const MAX_DEPTH: usize = 32;

/// An argument that travels as a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header's name after [`PREFIX`].
    pub name: Box<str>,
    /// The path to the value: keys from the arguments down.
    pub path: Box<[Box<str>]>,
}

/// The annotated properties of an input schema. The error says what is wrong with one; the tool is then not to be offered over
/// HTTP.
pub fn read(schema: &Raw) -> Result<Box<[HeaderParam]>, String> {
    if memchr::memmem::find(schema.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Box::default());
    }
    let mut found = Vec::new();
    properties(schema, &mut Vec::new(), &mut found)?;
    let reachable = found.len();
    let mut names = HashSet::new();
    for param in &found {
        if !names.insert(param.name.to_ascii_lowercase()) {
            return Err(format!("the header name {:?} appears twice", param.name));
        }
    }
    let anywhere = annotations(schema, 0);
    if anywhere == reachable {
        Ok(found.into())
    } else {
        Err("an x-mcp-header is not on a property, but in an array, for example".to_owned())
    }
}

fn properties(
    schema: &Raw,
    path: &mut Vec<Box<str>>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties") else {
        return Ok(());
    };
    if path.len() >= MAX_DEPTH {
        return Ok(());
    }
    for member in properties.members() {
        let Some(key) = properties.part(member.key.clone()).string() else {
            continue;
        };
        let property = properties.part(member.value);
        path.push(key.into());
        if let Some(name) = property.get(ANNOTATION) {
            found.push(annotated(&property, &name, path)?);
        }
        self::properties(&property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn annotated(property: &Raw, name: &Raw, path: &[Box<str>]) -> Result<HeaderParam, String> {
    let at = path.join(".");
    let name = name
        .string()
        .filter(|name| !name.is_empty() && name.bytes().all(is_token))
        .ok_or_else(|| format!("the x-mcp-header of {at:?} is not the name of a header"))?;
    let kind = property.get("type").and_then(|kind| kind.string());
    if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "{at:?} has an x-mcp-header and is neither string, integer nor boolean"
        ));
    }
    Ok(HeaderParam {
        name: name.into(),
        path: path.into(),
    })
}

/// How many annotations there are anywhere. A property may have the same name as the annotation: an annotation is a member of a
/// schema whose value is no schema.
fn annotations(value: &Raw, depth: usize) -> usize {
    if depth >= 2 * MAX_DEPTH {
        return 0;
    }
    let of_members: usize = value
        .members()
        .map(|member| {
            let is_annotation = value
                .part(member.key.clone())
                .string()
                .is_some_and(|key| key == ANNOTATION);
            let inner = value.part(member.value);
            usize::from(is_annotation && !inner.is_object()) + annotations(&inner, depth + 1)
        })
        .sum();
    let of_elements: usize = value.elements().map(|e| annotations(&e, depth + 1)).sum();
    of_members + of_elements
}

/// A character of a header's name (RFC 9110, "token").
fn is_token(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)
}

impl HeaderParam {
    /// The text that stands in the header for these arguments; `None` where the argument is absent, `null`, or nothing that a header
    /// can carry.
    pub fn value(&self, arguments: Option<&Raw>) -> Option<String> {
        let mut at = arguments?.clone();
        for key in &self.path {
            at = at.get(key)?;
        }
        match at.as_bytes().first() {
            Some(b'"') => at.string(),
            Some(b'n' | b'{' | b'[') | None => None,
            Some(_) => Some(at.as_str().to_owned()),
        }
    }
}

/// The argument on the way to one of these that appears twice, so that a header and the server may go by different ones.
pub fn doubled<'a>(params: &'a [HeaderParam], arguments: Option<&Raw>) -> Option<&'a str> {
    params.iter().find_map(|param| {
        let mut at = arguments?.clone();
        for key in &param.path {
            let [found] = at.look_up([&**key]);
            if found.times > 1 {
                return Some(&**key);
            }
            at = found.value?;
        }
        None
    })
}

/// Whether a header says what an argument says: the same text, or the same whole number (transports, "Server Validation").
pub fn agree(header: &str, argument: &str) -> bool {
    header == argument
        || whole_number(header).is_some_and(|number| whole_number(argument) == Some(number))
}

/// The digits of a whole number and their sign, however many zeros follow its point.
fn whole_number(text: &str) -> Option<&str> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_whole = !unsigned.is_empty()
        && unsigned.bytes().all(|c| c.is_ascii_digit())
        && !fraction.is_empty()
        && fraction.bytes().all(|c| c == b'0');
    is_whole.then_some(digits)
}

#[cfg(test)]
mod tests;
