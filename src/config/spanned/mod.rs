//! A serde deserializer over the syntax tree of a text. It adds the key and the place to each error of a type, and resolves the references
//! in strings.
//!
//! Reserved names of types, which begin with `$`, ask it for what serde does not have:
//!
//! * a struct `$text` is a string: resolved, as it is shown, and as it is written; a `$word` around it may also be a number or a boolean;
//! * an enum `$kind` has a variant for each accepted kind of JSON. `untagged` would do the same with a buffer that loses the places;
//! * a unit struct `$apart` is a key that another reader reads, and `$foreign` one that only other programs read.

mod deserializer;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
};

use jsonc_parser::{ast, common::Ranged};
use serde::de::{DeserializeOwned, Error as _};

use super::{
    care::Care,
    document::tree,
    finding::{Checked, ConfigFinding, FindingKind},
    references::{self, Text, ValueLookup},
};

/// Limit: mistakes that are collected in one text.
const MOST_FAULTS: usize = 100;

/// The result of reading a value.
pub(super) struct ReadValue<T> {
    /// The value, or all mistakes in it.
    pub(super) read: Result<T, Vec<ConfigFinding>>,
    /// Unknown keys that were ignored.
    pub(super) ignored: Vec<ConfigFinding>,
}

/// Reads a value. Without a lookup, strings are taken as they are written. serde stops at the first mistake; to find all, the member with
/// the mistake is left out and the type is read again, until there is none.
pub(super) fn read<T: DeserializeOwned>(
    value: &ast::Value<'_>,
    lookup: Option<ValueLookup<'_>>,
) -> ReadValue<T> {
    let reading = Reading::new(lookup);
    let mut faults = Vec::new();
    let mut read = None;
    while read.is_none() {
        match T::deserialize(Node::root(value, &reading)) {
            Ok(found) => read = Some(found),
            Err(fault) => {
                let is_blank = fault.kind == FindingKind::Blank;
                let mut left_out = reading.left_out.borrow_mut();
                let goes_on = fault
                    .at
                    .is_some_and(|at| left_out.insert(at, !is_blank).is_none());
                if !is_blank && fault.kind != FindingKind::Follows {
                    faults.push(fault);
                }
                if !goes_on || faults.len() >= MOST_FAULTS {
                    break;
                }
            }
        }
    }
    let mut ignored = reading.ignored.into_inner();
    ignored.sort_by_key(|finding| finding.at);
    ignored.dedup();
    faults.sort_by_key(|finding| finding.at);
    ReadValue {
        read: match read {
            Some(read) if faults.is_empty() => Ok(read),
            _ => Err(faults),
        },
        ignored,
    }
}

/// The keys of a type.
pub(super) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let reading = Reading::new(None);
    if let Ok(Some(empty)) = tree("{}") {
        drop(T::deserialize(Node::root(&empty, &reading)));
    }
    reading.keys.get()
}

/// The state of reading a value.
struct Reading<'l> {
    lookup: Option<ValueLookup<'l>>,
    /// The bytes at which left-out members begin, and whether each has a mistake; the others are blank.
    left_out: RefCell<HashMap<usize, bool>>,
    ignored: RefCell<Vec<ConfigFinding>>,
    /// The keys of the outermost object's type.
    keys: Cell<&'static [&'static str]>,
}

impl<'l> Reading<'l> {
    fn new(lookup: Option<ValueLookup<'l>>) -> Self {
        Self {
            lookup,
            left_out: RefCell::default(),
            ignored: RefCell::default(),
            keys: Cell::new(&[]),
        }
    }
}

/// The path of a value.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    /// An element of an array, or a member of an object whose key may be a secret.
    Index(&'p Path<'p>, usize),
    /// Such a member, by the caller whose token its key is.
    Owned(&'p Path<'p>, &'p str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => write!(f, "{}", key.escape_debug()),
            Self::Key(before, key) => write!(f, "{before}.{}", key.escape_debug()),
            Self::Index(before, index) => write!(f, "{before}[{index}]"),
            Self::Owned(before, owner) => write!(f, "{before}[{}]", owner.escape_debug()),
        }
    }
}

