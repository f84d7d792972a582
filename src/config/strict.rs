//! Reading a part of the configuration in which nothing may be unknown or said twice. All mistakes are gathered, each with its line and
//! column. Values never stand in one, because they may be secrets.

use jsonc_parser::{ast, common::Ranged};

use super::{
    line_column::LineColumn,
    misplaced,
    mistakes::{Mistakes, Read},
    references::{self, Text, ValueLookup},
    unknown_keys,
};

/// One value, with its place.
#[derive(Clone)]
pub(super) struct StrictValue<'a> {
    source: Source<'a>,
    value: &'a ast::Value<'a>,
    path: String,
}

/// What all values of a text have in common.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    lookup: ValueLookup<'a>,
}

/// One member of an object.
pub(super) struct StrictMember<'a> {
    /// The key as written.
    pub(super) key: &'a str,
    pub(super) value: StrictValue<'a>,
}

/// An object while it is read.
pub(super) struct StrictObject<'a> {
    of: StrictValue<'a>,
    members: Vec<StrictMember<'a>>,
}

impl<'a> StrictValue<'a> {
    pub(super) fn new(
        text: &'a str,
        lookup: ValueLookup<'a>,
        path: &str,
        value: &'a ast::Value<'a>,
    ) -> Self {
        Self {
            source: Source { text, lookup },
            value,
            path: path.to_owned(),
        }
    }

    /// A mistake in this value.
    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> Mistakes {
        wrong_at(self.source.text, self.value.start(), &self.path, problem)
    }

    /// An object with these keys and no others, read by `read`, which notes what is wrong with its members.
    pub(super) fn object<T>(
        &self,
        known: &[&str],
        read: impl FnOnce(&StrictObject<'a>, &mut Mistakes) -> Option<T>,
    ) -> Read<T> {
        let members = self.members(|key, _| format!("{}.{key}", self.path))?;
        let mut mistakes = Mistakes::default();
        for (index, member) in members.iter().enumerate() {
            let before = members.get(..index).unwrap_or_default();
            if !known.contains(&member.key) {
                mistakes.add(self.unknown(member, known));
            } else if before.iter().any(|other| other.key == member.key) {
                mistakes.add(member.value.wrong("stands there twice"));
            }
        }
        let object = StrictObject {
            of: self.clone(),
            members,
        };
        let read = read(&object, &mut mistakes);
        mistakes.unless_any(read)
    }

    fn unknown(&self, member: &StrictMember<'_>, known: &[&str]) -> Mistakes {
        if let Some(problem) = misplaced::below(&self.path, member.key) {
            return member.value.wrong(problem);
        }
        let meant = unknown_keys::meant(member.key, known);
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
        let problem = format!("is unknown{}", meant.unwrap_or_default());
        member.value.wrong(problem)
    }

    /// The members of an object whose keys are names of the user's; `path_of` says how errors call each.
    pub(super) fn members(
        &self,
        path_of: impl Fn(&str, usize) -> String,
    ) -> Read<Vec<StrictMember<'a>>> {
        let ast::Value::Object(object) = self.value else {
            return Err(self.wrong("must be an object {…}"));
        };
        let members = object
            .properties
            .iter()
            .enumerate()
            .map(|(index, property)| {
                let key = property.name.as_str();
                StrictMember {
                    key,
                    value: StrictValue {
                        source: self.source,
                        value: &property.value,
                        path: path_of(key, index),
                    },
                }
            });
        Ok(members.collect())
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.value, ast::Value::Object(_))
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> Read<Vec<Self>> {
        let ast::Value::Array(array) = self.value else {
            return Err(self.wrong("must be an array […]"));
        };
        let elements = array
            .elements
            .iter()
            .enumerate()
            .map(|(index, value)| Self {
                source: self.source,
                value,
                path: format!("{}[{index}]", self.path),
            });
        Ok(elements.collect())
    }

    /// A string that is not empty, with its references resolved.
    pub(super) fn text(&self) -> Read<String> {
        let ast::Value::StringLit(literal) = self.value else {
            return Err(self.wrong("must be a string"));
        };
        self.resolved(&literal.value).map(|text| text.value)
    }

    /// A text of the user's, with its references resolved, that has something in it.
    pub(super) fn resolved(&self, written: &str) -> Read<Text> {
        let text = references::expand(written, self.source.lookup);
        let text = text.map_err(|error| self.wrong(error))?;
        if text.value.is_empty() {
            return Err(self.wrong("is empty"));
        }
        Ok(text)
    }

    /// A list of texts, each read by `read`.
    pub(super) fn list<T>(&self, read: impl Fn(&str) -> Result<T, String>) -> Read<Vec<T>> {
        let elements = self.elements()?;
        let read_one = |element: &Self| {
            let text = element.text()?;
            read(&text).map_err(|why| element.wrong(why))
        };
        Mistakes::gather(elements.iter().map(read_one))
    }

    /// One of these words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Read<T> {
        let text = self.text()?;
        let chosen = choices.iter().find(|(word, _)| *word == text);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<String> = choices.iter().map(|(w, _)| format!("{w:?}")).collect();
            self.wrong(format_args!("must be {}", words.join(" or ")))
        })
    }
}

impl<'a> StrictObject<'a> {
    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<&StrictValue<'a>> {
        let found = self.members.iter().find(|member| member.key == key);
        found.map(|member| &member.value)
    }

    /// A mistake in the object.
    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> Mistakes {
        self.of.wrong(problem)
    }
}

/// The mistake of what stands at this byte.
pub(super) fn wrong_at(
    text: &str,
    at: usize,
    key: &str,
    problem: impl std::fmt::Display,
) -> Mistakes {
    Mistakes::one(LineColumn::of_byte(text, at), key, problem.to_string())
}
