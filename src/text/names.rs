//! Names of servers, the names under which their tools and prompts are offered to clients, and suggestions for unknown names.
//!
//! An offered name is a pure function of server and tool: it does not depend on other servers. It is never parsed back: the catalog looks it
//! up.

mod built_in;
mod closest;

use std::{fmt, sync::Arc};

pub use self::{
    built_in::BUILT_IN_TOOLS,
    closest::{closest, closest_allowed, did_you_mean, edits},
};

/// The name of an upstream server: `[A-Za-z0-9._-]{1,64}`, without `__`, and neither `.` nor `..`. Cheap to clone. Compares by exact text;
/// the configuration refuses two names that differ only in case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerName(Arc<str>);

/// Why a text cannot name a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadServerName {
    /// The name is empty.
    #[error("the server name is empty")]
    Empty,
    /// The name is longer than [`ServerName::MAX_LEN`].
    #[error("{0:?} cannot be a server name: it is longer than 64 characters")]
    TooLong(String),
    /// The name has a character outside the allowed set.
    #[error("{name:?} cannot be a server name: it contains {}", if *bad == ' ' { "a space".to_owned() } else { format!("{bad:?}") })]
    BadCharacter {
        /// The whole name.
        name: String,
        /// The first character that is not allowed.
        bad: char,
    },
    /// `__` separates server and tool in offered names.
    #[error("{0:?} cannot be a server name: it contains \"__\", which separates server and tool")]
    DoubleUnderscore(String),
    /// `.` and `..` mean another path in a URL, so no request could reach the server.
    #[error("{0:?} cannot be a server name: in a URL it means another path")]
    Place(String),
}

impl BadServerName {
    /// The next step.
    pub const STEP: &str = "choose a name of at most 64 letters, digits, `.`, `_` and `-`, without `__` and other than `.` and `..`";
}

impl ServerName {
    /// The pattern of a name for JSON schemas. It also matches `.` and `..`.
    pub const PATTERN: &str = "^(?!.*__)[A-Za-z0-9._-]{1,64}$";

    /// The longest name, in characters.
    pub const MAX_LEN: usize = 64;

