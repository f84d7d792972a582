//! Which URIs a template describes, and which spellings of a URI a server may take for one. Pure; guesses, where it must, that they fit.

use percent_encoding::percent_decode_str;

/// The literal parts of a URI template, between its expressions.
fn literals(template: &str) -> impl Iterator<Item = &str> {
    template
        .split('{')
        .enumerate()
        .map(|(i, part)| match part.split_once('}') {
            Some((_, literal)) if i > 0 => literal,
            _ => part,
        })
}

/// How much of a template is literal text.
pub fn literal_length(template: &str) -> usize {
    literals(template).map(str::len).sum()
}

/// Whether a URI may be an expansion of a template (RFC 6570): the literal parts stand in it, in their order, from the first
/// character to the last.
pub fn fits(template: &str, uri: &str) -> bool {
    let parts: Vec<&str> = literals(template).collect();
    let [first, middle @ .., last] = &parts[..] else {
        return false;
    };
    let Some(mut rest) = uri
        .strip_prefix(first)
        .and_then(|rest| rest.strip_suffix(last))
    else {
        return false;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// What is left of a URI without the differences that servers are lenient about: case, escapes, a fragment, a slash at the end.
pub fn loosely(uri: &str) -> String {
    let address = uri.split('#').next().unwrap_or_default();
    let plain = percent_decode_str(address.trim()).decode_utf8_lossy();
    plain.trim_end_matches('/').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_their_expansions() {
        let check =
            |template, uri, expected| assert_eq!(fits(template, uri), expected, "{template} {uri}");
        check("file:///{path}", "file:///a/b", true);
        check("demo://{id}/text", "demo://7/text", true);
        check("demo://{id}/text", "demo://7/blob", false);
        check("a://{x}/b/{y}/c", "a://1/b/2/c", true);
        check("a://{x}/b/{y}/c", "a://1/c", false);
        check("a://plain", "a://plain", false);
        check("{+all}", "anything", true);
        check("ab{x}bc", "abc", false);
    }

    #[test]
    fn spellings_of_one_uri_are_alike() {
        for uri in [
            "NOTE://X",
            "note://x#part",
            "note://%78",
            "note://x/",
            " note://x",
        ] {
            assert_eq!(loosely(uri), "note://x", "{uri}");
        }
        assert_ne!(loosely("note://y"), "note://x");
    }
}
