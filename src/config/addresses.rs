//! Where in texts addresses carry secrets: user and password, parameters. It finds them; what else is secret it does not know.

use std::ops::Range;

use super::{
    masking::is_secret_name,
    next_place::{NextPlace, find},
};

/// Limit: characters of the name of a parameter. Longer ones are none.
const LONGEST_NAME: usize = 64;

/// Of which parameters of addresses the values are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameters {
    /// Of those whose names say so.
    Secret,
    /// Of all.
    All,
}

/// Adds what is to be hidden of the addresses in a text.
pub(super) fn hide(text: &str, which: Parameters, hidden: &mut Vec<Range<usize>>) {
    logins(text, hidden);
    logins_of_sources(text, hidden);
    parameters(text, which, hidden);
    fields(text, hidden);
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// The parts of a text between the signs that end an address, and where each begins.
fn runs(text: &str, is_end: impl Fn(char) -> bool + Copy) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive(is_end).map(move |part| {
        let start = next;
        next += part.len();
        (start, part.trim_end_matches(is_end))
    })
}

/// `user:password` before the host, whatever characters the password has.
fn logins(text: &str, hidden: &mut Vec<Range<usize>>) {
    for (start, run) in runs(text, is_end).filter(|(_, run)| run.contains("//")) {
        logins_of_run(run, start, hidden);
    }
}

/// Of a run that has many addresses in it each byte is looked at a few times only.
fn logins_of_run(run: &str, start: usize, hidden: &mut Vec<Range<usize>>) {
    let last_at = run.rfind('@');
    // The signs that end a sentence.
    let end = run.trim_end_matches([',', ';', '.', ':', '!', ')', ']', '}']);
    let mut fragments = NextPlace::default();
    for (at, slashes) in run.match_indices("//") {
        let from = at + slashes.len();
        let rest = run.get(from..).unwrap_or_default();
        let has_scheme = run.get(..at).is_some_and(|before| before.ends_with(':'));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let has_password = authority.split_once(':').is_some_and(|(user, port)| {
            !user.starts_with('[') && !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit())
        });
        let user = match authority.rfind('@').map(|user| from + user) {
            // A password in which a slash stands as it is.
            None if has_password => last_at,
            // Without a scheme it may be anything else.
            Some(user) if !has_scheme => {
                let login = run.get(from..user).unwrap_or_default();
                login.contains(':').then_some(user)
            }
            found => found,
        };
        if let Some(user) = user.filter(|user| *user > from) {
            hidden.push(start + from..start + user);
        }
        let fragment = fragments.at_or_after(from, |from| find(run, from, |c| c == '#'));
        if let Some(fragment) = fragment.filter(|at| has_scheme && at + 1 < end.len()) {
            hidden.push(start + fragment + 1..start + end.len());
        }
    }
}

/// `user:password@tcp(host)/name`, the address of a database.
fn logins_of_sources(text: &str, hidden: &mut Vec<Range<usize>>) {
    for (start, run) in runs(text, |c| is_end(c) || c == '=') {
        // What stands before the last of them has all that stands before the others.
        let at = run.rfind("@tcp(").max(run.rfind("@unix("));
        let login = at.and_then(|at| run.get(..at));
        let login = login.filter(|login| login.contains(':'));
        hidden.extend(login.map(|login| start..start + login.len()));
    }
}

/// The values of parameters, in addresses that need no scheme: `/x?token=…`.
fn parameters(text: &str, which: Parameters, hidden: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(mark) = text.get(from..).and_then(|rest| rest.find('?')) {
        let mut at = from + mark + 1;
        let rest = text.get(at..).unwrap_or_default();
        let query = rest.split(is_end).next().unwrap_or_default();
        from = at + query.len();
        for part in query.split_inclusive(['&', '#']) {
            let parameter = part.trim_end_matches(['&', '#']);
            if let Some((name, value)) = parameter.split_once('=') {
                let is_hidden = which == Parameters::All || is_secret_name(name);
                if is_hidden && !value.is_empty() {
                    let start = at + name.len() + 1;
                    hidden.push(start..start + value.len());
                }
            }
            at += part.len();
        }
    }
}

