//! Parses the query of a search: plain words, `"exact phrases"`, and the filters `server:` and `server:prefix`. Everything else counts as
//! plain words, so no query is invalid. Pure.

use super::tokenizer::{tokens_of, words_of};
use crate::text::spelt;

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The words that rank: plain words and those of phrases, as typed.
    pub words: String,
    /// Required phrases, each as its words.
    pub phrases: Vec<Vec<String>>,
    /// If there are any, a tool must pass one of them.
    pub filters: Vec<Filter>,
    /// Whether the text had more than the limits allow.
    pub was_cut: bool,
}

/// `server:prefix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The servers whose tools pass.
    pub servers: Vec<String>,
    /// The prefix of the tool's own name, in lower case; empty for all tools.
    pub prefix: String,
}

/// How many of a query's words a tool must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Matching {
    /// One is enough; more rank higher.
    #[default]
    Any,
    /// All of them.
    All,
}

spelt!(Matching { Any = "any", All = "all" });

/// Limit: characters of a query that are read. Nobody types more; it would only cost time.
pub const LONGEST_QUERY: usize = 2048;

/// Limit: phrases that a tool must contain. The texts of tools are read for them, which costs most; further phrases count as words.
pub const MOST_PHRASES: usize = 8;

/// Limit: filters. Further ones count as words.
pub const MOST_FILTERS: usize = 8;

/// The shortest text before a colon that counts as the beginning of a server's name.
const SHORTEST_PREFIX: usize = 2;

impl Query {
    /// Parses a query. `servers` are the names that a filter may refer to.
    pub fn parse(text: &str, servers: &[&str]) -> Self {
        let mut query = Self {
            was_cut: text.chars().nth(LONGEST_QUERY).is_some(),
            ..Self::default()
        };
        let text: String = text.chars().take(LONGEST_QUERY).map(straightened).collect();
        let servers = Names::new(servers);
        for (part, kind) in parts(&text) {
            match kind {
                Part::Phrase => query.add_phrase(part),
                Part::Plain => {
                    for word in part.split_whitespace() {
                        query.add_word(word, &servers);
                    }
                }
            }
        }
        query
    }

    /// Adds a phrase, if the query does not have it yet.
    fn add_phrase(&mut self, phrase: &str) {
        let words = words_of(phrase);
        if self.phrases.contains(&words) {
            return;
        }
        if !words.is_empty() {
            if self.phrases.len() < MOST_PHRASES {
                self.phrases.push(words);
            } else {
                self.was_cut = true;
            }
        }
        self.add_words(phrase);
    }

    fn add_word(&mut self, word: &str, servers: &Names<'_>) {
        match servers.filter(word) {
            Some(filter) if self.filters.contains(&filter) => (),
            Some(filter) if self.filters.len() < MOST_FILTERS => self.filters.push(filter),
            Some(_) => {
                self.was_cut = true;
                self.add_words(word);
            }
            None => self.add_words(word),
        }
    }

    /// The servers that its filters name.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        let servers = self.filters.iter().flat_map(|filter| &filter.servers);
        servers.map(String::as_str)
    }

    /// Narrows the query to one server.
    #[must_use]
    pub fn of_server(mut self, server: &str) -> Self {
        for filter in &mut self.filters {
            filter.servers.retain(|name| name == server);
        }
        if self.filters.is_empty() {
            self.filters.push(Filter {
                servers: vec![server.to_owned()],
                prefix: String::new(),
            });
        }
        self
    }

    /// The query itself, then what to try in turn as long as nothing is found: first with the prefixes of filters as words, then, if
    /// not all words are required, with phrases as words.
    pub fn attempts(&self, matching: Matching) -> Vec<Self> {
        let mut attempts = vec![self.clone()];
        if self.filters.iter().any(|filter| !filter.prefix.is_empty()) {
            attempts.extend(attempts.last().map(Self::with_prefixes_as_words));
        }
        if !self.phrases.is_empty() && matching == Matching::Any {
            let without = attempts.last().map(|last| Self {
                phrases: Vec::new(),
                ..last.clone()
            });
            attempts.extend(without);
        }
        attempts
    }

    fn with_prefixes_as_words(&self) -> Self {
        let mut query = self.clone();
        for filter in &self.filters {
            query.add_words(&filter.prefix);
        }
        for filter in &mut query.filters {
            filter.prefix.clear();
        }
        query
    }

    /// Whether it has neither words nor filters.
    pub fn is_empty(&self) -> bool {
        let mut words = self.words.split_whitespace();
        self.filters.is_empty() && words.all(|word| tokens_of(word).is_empty())
    }

    fn add_words(&mut self, words: &str) {
        if !self.words.is_empty() && !words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(words);
    }
}

/// Models and telephones type typographic quotes.
fn straightened(c: char) -> char {
    if matches!(c, '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}') {
        '"'
    } else {
        c
    }
}

#[derive(Clone, Copy)]
enum Part {
    Plain,
    Phrase,
}

/// The text outside and inside quotes. A quote that is not closed is plain text.
fn parts(text: &str) -> Vec<(&str, Part)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('"') {
        let Some((phrase, after)) = quoted.split_once('"') else {
            break;
        };
        parts.extend([(before, Part::Plain), (phrase, Part::Phrase)]);
        rest = after;
    }
    parts.push((rest, Part::Plain));
    parts
}

