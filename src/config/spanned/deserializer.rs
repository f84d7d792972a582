//! serde's `Deserializer` for the syntax tree: every error gets its key and its byte.
//!
//! What it does beyond plain JSON, and where:
//!
//! * members and elements in `Reading::left_out` are skipped: `Members::counts`, `Elements`;
//! * a null and an empty string count as an absent key, and of a repeated key the last one counts, except where [`Care`] is stricter:
//!   `Members::counts`, `Node::check_blank`; so does a string whose references resolve to nothing: `Node::filled`;
//! * unknown keys are noted, and refused only if the type refuses them: `Node::ignore`;
//! * the references in strings are resolved: `Node::text`;
//! * a key that a type reads as `$text` may be a token, so errors name its caller or its index instead: `Members::path`.

use std::{
    array,
    cell::Cell,
    collections::{HashMap, HashSet},
    iter::Enumerate,
    slice,
};

use jsonc_parser::{ast, common::Ranged};
use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
    value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StringDeserializer},
};

use super::{Node, Path, kind, wrong};
use crate::config::{
    ConfigFinding, FindingKind, care::Care, finding::Checked, references::Text,
    server_auth::named_owner, unknown_keys,
};

/// The name of an enum with a variant for each accepted kind of JSON.
const KIND: &str = "$kind";

/// The name of a struct for a string: resolved, as it is shown, and as it is written.
const TEXT: &str = "$text";

/// The name of a newtype around a `$text` that may also be a number or a boolean, and may be empty.
const WORD: &str = "$word";

/// The name of a unit struct for a key that only other programs read. Any other unit struct is an `$apart`.
const FOREIGN: &str = "$foreign";

impl Node<'_> {
    fn elements<'de, V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        let ast::Value::Array(array) = self.value else {
            return wrong("must be a list");
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
    ) -> Checked<V::Value> {
        let ast::Value::Object(object) = self.value else {
            return wrong("must be an object");
        };
        let members = object.properties.iter().enumerate();
        visitor.visit_map(Members {
            of: self,
            known,
            last: members
                .clone()
                .map(|(index, member)| (member.name.as_str(), index))
                .collect(),
            seen: HashSet::new(),
            rest: members,
            current: None,
            is_secret_key: Cell::new(false),
        })
    }
}

