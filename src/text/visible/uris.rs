//! The folded form of URIs, in which URIs that lead to the same resource are equal, and whether a URI leads where it seems to. Pure; decides
//! nothing.

use super::letters;

/// The folded form of a URI: in lower case, percent-decoded, with single slashes (WHATWG URL, 4.4, and RFC 3986, 6.2) and letters of ASCII in
/// place of those that look like them; without control characters, invisible characters, surrounding blanks, credentials, default ports, and
/// the host of a file.
pub fn folded(uri: &str) -> String {
    let mut folded = with_plain_authority(&plain_letters(uri));
    while folded.contains("//") {
        folded = folded.replace("//", "/");
    }
    folded
}

/// Schemes after which any number of slashes is accepted, and their default ports.
#[rustfmt::skip]
const FORGIVING: [(&str, &str); 6] = [
    ("file", ""), ("ftp", ":21"), ("http", ":80"), ("https", ":443"), ("ws", ":80"), ("wss", ":443"),
];

/// A decoded URI without credentials, default port and final dots in its authority.
fn with_plain_authority(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return uri.to_owned();
    };
    let forgiving = FORGIVING.iter().find(|(name, _)| *name == scheme);
    let after = rest.trim_start_matches('/');
    let slashes = rest.len() - after.len();
    if scheme == "file" {
        let path = match slashes {
            2 => after.split_once('/').map_or("", |(_, path)| path),
            _ => after,
        };
        return format!("file:/{path}");
    }
    if forgiving.is_none() && slashes != 2 {
        return uri.to_owned();
    }
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    let (authority, path) = after.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = forgiving.map_or("", |(_, port)| *port);
    let host = host.strip_suffix(port).unwrap_or(host);
    let host = host.trim_end_matches(['.', ':']);
    format!("{scheme}://{host}{path}")
}

/// A URI in lower case, percent-decoded, without control characters and surrounding blanks.
pub fn decoded(uri: &str) -> String {
    lowered(&letters::decoded(uri))
}

/// The same with letters of ASCII in place of those that look like them.
fn plain_letters(uri: &str) -> String {
    lowered(&letters::in_ascii(uri))
}

fn lowered(text: &str) -> String {
    let text = text.replace('\\', "/");
    let kept = text.trim().chars().filter(|c| !c.is_control());
    kept.flat_map(char::to_lowercase).collect()
}

/// Whether a URI leads where it seems to: its path has no `.` or `..`, encoded or not, and its host has only ASCII, whose letters are not taken
/// for others.
pub fn leads_where_it_says(uri: &str) -> bool {
    let written = decoded(uri);
    let (scheme, rest) = written.split_once(':').unwrap_or_default();
    let authority = rest.trim_start_matches('/');
    let has_host = scheme != "file" || rest.len() - authority.len() == 2;
    let end = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    if has_host && !authority.split_at(end).0.is_ascii() {
        return false;
    }
    let folded = folded(uri);
    let path = folded.split(['?', '#']).next().unwrap_or_default();
    !path
        .split('/')
        .any(|segment| segment == ".." || segment == ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uri_are_folded_alike() {
        for uri in [
            "http://h/a/b",
            "HTTP://H:80/a/b",
            "http://u@h/a/b",
            "http://u:p@h./a/b",
            "http://h//a/b",
            "http:/h/a/b",
            "http:\\\\h\\a\\b",
            "http://h/%61/b",
            "http://h/a/\u{200b}b",
            "http://h/\u{ff41}/b",
            "http://h\u{ff0f}a/b",
            " http://h/a/b\n",
        ] {
            assert_eq!(folded(uri), "http:/h/a/b", "{uri:?}");
        }
        for uri in [
            "file:/held/x",
            "file:///held/x",
            "file://localhost/held/x",
            "file:////held/x",
        ] {
            assert_eq!(folded(uri), "file:/held/x", "{uri:?}");
        }
        assert_ne!(folded("http://h:8080/a"), folded("http://h/a"));
        assert_ne!(folded("http://g/a"), folded("http://h/a"));
    }

    #[test]
    fn a_path_with_dots_and_a_host_in_other_letters_lead_elsewhere() {
        for uri in [
            "file:///a/../b",
            "file:///a/./b",
            "file:///a/%2e%2e/b",
            "file:///a/\u{ff0e}./b",
            "https://h\u{3002}example/a",
            "https://\u{ff48}/a",
        ] {
            assert!(!leads_where_it_says(uri), "{uri:?}");
        }
        for uri in [
            "file:///a/b.c",
            "file:///\u{dc}bung/x",
            "memo:x",
            "https://h/a?x=../b",
            "a://h/..b",
        ] {
            assert!(leads_where_it_says(uri), "{uri:?}");
        }
    }
}
