//! Phrases that are findings by themselves. Above each stands a text in which it is found.

mod conduct;
mod conversation;
mod languages;
mod orders;
mod payloads;
mod persuasion;

use super::phrase::Phrase;

/// All phrases that are findings by themselves. Of one rule and severity, the first that is found is shown.
pub(super) const DIRECT: [&[Phrase]; 6] = [
    orders::ORDERS,
    conversation::CONVERSATION,
    languages::LANGUAGES,
    persuasion::PERSUASION,
    conduct::CONDUCT,
    payloads::PAYLOADS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{fold::fold, phrases::Phrases};

    /// The sources of the tables.
    const SOURCES: [&str; 6] = [
        include_str!("orders.rs"),
        include_str!("conversation.rs"),
        include_str!("languages.rs"),
        include_str!("persuasion.rs"),
        include_str!("conduct.rs"),
        include_str!("payloads.rs"),
    ];

    /// The text between the quotation marks of each comment in a table.
    fn examples(source: &str) -> Vec<&str> {
        let lines = source.lines();
        let comments = lines.filter_map(|line| line.strip_prefix("    // "));
        let quoted = comments.filter_map(|comment| comment.split_once('"')?.1.strip_suffix('"'));
        quoted.collect()
    }

    #[test]
    fn each_phrase_is_found_in_the_example_above_it() {
        for (table, source) in DIRECT.into_iter().zip(SOURCES) {
            let examples = examples(source);
            assert_eq!(table.len(), examples.len(), "{examples:#?}");
            for (phrase, example) in table.iter().zip(examples) {
                let found = Phrases::default().find(&fold(example));
                let mut patterns = found.iter().map(|found| found.pattern);
                let is_found = patterns.any(|pattern| pattern == Some(phrase.pattern));
                assert!(is_found, "{example}");
            }
        }
    }
}
