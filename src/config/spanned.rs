//! A deserializer over the syntax tree of a text, which knows where everything stands. Types say what may stand there; each of their faults
//! gets its key and its place here, and references in texts are resolved here.
//!
//! What serde cannot say by itself is said by reserved names: a tuple struct `$text` is a text with its references resolved, as it is shown,
//! and as it is written; `$word` takes numbers and booleans, too; an enum `$kind` has a variant for each kind of JSON that may stand there,
//! as `untagged` would, but without its buffer, in which places get lost; a unit struct `$apart` is read by somebody else.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    iter::Enumerate,
    slice,
};

use jsonc_parser::{ast, common::Ranged};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Unexpected, Visitor,
    value::{SeqDeserializer, StrDeserializer, StringDeserializer},
};

use super::{
    document::tree,
    finding::{Finding, FindingKind},
    references::{self, BadReference, Text, ValueLookup},
    server_auth, unknown_keys,
};

/// Limit: faults of one text that are looked for.
const MOST_FAULTS: usize = 100;

/// What was read out of a value.
pub(super) struct Found<T> {
    /// It, or all that is wrong.
    pub(super) read: Result<T, Vec<Finding>>,
    /// Keys that mean nothing and are ignored.
    pub(super) ignored: Vec<Finding>,
}

/// Reads a value. Without a lookup texts are taken as they stand. A fault is found by the first error of serde; then the member that has it
/// is left out and the type is read once more, until there is none.
pub(super) fn read<T: DeserializeOwned>(
    value: &ast::Value<'_>,
    lookup: Option<ValueLookup<'_>>,
) -> Found<T> {
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
    Found {
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

/// How a value is read, and what is found on the way.
struct Reading<'l> {
    lookup: Option<ValueLookup<'l>>,
    /// Where the members begin that are left out, and whether they have a fault.
    left_out: RefCell<HashMap<usize, bool>>,
    ignored: RefCell<Vec<Finding>>,
    /// Those of the outermost object.
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

/// The way to a value.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    /// An element, or a member whose key may be a secret.
    Index(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => write!(f, "{}", key.escape_debug()),
            Self::Key(before, key) => write!(f, "{before}.{}", key.escape_debug()),
            Self::Index(before, index) => write!(f, "{before}[{index}]"),
        }
    }
}

/// A value of the tree, and the way to it.
#[derive(Clone, Copy)]
struct Node<'n> {
    value: &'n ast::Value<'n>,
    path: Path<'n>,
    reading: &'n Reading<'n>,
    /// Where its key or itself begins.
    at: usize,
    /// Whether nothing may be unknown, empty or said twice.
    is_strict: bool,
    /// The keys that the object knows whose member it is.
    beside: Option<&'static [&'static str]>,
    /// For a key: told when it may be a secret.
    hides: Option<&'n Cell<bool>>,
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

fn wrong<T>(problem: &str) -> Result<T, Finding> {
    Err(Finding::custom(problem))
}

impl<'n> Node<'n> {
    fn root(value: &'n ast::Value<'n>, reading: &'n Reading<'n>) -> Self {
        Self {
            value,
            path: Path::Root,
            reading,
            at: value.start(),
            is_strict: false,
            beside: None,
            hides: None,
        }
    }

    /// What is wrong with this value, unless it is known to be wrong further inside.
    fn placed(self, fault: Finding) -> Finding {
        if fault.at.is_some() {
            return fault;
        }
        let kind = if self.is_consequence(&fault.kind) {
            FindingKind::Follows
        } else {
            fault.kind
        };
        Finding {
            place: None,
            key: self.path.to_string(),
            kind,
            at: Some(self.at),
        }
    }

    /// Whether it is wrong only because something in it, which has a fault, was left out.
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

    /// A text with its references resolved; a key as it is written.
    fn text(self, written: &str) -> Result<Text, Finding> {
        let lookup = self.reading.lookup;
        let Some(lookup) = lookup.filter(|_| self.hides.is_none_or(Cell::get)) else {
            return Ok(references::literal(written));
        };
        references::expand(written, lookup).map_err(|bad| {
            Finding::of(match bad {
                BadReference::Missing(name) => FindingKind::LacksVariable(name),
                BadReference::Keyring { name, reason } => FindingKind::LacksSecret { name, reason },
                other => FindingKind::Value(other.to_string()),
            })
        })
    }

    /// Refuses an empty text, which counts as an absent key where it is the value of one.
    fn check_blank(self, text: &str) -> Result<(), Finding> {
        match (text, self.is_strict, self.beside) {
            ("", false, Some(_)) => Err(Finding::of(FindingKind::Blank)),
            ("", ..) => wrong("is empty"),
            _ => Ok(()),
        }
    }

