//! Resources on endpoints of many servers: the owner of an offered URI, and the offered URIs in results.

use std::{cmp::Reverse, collections::VecDeque, sync::Arc};

use super::{Router, definitions::other_uri};
use crate::{
    call_context::{CallContext, NamedBy, NamedResources},
    catalog::{OfferedTemplate, Owner, fits, literal_length},
    failure::{ErrorCode, Failure, Result},
    gate::Admitted,
    link::ClientKey,
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::approvals::ThingKind,
    wire::{Outcome, Raw, Target, Thing, named_uris::named_by_result},
};

/// Limit: clients without a session whose named resources are remembered. The oldest is forgotten.
const MAX_UNIDENTIFIED: usize = 256;

/// The resources that servers named in results for clients without a session. Such a client uses several connections, so its key is its caller
/// and name.
#[derive(Default)]
pub(super) struct NamedToOthers(Guarded<VecDeque<(ClientKey, Arc<NamedResources>)>>);

impl NamedToOthers {
    fn find(&self, client: &ClientKey) -> Option<Arc<NamedResources>> {
        let all = self.0.lock();
        let found = all.iter().find(|(known, _)| known == client);
        found.map(|(_, named)| named.clone())
    }

    fn find_or_add(&self, client: ClientKey) -> Arc<NamedResources> {
        // Under one lock with the adding, so that no client has two.
        let mut all = self.0.lock();
        if let Some((_, named)) = all.iter().find(|(known, _)| *known == client) {
            return named.clone();
        }
        if all.len() >= MAX_UNIDENTIFIED {
            all.pop_front();
        }
        let named = Arc::default();
        all.push_back((client, Arc::clone(&named)));
        named
    }
}

impl Router {
    /// The owner of an offered URI: the server that lists it, or has a template that it fits, or named it in a result for this client.
    pub(super) fn owner_of(&self, context: &CallContext, uri: &str) -> Result<Owner> {
        let caller = &context.caller;
        let snapshot = self.0.catalog.seen_by(caller);
        let is_there =
            |server: &ServerName, uri: &str| self.reaches(caller, server, &Target::resource(uri));
        let listed = snapshot.offered_resource(uri);
        let listed = listed.filter(|owner| is_there(&owner.server, &owner.uri));
        // A hidden resource gives way to a template in use, but no other server has the URI of a renamed one.
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
        let fitting = snapshot
            .offered_templates()
            .filter(|template| template.offered == uri || fits(&template.offered, uri))
            .filter(|template| is_there(template.server, uri))
            .filter(|template| listed.is_none() || is_in_use(template));
        // A renamed template comes first, then one in use, then the one with the most literal text, then the first server by name.
        let rank = |template: &OfferedTemplate<'_>| {
            let literal = literal_length(&template.offered);
            (template.is_renamed, is_in_use(template), literal)
        };
        if let Some(template) = fitting.min_by_key(|template| Reverse(rank(template))) {
            return Ok(Owner {
                server: template.server.clone(),
                uri: template.own_uri(uri),
            });
        }
        let named = self.named_to(context, uri);
        let named = named.filter(|(server, own)| is_there(server, own));
        match (named, listed) {
            (Some((server, own)), _) => Ok(Owner {
                server,
                uri: (*own).into(),
            }),
            (None, Some(held)) => Ok(held.clone()),
            (None, None) => Err(unknown_resource(uri)),
        }
    }

    /// The result of a server with offered URIs in place of its own ones. From now on this client can read the URIs in it that no list has.
    pub(super) fn with_offered_uris(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        outcome: Outcome,
    ) -> Outcome {
        let Outcome::Result(result) = &outcome else {
            return outcome;
        };
        let requested = match admitted.target().thing() {
            Thing::Resource(uri) => Some(&**uri),
            _ => None,
        };
        let source = (admitted.server(), admitted.method(), requested);
        match self.offered_uris_in(context, source, result) {
            Some(changed) => Outcome::Result(changed),
            None => outcome,
        }
    }

    /// The same for a server's result of this method, for this resource; `None` if no URI in it changes.
    pub(super) fn offered_uris_in(
        &self,
        context: &CallContext,
        (server, method, requested): (&ServerName, &str, Option<&str>),
        result: &Raw,
    ) -> Option<Raw> {
        let named = named_by_result(method, result)?;
        let snapshot = self.0.catalog.seen_by(&context.caller);
        let renames = snapshot.renames(server.as_str());
        let offered = |own: &str| {
            let other = renames.then(|| other_uri(&snapshot, server, own));
            other.flatten()
        };
        for own in named.uris().filter(|own| requested != Some(&**own)) {
            let uri = offered(&own);
            let uri = uri.as_deref().unwrap_or(&own);
            if snapshot.offered_resource(uri).is_none() {
                self.note_named(context, uri, server, &own);
            }
        }
        named.with(offered)
    }

    fn note_named(&self, context: &CallContext, uri: &str, server: &ServerName, own: &str) {
        let note = |known: &NamedResources| known.note(uri, server, own, &self.0.memory);
        match context.named_resources() {
            Some(known) => note(known),
            None => note(&self.0.named_to_others.find_or_add(context.named_client())),
        }
    }

    fn named_to(&self, context: &CallContext, uri: &str) -> Option<NamedBy> {
        if let Some(known) = context.named_resources() {
            return known.find(uri);
        }
        let known = self.0.named_to_others.find(&context.named_client())?;
        known.find(uri)
    }
}

/// The failure for a URI that no server has.
pub(super) fn unknown_resource(uri: &str) -> Failure {
    let hint = "Look the URI up in the list of resources and resource templates.";
    let error = format!("Resource not found: {uri:?}");
    Failure::not_run(ErrorCode::UnknownResource, error, hint)
}