/// Fields of forms whose sign is escaped, or whose name has brackets: `password%3D…`, `password[0]=…`.
fn fields(text: &str, hidden: &mut Vec<Range<usize>>) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[');
    let is_end = |c: char| is_end(c) || matches!(c, '&' | ',' | ';');
    for sign in ["]=", "%3D", "%3d"] {
        let (mut ends, mut escaped_ends) = (NextPlace::default(), NextPlace::default());
        for (at, sign) in text.match_indices(sign) {
            let start = at + sign.len();
            let before = text.get(..at).unwrap_or_default();
            let name = before.char_indices().rev().take(LONGEST_NAME);
            let name = name.take_while(|(_, c)| is_of_name(*c)).last();
            let name = name.and_then(|(from, _)| before.get(from..));
            if !name.is_some_and(is_secret_name) {
                continue;
            }
            let end = ends.at_or_after(start, |from| find(text, from, is_end));
            let mut end = end.unwrap_or(text.len());
            // The sign between fields is escaped as the other one is.
            if sign.starts_with('%') {
                let escaped = escaped_ends.at_or_after(start, |from| {
                    let rest = text.get(from..)?;
                    rest.find("%26").map(|at| from + at)
                });
                end = end.min(escaped.unwrap_or(end));
            }
            if start < end {
                hidden.push(start..end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::strangers_text::{mask_text_for_records, mask_text_of_strangers};

    #[test]
    fn addresses_lose_user_and_password_whatever_characters_they_have() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check(
            "see https://u:p@h/x?token=1&a=2 now",
            "see https://***@h/x?token=***&a=2 now",
        );
        check("db postgres://u:p,s;s(1)@h/db", "db postgres://***@h/db");
        check(
            "db postgres://u:p@ss@h:5432/db",
            "db postgres://***@h:5432/db",
        );
        check("db=mysql://u:p/w@h/db", "db=mysql://***@h/db");
        check("redis://:hunter2@h:6379/0", "redis://***@h:6379/0");
        check("http://[::1]:8080/a@b", "http://[::1]:8080/a@b");
        check("http://h:8080/a@b", "http://h:8080/a@b");
        check("(see https://h/a,b#S,T), x", "(see https://h/a,b#***), x");
        check("https://u[:p@h/x?a#n=S", "https://***@h/x?a#***");
    }

    #[test]
    fn an_address_needs_no_scheme() {
        for text in [
            "/x?token=S",
            "GET /x?a=1&token=S&b=2 HTTP/1.1",
            "see h.example/x?token=S",
            "really?yes/x?token=S",
            "get //u:S@h/x",
            "dsn u:S@tcp(h)/db",
            "password[0]=S&n=1",
            "q=x%26password%3DS%26n%3D1",
        ] {
            let masked = mask_text_of_strangers(text);
            assert!(!masked.contains('S'), "{text}: {masked}");
            let (before, _) = masked.split_once("***").expect("something is masked");
            assert!(text.starts_with(before), "{text}: {masked}");
        }
        for text in ["a//b@c and // d:e@f", "what? a=b"] {
            assert_eq!(mask_text_of_strangers(text), text);
        }
    }

    #[test]
    fn a_record_has_no_parameter_of_an_address() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_for_records(text), expected);
        check(
            "https://h/x?sig=S&code=T&page=2#state=U now",
            "https://h/x?sig=***&code=***&page=***#*** now",
        );
        check("/cb?code=S&empty=&flag", "/cb?code=***&empty=&flag");
        check("what? a=b", "what? a=b");
        assert_eq!(mask_text_of_strangers("/cb?page=2"), "/cb?page=2");
    }
}
