//! The names of the tools of all servers, to find texts that name tools of other servers, and names that imitate them.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::similar_names::{SimilarNames, is_plain};

/// The names of the tools of all servers, made once for a state of the catalog.
#[derive(Debug, Default, Clone)]
pub struct Neighbours {
    /// The servers of each tool, by the tool's name in lower case.
    tools: HashMap<String, BTreeSet<String>>,
    tool_names: SimilarNames,
    /// The names of the servers, in lower case.
    servers: HashSet<String>,
    server_names: SimilarNames,
}

/// How a name resembles that of another server's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nearness {
    /// It looks the same with other letters.
    LooksTheSame,
    /// It has one letter more, less or changed.
    OneLetterOff,
    /// It begins with the name of another server.
    NamesTheServer,
    /// It is the same, and not a common name.
    Same,
    /// It is the same with a word that claims to be the right one: `send_email_verified`.
    BetterThan,
    /// It is the same with another word or a number: `sendEmailV2`.
    WithMore,
}

/// Limits: bytes of the shortest names that are compared by one letter. Shorter ones resemble each other by chance.
const LONG_TOOL: usize = 10;
const LONG_SERVER: usize = 5;

/// Limit: bytes of the shortest name that is compared without an added word or number.
const LONG_BASE: usize = 9;

