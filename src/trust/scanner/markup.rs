//! Titles that are no titles, and marks of Markdown and HTML that hide words from a person or put them into somebody else's mouth.

use super::{
    Severity::{Hold, Remark},
    findings::Findings,
    fold::fold,
    passage::{Kind, Passage},
    phrase::Hint,
};

/// The most words of a title; a longer one is a sentence.
const TITLE_WORDS: usize = 10;

/// Who speaks in a block of a conversation.
const SPEAKERS: [&str; 14] = [
    "system",
    "user",
    "assistant",
    "human",
    "developer",
    "instructions",
    "instruction",
    "prompt",
    "admin",
    "agent",
    "llm",
    "ai",
    "model",
    "important",
];

/// Whom a heading addresses that is not for people.
const ADDRESSED: [&str; 12] = [
    "assistant",
    "assistants",
    "agent",
    "agents",
    "model",
    "models",
    "llm",
    "llms",
    "ai",
    "system",
    "claude",
    "copilot",
];

/// What begins a text that is not shown.
const HIDES: [&str; 14] = [
    "<!--",
    "[//]:",
    "[comment]:",
    "[^hidden]",
    "display:none",
    "display: none",
    "visibility:hidden",
    "visibility: hidden",
    "font-size:0",
    "font-size: 0",
    "opacity:0",
    "color:white",
    "color:transparent",
    " hidden>",
];

/// Limit: bytes of what is not shown that are looked at.
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

/// What words of a text hint at that is no matter of a name.
fn hints(text: &Passage<'_>) -> u32 {
    let matches = text.sentences().matches.iter();
    let hints = matches.filter_map(super::phrases::Match::hint);
    let telling = hints.filter(|hint| !matches!(hint, Hint::Whole | Hint::Not | Hint::Praise));
    let all = telling.fold(0_u32, |all, hint| all | hint.bit());
    all.count_ones()
}

fn title(text: &Passage<'_>, findings: &mut Findings) {
    let words = text.text.split_whitespace().count();
    let severity = match (hints(text), words) {
        (3.., _) | (2, 6..) => Hold,
        (1.., 5..) | (_, TITLE_WORDS..) => Remark,
        _ => return,
    };
    findings.add("orders.title", severity, text, 0..text.text.len());
}

/// Blocks of code that are somebody's turn, and headings for the model.
fn blocks(text: &Passage<'_>, findings: &mut Findings) {
    if !text.text.contains(['`', '#', '~', '>']) {
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
                let severity = if hints(text) > 1 { Hold } else { Remark };
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

/// Comments and text without size or colour.
fn hidden(text: &Passage<'_>, findings: &mut Findings) {
    let lower = text.text.to_ascii_lowercase();
    let Some(at) = HIDES.iter().filter_map(|begin| lower.find(begin)).min() else {
        return;
    };
    let end = text.text.floor_char_boundary(at + HIDDEN);
    let words = text.text.get(at..end).unwrap_or_default();
    let words = words.split_once("-->").map_or(words, |(inside, _)| inside);
    let found = text.reader.phrases.find(&fold(words));
    let hints = found.iter().filter_map(super::phrases::Match::hint);
    let telling = hints.filter(|hint| !matches!(hint, Hint::Whole | Hint::Not | Hint::Order));
    let all = telling.fold(0_u32, |all, hint| all | hint.bit());
    let is_finding = found.iter().any(|found| match found.meaning {
        super::phrase::Meaning::Topic(_) => words.split_whitespace().count() > 3,
        super::phrase::Meaning::Finding(_, severity) => severity == Hold,
        super::phrase::Meaning::Part(_) => false,
    });
    let severity = match all.count_ones() {
        _ if is_finding => Hold,
        2.. => Hold,
        _ if words.split_whitespace().count() > 4 => Remark,
        _ => return,
    };
    findings.add("hidden.markup", severity, text, at..at + words.len());
}
