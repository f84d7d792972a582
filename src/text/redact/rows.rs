//! The table of patterns: each row finds one kind of text that looks like a secret, or is announced as one.

use std::ops::Range;

use crate::text::secret::MASK;

/// The kinds of texts to which a row applies, one bit each.
pub(super) type Kinds = u8;
/// Prose and lines of files.
pub(super) const TEXT: Kinds = 1;
/// The same in the activity log, where every parameter of a URL is masked: codes and signatures have names of all kinds.
pub(super) const RECORD: Kinds = 2;
/// One word of a command line, or a URL.
pub(super) const WORD: Kinds = 4;

const PROSE: Kinds = TEXT | RECORD;
const ANYWHERE: Kinds = PROSE | WORD;

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kinds: Kinds,
    /// Words of which a text must have one, in upper or lower case; without one the row is not tried.
    pub(super) needs: &'static [&'static str],
    /// The first group that takes part in the match is the secret. `{NAME}`, `{HEADER}`, `{VALUE}`, `{WORD}` and `{NOT}` are placeholders for
    /// other expressions.
    pub(super) regex: &'static str,
    /// The part of the group that is hidden.
    pub(super) hides: fn(&str, Range<usize>) -> Option<Range<usize>>,
}

/// A row of the table.
const fn row(
    name: &'static str,
    kinds: Kinds,
    hides: fn(&str, Range<usize>) -> Option<Range<usize>>,
    needs: &'static [&'static str],
    regex: &'static str,
) -> Row {
    Row {
        name,
        kinds,
        needs,
        regex,
        hides,
    }
}

/// Parts of names of secrets; `{-}` is a separator of words, or nothing.
#[rustfmt::skip]
pub(super) const PARTS: &[&str] = &[
    "token", "secret", "password", "passwd", "passphrase", "api{-}key", "access{-}key", "private{-}key", "credential",
    "authorization", "bearer", "cookie", "webhook", "connection{-}string", "session{-}id", "sessid",
];

/// Words that name a secret only as whole words: "pat" and "auth" also stand in "path" and "author".
#[rustfmt::skip]
pub(super) const WORDS: &[&str] = &[
    "auth", "session", "signature", "dsn", "pat", "key", "pass", "pwd", "otp", "totp", "jwt",
];

/// Each name has at least one of these in it.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "token", "secret", "pass", "key", "credential", "bearer", "cookie", "webhook", "connection", "sess", "auth", "signature",
    "dsn", "pat", "pwd", "otp", "jwt",
];

/// Words that announce a secret by their place in JSON: flags, schemes, and members whose own members are variables or headers.
pub(super) const STRUCTURE: &[&str] = &["-u", "bearer", "basic", "\"env", "\"headers"];

/// Stands for a run of letters and digits, which no word announces.
pub(super) const RUN: &[&str] = &["\0"];

/// The least length of a run; shorter ones are words, versions or dates.
pub(super) const RUN_LENGTH: usize = 20;

/// A value: in quotes, which may be escaped, or one word.
pub(super) const VALUE: &str = r#"\\"[^"\\]*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|\\?["'`]?{WORD}"#;
pub(super) const BARE: &str = r#"[^\s"'`,;<>()\[\]{}\\=][^\s"'`,;<>()\[\]{}\\]*"#;
/// The characters that end a URL.
pub(super) const NOT: &str = r#"\s"'`<>"#;

