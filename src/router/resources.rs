//! Resources of the aggregated view: whose a URI is.

use super::{Router, definitions::renamed};
use crate::{
    access::Caller,
    approvals::ThingKind,
    catalog::{OfferedTemplate, Owner, fits, literal_length},
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
        let listed = snapshot.offered_resource(uri);
        let listed = listed.filter(|owner| is_there(&owner.server, &owner.uri));
        // What nobody may have takes nothing from what is in use, but an alias is nobody else's.
        let gives_way = |owner: &Owner| {
            let server = owner.server.as_str();
            *owner.uri == *uri && snapshot.hides(server, ThingKind::Resource, uri)
        };
        if let Some(owner) = listed.filter(|owner| !gives_way(owner)) {
            return Ok(owner.clone());
        }
        let is_in_use = |template: &OfferedTemplate<'_>| {
            let own = template.own_uri(&template.offered);
            !snapshot.hides(template.server.as_str(), ThingKind::Template, &own)
        };
        let mut fitting = snapshot
            .offered_templates()
            .filter(|template| template.offered == uri || fits(&template.offered, uri))
            .filter(|template| is_there(template.server, uri))
            .filter(|template| listed.is_none() || is_in_use(template));
        // What describes it as an alias of its server's wins. Then what is in use; then the most specific template: the one with the most
        // literal text; then the first server by name.
        let rank = |template: &OfferedTemplate<'_>| {
            let literal = literal_length(&template.offered);
            (template.is_alias(), is_in_use(template), literal)
        };
        let best = fitting.next().map(|first| {
            fitting.fold(first, |best, next| {
                if rank(&next) > rank(&best) {
                    next
                } else {
                    best
                }
            })
        });
        match (best, listed) {
            (Some(template), _) => Ok(Owner {
                server: template.server.clone(),
                uri: template.own_uri(uri),
            }),
            (None, Some(held)) => Ok(held.clone()),
            (None, None) => Err(Failure::new(
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
