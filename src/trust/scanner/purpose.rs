//! What a tool is for, as far as its names and the first sentence of its description say, and what it asks for or speaks of that has
//! nothing to do with that. Somebody's mails are no business of a tool that adds numbers.

use std::{cell::RefCell, collections::BTreeSet, ops::Range};

use super::{
    families::PURPOSES,
    fold::{fold, words_of_name},
    kind::Kind,
    phrase::{Hint, Meaning, Topic},
    phrases::Match,
    word_table::{WordTable, count},
};
use crate::wire::Raw;

/// Limit: bytes of a first sentence, and parameters beyond the purpose that are counted.
const SENTENCE: usize = 200;
const ASKED: usize = 8;

/// Letters by which a word is known again.
const STEM: usize = 5;

/// How near something private, before it and after it, it is denied.
const DENIED: usize = 45;
const DENIED_AFTER: usize = 10;

/// How many words before it are looked at for one that forbids it.
const FORBIDDEN_WORDS: usize = 5;

static WORDS: WordTable<{ count([PURPOSES]).0 }, { count([PURPOSES]).1 }> =
    WordTable::of([PURPOSES]);

/// What a tool is for.
#[derive(Default)]
pub(super) struct ToolPurpose {
    /// One bit for each topic; nothing where nobody asks.
    topics: Option<u16>,
    /// Its names and the first sentence of its description, folded.
    words: String,
    /// Bytes of the folded description that say it.
    stated: usize,
    /// Whether it is there to keep passwords and the like.
    keeps_secrets: bool,
    /// Whether its description leaves something to the user.
    is_by_consent: bool,
    /// The parameters that are beyond it.
    asked: RefCell<BTreeSet<String>>,
}

impl ToolPurpose {
    /// What a tool is for.
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
            topics: Some(topics),
            words: format!("{names} {stated}"),
            stated: stated.len(),
            keeps_secrets: names_secrets(&names)
                || says_what_it_does(&stated) && names_secrets(&stated),
            is_by_consent: asks_for_consent(&description.to_lowercase()),
            asked: RefCell::default(),
        }
    }

    pub(super) fn is_about(&self, topic: Topic) -> bool {
        self.topics.is_some_and(|topics| topics & bit(topic) != 0)
    }

    /// Whether its description leaves something to the user.
    pub(super) fn is_by_consent(&self) -> bool {
        self.is_by_consent
    }

    /// Whether it is there to keep passwords and the like.
    pub(super) fn keeps_secrets(&self) -> bool {
        self.keeps_secrets
    }

    /// Whether something private is none of its business: neither its topic nor one of its words is of the purpose.
    pub(super) fn is_beyond(&self, topic: Topic, words: &str) -> bool {
        let is_named = |word: &str| {
            let stem = word.get(..word.len().min(STEM)).unwrap_or(word);
            word.len() >= STEM && self.words.contains(stem)
        };
        // Who keeps passwords keeps cards and addresses, too.
        let is_kept = || {
            matches!(topic, Topic::Credentials | Topic::Money | Topic::Identity)
                && self.keeps_secrets()
        };
        self.topics.is_some()
            && !self.is_about(topic)
            && !words.split(' ').any(is_named)
            && !is_kept()
    }

    /// Whether the last of these words is none of those that say the purpose.
    pub(super) fn is_strange(&self, words: &str) -> bool {
        let last = words.rsplit(' ').next().unwrap_or_default();
        let is_anything = || {
            ["whole ", "entire "]
                .iter()
                .any(|all| words.starts_with(all))
                && ["text", "page", "content", "data"].contains(&last)
        };
        self.topics.is_some() && !is_anything() && !self.words.contains(last.trim_end_matches('s'))
    }

    /// Whether words that speak of an assistant are none of its business.
    fn is_no_matter_of_models(&self, words: &str) -> bool {
        let names = [
            "assist",
            "agent",
            "llm",
            "language model",
            "claude",
            "gpt",
            "copilot",
            "asistente",
            "assistent",
            "ассистент",
            "助手",
        ];
        words != "agent:"
            && names.iter().any(|name| words.contains(name))
            && !self.is_about(Topic::Conversation)
            && self.is_strange(words)
    }

    /// The phrases of a text where something private is a hint if it is beyond the purpose, and nothing otherwise.
    pub(super) fn judged(
        &self,
        (place, kind): (&str, Kind),
        folded: &str,
        matches: &[Match],
    ) -> Vec<Match> {
        let denials = matches
            .iter()
            .filter(|found| found.hint() == Some(Hint::Not));
        let denials: Vec<Range<usize>> = denials.map(|found| found.range.clone()).collect();
        // "Never paste secrets", "secrets are never sent".
        let is_denied = |private: &Range<usize>| {
            let mut denials = denials.iter();
            denials.any(|denied| {
                let (before, after) = (
                    private.start.checked_sub(denied.end),
                    denied.start.checked_sub(private.end),
                );
                before.is_some_and(|between| between <= DENIED)
                    || after.is_some_and(|between| between <= DENIED_AFTER)
            })
        };
        let parameter = parameter_of(place);
        let is_parameter = parameter.is_some() && kind == Kind::Prose;
        let mut judged = Vec::with_capacity(matches.len());
        for found in matches {
            let words = folded.get(found.range.clone()).unwrap_or_default();
            if found.hint() == Some(Hint::Model) && self.is_no_matter_of_models(words) {
                judged.push(Match {
                    meaning: Meaning::Part(Hint::Addressed),
                    ..found.clone()
                });
            }
            let Meaning::Topic(topic) = found.meaning else {
                let is_own = found.hint() == Some(Hint::Theirs) && !self.is_strange(words);
                if !is_own && !is_forbidden(folded, found) {
                    judged.push(found.clone());
                }
                continue;
            };
            let is_stated = place == "/description" && found.range.start < self.stated;
            if !self.is_beyond(topic, words) || is_stated || is_denied(&found.range) {
                continue;
            }
            if is_parameter {
                self.note(parameter.unwrap_or_default());
                let meaning = Meaning::Part(Hint::Asked);
                judged.push(Match {
                    meaning,
                    ..found.clone()
                });
            }
            let meaning = Meaning::Part(Hint::Foreign);
            judged.push(Match {
                meaning,
                ..found.clone()
            });
        }
        judged
    }

    /// Remembers that it asks for this.
    pub(super) fn note(&self, parameter: &str) {
        let mut asked = self.asked.borrow_mut();
        if asked.len() < ASKED {
            asked.insert(words_of_name(parameter));
        }
    }

    /// The parameters that are beyond it.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.borrow().iter().cloned().collect()
    }
}

