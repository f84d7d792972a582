//! Patterns of access rules and profiles: `*` stands for any run of characters, and no other character is special. Pure.
//!
//! They have no character classes and alternatives, so that a pattern means the same for tools, subjects and URIs. The globs of
//! `enabled_tools` and `disabled_tools` are in `tool_filter`.

use std::cell::OnceCell;

use super::{references::Text, values::schema_as};
use crate::text::visible::{letters, uris};

/// A pattern for one text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Text")]
pub struct Wildcard {
    pattern: Box<str>,
    /// Whether it has no `*`. Most patterns have none, and are compared faster.
    is_literal: bool,
}

impl Wildcard {
    /// Takes the pattern.
    pub fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.into(),
            is_literal: !pattern.contains('*'),
        }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether it has no `*`, so that it matches only itself.
    pub fn is_literal(&self) -> bool {
        self.is_literal
    }

    /// Whether it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        if self.is_literal {
            return *self.pattern == *text;
        }
        let Some((first, rest)) = self.pattern.split_once('*') else {
            return false;
        };
        let Some(text) = text.strip_prefix(first) else {
            return false;
        };
        let Some((middle, last)) = rest.rsplit_once('*') else {
            return text.ends_with(rest);
        };
        let Some(mut text) = text.strip_suffix(last) else {
            return false;
        };
        for piece in middle.split('*') {
            match text.split_once(piece) {
                Some((_, after)) => text = after,
                None => return false,
            }
        }
        true
    }

    /// Whether it matches every text.
    pub fn matches_all(&self) -> bool {
        !self.pattern.is_empty() && self.pattern.bytes().all(|byte| byte == b'*')
    }

    /// The same pattern for folded texts.
    fn folded(&self, fold: Fold) -> Self {
        let pieces = self.pattern.split('*').map(|piece| fold.of(piece));
        Self::new(&pieces.collect::<Vec<_>>().join("*"))
    }
}

/// Reads a pattern of subjects, roles or servers.
fn parse(pattern: &str) -> Result<Wildcard, String> {
    check(pattern)?;
    Ok(Wildcard::new(pattern))
}

/// Refuses what no kind of pattern may be: it would match nothing, and what it was to deny or to except would be allowed.
fn check_ends(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("is empty".to_owned());
    }
    if pattern.trim() != pattern || pattern.chars().any(crate::text::visible::is_invisible) {
        return Err("begins or ends with a space, or contains an invisible character".to_owned());
    }
    if pattern.starts_with('!') {
        return Err(
            "begins with \"!\": a pattern cannot make exceptions; write a rule before this one"
                .to_owned(),
        );
    }
    Ok(())
}

/// The same for patterns of names, which have no character that is special elsewhere. URIs may have them.
fn check(pattern: &str) -> Result<(), String> {
    check_ends(pattern)?;
    match pattern.chars().find(|c| SPECIAL_ELSEWHERE.contains(c)) {
        Some(special) => Err(format!("contains {special:?}; `*` is the only wildcard")),
        None => Ok(()),
    }
}

/// Characters that are special in the globs of other programs. They are refused, because they would not match what the author expects.
const SPECIAL_ELSEWHERE: [char; 5] = ['?', '[', ']', '{', '}'];

/// Which spellings of a name count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Those of a tool's or a prompt's name ([`letters::folded_name`]).
    Name,
    /// Those of a URI ([`uris::folded`]).
    Uri,
}

impl Fold {
    fn of(self, text: &str) -> String {
        match self {
            Self::Name => letters::folded_name(text),
            Self::Uri => uris::folded(text),
        }
    }
}

/// A name or URI to compare with many patterns: its derived forms are made once, when the first pattern needs them.
#[derive(Debug)]
pub struct ComparedName<'a> {
    server: &'a str,
    name: &'a str,
    fold: Fold,
    whole: OnceCell<String>,
    folded: OnceCell<String>,
    folded_whole: OnceCell<String>,
}

impl<'a> ComparedName<'a> {
    /// The name or URI that a server uses.
    pub fn new(server: &'a str, name: &'a str, fold: Fold) -> Self {
        Self {
            server,
            name,
            fold,
            whole: OnceCell::new(),
            folded: OnceCell::new(),
            folded_whole: OnceCell::new(),
        }
    }

    fn whole(&self) -> &str {
        let make = || format!("{}__{}", self.server, self.name);
        self.whole.get_or_init(make)
    }

