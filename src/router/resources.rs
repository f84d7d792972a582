//! Resources of the aggregated view: whose a URI is.

use super::{Router, lists::renamed};
use crate::{
    access::Caller,
    catalog::Owner,
    error_code::{ErrorCode, Failure},
    names::ServerName,
    wire::{Edit, Outcome, Raw, Target, splice},
};

impl Router {
    /// Whose resource this is: one that is listed, or one that a server's template describes.
    pub(super) fn owner_of(&self, caller: &Caller, uri: &str) -> Result<Owner, Failure> {
        let snapshot = self.0.catalog.glance();
        let is_there = |server: &ServerName, uri: &str| {
            self.is_in_profile(caller, server, &Target::resource(uri))
        };
        if let Some(owner) = snapshot.offered_resource(uri)
            && is_there(&owner.server, &owner.uri)
        {
            return Ok(owner.clone());
        }
        let mut fitting = snapshot
            .offered_templates()
            .filter(|template| template.offered == uri || fits(&template.offered, uri))
            .filter(|template| is_there(template.server, uri));
        // The most specific template wins: the one with the most literal text; then the first server by name.
        let best = fitting.next().map(|first| {
            fitting.fold(first, |best, next| {
                if literal_length(&next.offered) > literal_length(&best.offered) {
                    next
                } else {
                    best
                }
            })
        });
        match best {
            Some(template) => Ok(Owner {
                server: template.server.clone(),
                uri: template.own_uri(uri),
            }),
            None => Err(Failure::new(
                ErrorCode::UnknownResource,
                format!("Resource not found: {uri:?}"),
                "Look the URI up in the list of resources and resource templates.",
            )),
        }
    }
}

impl Router {
    /// What was read of a resource that is offered under another URI than its own, under the URI that the client asked for; parts of
    /// it under those that they are offered under.
    pub(super) fn read_as_offered(&self, outcome: Outcome, owner: &Owner, asked: &str) -> Outcome {
        let Outcome::Result(result) = &outcome else {
            return outcome;
        };
        let Some(contents) = result.get("contents") else {
            return outcome;
        };
        let snapshot = self.0.catalog.glance();
        let named = |content: Raw| {
            let own = content.get("uri").and_then(|uri| uri.string());
            let Some(own) = own else { return content };
            let offered = if own == *owner.uri {
                asked.to_owned()
            } else {
                snapshot.offered_uri(&owner.server, &own)
            };
            renamed(&content, "uri", &offered)
        };
        let contents: Vec<Raw> = contents.elements().map(named).collect();
        let edits = [("contents", Edit::Set(Raw::array(&contents)))];
        match splice(result, &edits) {
            Ok(result) => Outcome::Result(result),
            Err(_) => outcome,
        }
    }
}

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

fn literal_length(template: &str) -> usize {
    literals(template).map(str::len).sum()
}

/// Whether a URI may be an expansion of a template (RFC 6570): the literal parts stand in it, in their order, from the first
/// character to the last.
fn fits(template: &str, uri: &str) -> bool {
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
}
