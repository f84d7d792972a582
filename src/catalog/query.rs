//! The syntax of a search: plain words, `"exact phrases"`, and `server:` or `server:prefix` filters. Pure. Anything else is plain
//! words, so no query is invalid.

use super::{Matching, tokenizer::words_of};

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The words that rank: plain words and those of phrases, as typed.
    pub words: String,
    /// Required phrases, each as its words.
    pub phrases: Vec<Vec<String>>,
    /// If there are any, a tool must pass one of them.
    pub filters: Vec<Filter>,
}

/// `server:prefix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The servers whose tools pass.
    pub servers: Vec<String>,
    /// The prefix of the tool's own name, in lower case; empty for all tools.
    pub prefix: String,
}

/// Limit: characters of a query. Nobody types more; it would only cost time.
const LONGEST: usize = 4096;

/// Limit: a shorter prefix of a server's name is probably not meant as one.
const SHORTEST_PREFIX: usize = 2;

impl Query {
    /// Parses a query. `servers` are the names that a filter may refer to.
    pub fn parse(text: &str, servers: &[&str]) -> Self {
        let mut query = Self::default();
        let text: String = text.chars().take(LONGEST).map(straightened).collect();
        for (part, kind) in parts(&text) {
            match kind {
                Part::Phrase => {
                    let words = words_of(part);
                    if !words.is_empty() {
                        query.phrases.push(words);
                    }
                    query.add_words(part);
                }
                Part::Plain => {
                    for word in part.split_whitespace() {
                        match filter(word, servers) {
                            Some(filter) => query.filters.push(filter),
                            None => query.add_words(word),
                        }
                    }
                }
            }
        }
        query
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
        self.filters.is_empty() && words_of(&self.words).is_empty()
    }

    fn add_words(&mut self, words: &str) {
        if !self.words.is_empty() && !words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(words);
    }
}

impl Filter {
    /// Whether a tool passes.
    pub fn passes(&self, server: &str, tool: &str) -> bool {
        self.servers.iter().any(|name| name == server)
            && (self.prefix.is_empty() || tool.to_lowercase().starts_with(&self.prefix))
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

/// A word as a filter: if the part before its first `:` is a server, or the prefix of one and something follows the colon.
fn filter(word: &str, servers: &[&str]) -> Option<Filter> {
    let (name, prefix) = word.split_once(':')?;
    let name = name.to_lowercase();
    let prefix = prefix.to_lowercase();
    let begins = |server: &&str| server.to_lowercase().starts_with(&name);
    let fitting: Vec<&str> = servers.iter().copied().filter(begins).collect();
    let exact: Vec<&str> = fitting
        .iter()
        .copied()
        .filter(|server| server.to_lowercase() == name)
        .collect();
    // `http://` is a URL, even if a server is named `http`.
    let follows = prefix.starts_with(char::is_alphanumeric);
    let meant = if !exact.is_empty() && (follows || prefix.is_empty()) {
        exact
    } else if follows && name.chars().count() >= SHORTEST_PREFIX {
        fitting
    } else {
        return None;
    };
    let servers: Vec<String> = meant.into_iter().map(str::to_owned).collect();
    (!servers.is_empty()).then_some(Filter { servers, prefix })
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