/// The servers that a filter may refer to: each as it is, and in lower case.
struct Names<'a>(Vec<(&'a str, String)>);

impl<'a> Names<'a> {
    fn new(servers: &[&'a str]) -> Self {
        let folded = |server: &&'a str| (*server, server.to_lowercase());
        Self(servers.iter().map(folded).collect())
    }

    /// A word as a filter: if the part before its first `:` is a server, or the prefix of one and something follows the colon.
    fn filter(&self, word: &str) -> Option<Filter> {
        let (name, prefix) = word.split_once(':')?;
        let name = name.to_lowercase();
        let prefix = prefix.to_lowercase();
        let named = |is_meant: &dyn Fn(&str) -> bool| -> Vec<String> {
            let meant = self.0.iter().filter(|(_, folded)| is_meant(folded));
            meant.map(|(server, _)| (*server).to_owned()).collect()
        };
        // `http://` is a URL, even if a server is named `http`.
        let follows = prefix.starts_with(char::is_alphanumeric);
        let exact = named(&|server| server == name);
        let servers = if !exact.is_empty() && (follows || prefix.is_empty()) {
            exact
        } else if follows && name.chars().count() >= SHORTEST_PREFIX {
            named(&|server| server.starts_with(&name))
        } else {
            return None;
        };
        (!servers.is_empty()).then_some(Filter { servers, prefix })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SERVERS: [&str; 4] = ["github", "gitlab", "time", "My.Files"];

    fn parse(text: &str) -> Query {
        Query::parse(text, &SERVERS)
    }

    #[track_caller]
    fn check(text: &str, words: &str, phrases: &[&str], filters: &[(&[&str], &str)]) {
        let query = parse(text);
        assert_eq!(query.words, words, "{text:?}");
        let found: Vec<String> = query
            .phrases
            .iter()
            .map(|phrase| phrase.join(" "))
            .collect();
        assert_eq!(found, phrases, "{text:?}");
        let found: Vec<(Vec<&str>, &str)> = query
            .filters
            .iter()
            .map(|f| (f.servers.iter().map(String::as_str).collect(), &*f.prefix))
            .collect();
        let expected: Vec<(Vec<&str>, &str)> =
            filters.iter().map(|(s, p)| (s.to_vec(), *p)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_phrases_and_filters_are_told_apart() {
        check("create github issue", "create github issue", &[], &[]);
        check(
            "\"create issue\" now",
            "create issue now",
            &["create issue"],
            &[],
        );
        check(
            "\u{201c}create_issue\u{201d}",
            "create_issue",
            &["create issue"],
            &[],
        );
        check("github:create", "", &[], &[(&["github"], "create")]);
        check("GitHub: issue", "issue", &[], &[(&["github"], "")]);
        check("git:create", "", &[], &[(&["github", "gitlab"], "create")]);
        check(
            "my.files:a time:b",
            "",
            &[],
            &[(&["My.Files"], "a"), (&["time"], "b")],
        );
    }

    #[test]
    fn what_is_repeated_or_too_much_is_left_out() {
        let check = |text: &str, phrases: usize, filters: usize, was_cut: bool| {
            let query = parse(text);
            let found = (query.phrases.len(), query.filters.len(), query.was_cut);
            assert_eq!(found, (phrases, filters, was_cut), "{text:.40}");
            query
        };
        let query = check(&"\"lorem ipsum\" ".repeat(140), 1, 0, false);
        assert_eq!(query.words, "lorem ipsum");
        check(&"\"Lorem Ipsum\" \"lorem-ipsum\"".repeat(2), 1, 0, false);
        let many = |n, form: fn(usize) -> String| (0..n).map(form).collect::<String>();
        let query = check(&many(12, |i| format!("\"a{i} b\" ")), 8, 0, true);
        assert!(query.words.ends_with("a11 b"), "the others are words");
        let eight = many(8, |i| format!("\"a{i} b\" "));
        check(&(eight + "\"\""), 8, 0, false);
        check(&"github: ".repeat(20), 0, 1, false);
        let query = check(&many(12, |i| format!("time:a{i} ")), 0, 8, true);
        assert_eq!(query.words, "time:a8 time:a9 time:a10 time:a11");
        check(&"x".repeat(LONGEST_QUERY), 0, 0, false);
        let query = check(&"ä".repeat(LONGEST_QUERY + 1), 0, 0, true);
        assert_eq!(query.words.chars().count(), LONGEST_QUERY);
    }

    #[test]
    fn what_is_no_filter_is_plain_words() {
        check("note: buy milk", "note: buy milk", &[], &[]);
        check("g:create", "g:create", &[], &[]);
        check("git: create", "git: create", &[], &[]);
        check("time://x", "time://x", &[], &[]);
        check(":create", ":create", &[], &[]);
        check("a \"b c", "a \"b c", &[], &[]);
        check("\"\" \"!\" x", "! x", &[], &[]);
    }

    proptest! {
        #[test]
        fn no_query_is_invalid(text in "(\\PC|[\":* ]){0,80}") {
            let query = parse(&text);
            prop_assert!(query.phrases.iter().all(|phrase| !phrase.is_empty()));
        }
    }
}