/// Whether a few words before something private forbid what is done with it: "do not include secrets of `.env`".
fn is_forbidden(folded: &str, found: &Match) -> bool {
    let is_private = matches!(
        found.hint(),
        Some(Hint::SecretFile | Hint::SecretWord | Hint::Theirs)
    );
    let before = folded.get(..found.range.start).unwrap_or_default();
    let clause = before.rsplit([',', ';', ':', '!', '?', '(']).next();
    let clause = clause.and_then(|clause| clause.rsplit(". ").next());
    let words = clause.unwrap_or_default().split_whitespace().rev();
    let denies = |word: &str| ["not", "never", "don't", "cannot"].contains(&word);
    // Between them stands what is not to be done with it, and no second verb.
    let denial = words.take(FORBIDDEN_WORDS).position(denies);
    is_private && denial.is_some_and(|between| between > 0)
}

/// Whether a sentence begins with a verb in the third person. An order does not.
pub(super) fn says_what_it_does(stated: &str) -> bool {
    stated
        .split(' ')
        .next()
        .is_some_and(|verb| verb.ends_with('s'))
}

/// Whether words are of those who keep secrets.
fn names_secrets(words: &str) -> bool {
    const KEPT: [&str; 14] = [
        "password",
        "passwort",
        "passphrase",
        "vault",
        "secret",
        "credential",
        "keychain",
        "keyring",
        "otp",
        "token",
        "tresor",
        "contrasena",
        "парол",
        "密码",
    ];
    let mut words = words.split(|c: char| !c.is_alphanumeric());
    words.any(|word| KEPT.iter().any(|kept| word.starts_with(kept)))
}

/// How something is left to the user.
const CONSENT: [&str; 14] = [
    "user's consent",
    "user's explicit",
    "user's permission",
    "user's approval",
    "user agrees",
    "user allows",
    "user permits",
    "user ticked",
    "user confirms",
    "confirmation by the user",
    "wait for a yes",
    "wait for the user",
    "a clear yes",
    "asks the user first",
];

/// Whether a text in small letters leaves something to the user.
pub(super) fn asks_for_consent(text: &str) -> bool {
    let may_ask = text.contains("user") || text.contains("yes");
    may_ask && CONSENT.iter().any(|consent| text.contains(consent))
}

fn bit(topic: Topic) -> u16 {
    1 << topic as u16
}

fn first_sentence(description: &str) -> &str {
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

/// The parameter whose own text stands at this place.
fn parameter_of(place: &str) -> Option<&str> {
    let (before, last) = place.rsplit_once('/')?;
    let (before, name) = before.rsplit_once('/')?;
    let is_text = ["description", "title"].contains(&last);
    (is_text && before.ends_with("/properties")).then_some(name)
}
