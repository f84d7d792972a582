//! Finds orders in titles, and Markdown and HTML that hide words from a person or make them look like the turn of somebody in a conversation.

use super::{
    Severity::{Hold, Remark},
    findings::Findings,
    fold::{fold, words_of_name},
    passage::{Kind, Passage},
    phrase::{Hint, Meaning},
    phrases::Match,
    quoted::{is_harmless, is_wanted},
};

/// The most words of a title; a longer one is a sentence.
const TITLE_WORDS: usize = 10;

/// Languages of code blocks that look like turns of a conversation.
#[rustfmt::skip]
const SPEAKERS: &[&str] = &[
    "system", "developer", "admin", "user", "human", "assistant", "agent", "llm", "ai", "model",
    "instructions", "instruction", "prompt", "important",
];

/// Words of headings that address a model.
#[rustfmt::skip]
const ADDRESSED: &[&str] = &[
    "assistant", "assistants", "agent", "agents", "model", "models", "llm", "llms", "ai", "claude", "copilot", "system",
];

/// Beginnings of text that a page does not show, and bytes of which each has one.
const HIDING: &[u8] = b"<:>";
#[rustfmt::skip]
const HIDES: &[&str] = &[
    "<!--", "[//]:", "[comment]:", "[^hidden]", " hidden>",
    "display:none", "display: none", "visibility:hidden", "visibility: hidden", "font-size:0", "font-size: 0", "opacity:0",
    "color:white", "color:transparent",
];

/// Hints of an action.
#[rustfmt::skip]
const ACTS: [Hint; 7] = [
    Hint::Send, Hint::Give, Hint::Take, Hint::HandOver, Hint::Order, Hint::EveryTime, Hint::Model,
];

/// Limit: bytes of hidden text that are read.
const HIDDEN: usize = 600;

/// Reads a text.
pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    if ["/title", "/annotations/title"].contains(&text.place) {
        title(text, findings);
    }
    if text.kind == Kind::Prose || text.kind == Kind::Value {
        blocks(text, findings);
        hidden(text, findings);
    }
}

/// The number of kinds of hints in a part of a text.
fn hints_in(text: &Passage<'_>, part: &str) -> u32 {
    count(text.reader.phrases.find(&fold(part)).iter())
}

/// The number of kinds of hints among matches, without those that ordinary names have.
fn count<'m>(matches: impl Iterator<Item = &'m Match>) -> u32 {
    let telling = matches
        .filter_map(Match::hint)
        .filter(|hint| !matches!(hint, Hint::Everything | Hint::Denial | Hint::Praise));
    telling
        .fold(0_u32, |all, hint| all | hint.bit())
        .count_ones()
}

fn title(text: &Passage<'_>, findings: &mut Findings) {
    let words = text.text.split_whitespace().count();
    let name = text
        .reader
        .purpose
        .as_ref()
        .map(|purpose| words_of_name(purpose.name()));
    if name
        .is_some_and(|name| format!("{name} ").contains(&format!("{} ", text.sentences().folded)))
    {
        return;
    }
    let matches = &text.sentences().matches;
    let acts = matches
        .iter()
        .filter_map(Match::hint)
        .any(|hint| ACTS.contains(&hint));
    let is_about_more = matches.iter().any(is_wanted) && acts;
    let severity = match (count(matches.iter()), words) {
        _ if is_about_more && words > 3 => Hold,
        (3.., _) | (2, 6..) | (1.., TITLE_WORDS..) => Hold,
        (1.., 5..) | (_, TITLE_WORDS..) => Remark,
        _ => return,
    };
    findings.add("orders.title", severity, text, 0..text.text.len());
}

/// Finds code blocks that look like a turn of a conversation, and headings for the model.
fn blocks(text: &Passage<'_>, findings: &mut Findings) {
    if !text.bytes.have_any(b"`#~>") {
        return;
    }
    let mut start = 0;
    for line in text.text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let line = line.trim();
        let first = |rest: &str| {
            let word = rest.trim_start_matches(['[', '!', '*', ' ']);
            let end = word
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(word.len());
            word.get(..end).unwrap_or_default().to_lowercase()
        };
        if let Some(rest) = line
            .strip_prefix("```")
            .or_else(|| line.strip_prefix("~~~"))
        {
            if SPEAKERS.contains(&&*first(rest)) {
                let inside = text.text.get(range.end..).unwrap_or_default();
                let inside = inside.split("```").next().unwrap_or_default();
                let is_example = is_harmless(text, "orders.frame", range.clone());
                let severity = if is_example || hints_in(text, inside) < 2 {
                    Remark
                } else {
                    Hold
                };
                findings.add("orders.frame", severity, text, range);
            }
        } else if line.starts_with('#') {
            let heading = fold(line.trim_start_matches('#'));
            let mut words = heading.split(|c: char| !c.is_alphanumeric());
            if words.any(|word| ADDRESSED.contains(&word)) && heading.split(' ').count() <= 8 {
                findings.add("orders.frame", Remark, text, range);
            }
        }
    }
}

/// Finds comments, and text without size or colour.
fn hidden(text: &Passage<'_>, findings: &mut Findings) {
    if !text.bytes.have_any(HIDING) {
        return;
    }
    let lower = text.text.to_ascii_lowercase();
    let Some(at) = HIDES.iter().filter_map(|begin| lower.find(begin)).min() else {
        return;
    };
    let end = text.text.floor_char_boundary(at + HIDDEN);
    let words = text.text.get(at..end).unwrap_or_default();
    let words = words.split_once("-->").map_or(words, |(inside, _)| inside);
    let found = text.reader.phrases.find(&fold(words));
    let is_order = found
        .iter()
        .any(|found| matches!(found.meaning, Meaning::Finding(_, Hold)));
    let wanted = found.iter().filter(|found| is_wanted(found)).count();
    let acts = found
        .iter()
        .filter_map(Match::hint)
        .any(|hint| ACTS.contains(&hint));
    let severity = match wanted {
        _ if is_harmless(text, "hidden.markup", at..at + words.len()) => Remark,
        _ if is_order => Hold,
        2.. => Hold,
        1 if acts => Hold,
        _ if words.split_whitespace().count() > 4 => Remark,
        _ => return,
    };
    findings.add("hidden.markup", severity, text, at..at + words.len());
}
