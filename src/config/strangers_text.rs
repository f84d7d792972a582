//! What of values that strangers wrote may be shown: by the rules of `masking`, found in prose, in lines of files, in lists of arguments
//! and in pairs of names and values. Guesses err on the side of masking.

use std::{borrow::Cow, ops::Range};

use super::{
    addresses::{self, Parameters},
    masking::{
        SECRET_PREFIXES, SECRET_SCHEMES, SHORTEST_CREDENTIAL, hidden_in, is_one_of, is_secret_flag,
        is_secret_name,
    },
};
use crate::secret::MASK;

/// Limit: characters of a name. Longer words are none.
const LONGEST_NAME: usize = 64;

/// How a key in several lines begins and ends (RFC 7468).
const BLOCK: &str = "-----BEGIN";
const BLOCK_END: &str = "-----END";

/// Headers whose values are secret in all their parts.
const SECRET_HEADERS: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
];

/// What the name of a value is called in a pair of both, and what the value.
const NAMES: [&str; 12] = [
    "name",
    "key",
    "header",
    "variable",
    "var",
    "env",
    "field",
    "param",
    "parameter",
    "option",
    "flag",
    "k",
];
const VALUES: [&str; 7] = ["value", "values", "val", "v", "content", "default", "data"];

/// Whether the value of a member of this name is a secret, whatever it is.
pub fn names_a_secret(name: &str) -> bool {
    is_secret_name(name)
}

/// The value of a member of this name in text that a stranger wrote: nothing of it where the name says that it is a secret, else what
/// [`mask_text_of_strangers`] leaves.
pub fn mask_value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    masked_value(name, value, Parameters::Secret)
}

/// The same for what is kept: else what [`mask_text_for_records`] leaves.
pub fn mask_value_for_records<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    masked_value(name, value, Parameters::All)
}

fn masked_value<'a>(name: &str, value: &'a str, parameters: Parameters) -> Cow<'a, str> {
    if is_secret_name(name) && !value.is_empty() {
        Cow::Borrowed(MASK)
    } else {
        masked(value, parameters)
    }
}

/// Whether a member says how the value beside it is called, and that it is a secret: `"name": "DB_PASSWORD"`.
pub fn says_secret(key: &str, text: &str) -> bool {
    is_one_of(key, &NAMES) && is_bare_name(text)
}

/// Whether a member is the value that another one gives a name to.
pub fn is_named_value(key: &str) -> bool {
    is_one_of(key, &VALUES)
}

/// Texts of one list, in order: arguments of a command, headers and their values, lines of a key.
#[derive(Debug, Default)]
pub struct TextsOfList {
    follows_name: bool,
    follows_user_flag: bool,
    in_block: bool,
}

impl TextsOfList {
    /// Whether the next text is a secret because of those before it.
    pub fn is_secret(&mut self, text: &str) -> bool {
        let is_login = self.follows_user_flag && is_login(text);
        let is_secret = self.follows_name || self.in_block || is_login;
        self.follows_name = is_secret_flag(text) || is_bare_name(text) || is_scheme(text);
        self.follows_user_flag = is_user_flag(text);
        let begins = places(text, BLOCK).next_back();
        let ends = places(text, BLOCK_END).next_back();
        self.in_block = match (begins, ends) {
            (None, None) => self.in_block,
            (begins, ends) => begins > ends,
        };
        is_secret
    }

    /// Whether a list or an object, which comes next, is a secret in all its parts.
    pub fn is_secret_value(&mut self) -> bool {
        let is_secret = self.follows_name || self.in_block;
        self.pass();
        is_secret
    }

    /// Something that can be no secret comes next. A null stands for nothing, and what comes after it is still looked at.
    pub fn pass(&mut self) {
        self.follows_name = false;
        self.follows_user_flag = false;
    }
}

/// Whether a text is the name of a secret and nothing else.
fn is_bare_name(text: &str) -> bool {
    let name = text.trim_end_matches([':', '=']);
    name.len() <= LONGEST_NAME && name.chars().all(is_of_name) && is_secret_name(name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Text of a stranger, prose or not: what looks like a credential in it, or is introduced as one, is masked.
pub fn mask_text_of_strangers(text: &str) -> Cow<'_, str> {
    masked(text, Parameters::Secret)
}

/// The same for what is kept: of addresses no parameter is left, because codes and signatures have names of all kinds.
pub fn mask_text_for_records(text: &str) -> Cow<'_, str> {
    masked(text, Parameters::All)
}

