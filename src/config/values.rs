//! Types of values that several keys share, each with its bounds and its JSON Schema. Names that begin with `$` tell [`super::spanned`] to
//! read the type in a special way.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::{duration, references::Text};

/// Gives a type the schema of another type.
macro_rules! schema_as {
    ($name:ty, $like:ty) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$like>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                generator.subschema_for::<$like>()
            }
        }
    };
}
pub(super) use schema_as;

/// Gives a type a schema of its own.
macro_rules! schema {
    ([$($generics:tt)*] $name:ty, $generator:ident => $schema:expr) => {
        impl<$($generics)*> JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema_as!(Text, String);

/// A text that may also be written as a number, or as true or false, and may be empty.
#[derive(Clone, Deserialize)]
#[serde(rename = "$word")]
pub(super) struct Word(pub(super) Text);

schema!([] Word, _generator => json_schema!({ "type": ["string", "number", "boolean"] }));

/// A key whose value another reader reads, such as `mcpServers`.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename = "$apart")]
pub(super) struct Apart;

/// A key of mcpproxy-go without effect here: it is reported as unknown.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename = "$foreign")]
pub(super) struct Foreign;

/// A whole number within these bounds, and its default.
#[derive(Clone, Copy)]
pub(super) struct WholeNumber<const MIN: usize, const MAX: usize, const DEFAULT: usize>(
    pub(super) usize,
);

impl<const MIN: usize, const MAX: usize, const DEFAULT: usize> Default
    for WholeNumber<MIN, MAX, DEFAULT>
{
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const MIN: usize, const MAX: usize, const DEFAULT: usize> Serialize
    for WholeNumber<MIN, MAX, DEFAULT>
{
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(into)
    }
}

impl<'de, const MIN: usize, const MAX: usize, const DEFAULT: usize> Deserialize<'de>
    for WholeNumber<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(Within(MIN, MAX)).map(Self)
    }
}

schema!([const MIN: usize, const MAX: usize, const DEFAULT: usize] WholeNumber<MIN, MAX, DEFAULT>, _generator => {
    json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
});

struct Within(usize, usize);

impl de::Visitor<'_> for Within {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.0, self.1)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<usize, E> {
        let number = usize::try_from(number).ok();
        let within = number.filter(|number| (self.0..=self.1).contains(number));
        within.ok_or_else(|| E::invalid_value(de::Unexpected::Other(""), &self))
    }
}

/// A text with its references resolved, or a number.
#[derive(Deserialize)]
#[serde(rename = "$kind", rename_all = "lowercase")]
pub(super) enum Scalar {
    String(String),
    Number(serde_json::Number),
}

schema!([] Scalar, _generator => json_schema!({ "type": ["string", "number"] }));

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::String(text) => text.into(),
            Scalar::Number(number) => number.into(),
        }
    }
}

/// A duration, with its default and its minimum in milliseconds.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Scalar")]
pub(super) struct Span<const DEFAULT: u64, const LEAST: u64>(pub(super) Duration);

impl<const DEFAULT: u64, const LEAST: u64> TryFrom<Scalar> for Span<DEFAULT, LEAST> {
    type Error = String;

    fn try_from(written: Scalar) -> Result<Self, String> {
        let least = Duration::from_millis(LEAST);
        match duration::from_json(&written.into()) {
            None => Err(format!("must be {}", duration::ACCEPTED)),
            Some(span) if span < least => {
                Err(format!("must be at least {}", duration::show(least)))
            }
            Some(span) => Ok(Self(span)),
        }
    }
}

impl<const DEFAULT: u64, const LEAST: u64> Default for Span<DEFAULT, LEAST> {
    fn default() -> Self {
        Self(Duration::from_millis(DEFAULT))
    }
}

impl<const DEFAULT: u64, const LEAST: u64> Serialize for Span<DEFAULT, LEAST> {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_str(&duration::show(self.0))
    }
}

impl<const DEFAULT: u64, const LEAST: u64> JsonSchema for Span<DEFAULT, LEAST> {
    fn schema_name() -> Cow<'static, str> {
        "duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "description": "Such as \"500ms\", \"30s\", \"2m\", \"1h30m\", \"1d\", or a number of seconds."
        })
    }
}

/// The members of an object, in the order of the file.
#[derive(Clone)]
pub(super) struct Pairs<K, V>(pub(super) Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> de::Visitor<'de> for Reader<K, V> {
            type Value = Vec<(K, V)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = members.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        from.deserialize_map(Reader(PhantomData)).map(Self)
    }
}

schema!([K, V: JsonSchema] Pairs<K, V>, generator => json_schema!({
    "type": "object",
    "additionalProperties": generator.subschema_for::<V>()
}));

/// The name of an environment variable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct VariableName(pub(super) String);

impl TryFrom<String> for VariableName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let is_bad = name.is_empty() || name.contains(|c: char| c == '=' || c.is_control());
        if is_bad {
            return Err(
                "cannot be an environment variable: its name is empty, or has `=` or a control character",
            );
        }
        Ok(Self(name))
    }
}

/// The value of an environment variable.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Word")]
pub(super) struct VariableValue(pub(super) Text);
schema_as!(VariableValue, Word);

impl TryFrom<Word> for VariableValue {
    type Error = &'static str;

    fn try_from(word: Word) -> Result<Self, Self::Error> {
        if word.0.value.contains('\0') {
            return Err("cannot be an environment variable: its value has a NUL character");
        }
        Ok(Self(word.0))
    }
}

/// Environment variables with their values.
pub(super) type RawVariables = Pairs<VariableName, VariableValue>;