macro_rules! numbers {
    ($($method:ident)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
            let ast::Value::NumberLit(number) = self.value else {
                return Err(ConfigFinding::invalid_type(Unexpected::Other(""), &visitor));
            };
            let text = number.value;
            match (text.parse(), text.parse(), text.parse()) {
                (Ok(number), ..) => visitor.visit_u64(number),
                (_, Ok(number), _) => visitor.visit_i64(number),
                (.., Ok(number)) => visitor.visit_f64(number),
                _ => Err(ConfigFinding::invalid_type(Unexpected::Other(""), &visitor)),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = ConfigFinding;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        match self.value {
            ast::Value::StringLit(_) => self.deserialize_string(visitor),
            ast::Value::NumberLit(_) => self.deserialize_f64(visitor),
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            ast::Value::Object(_) => self.members(visitor, None),
            ast::Value::Array(_) => self.elements(visitor),
            ast::Value::NullKeyword(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        match self.value {
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            _ => wrong("must be true or false"),
        }
    }

    numbers! { deserialize_u64 deserialize_f64 }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        let ast::Value::StringLit(text) = self.value else {
            return wrong("must be a string");
        };
        let text = if self.is_secret_key.is_some() {
            self.text(&text.value)?
        } else {
            self.filled(&text.value)?
        };
        visitor.visit_string(text.value)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        match self.value {
            ast::Value::StringLit(text) => visitor.visit_str(&text.value),
            _ => wrong("must be a string"),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        if self.is_null() && self.care == Care::Lenient {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Checked<V::Value> {
        match name {
            WORD => visitor.visit_newtype_struct(self.word()?),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        self.elements(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        self.members(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Checked<V::Value> {
        if name == TEXT {
            return visitor.visit_seq(self.filled_text()?);
        }
        if matches!(self.path, Path::Root) {
            self.reading.keys.set(keys);
        }
        self.members(visitor, Some(keys))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Checked<V::Value> {
        if name == FOREIGN {
            self.ignore(|_, _| None);
        }
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Checked<V::Value> {
        if name == KIND {
            let kind = kind(self.value);
            return if variants.contains(&kind) {
                let one = std::iter::once((kind, self));
                let members = MapDeserializer::<_, ConfigFinding>::new(one);
                visitor.visit_enum(MapAccessDeserializer::new(members))
            } else {
                let kinds = variants.iter().map(|kind| match *kind {
                    "array" | "object" => format!("an {kind}"),
                    kind => format!("a {kind}"),
                });
                wrong(&format!(
                    "must be {}",
                    kinds.collect::<Vec<_>>().join(" or ")
                ))
            };
        }
        let accepted = || {
            let quoted = variants.iter().map(|word| format!("{word:?}"));
            let quoted: Vec<String> = quoted.collect();
            wrong(&format!("must be one of {}", quoted.join(", ")))
        };
        let ast::Value::StringLit(word) = self.value else {
            return accepted();
        };
        let found = self.filled(&word.value)?.value;
        if variants.contains(&&*found) {
            visitor.visit_enum(StringDeserializer::<ConfigFinding>::new(found))
        } else {
            accepted()
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        self.ignore(unknown_keys::meant);
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 char str bytes byte_buf unit tuple tuple_struct
    }
}

/// The members of a [`Text`] for serde.
type TextParts = SeqDeserializer<array::IntoIter<String, 3>, ConfigFinding>;

impl Node<'_> {
    /// A `$text`.
    fn filled_text(self) -> Checked<TextParts> {
        if let Some(is_secret) = self.is_secret_key {
            is_secret.set(true);
        }
        match self.value {
            ast::Value::StringLit(text) => self.filled(&text.value).map(parts),
            _ => wrong("must be a string"),
        }
    }

    /// A `$word`.
    fn word(self) -> Checked<TextParts> {
        let text = match self.value {
            ast::Value::StringLit(text) => self.text(&text.value),
            ast::Value::NumberLit(number) => self.text(number.value),
            ast::Value::BooleanLit(boolean) => self.text(&boolean.value.to_string()),
            _ => return wrong("must be a string"),
        };
        text.map(parts)
    }
}

fn parts(text: Text) -> TextParts {
    SeqDeserializer::new([text.value, text.shown, text.written].into_iter())
}

/// As the content of a variant of a `$kind`.
impl IntoDeserializer<'_, ConfigFinding> for Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node<'_> {
    /// Notes that this key is ignored, and which one was probably meant.
    fn ignore(self, meant: fn(&str, &[&'static str]) -> Option<&'static str>) {
        if let (Path::Key(_, key), Some(known)) = (self.path, self.known_keys) {
            let meant = meant(key, known);
            let unknown = ConfigFinding::of(FindingKind::Unknown { meant, known });
            self.reading.ignored.borrow_mut().push(self.placed(unknown));
        }
    }
}

/// The elements of an array.
struct Elements<'n> {
    of: Node<'n>,
    rest: Enumerate<slice::Iter<'n, ast::Value<'n>>>,
}

impl<'de> de::SeqAccess<'de> for Elements<'_> {
    type Error = ConfigFinding;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Checked<Option<S::Value>> {
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
            start: value.start(),
            known_keys: None,
            is_secret_key: None,
            ..self.of
        };
        let read = seed.deserialize(node).map(Some);
        read.map_err(|fault| node.placed(fault))
    }
}

/// The members of an object.
struct Members<'n> {
    of: Node<'n>,
    /// The keys of the struct; nothing for a map.
    known: Option<&'static [&'static str]>,
    /// The index of the last member with each key. Where reading is lenient, only this one counts.
    last: HashMap<&'n str, usize>,
    /// The keys that were read so far, where reading is strict.
    seen: HashSet<&'n str>,
    rest: Enumerate<slice::Iter<'n, ast::ObjectProp<'n>>>,
    /// The member that is being read.
    current: Option<(usize, &'n ast::ObjectProp<'n>)>,
    /// Whether its key may be a secret.
    is_secret_key: Cell<bool>,
}

impl Members<'_> {
    fn care(&self, key: &str) -> Care {
        let is_known = self.known.is_some_and(|known| known.contains(&key));
        let of_key = if is_known {
            Care::of(key)
        } else {
            Care::Lenient
        };
        self.of.care.max(of_key)
    }

    fn counts(&self, index: usize, member: &ast::ObjectProp<'_>) -> bool {
        let left_out = self.of.reading.left_out.borrow();
        let is_null = matches!(member.value, ast::Value::NullKeyword(_));
        let is_absent = is_null && self.known.is_some();
        let key = member.name.as_str();
        let is_last = self.last.get(key) == Some(&index);
        !left_out.contains_key(&member.start())
            && (self.care(key) > Care::Lenient || is_last && !is_absent)
    }

    /// Whether a key is unknown and similar to no known one. Such a key is noted and ignored, even if the type refuses unknown keys; but
    /// not where it may be a secret.
    fn passes_over(&self, index: usize, member: &ast::ObjectProp<'_>) -> bool {
        let key = member.name.as_str();
        let is_far = |known: &[&'static str]| {
            !known.contains(&key) && unknown_keys::meant(key, known).is_none()
        };
        let is_passed = self.care(key) < Care::Secret && self.known.is_some_and(is_far);
        if is_passed {
            self.value(index, member).ignore(unknown_keys::meant);
        }
        is_passed
    }

    /// The value of a member.
    fn value<'p>(&'p self, index: usize, member: &'p ast::ObjectProp<'p>) -> Node<'p> {
        Node {
            value: &member.value,
            path: self.path(index, member),
            start: member.start(),
            care: self.care(member.name.as_str()),
            known_keys: self.known,
            is_secret_key: None,
            ..self.of
        }
    }

    /// The path of a member, with its owner or its index instead of a key that may be a secret.
    fn path<'p>(&'p self, index: usize, member: &'p ast::ObjectProp<'p>) -> Path<'p> {
        if !self.is_secret_key.get() {
            return Path::Key(&self.of.path, member.name.as_str());
        }
        match owner(member) {
            Some(owner) => Path::Owned(&self.of.path, owner),
            None => Path::Index(&self.of.path, index),
        }
    }
}

/// The caller of a member whose key may be a token.
fn owner<'p>(member: &'p ast::ObjectProp<'_>) -> Option<&'p str> {
    let subject = match &member.value {
        ast::Value::Object(user) => {
            let mut keys = user.properties.iter();
            &keys.find(|one| one.name.as_str() == "subject")?.value
        }
        value => value,
    };
    match subject {
        ast::Value::StringLit(subject) => named_owner(member.name.as_str(), &subject.value),
        _ => None,
    }
}

impl<'de> de::MapAccess<'de> for Members<'_> {
    type Error = ConfigFinding;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Checked<Option<K::Value>> {
        self.current = None;
        while let Some((index, member)) = self.rest.next() {
            if self.counts(index, member) && !self.passes_over(index, member) {
                self.current = Some((index, member));
                break;
            }
        }
        let Some((index, member)) = self.current else {
            return Ok(None);
        };
        self.is_secret_key.set(false);
        let key = member.name.as_str();
        let value = ast::Value::StringLit(ast::StringLit {
            range: member.name.range(),
            value: key.into(),
        });
        let node = Node {
            value: &value,
            path: Path::Root,
            start: member.start(),
            known_keys: None,
            is_secret_key: Some(&self.is_secret_key),
            ..self.of
        };
        let is_second = self.care(key) > Care::Lenient && !self.seen.insert(key);
        let read = match seed.deserialize(node) {
            Ok(_) if is_second => Err(ConfigFinding::of(FindingKind::Repeated)),
            read => read.map(Some),
        };
        read.map_err(|fault| {
            if self.of.care == Care::Secret
                && let FindingKind::Unknown { meant: None, known } = fault.kind
            {
                // The key itself is not shown: it may be a token in the wrong place.
                let listed = unknown_keys::listed(known);
                let problem = format!("has an unknown key; use {listed}");
                return ConfigFinding {
                    at: Some(member.start()),
                    ..ConfigFinding::new(self.of.path.to_string(), problem)
                };
            }
            let path = self.path(index, member);
            Node { path, ..node }.placed(fault)
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Checked<S::Value> {
        let Some((index, member)) = self.current else {
            return wrong("has no key");
        };
        let node = self.value(index, member);
        let read = seed.deserialize(node);
        read.map_err(|fault| node.placed(fault))
    }
}
