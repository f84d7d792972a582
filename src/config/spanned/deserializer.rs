//! How serde asks a value of the tree.

use std::{cell::Cell, collections::HashMap, iter::Enumerate, slice};

use jsonc_parser::{ast, common::Ranged};
use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, Unexpected, Visitor,
    value::{SeqDeserializer, StrDeserializer, StringDeserializer},
};

use super::{Node, Path, kind, wrong};
use crate::config::{
    document::SERVER_AUTH,
    finding::{ConfigFinding, FindingKind},
    unknown_keys,
};

impl Node<'_> {
    fn elements<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
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
    ) -> Result<V::Value, ConfigFinding> {
        let ast::Value::Object(object) = self.value else {
            return wrong("must be an object {…}");
        };
        let mut last = HashMap::new();
        for (index, member) in object.properties.iter().enumerate() {
            let is_second = last.insert(member.name.as_str(), index).is_some();
            let is_left_out = self.reading.left_out.borrow().contains_key(&member.start());
            if is_second && !is_left_out && self.is_strict && known.is_some() {
                return Err(ConfigFinding {
                    key: Path::Key(&self.path, member.name.as_str()).to_string(),
                    at: Some(member.start()),
                    ..ConfigFinding::of(FindingKind::Repeated)
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
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
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

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
        match self.value {
            ast::Value::StringLit(_) => self.deserialize_string(visitor),
            ast::Value::NumberLit(_) => self.deserialize_f64(visitor),
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            ast::Value::Object(_) => self.members(visitor, None),
            ast::Value::Array(_) => self.elements(visitor),
            ast::Value::NullKeyword(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
        match self.value {
            ast::Value::BooleanLit(boolean) => visitor.visit_bool(boolean.value),
            _ => wrong("must be true or false"),
        }
    }

    numbers! { deserialize_u64 deserialize_f64 }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
        let ast::Value::StringLit(text) = self.value else {
            return wrong("must be a string");
        };
        if self.hides.is_none() {
            self.check_blank(&text.value)?;
        }
        visitor.visit_string(self.text(&text.value)?.value)
    }

    fn deserialize_identifier<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        match self.value {
            ast::Value::StringLit(text) => visitor.visit_str(&text.value),
            _ => wrong("must be a string"),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
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
    ) -> Result<V::Value, ConfigFinding> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
        self.elements(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigFinding> {
        self.members(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        if matches!(self.path, Path::Root) {
            self.reading.keys.set(keys);
        }
        self.members(visitor, Some(keys))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        visitor.visit_unit()
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
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
    ) -> Result<V::Value, ConfigFinding> {
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
            visitor.visit_enum(StringDeserializer::<ConfigFinding>::new(found))
        } else if self.is_strict {
            wrong(&format!("must be {}", accepted.join(" or ")))
        } else {
            // As it is written: what a reference gave may be a secret.
            let accepted = accepted.join(", ");
            wrong(&format!("is {:?}; accepted are {accepted}", word.value))
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        if let (Path::Key(_, key), Some(known)) = (self.path, self.beside) {
            let meant = unknown_keys::meant(key, known);
            let unknown = ConfigFinding::of(FindingKind::Unknown { meant, known });
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
    type Error = ConfigFinding;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ConfigFinding> {
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

impl Members<'_> {
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
    type Error = ConfigFinding;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConfigFinding> {
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

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, ConfigFinding> {
        let Some((index, member)) = self.at else {
            return wrong("has no key");
        };
        let node = Node {
            value: &member.value,
            path: self.path(index, member, self.hides.get()),
            at: member.start(),
            is_strict: self.of.is_strict || member.name.as_str() == SERVER_AUTH,
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
    type Error = ConfigFinding;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), ConfigFinding> {
        let kind = StrDeserializer::<ConfigFinding>::new(self.1);
        Ok((seed.deserialize(kind)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = ConfigFinding;

    fn unit_variant(self) -> Result<(), ConfigFinding> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, ConfigFinding> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        self.0.elements(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigFinding> {
        self.0.members(visitor, Some(keys))
    }
}
