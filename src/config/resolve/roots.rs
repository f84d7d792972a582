//! The key `roots`: the roots that a server gets when it asks.

use percent_encoding::{AsciiSet, utf8_percent_encode};

use crate::{
    config::{ConfigFinding, Root, finding::Checked, raw::RawRoot},
    text::percent::UNRESERVED,
};

/// Checks the roots: URIs, absolute paths, or objects with `uri` and `name`.
pub(super) fn roots(written: Vec<RawRoot>) -> Checked<Vec<Root>> {
    let roots = written
        .into_iter()
        .enumerate()
        .map(|(at, root)| -> Checked<Root> {
            let (uri, name) = match root {
                RawRoot::String(uri) => (uri, None),
                RawRoot::Object(root) => (root.uri, root.name),
            };
            let bad = || {
                let problem = "is neither an absolute path nor a URI";
                ConfigFinding::new(format!("roots[{at}]"), problem)
            };
            Ok(Root {
                uri: root_uri(&uri.value).ok_or_else(bad)?,
                name: name.map(|name| name.value),
            })
        });
    roots.collect()
}

/// The characters of a path that are encoded in a URI: all but unreserved ones and `/` (RFC 3986, 2.3 and 3.3).
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// The URI of a root that is written as a URI or as an absolute path; nothing for other texts.
fn root_uri(written: &str) -> Option<String> {
    if written.contains("://") {
        return Some(written.to_owned());
    }
    if !written.starts_with('/') {
        return None;
    }
    Some(format!("file://{}", utf8_percent_encode(written, PATH)))
}