fn masked(text: &str, parameters: Parameters) -> Cow<'_, str> {
    let mut hidden = Vec::new();
    blocks(text, &mut hidden);
    addresses::hide(text, parameters, &mut hidden);
    declared(text, &mut hidden);
    elements(text, &mut hidden);
    headers(text, &mut hidden);
    words(text, &mut hidden);
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    hidden.sort_unstable_by_key(|range| (range.start, range.end));
    let (mut masked, mut done) = (String::with_capacity(text.len()), 0);
    for range in hidden {
        if range.start > done || masked.is_empty() {
            masked.push_str(text.get(done..range.start).unwrap_or_default());
            masked.push_str(MASK);
        }
        done = done.max(range.end);
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(masked)
}

type Ranges = Vec<Range<usize>>;

/// Keys in several lines; one whose end is missing goes to the end of the text.
fn blocks(text: &str, hidden: &mut Ranges) {
    let mut from = 0;
    while let Some(start) = find(text, from, BLOCK) {
        let end = find(text, start, BLOCK_END).map_or(text.len(), |at| {
            let last = find(text, at + BLOCK_END.len(), "-----");
            last.map_or(text.len(), |at| at + 5)
        });
        hidden.push(start..end);
        from = end;
    }
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    Some(from + places(text.get(from..)?, what).next()?)
}

/// Where something stands that begins with a dash, in either case.
fn places(text: &str, what: &str) -> impl DoubleEndedIterator<Item = usize> {
    let dashes = text.match_indices('-').map(|(at, _)| at);
    dashes.filter(move |at| {
        let found = text.get(*at..at + what.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(what))
    })
}

/// Elements whose names say that they are secret: `<password>…</password>`.
fn elements(text: &str, hidden: &mut Ranges) {
    let mut from = 0;
    while let Some(open) = text.get(from..).and_then(|rest| rest.find('<')) {
        let start = from + open + 1;
        from = start;
        let rest = text.get(start..).unwrap_or_default();
        let name = rest.split(|c: char| !is_of_name(c) && c != ':').next();
        let name = name.unwrap_or_default();
        if name.is_empty() || name.len() > LONGEST_NAME || !is_secret_name(name) {
            continue;
        }
        let inside = rest.split_once('>').map(|(_, inside)| inside);
        let value = inside.and_then(|inside| inside.split_once("</"));
        if let Some((value, after)) =
            value.filter(|(value, _)| !value.trim().is_empty() && !value.contains('<'))
        {
            let end = text.len() - after.len() - "</".len();
            hidden.push(end - value.len()..end);
            from = end;
        }
    }
}

/// Lines that give a secret its value: `export DB_PASSWORD=…`, `password: …`, `--token=…`.
fn declared(text: &str, hidden: &mut Ranges) {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let start = from;
        from += line.len();
        let line = line.trim_end();
        let declaration = line.trim_start_matches([' ', '\t', '-', '>', '$', '+']);
        let declaration = ["export ", "set "]
            .iter()
            .find_map(|word| declaration.strip_prefix(word))
            .unwrap_or(declaration);
        let Some((name, value)) = declaration.split_once(['=', ':']) else {
            continue;
        };
        let name = name.trim_end();
        let is_name = name.len() <= LONGEST_NAME && name.chars().all(is_of_name);
        let value = value.trim_start();
        // What is quoted ends with its quote.
        if is_name && !value.is_empty() && !value.starts_with(QUOTES) && is_secret_name(name) {
            let end = start + line.len();
            hidden.push(end - value.len()..end);
        }
    }
}

const QUOTES: [char; 5] = ['"', '\'', '`', '{', '['];

/// Headers anywhere in a text, to the quote before which they stand or to the end of the line.
fn headers(text: &str, hidden: &mut Ranges) {
    for (colon, _) in text.match_indices(':') {
        let before = text.get(..colon).unwrap_or_default();
        let name_from = before
            .char_indices()
            .rev()
            .take(LONGEST_NAME)
            .take_while(|(_, c)| c.is_ascii_alphanumeric() || *c == '-')
            .last();
        let Some((name_from, _)) = name_from else {
            continue;
        };
        let name = before.get(name_from..).unwrap_or_default();
        let is_header = is_one_of(name, &SECRET_HEADERS)
            || name.contains('-') && !name.starts_with('-') && is_secret_name(name);
        let rest = text.get(colon + 1..).unwrap_or_default();
        if !is_header || rest.starts_with("//") {
            continue;
        }
        let quote = text
            .get(..name_from)
            .and_then(|text| text.chars().next_back());
        let is_end = |c: char| {
            matches!(c, '\n' | '\r')
                || quote.is_some_and(|quote| QUOTES.contains(&quote) && c == quote)
        };
        let value = rest.split(is_end).next().unwrap_or_default().trim_end();
        let blanks = value.len() - value.trim_start().len();
        if blanks < value.len() {
            hidden.push(colon + 1 + blanks..colon + 1 + value.len());
        }
    }
}

