//! The roots of an entry, which its server gets when it asks.

use percent_encoding::{AsciiSet, utf8_percent_encode};

use crate::{
    config::{ConfigFinding, Root, finding::Checked, raw::RawRoot},
    text::percent::UNRESERVED,
};

/// Roots are URIs, absolute paths, or objects with `uri` and `name`.
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

/// What stands in the path of a URI as it is (RFC 3986, 2.3 and 3.3).
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// The URI of a root written as a URI or as an absolute path.
fn root_uri(written: &str) -> Option<String> {
    if written.contains("://") {
        return Some(written.to_owned());
    }
    if !written.starts_with('/') {
        return None;
    }
    Some(format!("file://{}", utf8_percent_encode(written, PATH)))
}