impl Neighbours {
    /// Takes pairs of a server's and a tool's own name.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut neighbours = Self::default();
        let (mut tool_names, mut server_names) = (Vec::new(), Vec::new());
        for (server, tool) in tools {
            let (server, tool) = (server.to_lowercase(), tool.to_lowercase());
            if neighbours.servers.insert(server.clone()) {
                server_names.push(server.clone());
            }
            if !neighbours.tools.contains_key(&tool) {
                tool_names.push(tool.clone());
            }
            neighbours.tools.entry(tool).or_default().insert(server);
        }
        neighbours.tool_names = SimilarNames::new(tool_names);
        neighbours.server_names = SimilarNames::new(server_names);
        neighbours
    }

    /// Whether there are no tools.
    pub(super) fn are_none(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether other servers have a tool of this name, with or without the server's name before it, and `server` has none.
    pub(super) fn is_strange(&self, server: &str, word: &str) -> bool {
        let (server, word) = (server.to_lowercase(), word.to_lowercase());
        let has = |owner: &str, tool: &str| {
            let owners = self.tools.get(tool);
            owners.is_some_and(|owners| owners.contains(owner))
        };
        // A name with that of another server before it means that server's tool, whatever tools this one has.
        let mut parts = joined(&word);
        parts.any(|(other, tool)| other != server && has(other, tool))
            || self.tools.contains_key(&word) && !has(&server, &word)
    }

    /// How a tool's name resembles that of another server's tool, and of which, as `server:tool` in lower case.
    pub(super) fn nearest(&self, server: &str, tool: &str) -> Option<(Nearness, String)> {
        let (server, tool) = (server.to_lowercase(), tool.to_lowercase());
        let is_others = |name: &&String| {
            let owners = self.tools.get(*name);
            **name != tool && owners.is_some_and(|owners| !owners.contains(&server))
        };
        let whole = |name: &String| {
            let owner = self.tools.get(name).and_then(|owners| owners.first());
            owner.map_or_else(|| name.clone(), |owner| format!("{owner}:{name}"))
        };
        // A plain name does not imitate a disguised one.
        let may_imitate = |name: &&String| is_plain(name) || !is_plain(&tool);
        let mut alike = self.tool_names.same_look(&tool);
        if let Some(name) = alike.find(|name| is_others(name) && may_imitate(name)) {
            return Some((Nearness::LooksTheSame, whole(name)));
        }
        let mut parts = joined(&tool);
        if let Some((other, _)) =
            parts.find(|(other, _)| *other != server && self.servers.contains(*other))
        {
            return Some((Nearness::NamesTheServer, other.to_owned()));
        }
        if tool.len() >= LONG_TOOL
            && let Some(name) = self.tool_names.one_off(&tool).find(is_others)
        {
            return Some((Nearness::OneLetterOff, whole(name)));
        }
        if is_act(&tool)
            && let Some(name) = self.tool_names.other_joints(&tool).find(is_others)
        {
            return Some((Nearness::OneLetterOff, whole(name)));
        }
        if let Some((near, name)) = self.with_more(&server, &tool) {
            return Some((near, whole(name)));
        }
        let owners = self.tools.get(&tool).into_iter().flatten();
        let mut owners = owners.filter(|owner| **owner != server);
        let (first, second) = (owners.next()?, owners.next());
        let is_same = second.is_none() && is_act(&tool);
        is_same.then(|| (Nearness::Same, format!("{first}:{tool}")))
    }

    /// The tool of another server whose name this is with an added word at one end, or with a version.
    fn with_more(&self, server: &str, tool: &str) -> Option<(Nearness, &String)> {
        let words = tool.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let (last, before) = words.split_last()?;
        let (first, after) = words.split_first()?;
        let kind = |word: &str, rest: &[&str]| match word {
            word if BETTER.contains(&word) => Some(Nearness::BetterThan),
            word if MORE.contains(&word) || is_act(&rest.join("_")) => Some(Nearness::WithMore),
            _ => None,
        };
        let ended = kind(last, before).map(|kind| (before.concat(), kind));
        let begun = kind(first, after).map(|kind| (after.concat(), kind));
        // `update_issue_v3`, `get_secret2`
        let whole = words.concat();
        let plain = whole.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'v');
        let numbered = whole.ends_with(|c: char| c.is_ascii_digit());
        let numbered = numbered.then(|| (plain.to_owned(), Nearness::WithMore));
        let mut candidates = [ended, begun, numbered].into_iter().flatten();
        candidates.find_map(|(base, kind)| {
            let is_better = kind == Nearness::BetterThan && base.len() > 3;
            let is_others = |name: &&String| {
                let owners = self.tools.get(*name);
                owners.is_some_and(|owners| !owners.contains(server) && owners.len() < 3)
            };
            let mut same = self.tool_names.other_joints(&base);
            let found = (is_better || base.len() >= LONG_BASE).then(|| same.find(is_others));
            Some((kind, found.flatten()?))
        })
    }

    /// How a server's name resembles that of another server, and of which: it looks the same, or differs by one letter.
    pub(super) fn nearest_server(&self, server: &str) -> Option<(Nearness, String)> {
        let server = server.to_lowercase();
        let is_other = |other: &&String| **other != server;
        let may_imitate = |other: &&String| is_plain(other) || !is_plain(&server);
        let mut alike = self.server_names.same_look(&server);
        if let Some(other) = alike.find(|other| is_other(other) && may_imitate(other)) {
            return Some((Nearness::LooksTheSame, other.clone()));
        }
        if server.len() < LONG_SERVER {
            return None;
        }
        let near = self.server_names.one_off(&server).find(is_other);
        near.map(|other| (Nearness::OneLetterOff, other.clone()))
    }
}

/// The parts of a name before and after each separator that may stand between the names of a server and its tool.
pub(super) fn joined(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let bytes = name.as_bytes();
    let doubled = bytes.windows(2).position(|pair| pair == b"__");
    let single = move |joint: &u8| Some((bytes.iter().position(|byte| byte == joint)?, 1));
    let joints = doubled.map(|at| (at, 2_usize)).into_iter();
    let joints = joints.chain(b":/.".iter().filter_map(single));
    joints.filter_map(move |(at, length)| Some((name.get(..at)?, name.get(at + length..)?)))
}

/// Words by which a name claims to be the right one.
#[rustfmt::skip]
const BETTER: [&str; 20] = [
    "official", "verified", "real", "original", "secure", "secured", "safe", "trusted", "genuine", "authentic", "approved",
    "certified", "fixed", "patched", "corrected", "preferred", "improved", "better", "updated", "enhanced",
];

