//! Where in texts addresses carry secrets: user and password, parameters. It finds them; what else is secret it does not know.

use std::ops::Range;

use super::masking::is_secret_name;

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

/// `user:password` before the host, whatever characters the password has.
fn logins(text: &str, hidden: &mut Vec<Range<usize>>) {
    for (at, slashes) in text.match_indices("//") {
        let start = at + slashes.len();
        let rest = text.get(start..).unwrap_or_default();
        let has_scheme = text.get(..at).is_some_and(|before| before.ends_with(':'));
        let url = rest.split(is_end).next().unwrap_or_default();
        let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
        let has_password = authority.split_once(':').is_some_and(|(user, port)| {
            !user.starts_with('[') && !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit())
        });
        let user = match authority.rfind('@') {
            // A password in which a slash stands as it is.
            None if has_password => url.rfind('@'),
            // Without a scheme it may be anything else.
            Some(user) if !has_scheme => authority
                .get(..user)
                .and_then(|login| login.contains(':').then_some(user)),
            found => found,
        };
        hidden.extend(
            user.filter(|user| *user > 0)
                .map(|user| start..start + user),
        );
        if has_scheme {
            hidden.extend(fragment(url).map(|range| start + range.start..start + range.end));
        }
    }
}

/// What stands behind the `#`, but for the signs that end a sentence.
fn fragment(url: &str) -> Option<Range<usize>> {
    let (before, fragment) = url.split_once('#')?;
    let fragment = fragment.trim_end_matches([',', ';', '.', ':', '!', ')', ']', '}']);
    let start = before.len() + 1;
    (!fragment.is_empty()).then(|| start..start + fragment.len())
}

/// `user:password@tcp(host)/name`, the address of a database.
fn logins_of_sources(text: &str, hidden: &mut Vec<Range<usize>>) {
    for (at, _) in text
        .match_indices("@tcp(")
        .chain(text.match_indices("@unix("))
    {
        let before = text.get(..at).unwrap_or_default();
        let login = before.rsplit(|c| is_end(c) || c == '=').next();
        let login = login.filter(|login| login.contains(':'));
        hidden.extend(login.map(|login| at - login.len()..at));
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
    let signs = ["]=", "%3D", "%3d"];
    for (at, sign) in signs.iter().flat_map(|sign| text.match_indices(*sign)) {
        let start = at + sign.len();
        let before = text.get(..at).unwrap_or_default();
        let is_of_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[');
        let name = before
            .chars()
            .rev()
            .take(LONGEST_NAME)
            .take_while(is_of_name);
        let name: String = name.collect::<Vec<char>>().into_iter().rev().collect();
        if !is_secret_name(&name) {
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let value = rest
            .split(|c| is_end(c) || matches!(c, '&' | ',' | ';'))
            .next();
        let value = value.unwrap_or_default();
        // The sign between fields is escaped as the other one is.
        let end = value.find("%26").filter(|_| sign.starts_with('%'));
        let length = end.unwrap_or(value.len());
        if length > 0 {
            hidden.push(start..start + length);
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
