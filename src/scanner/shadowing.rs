//! Texts that name the tools of other servers: a tool has no business with strangers' tools but to steer how they are used.

use super::{
    Severity::Remark,
    findings::Findings,
    neighbours::Neighbours,
    passage::{Kind, Passage},
};

/// Looks for names of tools that others have and `server` has not.
pub(super) fn read(
    text: &Passage<'_>,
    server: &str,
    neighbours: &Neighbours,
    findings: &mut Findings,
) {
    if text.kind != Kind::Prose {
        return;
    }
    let mut end = 0;
    while let Some(start) = text.text.get(end..).and_then(|rest| rest.find(is_part)) {
        let start = end + start;
        let rest = text.text.get(start..).unwrap_or_default();
        let word = rest
            .find(|c| !is_part(c))
            .and_then(|length| rest.get(..length))
            .unwrap_or(rest);
        end = start + word.len();
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        if is_distinctive(word) && neighbours.is_strange(server, word) {
            findings.add("shadowing.mention", Remark, text, start..start + word.len());
        }
    }
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || "_-.:/".contains(character)
}

/// Whether a word is a name and no word of a language: it has joints inside.
fn is_distinctive(word: &str) -> bool {
    let mut letters = word.chars().zip(word.chars().skip(1));
    word.len() >= 6
        && letters.any(|(a, b)| "_:/".contains(b) || a.is_lowercase() && b.is_uppercase())
}