/// A value of the tree with its path.
#[derive(Clone, Copy)]
struct Node<'n> {
    value: &'n ast::Value<'n>,
    path: Path<'n>,
    reading: &'n Reading<'n>,
    /// The byte at which its key begins, or the value itself if it has none.
    start: usize,
    care: Care,
    /// The keys of the struct of which it is a member.
    known_keys: Option<&'static [&'static str]>,
    /// Set if the node is the key of a member. A type that reads keys as `$text` sets the cell to true: such keys may be tokens.
    is_secret_key: Option<&'n Cell<bool>>,
}

fn kind(value: &ast::Value<'_>) -> &'static str {
    match value {
        ast::Value::StringLit(_) => "string",
        ast::Value::NumberLit(_) => "number",
        ast::Value::BooleanLit(_) => "boolean",
        ast::Value::Object(_) => "object",
        ast::Value::Array(_) => "array",
        ast::Value::NullKeyword(_) => "null",
    }
}

fn wrong<T>(problem: &str) -> Checked<T> {
    Err(ConfigFinding::custom(problem))
}

impl<'n> Node<'n> {
    fn root(value: &'n ast::Value<'n>, reading: &'n Reading<'n>) -> Self {
        Self {
            value,
            path: Path::Root,
            reading,
            start: value.start(),
            care: Care::Lenient,
            known_keys: None,
            is_secret_key: None,
        }
    }

    /// Adds the path and place of this value to a mistake, unless a value inside it has added its own.
    fn placed(self, fault: ConfigFinding) -> ConfigFinding {
        if fault.at.is_some() {
            return fault;
        }
        let kind = if self.is_consequence(&fault.kind) {
            FindingKind::Follows
        } else {
            fault.kind
        };
        ConfigFinding {
            place: None,
            key: self.path.to_string(),
            kind,
            at: Some(self.start),
        }
    }

    /// Whether the mistake is only a consequence of a left-out member or element.
    fn is_consequence(self, fault: &FindingKind) -> bool {
        let left_out = self.reading.left_out.borrow();
        let is_faulty = |at: usize| left_out.get(&at) == Some(&true);
        match (fault, self.value) {
            (FindingKind::Missing(key), ast::Value::Object(object)) => {
                let mut members = object.properties.iter();
                members.any(|member| member.name.as_str() == *key && is_faulty(member.start()))
            }
            (FindingKind::Value(_), value) => {
                let inside = value.start()..value.end();
                let mut faulty = left_out.iter().filter(|(_, is_faulty)| **is_faulty);
                faulty.any(|(at, _)| inside.contains(at))
            }
            _ => false,
        }
    }

    fn is_null(self) -> bool {
        matches!(self.value, ast::Value::NullKeyword(_))
    }

    /// A string with its references resolved. Of keys only those that may be secrets have references.
    fn text(self, written: &str) -> Checked<Text> {
        let lookup = self.reading.lookup;
        let Some(lookup) = lookup.filter(|_| self.is_secret_key.is_none_or(Cell::get)) else {
            return Ok(references::literal(written));
        };
        references::expand(written, lookup).map_err(ConfigFinding::of)
    }

    /// The same of a string that must not be empty, whether it is written so or its references resolve to nothing.
    fn filled(self, written: &str) -> Checked<Text> {
        self.check_blank(written)?;
        let text = self.text(written)?;
        self.check_blank(&text.value)?;
        Ok(text)
    }

    /// Refuses an empty string. In a lenient struct it counts as an absent key.
    fn check_blank(self, text: &str) -> Checked {
        match (text, self.care, self.known_keys) {
            ("", Care::Lenient, Some(_)) => Err(ConfigFinding::of(FindingKind::Blank)),
            ("", ..) => wrong("is empty"),
            _ => Ok(()),
        }
    }
}
