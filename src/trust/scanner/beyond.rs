//! Finds parameters that ask for what is none of a tool's business.

use std::{cell::RefCell, collections::BTreeSet};

use super::{
    Findings, Passage,
    Severity::{Hold, Remark},
    excerpt::excerpt,
    fold::words_of_name,
    phrase::{Hint, Meaning},
};

/// Limit: parameters beyond the purpose that are counted.
const ASKED: usize = 8;

/// The parameters of a tool that are beyond its purpose, by their words. Texts are read through shared references, and note them on the way.
#[derive(Default)]
pub(super) struct AskedBeyond(RefCell<BTreeSet<String>>);

impl AskedBeyond {
    pub(super) fn note(&self, parameter: &str) {
        let mut asked = self.0.borrow_mut();
        if asked.len() < ASKED {
            asked.insert(words_of_name(parameter));
        }
    }

    /// Holds a tool that asks for several such things.
    pub(super) fn read_all(self, findings: &mut Findings) {
        let asked = Vec::from_iter(self.0.into_inner());
        if asked.len() > 1 {
            let names = asked.join(", ");
            let names = excerpt(&names, 0..names.len());
            findings.note("parameters.beyond_purpose", Hold, "/inputSchema", names);
        }
    }
}

/// Reads the name of a parameter, and its words.
pub(super) fn read_name(text: &Passage<'_>, words: &str, findings: &mut Findings) {
    let Some(purpose) = &text.reader.purpose else {
        return;
    };
    // No apostrophe is in a name: `users_inbox`.
    let words = words.replace("users ", "user's ");
    let found = text.reader.phrases.find(&words);
    let is_beyond = found.iter().any(|found| {
        let words = words.get(found.range.clone()).unwrap_or_default();
        match found.meaning {
            Meaning::Topic(topic) => purpose.is_beyond(topic, words),
            Meaning::Part(Hint::Theirs) => {
                ["user", "agent", "assistant", "model"]
                    .iter()
                    .any(|owner| words.starts_with(owner))
                    && purpose.is_strange(words)
            }
            _ => false,
        }
    });
    if is_beyond {
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