/// Words that change a name and not its meaning.
const MORE: [&str; 24] = [
    "new", "latest", "pro", "plus", "fast", "faster", "alt", "next", "now", "x", "ultra", "max",
    "premium", "my", "the", "best", "lite", "express", "turbo", "smart", "prod", "final", "v",
    "ex",
];

/// Whether a name has two words, a verb whose effect depends on the server that does it, and an object: `send_email`. Servers also share such names
/// by accident, so the rule only remarks.
fn is_act(tool: &str) -> bool {
    #[rustfmt::skip]
    const ACTS: [&str; 22] = [
        "send", "transfer", "pay", "make", "delete", "write", "read", "execute", "run", "merge", "publish", "deploy", "approve",
        "login", "sign", "withdraw", "push", "post", "authenticate", "list", "create", "commit",
    ];
    const COMMON: [&str; 4] = ["directory", "files", "directories", "tools"];
    let mut words = tool.split(['_', '-']).filter(|word| !word.is_empty());
    let is_act = words.next().is_some_and(|verb| ACTS.contains(&verb));
    let object = words.next();
    is_act && object.is_some_and(|object| !COMMON.contains(&object)) && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours() -> Neighbours {
        Neighbours::new([
            ("mail", "send_email"),
            ("disk", "read_file"),
            ("box", "read_file"),
            ("box", "search"),
            ("bank", "transfer_money"),
            ("decoy", "bank:transfer_money"),
        ])
    }

    #[test]
    fn a_name_is_strange_where_others_have_it_and_the_server_has_not() {
        for (server, word, expected) in [
            ("disk", "send_email", true),
            ("disk", "Mail:send_email", true),
            ("disk", "mail__send_email", true),
            ("mail", "send_email", false),
            ("mail", "mail:send_email", false),
            ("disk", "read_file", false),
            ("mail", "read_file", true),
            ("mail", "delete_file", false),
            ("mail", "disk/send_email", false),
            ("decoy", "bank:transfer_money", true),
            ("mail", "decoy:bank:transfer_money", true),
        ] {
            assert_eq!(
                neighbours().is_strange(server, word),
                expected,
                "{server} {word}"
            );
        }
    }

    #[test]
    fn names_that_are_taken_for_others() {
        use Nearness::{LooksTheSame, NamesTheServer, OneLetterOff, Same, WithMore};
        for (server, tool, expected) in [
            ("mail", "send_email", None),
            ("evil", "send_email", Some(Same)),
            ("evil", "search", None),
            ("evil", "send_emai1", Some(LooksTheSame)),
            ("evil", "sеnd_email", Some(LooksTheSame)),
            ("evil", "transfer_rnoney", Some(LooksTheSame)),
            ("evil", "transfer_mony", Some(OneLetterOff)),
            ("evil", "transferr_money", Some(OneLetterOff)),
            ("evil", "transfer_maney", Some(OneLetterOff)),
            ("evil", "send_emails", None),
            ("disk", "read_file", Some(Same)),
            ("evil", "bank__balance", Some(NamesTheServer)),
            ("evil", "transfer_money_2", Some(WithMore)),
            ("evil", "get_weather", None),
        ] {
            let near = neighbours().nearest(server, tool);
            assert_eq!(near.map(|(near, _)| near), expected, "{server} {tool}");
        }
    }

    #[test]
    fn what_a_name_is_taken_for_is_named() {
        for (server, tool, expected) in [
            ("evil", "send_emai1", "mail:send_email"),
            ("evil", "Transfer_mony", "bank:transfer_money"),
            ("evil", "bank__balance", "bank"),
            ("disk", "read_file", "box:read_file"),
        ] {
            let near = neighbours().nearest(server, tool);
            let like = near.map(|(_, like)| like);
            assert_eq!(like.as_deref(), Some(expected), "{server} {tool}");
        }
        let like = |server| neighbours().nearest_server(server).map(|(_, like)| like);
        assert_eq!(like("bannk"), Some("bank".to_owned()));
        assert_eq!(like("bank"), None);
    }
}
