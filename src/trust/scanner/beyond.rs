//! Finds parameters whose names ask for something private that is beyond the purpose of their tool.

use super::{
    Findings, Passage,
    Severity::{Hold, Remark},
    excerpt::excerpt,
    judging::is_no_thing,
    passage::{AskedBeyond, Kind},
    phrase::{Hint, Meaning},
};

/// Holds a tool with several such parameters.
pub(super) fn read_all(asked: AskedBeyond, findings: &mut Findings) {
    let asked = Vec::from_iter(asked.into_names());
    if asked.len() > 1 {
        let names = asked.join(", ");
        let shown = excerpt(&names);
        findings.note("parameters.beyond_purpose", Hold, "/inputSchema", shown);
    }
}

/// The place of the parameter whose name this text is: an element of `required` names a member of `properties`.
fn parameter_at(text: &Passage<'_>) -> String {
    match text.place.rsplit_once("/required/") {
        Some((object, _)) if text.kind == Kind::Value => {
            format!("{object}/properties/{}", text.text)
        }
        _ => text.place.to_owned(),
    }
}

/// Reads the name of a parameter; `words` is the name as words.
pub(super) fn read_name(text: &Passage<'_>, words: &str, findings: &mut Findings) {
    let Some(purpose) = &text.reader.purpose else {
        return;
    };
    // Names have no apostrophe: `users_inbox`.
    let words = words.replace("users ", "user's ");
    let found = text.reader.phrases.find(&words);
    let is_beyond = found.iter().any(|found| {
        let name = &words;
        let words = words.get(found.range.clone()).unwrap_or_default();
        match found.meaning {
            Meaning::Topic(_) if is_no_thing(name, found, words) => false,
            Meaning::Topic(topic) => purpose.is_beyond(topic, words),
            Meaning::Part(Hint::Belongings) => {
                ["user", "agent", "assistant", "model"]
                    .iter()
                    .any(|owner| words.starts_with(owner))
                    && purpose.is_strange(words)
            }
            _ => false,
        }
    });
    if is_beyond && !purpose.passes_nothing(&parameter_at(text)) {
        text.reader.asked.note(text.text);
        let severity = if purpose.is_by_consent { Remark } else { Hold };
        findings.add(
            "parameters.beyond_purpose",
            severity,
            text,
            0..text.text.len(),
        );
    }
}