    fn elements<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        let ast::Value::Array(array) = self.value else {
            return wrong("must be an array […]");
        };
        visitor.visit_seq(Elements {
            of: self,
            rest: array.elements.iter().enumerate(),
        })
    }

    fn members<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        known: Option<&'static [&'static str]>,
    ) -> Result<V::Value, Finding> {
        let ast::Value::Object(object) = self.value else {
            return wrong("must be an object {…}");
        };
        let mut last = HashMap::new();
        for (index, member) in object.properties.iter().enumerate() {
            let is_second = last.insert(member.name.as_str(), index).is_some();
            let is_left_out = self.reading.left_out.borrow().contains_key(&member.start());
            if is_second && !is_left_out && self.is_strict && known.is_some() {
                return Err(Finding {
                    key: Path::Key(&self.path, member.name.as_str()).to_string(),
                    at: Some(member.start()),
                    ..Finding::of(FindingKind::Repeated)
                });
            }
        }
        visitor.visit_map(Members {
            of: self,
            known,
            last,
            rest: object.properties.iter().enumerate(),
            at: None,
            hides: Cell::new(false),
        })
    }
}

macro_rules! numbers {
    ($($method:ident)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
            let ast::Value::NumberLit(number) = self.value else {
                return Err(Finding::invalid_type(Unexpected::Other(""), &visitor));
            };
            let text = number.value;
            match (text.parse(), text.parse(), text.parse()) {
                (Ok(number), ..) => visitor.visit_u64(number),
                (_, Ok(number), _) => visitor.visit_i64(number),
                (.., Ok(number)) => visitor.visit_f64(number),
                _ => Err(Finding::invalid_type(Unexpected::Other(""), &visitor)),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Finding;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        match self.value {
            ast::Value::StringLit(_) => self.deserialize_string(visitor),
            ast::Value::NumberLit(_) => self.deserialize_f64(visitor),
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            ast::Value::Object(_) => self.members(visitor, None),
            ast::Value::Array(_) => self.elements(visitor),
            ast::Value::NullKeyword(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        match self.value {
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            _ => wrong("must be true or false"),
        }
    }

    numbers! { deserialize_u64 deserialize_f64 }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        let ast::Value::StringLit(text) = self.value else {
            return wrong("must be a string");
        };
        if self.hides.is_none() {
            self.check_blank(&text.value)?;
        }
        visitor.visit_string(self.text(&text.value)?.value)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        match self.value {
            ast::Value::StringLit(text) => visitor.visit_str(&text.value),
            _ => wrong("must be a string"),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        if self.is_null() && !self.is_strict {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Finding> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        self.elements(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        self.members(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Finding> {
        if matches!(self.path, Path::Root) {
            self.reading.keys.set(keys);
        }
        self.members(visitor, Some(keys))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Finding> {
        visitor.visit_unit()
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Finding> {
        if let Some(hides) = self.hides {
            hides.set(true);
        }
        let is_word = name == "$word";
        let written = match self.value {
            ast::Value::StringLit(text) => text.value.to_string(),
            ast::Value::NumberLit(number) if is_word => number.value.to_owned(),
            ast::Value::BooleanLit(boolean) if is_word => boolean.value.to_string(),
            _ => return wrong("must be a string"),
        };
        if !is_word {
            self.check_blank(&written)?;
        }
        let text = self.text(&written)?;
        if self.is_strict && text.value.is_empty() {
            return wrong("is empty");
        }
        visitor.visit_seq(SeqDeserializer::new(
            [text.value, text.shown, text.written].into_iter(),
        ))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Finding> {
        if name == "$kind" {
            let kind = kind(self.value);
            return if variants.contains(&kind) {
                visitor.visit_enum(Variant(self, kind))
            } else {
                // The first of them is what is written mostly.
                wrong(&format!("must be a {}", variants.join(" or an ")))
            };
        }
        let accepted = variants.iter().map(|word| format!("{word:?}"));
        let accepted: Vec<String> = accepted.collect();
        let ast::Value::StringLit(word) = self.value else {
            return wrong(&format!("must be {}", accepted.join(" or ")));
        };
        self.check_blank(&word.value)?;
        let found = self.text(&word.value)?.value;
        if variants.contains(&&*found) {
            visitor.visit_enum(StringDeserializer::<Finding>::new(found))
        } else if self.is_strict {
            wrong(&format!("must be {}", accepted.join(" or ")))
        } else {
            // As it is written: what a reference gave may be a secret.
            let accepted = accepted.join(", ");
            wrong(&format!("is {:?}; accepted are {accepted}", word.value))
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        if let (Path::Key(_, key), Some(known)) = (self.path, self.beside) {
            let meant = unknown_keys::meant(key, known);
            let unknown = Finding::of(FindingKind::Unknown { meant, known });
            self.reading.ignored.borrow_mut().push(self.placed(unknown));
        }
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 char str bytes byte_buf unit tuple
    }
}

/// The elements of an array.
struct Elements<'n> {
    of: Node<'n>,
    rest: Enumerate<slice::Iter<'n, ast::Value<'n>>>,
}

impl<'de> de::SeqAccess<'de> for Elements<'_> {
    type Error = Finding;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Finding> {
        let left_out = self.of.reading.left_out.borrow();
        let next = self
            .rest
            .find(|(_, value)| !left_out.contains_key(&value.start()));
        drop(left_out);
        let Some((index, value)) = next else {
            return Ok(None);
        };
        let node = Node {
            value,
            path: Path::Index(&self.of.path, index),
            at: value.start(),
            beside: None,
            hides: None,
            ..self.of
        };
        let read = seed.deserialize(node).map(Some);
        read.map_err(|fault| node.placed(fault))
    }
}

/// The members of an object.
struct Members<'n> {
    of: Node<'n>,
    /// The keys of a struct.
    known: Option<&'static [&'static str]>,
    /// The last member of each key, which counts where nothing is strict.
    last: HashMap<&'n str, usize>,
    rest: Enumerate<slice::Iter<'n, ast::ObjectProp<'n>>>,
    at: Option<(usize, &'n ast::ObjectProp<'n>)>,
    /// Whether the key that was read last may be a secret.
    hides: Cell<bool>,
}

impl<'n> Members<'n> {
    fn counts(&self, index: usize, member: &ast::ObjectProp<'_>) -> bool {
        let is_left_out = self
            .of
            .reading
            .left_out
            .borrow()
            .contains_key(&member.start());
        let is_null = matches!(member.value, ast::Value::NullKeyword(_));
        let is_absent = is_null && self.known.is_some();
        let is_last = self.last.get(member.name.as_str()) == Some(&index);
        !is_left_out && (self.of.is_strict || is_last && !is_absent)
    }

    /// The way to a member; its key does not show where it may be a secret.
    fn path<'p>(&'p self, index: usize, member: &'p ast::ObjectProp<'p>, hides: bool) -> Path<'p> {
        if hides {
            Path::Index(&self.of.path, index)
        } else {
            Path::Key(&self.of.path, member.name.as_str())
        }
    }
}

impl<'de> de::MapAccess<'de> for Members<'_> {
    type Error = Finding;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Finding> {
        self.at = None;
        while let Some((index, member)) = self.rest.next() {
            if self.counts(index, member) {
                self.at = Some((index, member));
                break;
            }
        }
        let Some((index, member)) = self.at else {
            return Ok(None);
        };
        self.hides.set(false);
        let value = ast::Value::StringLit(ast::StringLit {
            range: member.name.range(),
            value: member.name.as_str().into(),
        });
        let node = Node {
            value: &value,
            path: Path::Root,
            at: member.start(),
            beside: None,
            hides: Some(&self.hides),
            ..self.of
        };
        seed.deserialize(node).map(Some).map_err(|fault| {
            let is_guess = matches!(fault.kind, FindingKind::Unknown { meant: None, .. });
            let hides = self.hides.get() || is_guess && self.of.is_strict;
            let path = self.path(index, member, hides);
            Node { path, ..node }.placed(fault)
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Finding> {
        let Some((index, member)) = self.at else {
            return wrong("has no key");
        };
        let node = Node {
            value: &member.value,
            path: self.path(index, member, self.hides.get()),
            at: member.start(),
            is_strict: self.of.is_strict || member.name.as_str() == server_auth::KEY,
            beside: self.known,
            hides: None,
            ..self.of
        };
        let read = seed.deserialize(node);
        read.map_err(|fault| node.placed(fault))
    }
}

/// The variant of a `$kind`.
struct Variant<'n>(Node<'n>, &'static str);

impl<'de> de::EnumAccess<'de> for Variant<'_> {
    type Error = Finding;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Finding> {
        let kind = StrDeserializer::<Finding>::new(self.1);
        Ok((seed.deserialize(kind)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = Finding;

    fn unit_variant(self) -> Result<(), Finding> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Finding> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Finding> {
        self.0.elements(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Finding> {
        self.0.members(visitor, Some(keys))
    }
}