    fn folded(&self) -> &str {
        self.folded.get_or_init(|| self.fold.of(self.name))
    }

    fn folded_whole(&self) -> &str {
        let make = || self.fold.of(self.whole());
        self.folded_whole.get_or_init(make)
    }
}

/// How much of a server's tools, prompts or resources a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// None.
    Nothing,
    /// Perhaps some.
    Something,
    /// All, whatever the server offers.
    Everything,
}

/// A pattern of tools or prompts: `server__name` or `server:name`. One without a server matches built-in tools, and whole names in the form
/// `server__name`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Text")]
pub struct NamePattern {
    whole: Wildcard,
    /// The patterns of the server and of the name, if it has both.
    parts: Option<(Wildcard, Wildcard)>,
    /// The pattern of the name, or the whole, for names folded by [`Fold::Name`] and by [`Fold::Uri`].
    folded: [Wildcard; 2],
}

impl NamePattern {
    /// Reads a pattern. The first `:` or `__` separates server and name: no server's name contains them.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        check(pattern)?;
        let parts = [pattern.split_once(':'), pattern.split_once("__")];
        let parts = parts.into_iter().flatten();
        let parts = parts.min_by_key(|(server, _)| server.len());
        if parts.is_some_and(|(server, name)| server.is_empty() || name.is_empty()) {
            return Err("has an empty server or tool name".to_owned());
        }
        if let Some((server, name)) = parts
            && let Some(rest) = name.strip_prefix('_')
            && pattern
                .get(server.len()..)
                .is_some_and(|rest| rest.starts_with("__"))
        {
            return Err(ambiguous((server, name), rest));
        }
        let whole = Wildcard::new(pattern);
        let parts = parts.map(|(server, name)| (Wildcard::new(server), Wildcard::new(name)));
        let of_names = parts.as_ref().map_or(&whole, |(_, names)| names);
        Ok(Self {
            folded: [Fold::Name, Fold::Uri].map(|fold| of_names.folded(fold)),
            whole,
            parts,
        })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        self.whole.as_str()
    }

    /// The one server that it names, if it names one.
    pub fn server(&self) -> Option<&str> {
        let (server, _) = self.parts.as_ref()?;
        server.is_literal.then(|| server.as_str())
    }

    /// Whether it matches a tool or prompt of a server.
    pub fn matches(&self, server: &str, name: &str) -> bool {
        self.matches_exactly(&ComparedName::new(server, name, Fold::Name))
    }

    /// The same for a name that is compared with several patterns.
    pub fn matches_exactly(&self, thing: &ComparedName<'_>) -> bool {
        match &self.parts {
            Some((servers, names)) => servers.matches(thing.server) && names.matches(thing.name),
            None => self.whole.matches_all() || self.whole.matches(thing.whole()),
        }
    }

    /// Whether it matches another spelling of the name.
    pub fn matches_folded(&self, thing: &ComparedName<'_>) -> bool {
        let [of_names, of_uris] = &self.folded;
        let pattern = match thing.fold {
            Fold::Name => of_names,
            Fold::Uri => of_uris,
        };
        match &self.parts {
            Some((servers, _)) => servers.matches(thing.server) && pattern.matches(thing.folded()),
            None => pattern.matches(thing.folded_whole()),
        }
    }

    /// Whether it matches a built-in tool.
    pub fn matches_built_in(&self, name: &str) -> bool {
        self.parts.is_none() && self.whole.matches(name)
    }

    /// How much of a server it matches.
    pub fn coverage(&self, server: &str) -> Coverage {
        let (is_about, is_all) = match (&self.parts, self.whole.as_str().split_once('*')) {
            (Some((servers, names)), _) => (servers.matches(server), names.matches_all()),
            (None, Some((first, rest))) => (
                format!("{server}__").starts_with(first),
                rest.bytes().all(|byte| byte == b'*'),
            ),
            (None, None) => (false, false),
        };
        match (is_about, is_all) {
            (false, _) => Coverage::Nothing,
            (true, false) => Coverage::Something,
            (true, true) => Coverage::Everything,
        }
    }
}

/// The error for three underscores: the pattern could be about either of two servers.
fn ambiguous((server, name): (&str, &str), rest: &str) -> String {
    let other = match rest {
        "" => String::new(),
        rest => format!(", or \"{server}_:{rest}\" for {rest:?} of the server \"{server}_\""),
    };
    format!(
        "may mean two servers; write \"{server}:{name}\" for {name:?} of the server {server:?}{other}"
    )
}

