//! Resources of the aggregated view: whose a URI is, and which one names it there.

use super::{Router, definitions::other_uri};
use crate::{
    access::Caller,
    catalog::{OfferedTemplate, Owner, fits, literal_length},
    failure::error_code::{ErrorCode, Failure},
    gate::Admitted,
    text::names::ServerName,
    trust::approvals::ThingKind,
    wire::{Outcome, Target, named_uris::result_with_uris},
};

impl Router {
    /// Whose resource this is: one that is listed, or one that a server's template describes.
    pub(super) fn owner_of(&self, caller: &Caller, uri: &str) -> Result<Owner, Failure> {
        let snapshot = self.0.catalog.seen_by(caller);
        let is_there = |server: &ServerName, uri: &str| {
            self.is_in_profile(caller, server, &Target::resource(uri))
        };
        let listed = snapshot.offered_resource(uri);
        let listed = listed.filter(|owner| is_there(&owner.server, &owner.uri));
        // What nobody may have takes nothing from what is in use, but a renamed one is nobody else's.
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
        // A renamed one that describes it wins. Then what is in use; then the most specific template: the one with the most
        // literal text; then the first server by name.
        let rank = |template: &OfferedTemplate<'_>| {
            let literal = literal_length(&template.offered);
            (template.is_renamed, is_in_use(template), literal)
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
    /// A result of a server with the URIs in it that its resources are offered under.
    pub(super) fn with_offered_uris(&self, admitted: &Admitted, outcome: Outcome) -> Outcome {
        let snapshot = self.0.catalog.seen_by(admitted.caller());
        let server = admitted.server();
        let Outcome::Result(result) = &outcome else {
            return outcome;
        };
        if !snapshot.renames(server.as_str()) {
            return outcome;
        }
        let offered = |own: &str| other_uri(&snapshot, server, own);
        match result_with_uris(admitted.method(), result, offered) {
            Some(changed) => Outcome::Result(changed),
            None => outcome,
        }
    }
}
