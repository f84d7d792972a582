//! Tells what a text says from what it quotes, and from what it says for good reason: a tool that looks for attacks names them, an example is no
//! order, and who keeps passwords says to whom they are not shown.

use super::{passage::Passage, phrase::Topic};

/// Words before a quotation, in the same sentence.
const CITES: [&str; 34] = [
    "such as",
    "for example",
    "for instance",
    "example",
    "phrases",
    "detects",
    "flags",
    "signals",
    "patterns",
    "rejects",
    "warns of",
    "warn of",
    "blocks",
    "looks for",
    "searches for",
    "for poisoning",
    "attempts",
    "attacks",
    "injections",
    "phrasing",
    "sentences like",
    "orders like",
    "texts like",
    "lines like",
    "words like",
    "query:",
    "attacker",
    "search for",
    "published",
    "reports",
    "telling",
    "tries to",
    "says whether",
    "finds",
];

/// Words before what is shown as an example, whatever the tool is for.
const SHOWS: [&str; 4] = ["example", "such as", "for instance", "sample"];

/// Limits: bytes of a sentence that are looked at before a place, of those before "without" that may deny it, and of a beginning that says what a
/// tool is.
const BEFORE: usize = 400;
const DENIED: usize = 60;
const BEGINNING: usize = 60;

/// Whether what a rule holds is only a remark where it stands: quoted, or said for good reason.
pub(super) fn is_harmless(text: &Passage<'_>, rule: &str, at: usize) -> bool {
    let keeps_secrets = || text.reader.purpose.keeps_secrets();
    match rule {
        // Who keeps passwords says to whom they are not shown.
        "orders.conceal" if keeps_secrets() || is_forbidden(text.text, at) => true,
        // A tool that is to be used no more names the one that is.
        "preference.exclusive" | "preference.praise" if says_it_is_old(text.text) => true,
        _ => is_quoted(text, rule, at),
    }
}

/// Whether it is forbidden to do something "without the user's consent".
fn is_forbidden(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or_default();
    let near = before.get(before.floor_char_boundary(before.len().saturating_sub(DENIED))..);
    let near = near.unwrap_or_default().to_lowercase();
    let near = near.rsplit(['.', ':', '\n']).next().unwrap_or_default();
    let is_without = after.trim_start().to_lowercase().starts_with("without");
    is_without
        && ["never ", "not ", "n't "]
            .iter()
            .any(|denial| near.contains(denial))
}

fn says_it_is_old(text: &str) -> bool {
    let beginning = text.get(..text.floor_char_boundary(BEGINNING));
    let beginning = beginning.unwrap_or_default().to_lowercase();
    let beginning = beginning.trim_start_matches(['*', '[', '(', ' ']);
    [
        "deprecated",
        "this tool is deprecated",
        "this is deprecated",
    ]
    .iter()
    .any(|says| beginning.starts_with(says))
}

/// Whether what stands at a place of a text is not said to the reader, but quoted to them. Tools that have to do with attacks quote; of
/// others only what imitates a conversation may be an example of one.
fn is_quoted(text: &Passage<'_>, rule: &str, at: usize) -> bool {
    let is_about_attacks = text.reader.purpose.is_about(Topic::Security);
    if !is_about_attacks && rule != "orders.frame" {
        return false;
    }
    let from = text.text.floor_char_boundary(at.saturating_sub(BEFORE));
    let before = text.text.get(from..at).unwrap_or_default();
    let lower = before.to_lowercase().replace("e.g. ", "such as ");
    let sentence = lower.rsplit_once(". ");
    let sentence = sentence.map_or(lower.as_str(), |(_, sentence)| sentence);
    if !is_about_attacks {
        return SHOWS.iter().any(|word| lower.contains(word));
    }
    let is_inside = ['"', '`', '“', '«'].iter().any(|mark| {
        let marks = sentence.matches(*mark).count();
        marks % 2 == 1
    });
    is_inside || at == 0 || CITES.iter().any(|word| sentence.contains(word))
}
