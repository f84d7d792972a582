//! Whether a URI fits a URI template, also in another spelling that a lenient server accepts. In doubt it fits. Pure.

use crate::text::visible::uris;

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

/// Bytes of literal text in a template.
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

/// A URI or template without the differences that lenient servers ignore: those of [`uris::folded`], a fragment, a slash or an empty query at
/// the end.
pub(super) fn folded_uri(uri: &str) -> String {
    let address = uri.split('#').next().unwrap_or_default();
    let folded = uris::folded(address);
    folded.trim_end_matches(['/', '?']).to_owned()
}

/// A URI that is compared with many templates and resources, with the forms that this takes.
#[derive(Debug)]
pub struct ComparedUri<'a> {
    pub(super) written: &'a str,
    decoded: String,
    pub(super) loose: String,
}

impl<'a> ComparedUri<'a> {
    /// Of the URI as it was written.
    pub fn new(uri: &'a str) -> Self {
        Self {
            written: uri,
            decoded: uris::decoded(uri),
            loose: folded_uri(uri),
        }
    }
}

/// The forms of a template with which the URIs for a lenient server are compared.
#[derive(Debug)]
pub(super) struct LooseTemplate {
    decoded: Box<str>,
    loose: Box<str>,
}

impl LooseTemplate {
    pub(super) fn new(template: &str) -> Self {
        // A file URI has no host, so a template like `file://{path}` means `file:///{path}`.
        let path = |(scheme, rest): (&str, &str)| {
            let is_file = scheme.eq_ignore_ascii_case("file");
            is_file.then(|| format!("file:///{{{rest}"))
        };
        let whole = template.split_once("://{").and_then(path);
        Self {
            decoded: uris::decoded(template).into(),
            loose: folded_uri(whole.as_deref().unwrap_or(template)).into(),
        }
    }

    /// Whether a lenient server may take a URI for an expansion of `template`, of which these are the forms.
    pub(super) fn fits(&self, template: &str, uri: &ComparedUri<'_>) -> bool {
        fits(template, uri.written)
            || fits(&self.decoded, &uri.decoded)
            || fits(&self.loose, &uri.loose)
    }
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

    fn fits_loosely(template: &str, uri: &str) -> bool {
        LooseTemplate::new(template).fits(template, &ComparedUri::new(uri))
    }

    #[test]
    fn other_spellings_of_an_expansion_fit() {
        for (template, uri) in [
            ("http://h/a/{id}", "HTTP://u@H.:80//a/%62"),
            ("file://{+path}", "file:/held/x"),
            ("file:///held/{x}", "file://localhost/held/x"),
            ("http://h:{port}/x", "HTTP://h:80/x"),
            ("note://{id}/", "NOTE://7"),
        ] {
            assert!(fits_loosely(template, uri), "{template} {uri}");
        }
        assert!(!fits_loosely("http://h/a/{id}", "http://h/b/7"));
    }

    #[test]
    fn spellings_of_one_uri_are_alike() {
        for uri in [
            "NOTE://X",
            "note://x#part",
            "note://%78",
            "note://x/",
            "note://x?",
            " note://x",
        ] {
            assert_eq!(folded_uri(uri), "note:/x", "{uri}");
        }
        assert_ne!(folded_uri("note://y"), "note:/x");
        assert_eq!(folded_uri("http://h/{id}/"), "http:/h/{id}");
    }
}