/// Words that look like credentials, and those that follow a word which says so.
fn words(text: &str, hidden: &mut Ranges) {
    let mut at = 0;
    let (mut is_announced, mut before) = (false, "");
    for part in text.split_inclusive(is_between_words) {
        let word = part.trim_end_matches(is_between_words);
        let start = at;
        at += part.len();
        if word.is_empty() || word.bytes().all(|byte| byte == b'\\') {
            continue;
        }
        let is_announcing = announces(word);
        let is_login = is_user_flag(before) && is_login(word);
        if is_announced && !is_announcing || is_login {
            hidden.push(start..end_of_value(text, start, word));
        } else if has_credential_inside(word) {
            hidden.push(start..start + word.len());
        } else if may_be_credential(word) {
            let inside = hidden_in(word).into_iter();
            hidden.extend(inside.map(|range| start + range.start..start + range.end));
        }
        // A quoted name and its colon are words of their own.
        is_announced = is_announcing || (matches!(word, ":" | "=") && is_secret_name(before));
        before = word;
    }
}

/// Where a value ends that begins with this word: at its closing quote, if it has one, else after the word.
fn end_of_value(text: &str, start: usize, word: &str) -> usize {
    let quote = text.get(..start).and_then(|text| text.chars().next_back());
    let rest = text.get(start..).unwrap_or_default();
    let quoted = quote
        .filter(|quote| matches!(quote, '"' | '\'' | '`'))
        .and_then(|quote| closing(rest, quote));
    start + quoted.unwrap_or(word.len()).max(word.len().min(rest.len()))
}

/// Where the quote stands that closes a text; a quote after a backslash closes only what one of its like opened.
fn closing(text: &str, quote: char) -> Option<usize> {
    let at = text.find(quote)?;
    let value = text.get(..at)?;
    Some(value.trim_end_matches('\\').len())
}

/// Whether a word is worth a closer look. Texts are long, and most words are short.
fn may_be_credential(word: &str) -> bool {
    word.len() >= SHORTEST_CREDENTIAL || word.bytes().any(|b| matches!(b, b'=' | b':'))
}

/// Whether a well-known credential begins after a separator inside a word: `server__ghp_…`.
fn has_credential_inside(word: &str) -> bool {
    // Limit: shorter beginnings are parts of ordinary names.
    const SHORTEST_PREFIX: usize = 4;
    let ends = word.match_indices(|c: char| !c.is_ascii_alphanumeric());
    ends.filter_map(|(at, separator)| word.get(at + separator.len()..))
        .take_while(|rest| rest.len() >= SHORTEST_CREDENTIAL)
        .any(|rest| {
            let mut prefixes = SECRET_PREFIXES
                .iter()
                .filter(|p| p.len() >= SHORTEST_PREFIX);
            prefixes.any(|prefix| rest.starts_with(prefix))
        })
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}'
        )
}

/// Whether the next word is a secret: `password: …`, `Bearer …`, `--token …`.
fn announces(word: &str) -> bool {
    match word.as_bytes() {
        [.., b':' | b'='] => is_secret_name(word.trim_end_matches([':', '='])),
        [b'-', b'-', ..] => is_secret_flag(word),
        _ => is_scheme(word),
    }
}

/// Whether user and password follow, as programs that fetch addresses take them.
fn is_user_flag(word: &str) -> bool {
    matches!(word, "-u" | "-U" | "--user" | "--proxy-user")
}

/// Whether a text is user and password: not so the numbers of a user and a group.
fn is_login(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once(':');
    parts.is_some_and(|(user, password)| {
        !(password.is_empty() || is_number(user) && is_number(password))
    })
}