/// A pattern of resources: of the URI, or `server__URI`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Text")]
pub struct UriPattern {
    server: Option<Wildcard>,
    uri: UriWildcard,
    /// The second meaning of a pattern with three underscores: the server's name may end in one.
    other: Option<(Wildcard, UriWildcard)>,
    written: Box<str>,
}

/// A pattern for a URI, and the same pattern for a folded URI.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UriWildcard {
    written: Wildcard,
    folded: Wildcard,
}

impl UriWildcard {
    fn new(pattern: &str) -> Self {
        let written = Wildcard::new(pattern);
        Self {
            folded: written.folded(Fold::Uri),
            written,
        }
    }
}

impl UriPattern {
    /// Reads a pattern.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        check_ends(pattern)?;
        let is_server = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*');
        let parts = pattern.split_once("__");
        let parts = parts.filter(|(server, uri)| {
            !server.is_empty() && !uri.is_empty() && server.chars().all(is_server)
        });
        let other = parts.and_then(|(server, uri)| {
            let rest = uri.strip_prefix('_').filter(|rest| !rest.is_empty())?;
            Some((Wildcard::new(&format!("{server}_")), UriWildcard::new(rest)))
        });
        Ok(Self {
            server: parts.map(|(server, _)| Wildcard::new(server)),
            uri: UriWildcard::new(parts.map_or(pattern, |(_, uri)| uri)),
            other,
            written: pattern.into(),
        })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether it matches a resource of a server, by the URI that the server uses.
    pub fn matches_exactly(&self, resource: &ComparedName<'_>) -> bool {
        let mut readings = self.readings(resource.server);
        readings.any(|pattern| pattern.written.matches(resource.name))
    }

    /// Whether it matches another spelling of the URI.
    pub fn matches_folded(&self, resource: &ComparedName<'_>) -> bool {
        let mut readings = self.readings(resource.server);
        readings.any(|pattern| pattern.folded.matches(resource.folded()))
    }

    /// How much of a server's resources it matches.
    pub fn coverage(&self, server: &str) -> Coverage {
        let covered = self.readings(server).map(|pattern| {
            if pattern.written.matches_all() {
                Coverage::Everything
            } else {
                Coverage::Something
            }
        });
        covered.max().unwrap_or(Coverage::Nothing)
    }

    /// The patterns for the URIs of a server: one for each meaning that is about this server.
    fn readings(&self, server: &str) -> impl Iterator<Item = &UriWildcard> {
        let servers = self.server.as_ref();
        let first = servers.is_none_or(|servers| servers.matches(server));
        let first = first.then_some(&self.uri);
        let other = self.other.as_ref();
        let other = other.filter(|(servers, _)| servers.matches(server));
        first.into_iter().chain(other.map(|(_, uri)| uri))
    }
}

/// Reads a pattern type from a string of the file.
macro_rules! pattern {
    ($name:ident, $read:expr) => {
        schema_as!($name, String);

        impl TryFrom<Text> for $name {
            type Error = String;

            fn try_from(text: Text) -> Result<Self, String> {
                $read(&text.value)
            }
        }
    };
}