/// All rows.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("private key", ANYWHERE, all, &["-----begin"],
        r"(?is)(-----BEGIN.*?(?:-----END.*?-----|\z))"),
    row("beginning that only credentials have", ANYWHERE, all,
        &[
            "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_", "glpat-", "xox", "xapp-", "akia", "asia", "aiza", "ya29.", "eyj",
            "dop_v1_", "shpat_", "figd_", "lin_api_", "ntn_",
        ],
        r"(?:^|[^A-Za-z0-9])((?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|dop_v1_|shpat_|figd_|lin_api_|ntn_)[\w.=+-]{4,})"),
    // Names begin like these, too (`npm_config_registry`, `sk-learn`), but credentials have digits.
    row("beginning with digits behind it", ANYWHERE, at_least_8, &["sk-", "sk_", "pk_", "rk_", "hf_", "npm_", "pypi-", "sg.", "secret_"],
        r"(?:^|[^A-Za-z0-9])((?:sk[-_]|[pr]k_|hf_|npm_|pypi-|SG\.|secret_)[A-Za-z_.=+-]*[0-9][\w.=+-]*)"),
    row("mixed letters and digits", ANYWHERE, mixed, RUN,
        r"([A-Za-z0-9]{20,})"),
    row("UUID", ANYWHERE, all, RUN,
        r"(?i)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"),
    row("after a scheme", ANYWHERE, unquoted, &["bearer", "basic"],
        r#"(?i)\b(?:bearer|basic)["']?[ \t]+({VALUE})"#),
    row("line that declares", PROSE, trimmed, NAMES,
        r#"(?im)^[ \t>$+-]*(?:(?:export|set)[ \t])?[\w.-]*?{NAME}[ \t]*[=:][ \t]*([^\s"'`{\[][^\r\n]*)"#),
    row("name and value", PROSE, unquoted, NAMES,
        r#"(?i){NAME}\\?["'`]?[ \t]*[:=][ \t]*({VALUE})"#),
    row("argument with a name", WORD, outside_addresses, NAMES,
        r"(?is){NAME}[=:] *([^ ].*)"),
    row("flag and value", PROSE, unquoted, NAMES,
        r#"(?i)(?:^|[\s"'`(\[,])--[\w.-]*?{NAME}["']?(?:[ \t]*,[ \t]*|[ \t]+)({VALUE})"#),
    row("flag and login", PROSE, login, &["-u"],
        r"(?i)(?:^|\s)(?:-u|--user|--proxy-user)[ =]+({VALUE})"),
    row("header", PROSE, trimmed, NAMES,
        r#"(?i)(?:"{HEADER}[ \t]*([^\s/"][^"\r\n]*)|'{HEADER}[ \t]*([^\s/'][^'\r\n]*)|`{HEADER}[ \t]*([^\s/`][^`\r\n]*)|\b{HEADER}[ \t]*([^\s/][^\r\n]*))"#),
    row("element", PROSE, all, NAMES,
        r"(?i)<(?:[\w.-]+:)?[\w.-]*?{NAME}(?:\s[^<>]*)?>([^<]*[^<\s][^<]*)</"),
    row("login of an address", ANYWHERE, all, &["@"],
        "://([^{NOT}/?#]+)@"),
    row("login without a scheme", ANYWHERE, all, &["@"],
        r"//([^{NOT}/?#:\[]*:[^{NOT}/?#]*)@"),
    row("login with a slash in it", ANYWHERE, all, &["@"],
        r"//([^{NOT}/?#:@\[]*:[^{NOT}/?#@]*[^{NOT}/?#@0-9][^{NOT}@]*[/?#][^{NOT}]*)@"),
    row("login of a source", ANYWHERE, all, &["@tcp(", "@unix("],
        r"([^{NOT}=]*:[^{NOT}=]*)@(?:tcp|unix)\("),
    row("any parameter", RECORD, all, &["?", "&"],
        "[?&][^{NOT}=&#?]+=([^{NOT}&#]+)"),
    row("field of a form", ANYWHERE, all, NAMES,
        r"(?i){NAME}(?:(?:\[[^\]\s]*)?\]=|(?:%5D)?(?:=|%3D))([^{NOT}&,;]+?)(?:%26|[{NOT}&,;]|\z)"),
    row("fragment", ANYWHERE, all, &["#"],
        r"://[^{NOT}#]*#([^{NOT}]*[^{NOT},;.:!)\]}])"),
];

#[expect(clippy::unnecessary_wraps, reason = "one of several")]
fn all(_: &str, found: Range<usize>) -> Option<Range<usize>> {
    Some(found)
}

fn at_least_8(_: &str, found: Range<usize>) -> Option<Range<usize>> {
    (found.len() >= 8).then_some(found)
}

/// Without the blanks at the end. Nothing if the value begins with a mask that ends before the line does: another row knew where it ends.
fn trimmed(text: &str, found: Range<usize>) -> Option<Range<usize>> {
    let value = part(text, &found);
    let rest = value.strip_prefix(MASK);
    if rest.is_some_and(|rest| rest.starts_with(char::is_whitespace)) {
        return None;
    }
    let length = value.trim_end().len();
    (length > 0).then_some(found.start..found.start + length)
}

/// Without the quotes, which may be escaped, and without further parameters of a query after it.
fn unquoted(text: &str, found: Range<usize>) -> Option<Range<usize>> {
    const QUOTES: [char; 3] = ['"', '\'', '`'];
    let value = part(text, &found);
    let inside = value.trim_start_matches('\\').trim_start_matches(QUOTES);
    let start = found.end - inside.len();
    let inside = inside
        .strip_suffix(QUOTES)
        .map_or(inside, |inside| inside.trim_end_matches('\\'));
    let is_parameter = |at: &usize| {
        let name_and_value = part(inside, &(at + 1..inside.len()));
        let value = name_and_value
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_.-[]".contains(c));
        value.starts_with('=') && value.len() < name_and_value.len()
    };
    let ends = inside.match_indices('&').map(|(at, _)| at);
    let end = ends.take(MOST_SIGNS).find(is_parameter);
    let end = start + end.unwrap_or(inside.len());
    (start < end).then_some(start..end)
}

/// Limit: `&` in a value after which a parameter is looked for.
const MOST_SIGNS: usize = 8;

/// A user and a password, but not the numbers of a user and a group.
fn login(text: &str, found: Range<usize>) -> Option<Range<usize>> {
    let inside = unquoted(text, found)?;
    is_login(part(text, &inside)).then_some(inside)
}

pub(super) fn is_login(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(user, password)| {
        !(password.is_empty() || is_number(user) && is_number(password))
    })
}

/// Nothing in a URL, for which there are other rows.
fn outside_addresses(text: &str, found: Range<usize>) -> Option<Range<usize>> {
    (!text.contains("://")).then_some(found)
}

/// The whole word around a run in which letters and digits are mixed as in random tokens.
fn mixed(text: &str, found: Range<usize>) -> Option<Range<usize>> {
    /// The most bytes of the word on either side of the run.
    const FARTHEST: usize = 64;
    let run = part(text, &found);
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_+.~-".contains(byte);
    let (before, after) = (
        part(text, &(0..found.start)),
        part(text, &(found.end..text.len())),
    );
    let before = before.bytes().rev().take(FARTHEST).take_while(is_of_word);
    let after = after.bytes().take(FARTHEST);
    let after = after.take_while(|byte| is_of_word(byte) || *byte == b'=');
    let whole = found.start - before.count()..found.end + after.count();
    (2 <= digits && digits < run.len()).then_some(whole)
}

fn part<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    text.get(range.clone()).unwrap_or_default()
}
