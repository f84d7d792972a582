//! Decides which phrases of a text count, given the purpose of the tool: something private is a hint if it is beyond the purpose, and nothing
//! otherwise.

use std::ops::Range;

use super::{
    fold::words_of_name,
    phrase::{Hint, Meaning, Topic},
    phrases::Match,
    purpose::ToolPurpose,
};

/// The most bytes between a denial and something private after it, and before it.
const DENIED: usize = 45;
const DENIED_AFTER: usize = 10;

/// The words before something private among which a denial forbids its use.
const FORBIDDEN_WORDS: usize = 5;

/// Words after something private that make a measure of it: "context window usage".
#[rustfmt::skip]
const MEASURES: &[&str] = &[" usage", " size", " limit", " length", " budget", " options", " format", " quality"];

/// Words before the user's request or question that make a reason of it, which is not passed on.
#[rustfmt::skip]
const BASES: &[&str] = &["obvious from the ", "relevant to the ", "based on the ", "according to the ", "matches the ", "match the ", "answer the "];

/// The phrases that count.
pub(super) struct CountedPhrases<'a> {
    pub(super) matches: Vec<Match>,
    /// The parameter whose description asks for something beyond the purpose.
    pub(super) asking: Option<&'a str>,
}

/// Judges the phrases of the text at this place, which may be the description of a parameter. Without a known purpose nothing private is beyond
/// it.
pub(super) fn judge<'a>(
    purpose: Option<&ToolPurpose>,
    (place, parameter): (&str, Option<&'a str>),
    folded: &str,
    matches: &[Match],
) -> CountedPhrases<'a> {
    let denials: Vec<&Range<usize>> = matches
        .iter()
        .filter(|found| found.hint() == Some(Hint::Denial))
        .map(|found| &found.range)
        .collect();
    let is_kind = |name: &str| {
        let name = words_of_name(name);
        name.ends_with(" type") || name.ends_with(" types")
    };
    let passes_nothing = || {
        let schema = place.rsplit_once('/').map_or(place, |(schema, _)| schema);
        purpose.is_some_and(|purpose| purpose.passes_nothing(schema))
    };
    let mut judged = CountedPhrases {
        matches: Vec::with_capacity(matches.len()),
        asking: None,
    };
    for found in matches {
        let words = folded.get(found.range.clone()).unwrap_or_default();
        let is_private =
            found.hint() == Some(Hint::Private) || matches!(found.meaning, Meaning::Topic(_));
        if is_private && is_no_thing(folded, found, words) {
            continue;
        }
        let mut count = |meaning| {
            judged.matches.push(Match {
                meaning,
                ..found.clone()
            });
        };
        if let Meaning::Topic(topic) = found.meaning {
            let is_beyond =
                purpose.is_some_and(|purpose| is_beyond(purpose, place, topic, words, found));
            if is_beyond && !is_denied(&found.range, &denials) {
                if parameter.is_some_and(|name| !is_kind(name)) && !passes_nothing() {
                    count(Meaning::Part(Hint::ForeignParameter));
                    judged.asking = parameter;
                }
                count(Meaning::Part(Hint::Foreign));
            }
            continue;
        }
        let is_of_models = found.hint() == Some(Hint::Model);
        if is_of_models
            && (words == "cursor" || purpose.is_some_and(|purpose| purpose.has_own(words, folded)))
        {
            continue;
        }
        if is_of_models && purpose.is_some_and(|purpose| purpose.is_no_matter_of_models(words)) {
            count(Meaning::Part(Hint::Addressed));
        }
        let is_strange = || purpose.is_some_and(|purpose| purpose.is_strange(words));
        let is_own = found.hint() == Some(Hint::Belongings) && !is_strange();
        if !is_own && !is_forbidden(folded, found) {
            count(found.meaning);
        }
    }
    judged
}

/// Whether the words of a match do not mean the private thing itself, but a measure of it, its number, or a reason.
pub(super) fn is_no_thing(folded: &str, found: &Match, words: &str) -> bool {
    let before = folded.get(..found.range.start).unwrap_or_default();
    let after = folded.get(found.range.end..).unwrap_or_default();
    let is_numbered = after
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_kind = words == "conversation"
        && (before.ends_with(['_', '.'])
            || before.ends_with("that ")
            || [" id", ".id", "_id"].iter().any(|id| after.starts_with(id)));
    let is_asked = ["request", "question", "prompt"]
        .iter()
        .any(|asked| words.ends_with(asked));
    is_numbered
        || is_kind
        || MEASURES.iter().any(|measure| after.starts_with(measure))
        || is_asked && BASES.iter().any(|base| before.ends_with(base))
}

fn is_beyond(purpose: &ToolPurpose, place: &str, topic: Topic, words: &str, found: &Match) -> bool {
    let says_the_purpose = place == "/description" && found.range.start < purpose.stated;
    !says_the_purpose && purpose.is_beyond(topic, words)
}

/// Whether a denial stands near something private: "never paste secrets", "secrets are never sent".
fn is_denied(private: &Range<usize>, denials: &[&Range<usize>]) -> bool {
    denials.iter().any(|denied| {
        let before = private.start.checked_sub(denied.end);
        let after = denied.start.checked_sub(private.end);
        before.is_some_and(|between| between <= DENIED)
            || after.is_some_and(|between| between <= DENIED_AFTER)
    })
}

/// Whether a few words before something private forbid what is done with it: "do not include secrets of `.env`".
fn is_forbidden(folded: &str, found: &Match) -> bool {
    let is_private = matches!(
        found.hint(),
        Some(Hint::SecretFile | Hint::SecretWord | Hint::Belongings)
    );
    if !is_private {
        return false;
    }
    let before = folded.get(..found.range.start).unwrap_or_default();
    let clause = before.rsplit([',', ';', ':', '!', '?', '(']).next();
    let clause = clause.and_then(|clause| clause.rsplit(". ").next());
    let words = clause.unwrap_or_default().split_whitespace().rev();
    let denies = |word: &str| ["not", "never", "don't", "cannot"].contains(&word);
    // Between the denial and the private thing stands the forbidden verb.
    let denial = words.take(FORBIDDEN_WORDS).position(denies);
    denial.is_some_and(|between| between > 0)
}

/// The parameter whose description or title stands at this place.
pub(super) fn parameter_of(place: &str) -> Option<&str> {
    let (before, last) = place.rsplit_once('/')?;
    let (before, name) = before.rsplit_once('/')?;
    let is_text = ["description", "title"].contains(&last) && !place.starts_with("/outputSchema/");
    (is_text && before.ends_with("/properties")).then_some(name)
}
