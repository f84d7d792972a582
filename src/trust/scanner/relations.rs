//! Decides cheaply whether the texts of one server may be about another server, by hashes of words that may be names of tools. If not, they need not
//! be read again when the other server comes or changes its tools.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{
    Findings, Neighbours, PassageReader,
    neighbours::joined,
    shadowing::names_in,
    similar_names::{is_plain, look},
    walk,
};
use crate::wire::Raw;

/// The names of a server, and the names in its texts, as sorted hashes. Immutable.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// The names of the server and its tools, and what they look like.
    marks: Box<[u32]>,
    /// The words in its texts that may name something, and what its disguised names look like.
    traces: Box<[u32]>,
}

impl Relations {
    /// Reads the tools of a server, each by name and definition, and its instructions.
    pub fn of<'a>(
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a Raw)>,
        instructions: Option<&Raw>,
    ) -> Self {
        let server = server.to_lowercase();
        let mut marks = vec![hash(&server), hash(&look_of_server(&server))];
        let mut traces = Vec::new();
        if !is_plain(&server) {
            traces.push(hash(&look_of_server(&server)));
        }
        for (name, definition) in tools {
            let name = name.to_lowercase();
            marks.extend([hash(&name), hash(&look(&name))]);
            if !is_plain(&name) {
                traces.push(hash(&look(&name)));
            }
            traces.extend(joined(&name).map(|(before, _)| hash(before)));
            trace(definition, &mut traces);
        }
        if let Some(instructions) = instructions {
            trace(instructions, &mut traces);
        }
        Self {
            marks: sorted(marks),
            traces: sorted(traces),
        }
    }

    /// Whether texts or names of this server may be about the other one.
    pub fn may_be_about(&self, other: &Self) -> bool {
        let mut marks = other.marks.iter();
        marks.any(|mark| self.traces.binary_search(mark).is_ok())
    }

    /// Whether both have the same names, so that texts of third servers are about both or neither.
    pub fn is_known_by_the_same(&self, other: &Self) -> bool {
        self.marks == other.marks
    }
}

/// Whether a text names a tool that other servers have and this one has not.
pub(super) fn names_strangers(text: &Raw, server: &str, neighbours: &Neighbours) -> bool {
    let mut is_any = false;
    each_name(text, |word| {
        is_any = is_any || neighbours.is_strange(server, word);
    });
    is_any
}

/// Adds the words of a text that may name a tool.
fn trace(text: &Raw, traces: &mut Vec<u32>) {
    each_name(text, |word| {
        let word = word.to_lowercase();
        traces.extend(joined(&word).map(|(_, after)| hash(after)));
        traces.push(hash(&word));
    });
}

/// Gives the words of a text that may name a tool to `note`, wherever they stand.
fn each_name(definition: &Raw, mut note: impl FnMut(&str)) {
    let text = definition.as_str();
    if text.contains("\\u") {
        walk::definition(
            definition,
            &PassageReader::default(),
            &mut Findings::default(),
            |text, _| {
                names_in(text.text).for_each(|(_, word)| note(word));
            },
        );
        return;
    }
    for (at, word) in names_in(text) {
        // A letter after a backslash is part of an escape, not of the word.
        let is_escaped = text.get(..at).is_some_and(|before| before.ends_with('\\'));
        note(word.get(usize::from(is_escaped)..).unwrap_or(word));
    }
}

fn look_of_server(server: &str) -> String {
    format!("\0{}", look(server))
}

fn sorted(mut hashes: Vec<u32>) -> Box<[u32]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
fn hash(word: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relations(server: &str, tools: &[(&str, &str)]) -> Relations {
        let define = |(name, words): &(&str, &str)| {
            let text = format!(r#"{{"name":"{name}","description":"{words}"}}"#);
            ((*name).to_owned(), Raw::parse_str(&text).expect("JSON"))
        };
        let tools: Vec<_> = tools.iter().map(define).collect();
        let tools = tools.iter().map(|(name, definition)| (&**name, definition));
        Relations::of(server, tools, None)
    }

    #[test]
    fn whoever_may_be_about_another_is_found() {
        let mail = relations("mail", &[("send_email", "Sends."), ("search", "Searches.")]);
        for (name, words, expected) in [
            ("add", "Before send_email, call it.", true),
            ("add", r"First\nsend_email", true),
            ("add", r"First \u0073end_email", true),
            ("add", "Instead of mail__send_email.", true),
            ("add", "Instead of Mail:Send_Email.", true),
            ("send_emai1", "Sends.", true),
            ("mail__drafts", "Lists.", true),
            ("send_email", "Sends.", true),
            ("search", "Searches.", false),
            ("add", "Adds what you send by email.", false),
            ("add", "Adds user_ids.", false),
        ] {
            let other = relations("calc", &[(name, words)]);
            assert_eq!(other.may_be_about(&mail), expected, "{name}: {words}");
        }
        assert!(relations("mai1", &[]).may_be_about(&mail));
        assert!(!mail.may_be_about(&relations("mai1", &[])));
    }
}