/// Whether what follows is a credential of this scheme.
fn is_scheme(word: &str) -> bool {
    is_one_of(word, SECRET_SCHEMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_loses_what_looks_like_a_credential() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("create an issue, please", "create an issue, please");
        check("use ghp_0123456789, then", "use ***, then");
        check("say Bearer abc d", "say Bearer *** d");
        check("password=hunter2", "password=***");
        check("the password: hunter2 (mine)", "the password: *** (mine)");
        check(
            "up__ghp_0123456789 up__echo_text_now",
            "*** up__echo_text_now",
        );
        check("{\"token\": \"abc\"}", "{\"token\": \"***\"}");
        check(
            "so {\"token\": \"a b, c\", \"n\": 1}",
            "so {\"token\": \"***\", \"n\": 1}",
        );
        check(
            r#"so {\"token\": \"a b\", \"n\": 1}"#,
            r#"so {\"token\": \"***\", \"n\": 1}"#,
        );
        check("x password='a b' y", "x password='***' y");
        check("mysql --password hunter2 -e x", "mysql --password *** -e x");
        check("", "");
        assert_eq!(mask_value("token", "abc"), "***");
        assert_eq!(mask_value("path", "abc"), "abc");
    }

    #[test]
    fn lines_that_declare_and_headers_are_masked_to_their_end() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("Authorization: Bearer abc d", "Authorization: ***");
        check(
            "Authorization: Token abc\nHost: h",
            "Authorization: ***\nHost: h",
        );
        check("GET / Cookie: a=b; c=d", "GET / Cookie: ***");
        check(
            "curl -H 'Cookie: a=b; c=d' -H \"X-Api-Key: e f\" https://h/",
            "curl -H 'Cookie: ***' -H \"X-Api-Key: ***\" https://h/",
        );
        check("password: hunter2 (mine)", "password: ***");
        check(
            "A=1\nexport DB_PASSWORD=correct horse\nB=2",
            "A=1\nexport DB_PASSWORD=***\nB=2",
        );
        check("--token=a b", "--token=***");
        check("path: a b", "path: a b");
    }

    #[test]
    fn a_key_in_several_lines_is_masked_whole() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE pQIB\nAAKC/AQEA+x==\n-----END RSA PRIVATE KEY-----";
        check(&format!("a {key}\nb {key} c"), "a ***\nb *** c");
        check("a -----BEGIN PRIVATE KEY-----\\nMIIE\\nab", "a ***");
        check("-----BEGIN A-----\nb", "***");
    }

    #[test]
    fn what_stands_in_a_list_is_masked_by_what_stands_before_it() {
        let check = |texts: &[&str], expected: &[bool]| {
            let mut list = TextsOfList::default();
            let found: Vec<bool> = texts.iter().map(|text| list.is_secret(text)).collect();
            assert_eq!(found, expected, "{texts:?}");
        };
        check(&["--password", "x", "y"], &[false, true, false]);
        check(&["--password=z", "x"], &[false, false]);
        check(
            &["Authorization", "x", "Accept", "y"],
            &[false, true, false, false],
        );
        check(&["Bearer", "x"], &[false, true]);
        check(
            &["-----BEGIN K-----", "a", "-----END K-----", "b"],
            &[false, true, true, false],
        );
        check(&["my token is", "x"], &[false, false]);
        assert!(says_secret("Name", "DB_PASSWORD") && !says_secret("name", "path"));
        assert!(!says_secret("title", "password") && is_named_value("value"));
    }

    #[test]
    fn a_list_or_an_object_after_a_name_is_a_secret_too() {
        let mut list = TextsOfList::default();
        assert!(!list.is_secret_value() && !list.is_secret("--password"));
        assert!(list.is_secret_value() && !list.is_secret_value());
        assert!(!list.is_secret("-u") && list.is_secret("bob:S"));
        assert!(!list.is_secret("-u") && !list.is_secret("1000:1000"));
    }

    #[test]
    fn logins_elements_and_keys_in_small_letters_are_masked() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("curl -u bob:S https://h/", "curl -u *** https://h/");
        check("curl --user 'bob:S x' h", "curl --user '***' h");
        check("docker run -u 1000:1000 x", "docker run -u 1000:1000 x");
        check(
            "a <password>S x</password> b",
            "a <password>***</password> b",
        );
        check("<o:Key id=\"1\">S</o:Key>", "<o:Key id=\"1\">***</o:Key>");
        check("say <token> and <name>", "say <token> and <name>");
        check(
            "a -----begin private key-----\nmii\n-----end private key----- b",
            "a *** b",
        );
        check("otp=123 x", "otp=***");
        assert_eq!(mask_value("jwt", "a"), "***");
        assert_eq!(mask_value("PHPSESSID", "a"), "***");
    }
}