pattern!(Wildcard, parse);
pattern!(NamePattern, NamePattern::parse);
pattern!(UriPattern, UriPattern::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let found = Wildcard::new(pattern).matches(text);
            assert_eq!(found, expected, "{pattern} {text}");
        };
        for text in ["", "a", "a*b", "ä\n"] {
            check("*", text, true);
            check("**", text, true);
        }
        check("", "", true);
        check("", "a", false);
        check("abc", "abc", true);
        check("abc", "abcd", false);
        check("ab*", "ab", true);
        check("*ab", "ab", true);
        check("ab*ab", "ab", false);
        check("ab*ab", "abab", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "acb", false);
        check("*a*a*", "a", false);
        check("*a*a*", "xaxax", true);
        check("a*aa", "aa", false);
        check("?", "a", false);
        check("É*", "É!", true);
    }

    #[test]
    fn a_name_is_that_of_one_server() {
        let check = |pattern: &str, server: &str, name: &str, expected: bool| {
            let read = NamePattern::parse(pattern).expect(pattern);
            assert_eq!(
                read.matches(server, name),
                expected,
                "{pattern}: {server} {name}"
            );
        };
        check("a__*", "a", "x", true);
        check("a:*", "a", "x", true);
        // Joined, both are called `a___b`.
        check("a__*", "a_", "b", false);
        check("a_:*", "a_", "b", true);
        check("*__delete_*", "s", "delete_x", true);
        check("*:delete_*", "s", "undelete_x", false);
        check("s:a:b", "s", "a:b", true);
        check("s__a:b", "s", "a:b", true);
        check("git*", "github", "x", true);
        check("*_x", "github", "get_x", true);
        check("retrieve_tools", "retrieve", "tools", false);
        let own = |pattern: &str| {
            NamePattern::parse(pattern)
                .expect(pattern)
                .matches_built_in("call_tool_read")
        };
        assert!(own("call_tool_*") && own("*") && !own("*__*") && !own("call:*"));
    }

    #[test]
    fn three_underscores_part_nothing() {
        for (written, one, other) in [
            ("x___y", r#""x:_y""#, r#""x_:y""#),
            ("x____y", r#""x:__y""#, r#""x_:_y""#),
            ("x___*", r#""x:_*""#, r#""x_:*""#),
            ("*___y:z", r#""*:_y:z""#, r#""*_:y:z""#),
        ] {
            let refused = NamePattern::parse(written).expect_err(written);
            assert!(
                refused.contains(one) && refused.contains(other),
                "{written}: {refused}"
            );
        }
        assert!(NamePattern::parse("x___").is_err());
        for clear in ["x:_y", "x_:y", "x__y___z", "x:a___b"] {
            assert!(NamePattern::parse(clear).is_ok(), "{clear}");
        }
        // For resources there is no other spelling, so both readings count.
        let of_resources = UriPattern::parse("x___doc://a").expect("a pattern");
        let is_of = |server: &str, uri: &str| {
            of_resources.matches_exactly(&ComparedName::new(server, uri, Fold::Uri))
        };
        assert!(is_of("x_", "doc://a"));
        assert!(is_of("x", "_doc://a"));
        assert!(!is_of("x", "doc://a"));
        assert_eq!(of_resources.coverage("x_"), Coverage::Something);
    }

    #[test]
    fn how_much_of_a_server_a_pattern_matches() {
        let check = |pattern: &str, expected| {
            let read = NamePattern::parse(pattern).expect(pattern);
            assert_eq!(read.coverage("github"), expected, "{pattern}");
        };
        for all in ["*", "github__*", "git*", "*__*", "g*:**", "github*"] {
            check(all, Coverage::Everything);
        }
        for some in ["github:x", "*_issue", "*__get_*", "g*_x"] {
            check(some, Coverage::Something);
        }
        for none in ["gitlab__*", "x*", "retrieve_tools", "gitlab*"] {
            check(none, Coverage::Nothing);
        }
        let uri = |pattern| {
            UriPattern::parse(pattern)
                .expect("a pattern")
                .coverage("github")
        };
        assert_eq!(uri("*"), Coverage::Everything);
        assert_eq!(uri("github__*"), Coverage::Everything);
        assert_eq!(uri("gitlab__*"), Coverage::Nothing);
        assert_eq!(uri("file:///*"), Coverage::Something);
    }

    #[test]
    fn a_uri_pattern_may_name_the_server() {
        let check = |pattern: &str, server: &str, uri: &str, expected: bool| {
            let read = UriPattern::parse(pattern).expect(pattern);
            assert_eq!(
                read.matches_exactly(&ComparedName::new(server, uri, Fold::Uri)),
                expected,
                "{pattern}: {server} {uri}"
            );
        };
        check("file:///*", "s", "file:///a", true);
        check("s__*", "s", "file:///a", true);
        check("s__*", "t", "file:///a", false);
        check("lib://a__b", "s", "lib://a__b", true);
        check("x://q?a=[1]&{b}", "s", "x://q?a=[1]&{b}", true);
    }

    #[test]
    fn what_other_programs_would_read_otherwise_is_refused() {
        for bad in [
            "",
            " a",
            "a\u{200b}",
            "a[bc]",
            "{a,b}__x",
            "a?",
            "!a",
            "a__",
            "__a",
            ":a",
            "a:",
        ] {
            assert!(NamePattern::parse(bad).is_err(), "{bad:?}");
        }
        assert!(parse("a@example.com").is_ok() && parse("[a]").is_err());
        for bad in ["", "!file:///secret/*", "file:///* ", " *", "a\u{200b}"] {
            assert!(UriPattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
