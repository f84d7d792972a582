//! The purpose of a tool, as its name, the name of its server and the first sentence of its description state it: a tool that adds numbers has no use
//! for mails.

use std::cell::OnceCell;

use serde_json::Value;

use super::{
    families::{ASSISTANTS, CONSENT, ORDERS_IN_S, PURPOSES, SECRETS},
    fold::{fold, words_of_name},
    phrase::{Meaning, Topic},
    word_table::{WordTable, count},
};
use crate::wire::Raw;

/// Limit: bytes of a first sentence.
const SENTENCE: usize = 200;

/// The first letters of a word that count when words are compared.
const STEM: usize = 5;

static WORDS: WordTable<{ count([PURPOSES]).0 }, { count([PURPOSES]).1 }> =
    WordTable::of([PURPOSES]);

/// The purpose of a tool.
pub(super) struct ToolPurpose {
    /// Its topics, one bit each.
    topics: u16,
    /// The names and the first sentence of the description, folded.
    words: String,
    /// Bytes of the first sentence in the folded description.
    pub(super) stated: usize,
    /// Whether the purpose is to keep secrets, as that of a password manager.
    pub(super) keeps_secrets: bool,
    /// Whether the description leaves a decision to the user.
    pub(super) is_by_consent: bool,
    /// The tool's name in lower case.
    name: String,
    definition: Raw,
    /// The parsed definition, made on demand.
    parts: OnceCell<Option<Value>>,
}

impl ToolPurpose {
    /// Reads the purpose of a tool.
    pub(super) fn of(server: &str, definition: &Raw) -> Self {
        let texts = definition.look_up(["description", "name", "title"]);
        let [description, name, title] = texts.map(|found| {
            found
                .value
                .and_then(|text| text.string())
                .unwrap_or_default()
        });
        let stated = fold(first_sentence(&description));
        let names = [server, &name, &title].map(words_of_name).join(" ");
        let mut topics = 0;
        for (text, is_sentence) in [(&names, false), (&stated, true)] {
            WORDS.find(text, |word| {
                if let Some(Meaning::Topic(topic)) = PURPOSES.get(word.phrase).map(|p| p.meaning)
                    && word.is_whole()
                    && (topic != Topic::Security || !is_sentence || says_what_it_does(text))
                {
                    topics |= bit(topic);
                }
            });
        }
        Self {
            topics,
            words: format!("{names} {stated}"),
            stated: stated.len(),
            keeps_secrets: names_secrets(&names)
                || says_what_it_does(&stated) && names_secrets(&stated),
            is_by_consent: asks_for_consent(&description.to_lowercase()),
            name: name.to_lowercase(),
            definition: definition.clone(),
            parts: OnceCell::new(),
        }
    }

    /// The tool's name in lower case.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the parameter at this place is a switch or a choice, through which nothing private can be passed.
    pub(super) fn passes_nothing(&self, place: &str) -> bool {
        let parse = || serde_json::from_slice(self.definition.as_bytes()).ok();
        let parts = self.parts.get_or_init(parse).as_ref();
        let schema = parts.and_then(|parts| parts.pointer(place));
        let is_parameter = || {
            let (members, _) = place.rsplit_once('/').unwrap_or_default();
            members.ends_with("/properties")
        };
        schema.is_some_and(|schema| is_parameter() && !passes_text(schema, false))
    }

    /// Whether a text names a tool of this server that ends in the last of `words`, such as `ns_search` in a text of `ns_list`.
    pub(super) fn has_own(&self, words: &str, folded: &str) -> bool {
        let last = words.rsplit(' ').next().unwrap_or_default();
        let last = last.trim_end_matches([':', 's']);
        let prefix = self.name.split_inclusive('_').next().unwrap_or_default();
        prefix.len() > 4 && prefix.ends_with('_') && folded.contains(&format!("{prefix}{last}"))
    }

    /// Whether the purpose is this topic.
    pub(super) fn is_about(&self, topic: Topic) -> bool {
        self.topics & bit(topic) != 0
    }

    /// Whether something private is beyond the purpose: neither its topic nor one of its words belongs to the purpose.
    pub(super) fn is_beyond(&self, topic: Topic, words: &str) -> bool {
        let is_named = |word: &str| {
            let stem = word.get(..word.len().min(STEM)).unwrap_or(word);
            word.len() >= STEM && self.words.contains(stem)
        };
        // Password managers also keep cards and addresses.
        let is_kept = self.keeps_secrets
            && matches!(topic, Topic::Credentials | Topic::Money | Topic::Identity);
        !is_kept && !self.is_about(topic) && !words.split(' ').any(is_named)
    }

