//! Names: what a server may be called, the names under which its tools and prompts are offered to clients, and which known name is
//! closest to one that is unknown.
//!
//! An offered name is a pure function of server and tool, so it never depends on what other servers exist. It is never parsed
//! back: the catalog looks it up.

mod built_in;
mod closest;

use std::{fmt, sync::Arc};

pub use self::{
    built_in::BUILT_IN_TOOLS,
    closest::{closest, closest_allowed},
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
    #[error("the server name {0:?} is longer than 64 characters")]
    TooLong(String),
    /// The name has a character outside the allowed set.
    #[error(
        "the server name {name:?} has {bad:?} in it; letters, digits, '.', '_' and '-' are allowed"
    )]
    BadCharacter {
        /// The whole name.
        name: String,
        /// The first character that is not allowed.
        bad: char,
    },
    /// `__` separates server and tool in offered names.
    #[error("the server name {0:?} has \"__\" in it, which separates server and tool")]
    DoubleUnderscore(String),
    /// In an address it stands for another one, so that no request could reach the server.
    #[error("the server name {0:?} stands for another place in an address")]
    Place(String),
}

impl ServerName {
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

    /// A good name that is as close to the text as can be, with room for an ending that is put behind it.
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

/// A server's name as a command takes it: after `--` where it would be read as an option. Options of the command go before it.
pub fn as_argument(server: &str) -> String {
    if server.starts_with('-') {
        format!("-- {server}")
    } else {
        server.to_owned()
    }
}

/// Longest offered name. Clients prefix it (`mcp__<server>__`) and cut or drop what passes 64 characters in all.
const OFFERED_MAX: usize = 40;

/// Hexadecimal digits of the hash at the end of a name that was altered.
const HASH_DIGITS: usize = 8;

/// The name under which an upstream's tool or prompt is offered: `server__tool`, always matching `^[A-Za-z0-9_-]{1,64}$` and at
/// most 40 characters long.
///
/// Other characters become `_`. A name that was altered, or would be too long, ends in a short hash of the original pair, so that two
/// originals do not get the same offered name.
pub fn offered(server: &ServerName, tool: &str) -> String {
    let plain = format!("{server}__{tool}");
    let mut clean: String = plain
        .chars()
        .map(|c| if is_offered_character(c) { c } else { '_' })
        .collect();
    // A server that ends in `_` could collide with a tool that begins with one: `a_` + `x`, `a` + `_x`.
    let unambiguous = !server.as_str().ends_with('_') && !tool.is_empty();
    // One that looks like an altered name could be taken for the one that it is the altered name of.
    let is_own = unambiguous && !looks_altered(tool);
    if clean == plain && clean.len() <= OFFERED_MAX && is_own {
        return clean;
    }
    // A NUL cannot stand in a server name, so the pair is unambiguous.
    let hash = blake3::hash(format!("{server}\0{tool}").as_bytes()).to_hex();
    let digits: String = hash.chars().take(HASH_DIGITS).collect();
    clean.truncate(OFFERED_MAX - HASH_DIGITS - 1);
    format!("{clean}_{digits}")
}

/// Whether a name ends as altered ones do.
fn looks_altered(tool: &str) -> bool {
    let end = tool.rsplit_once('_').map(|(_, end)| end);
    end.is_some_and(|end| {
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, 'a'..='f');
        end.len() == HASH_DIGITS && end.chars().all(is_digit)
    })
}

/// What an offered name says after that of `server`, if it begins with that. For refusals: calls find their way by lookup.
pub fn tool_part<'a>(server: &ServerName, offered: &'a str) -> Option<&'a str> {
    let clean = |c: char| if is_offered_character(c) { c } else { '_' };
    let (prefix, tool) = offered.split_once("__")?;
    let is_meant = prefix.chars().eq(server.as_str().chars().map(clean));
    (is_meant && !tool.is_empty()).then_some(tool)
}

/// Whether an offered name may be that of a tool of `server`. Only a hint: the catalog decides.
pub fn may_own(server: &ServerName, offered: &str) -> bool {
    let prefix: String = server
        .as_str()
        .chars()
        .map(|c| if is_offered_character(c) { c } else { '_' })
        .collect();
    // The end of a long server name is replaced by the hash.
    let kept = prefix.len().min(OFFERED_MAX - HASH_DIGITS - 1);
    prefix
        .get(..kept)
        .is_some_and(|prefix| offered.starts_with(prefix))
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
    fn a_plain_name_is_offered_as_server_and_tool() {
        assert_eq!(
            offered(&server("github"), "create_issue"),
            "github__create_issue"
        );
        assert_eq!(offered(&server("a"), "b-c"), "a__b-c");
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