    /// Checks the rule stated at the type.
    pub fn parse(text: &str) -> Result<Self, BadServerName> {
        if text.is_empty() {
            return Err(BadServerName::Empty);
        }
        if text.chars().count() > Self::MAX_LEN {
            return Err(BadServerName::TooLong(text.to_owned()));
        }
        if let Some(bad) = text.chars().find(|c| !is_server_character(*c)) {
            return Err(BadServerName::BadCharacter {
                name: text.to_owned(),
                bad,
            });
        }
        if text.contains("__") {
            return Err(BadServerName::DoubleUnderscore(text.to_owned()));
        }
        if matches!(text, "." | "..") {
            return Err(BadServerName::Place(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// Makes a valid name from any text, and appends the ending.
    pub fn made_of(text: &str, ending: &str) -> Self {
        let plain = |text: &str| {
            let allowed = |c: char| if is_server_character(c) { c } else { '-' };
            let mut plain: String = text.trim().chars().map(allowed).collect();
            while plain.contains("__") {
                plain = plain.replace("__", "_");
            }
            plain
        };
        let ending = plain(ending);
        let room = Self::MAX_LEN.saturating_sub(ending.len());
        let mut name: String = plain(text).chars().take(room).collect();
        name = name.trim_matches(['-', '.', '_']).to_owned();
        if name.is_empty() {
            name.push_str("server");
        }
        name.push_str(&ending);
        Self(name.chars().take(Self::MAX_LEN).collect::<String>().into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_server_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::borrow::Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for ServerName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A name as an argument of a command: after `--` if it looks like an option. It must be the last argument.
pub fn as_argument(name: &str) -> String {
    match name {
        "" => String::new(),
        name if name.starts_with('-') => format!("-- {}", shell_word(name)),
        name => shell_word(name),
    }
}

/// A word of a command line, quoted for a shell if necessary.
pub fn shell_word(word: &str) -> String {
    // Shells replace `~`, some also a `=` at the beginning.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:=,@%+".contains(c);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Longest offered name. Clients prefix it (`mcp__<server>__`) and cut or drop what passes 64 characters in all.
const OFFERED_MAX: usize = 40;

/// Hexadecimal digits of the hash at the end of a name that was altered.
const HASH_DIGITS: usize = 8;

/// The characters of a server's name that are kept when the tool's name is cut.
const SERVER_KEPT: usize = 8;

/// What separates server and tool.
const SEPARATOR: &str = "__";

/// The name under which an upstream's tool or prompt is offered: `server__tool`, always matching `^[A-Za-z0-9_-]{1,64}$` and at
/// most 40 characters long.
///
/// Other characters become `_`. A name that was altered, or would be too long, ends in a short hash of the original pair, so that two
/// originals do not get the same offered name. The tool's name is kept before the server's: it tells the tools of one server apart.
pub fn offered(server: &ServerName, tool: &str) -> String {
    let (clean_server, clean_tool) = (clean(server.as_str()), clean(tool));
    let is_plain = clean_server == server.as_str() && clean_tool == tool;
    // A server that ends in `_` could collide with a tool that begins with one: `a_` + `x`, `a` + `_x`.
    let unambiguous = !server.as_str().ends_with('_') && !tool.is_empty();
    // A name that looks altered could equal the altered name of another pair.
    let is_own = unambiguous && !looks_altered(tool);
    let length = clean_server.len() + SEPARATOR.len() + clean_tool.len();
    if is_plain && length <= OFFERED_MAX && is_own {
        return clean_server + SEPARATOR + &clean_tool;
    }
    // A NUL cannot stand in a server name, so the pair is unambiguous.
    let hash = blake3::hash(format!("{server}\0{tool}").as_bytes()).to_hex();
    let digits: String = hash.chars().take(HASH_DIGITS).collect();
    let room = OFFERED_MAX - SEPARATOR.len() - 1 - HASH_DIGITS;
    let of_tool = room - clean_server.len().min(SERVER_KEPT);
    let clean_tool: String = clean_tool.chars().take(of_tool).collect();
    let of_server = room - clean_tool.len();
    let clean_server: String = clean_server.chars().take(of_server).collect();
    format!("{clean_server}{SEPARATOR}{clean_tool}_{digits}")
}

/// The text with `_` for each character that offered names do not have.
fn clean(text: &str) -> String {
    let allowed = |c: char| if is_offered_character(c) { c } else { '_' };
    text.chars().map(allowed).collect()
}

/// Whether a name ends in a hash, as altered names do.
fn looks_altered(tool: &str) -> bool {
    let end = tool.rsplit_once('_').map(|(_, end)| end);
    end.is_some_and(|end| {
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, 'a'..='f');
        end.len() == HASH_DIGITS && end.chars().all(is_digit)
    })
}

/// The part of an offered name after that of `server`, if it begins with it. Only for the text of refusals: calls are looked up.
pub fn tool_part<'a>(server: &ServerName, offered: &'a str) -> Option<&'a str> {
    let (prefix, tool) = offered.split_once(SEPARATOR)?;
    let is_meant = prefix == clean(server.as_str());
    (is_meant && !tool.is_empty()).then_some(tool)
}

/// Whether an offered name may belong to a tool of `server`. A hint only: the catalog decides.
pub fn may_own(server: &ServerName, offered: &str) -> bool {
    let prefix = clean(server.as_str());
    let kept = if looks_altered(offered) {
        prefix.len().min(SERVER_KEPT)
    } else {
        prefix.len()
    };
    let kept = prefix.get(..kept);
    kept.is_some_and(|prefix| offered.starts_with(prefix))
}

fn is_offered_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> ServerName {
        ServerName::parse(text).expect("a good name")
    }

    #[test]
    fn server_names_follow_their_rule() {
        for good in ["a", "github", "my-server_1.2", &"x".repeat(64)] {
            assert!(ServerName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a__b", "a/b", "é", ".", "..", &"x".repeat(65)] {
            assert!(ServerName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_argument_is_one_word_and_no_option() {
        for (name, expected) in [
            ("github", "github"),
            ("a:do it", "'a:do it'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("=x", "'=x'"),
            ("-x", "-- -x"),
            ("", ""),
        ] {
            assert_eq!(as_argument(name), expected);
        }
    }

    #[test]
    fn a_plain_name_is_offered_as_server_and_tool() {
        assert_eq!(
            offered(&server("github"), "create_issue"),
            "github__create_issue"
        );
        assert_eq!(offered(&server("a"), "b-c"), "a__b-c");
    }

    #[test]
    fn the_servers_name_is_cut_before_the_tools() {
        let long_server = "my-company-internal-knowledge-base-eu";
        let long_tool = "search_all_documents_of_everybody";
        for (name, tool, expected) in [
            (long_server, "ask", "my-company-internal-knowle__ask_"),
            (
                long_server,
                "ask_elicit",
                "my-company-internal__ask_elicit_",
            ),
            (long_server, long_tool, "my-compa__search_all_documents_"),
            ("a.b", long_tool, "a_b__search_all_documents_of_ev_"),
            ("a", long_tool, "a__search_all_documents_of_everybody"),
        ] {
            let offered = offered(&server(name), tool);
            assert!(offered.starts_with(expected), "{offered}");
            assert!(offered.len() <= OFFERED_MAX, "{offered}");
            assert!(may_own(&server(name), &offered), "{offered}");
            assert!(!may_own(&server("other"), &offered));
        }
        assert!(!may_own(&server(long_server), "my-company__x"));
    }

    #[test]
    fn altered_names_end_in_a_hash_and_stay_distinct() {
        let names: Vec<String> = ["a.b", "a/b", "a_b", "a b", "ä"]
            .iter()
            .map(|t| offered(&server("s"), t))
            .collect();
        for (i, name) in names.iter().enumerate() {
            assert!(
                name.len() <= 40 && name.chars().all(is_offered_character),
                "{name}"
            );
            assert!(!names[..i].contains(name), "{name} twice");
        }
        assert_eq!(names[2], "s__a_b");
        let long = offered(
            &server("a-very-long-server-name"),
            "and_a_tool_with_a_long_name",
        );
        assert_eq!(long.len(), 40);
        assert!(!offered(&server("s"), "").is_empty());
        assert_ne!(offered(&server("a_"), "x"), offered(&server("a"), "_x"));
        for (honest, altered) in [
            (("s", "x.y"), "s"),
            (("a_", "b"), "a"),
            (("my.srv", "t"), "my_srv"),
        ] {
            let taken = offered(&server(honest.0), honest.1);
            let (_, tool) = taken.split_once("__").expect("two parts");
            assert_ne!(offered(&server(altered), tool), taken);
        }
    }
}