    /// Whether the last of these words is not among those that state the purpose.
    pub(super) fn is_strange(&self, words: &str) -> bool {
        let last = words.rsplit(' ').next().unwrap_or_default();
        let is_anything = ["whole ", "entire "]
            .iter()
            .any(|all| words.starts_with(all))
            && ["text", "page", "content", "data"].contains(&last);
        !is_anything && !self.words.contains(last.trim_end_matches('s'))
    }

    /// Whether words name an assistant although the purpose has nothing to do with models.
    pub(super) fn is_no_matter_of_models(&self, words: &str) -> bool {
        words != "agent:"
            && ASSISTANTS.iter().any(|name| words.contains(name))
            && !self.is_about(Topic::Conversation)
            && self.is_strange(words)
    }
}

/// Whether a sentence begins with a verb in the third person, as a description does and an order does not.
pub(super) fn says_what_it_does(stated: &str) -> bool {
    let verb = stated.split(' ').next().unwrap_or_default().to_lowercase();
    // "Access" and "focus" are orders: in the third person they end in "es".
    verb.ends_with('s')
        && !verb.ends_with("ss")
        && !verb.ends_with("us")
        && !ORDERS_IN_S.contains(&&*verb)
}

/// Whether a schema allows a value that can carry something private: a text, or a number that is not inside an object.
fn passes_text(schema: &Value, is_inside: bool) -> bool {
    let passes = |schema: &Value| passes_text(schema, is_inside);
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        return false;
    }
    let choices = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array());
    if let Some(choices) = choices {
        return choices.iter().any(passes);
    }
    let members = schema.get("properties").and_then(Value::as_object);
    let passes_type = |kind: &Value| match kind.as_str() {
        Some("boolean" | "null") => false,
        Some("integer" | "number") => !is_inside,
        Some("array") => schema.get("items").is_none_or(passes),
        Some("object") => members.is_none_or(|members| {
            members.is_empty() || members.values().any(|one| passes_text(one, true))
        }),
        _ => true,
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(passes_type),
        Some(kind) => passes_type(kind),
        None => true,
    }
}

/// Whether words are typical of tools that keep secrets.
fn names_secrets(words: &str) -> bool {
    let mut words = words.split(|c: char| !c.is_alphanumeric());
    words.any(|word| SECRETS.iter().any(|kept| word.starts_with(kept)))
}

/// Whether a text in lower case leaves a decision to the user.
pub(super) fn asks_for_consent(text: &str) -> bool {
    let may_ask = text.contains("user") || text.contains("yes");
    may_ask && CONSENT.iter().any(|consent| text.contains(consent))
}

fn bit(topic: Topic) -> u16 {
    1 << topic as u16
}

fn first_sentence(description: &str) -> &str {
    let description = description.trim_start();
    let longest = description.floor_char_boundary(SENTENCE);
    let longest = description.get(..longest).unwrap_or_default();
    let mut ends = longest.match_indices(['.', '!', '?', '\n', '。']);
    let end = ends.find(|(at, end)| {
        let after = description.get(at + end.len()..).unwrap_or_default();
        matches!(*end, "\n" | "。")
            || after.starts_with(' ')
            || *end == "." && after.starts_with('\n')
    });
    let end = end.map_or(longest.len(), |(at, _)| at);
    longest.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_no_statement() {
        let check = |stated, expected| assert_eq!(says_what_it_does(stated), expected, "{stated}");
        for statement in [
            "Reads passwords",
            "processes a token",
            "Has a vault",
            "Discusses keys",
        ] {
            check(statement, true);
        }
        for order in [
            "Access the password store",
            "process",
            "Focus on keys",
            "Always read",
            "Read",
        ] {
            check(order, false);
        }
    }

    #[test]
    fn an_order_to_open_secrets_makes_nobody_their_keeper() {
        let keeps = |description: &str| {
            let definition =
                Raw::author(&serde_json::json!({"name": "add", "description": description}));
            ToolPurpose::of("sums", &definition).keeps_secrets
        };
        assert!(keeps("Stores passwords."));
        assert!(!keeps("Access the password store and add its entries."));
    }
}
