//! Finds out whether what a caller wants of a server is held. Pure; [`super::held_refusal`] says it.

use crate::{
    catalog::{ComparedUri, ServerCatalog, Snapshot, Template, closest_template},
    config::{ServerEntry, ToolChanges},
    text::visible::uris,
    trust::{
        approvals::{Hold, HoldReason, Pins, ThingKind},
        fingerprint::Fingerprint,
    },
    wire::{Raw, Thing},
};

/// Why the thing is held; nothing if it is not. Where changes are allowed only what is new is held, and what a lock file lacks.
pub(super) fn hold_of(
    snapshot: &Snapshot,
    entry: &ServerEntry,
    pins: &Pins,
    thing: &Thing<'_>,
) -> Option<(ThingKind, Hold)> {
    let pinned = |kind, name: &str| pins.hold(kind, name).map(|hold| (kind, *hold));
    let found = match thing {
        Thing::Tool(name) => pinned(ThingKind::Tool, name),
        Thing::Prompt(name) => pinned(ThingKind::Prompt, name),
        Thing::Resource(uri) => pinned(ThingKind::Resource, uri)
            .or_else(|| pinned(ThingKind::Template, uri))
            .or_else(|| hold_of_unlisted(snapshot, entry, pins, uri)),
        Thing::Task(_) | Thing::Nothing => None,
    };
    found.filter(|(_, hold)| {
        entry.tool_changes == ToolChanges::Hold
            || hold.reason == HoldReason::New
            || hold.reason.is_of_lock()
    })
}

/// The same for a URI that no list has. While anything is held, these are held too:
///
/// * a URI that does not say where it leads;
/// * another spelling of a URI that is held;
/// * an expansion of a template that is held, unless one that is not held describes it more closely;
/// * a URI that nothing describes.
fn hold_of_unlisted(
    snapshot: &Snapshot,
    entry: &ServerEntry,
    pins: &Pins,
    uri: &str,
) -> Option<(ThingKind, Hold)> {
    let is_any_held = |kind| pins.names(kind).next().is_some();
    if !is_any_held(ThingKind::Resource) && !is_any_held(ThingKind::Template) {
        return None;
    }
    let known = snapshot.servers.get(&entry.name)?;
    if known.resource(uri).is_some() || known.template(uri).is_some() {
        return None;
    }
    if !uris::leads_where_it_says(uri) {
        return first_hold(pins);
    }
    let compared = ComparedUri::new(uri);
    let mut alike = known.resources_like(&compared);
    if let Some(hold) = alike.find_map(|one| pins.hold(ThingKind::Resource, &one.uri)) {
        return Some((ThingKind::Resource, *hold));
    }
    let hold_of_template = |known: &Template| pins.hold(ThingKind::Template, &known.uri_template);
    let is_held = |known: &Template| hold_of_template(known).is_some();
    // Of two that are equally close the bad one counts.
    let Some(closest) = closest_template(known.templates_of(&compared), is_held) else {
        // Nothing that is listed describes it, so nobody knows what the server takes it for.
        return first_hold(pins);
    };
    Some((ThingKind::Template, *hold_of_template(closest)?))
}

/// What a URI may lead to that does not say where it leads: anything that is held. The first by name.
fn first_hold(pins: &Pins) -> Option<(ThingKind, Hold)> {
    let kinds = [ThingKind::Resource, ThingKind::Template];
    kinds.into_iter().find_map(|kind| {
        let first = pins.names(kind).min_by_key(|(name, _)| *name)?;
        Some((kind, *first.1))
    })
}

/// Why a prompt or resource may not be had of an instance that describes it otherwise than the server is known to: the scanner objects, and
/// nobody approved that text.
pub(super) fn hold_of_listed(
    snapshot: &Snapshot,
    entry: &ServerEntry,
    listed: &ServerCatalog,
    thing: &Thing<'_>,
) -> Option<(ThingKind, Hold)> {
    if entry.tool_changes != ToolChanges::Hold {
        return None;
    }
    let (kind, name, definition) = find_suspicious(listed, thing)?;
    let fingerprint = Fingerprint::of_value(definition);
    let pins = snapshot.pins.get(&entry.name);
    let approved = pins.and_then(|pins| pins.ledger.approved.get(&(kind, name.into())));
    let is_approved = approved.is_some_and(|approved| approved.fingerprint == fingerprint);
    let hold = Hold {
        reason: HoldReason::Objected,
        fingerprint,
    };
    (!is_approved).then_some((kind, hold))
}

/// The definition of a prompt or a resource in a list, if the scanner objects to it.
fn find_suspicious<'a>(
    listed: &'a ServerCatalog,
    thing: &Thing<'_>,
) -> Option<(ThingKind, &'a str, &'a Raw)> {
    let (kind, name, definition, is_suspicious) = match thing {
        Thing::Prompt(name) => {
            let it = listed.prompt(name)?;
            let (name, definition) = (&*it.name, &it.definition);
            (ThingKind::Prompt, name, definition, it.is_suspicious)
        }
        Thing::Resource(uri) => {
            if let Some(it) = listed.resource(uri) {
                let (name, definition) = (&*it.uri, &it.definition);
                (ThingKind::Resource, name, definition, it.is_suspicious)
            } else {
                let compared = ComparedUri::new(uri);
                let written = listed.template(uri).into_iter();
                let fitting = written.chain(listed.templates_of(&compared));
                let it = closest_template(fitting, |known| known.is_suspicious)?;
                let (name, definition) = (&*it.uri_template, &it.definition);
                (ThingKind::Template, name, definition, it.is_suspicious)
            }
        }
        Thing::Tool(_) | Thing::Task(_) | Thing::Nothing => return None,
    };
    is_suspicious.then_some((kind, name, definition))
}

/// Whether a call of a tool is bound to the definition that is known.
pub(super) fn binds(snapshot: &Snapshot, entry: &ServerEntry) -> bool {
    entry.tool_changes == ToolChanges::Hold || snapshot.is_locked()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use serde_json::json;

    use super::*;
    use crate::{
        catalog::Listing,
        config::{self, Surroundings},
        text::{names::ServerName, visible::letters},
        trust::approvals::{Ledger, Listed, ListingTerms, PinPolicy},
        wire::Revision,
    };

    /// Whether reading this of a server is refused that has a held resource of this URI, and a template for everything.
    fn is_held(held: &str, compared: &str) -> bool {
        is_held_beside(held, &["{+any}"], compared)
    }

    /// The same beside these templates.
    fn is_held_beside(held: &str, templates: &[&str], compared: &str) -> bool {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let text = r#"{"mcpServers": {"s": {"command": "c"}}}"#;
        let settings = config::parse(text, &surroundings).expect("a configuration");
        let server = ServerName::parse("s").expect("a name");
        let resource = Raw::author(&json!({ "uri": held, "name": "x" }));
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![],
            prompts: vec![],
            resources: vec![resource.clone()],
            templates: templates
                .iter()
                .map(|template| Raw::author(&json!({ "uriTemplate": template, "name": "t" })))
                .collect(),
        };
        let known = Arc::new(ServerCatalog::ingest(&server, "e", listing));
        let listed = [Listed {
            kind: ThingKind::Resource,
            name: held,
            fingerprint: Fingerprint::of_value(&resource),
            definition: resource.as_str(),
        }];
        let ledger = Arc::new(Ledger::default());
        let terms = ListingTerms {
            server: &server,
            policy: PinPolicy::Hold,
            lock: None,
            now: 7,
        };
        let pins = ledger.follow(&listed, terms, &mut |_, _| true);
        let (servers, pins) = ([(server.clone(), known)].into(), Arc::new(pins));
        let snapshot = Snapshot::judged(1, servers, [(server, pins.clone())].into(), None);
        let entry = settings.servers.get("s").expect("the entry");
        hold_of(&snapshot, entry, &pins, &Thing::Resource(compared.into())).is_some()
    }

    #[test]
    fn no_spelling_of_a_held_resource_passes_for_an_expansion_of_a_wide_template() {
        for uri in [
            "http://h/a/b",
            "http://H:80/a/b",
            "http://h/a/./b",
            "http://h/x/../a/b",
            "http://u@h/a/b",
            "http://h./a/b",
            "http://h//a/b",
            "http://h/a/b/",
            "http://h/a/b#x",
            "http://h/a/\u{200b}b",
            "http://h/a/\u{ff42}",
            "http://h/%61/b",
        ] {
            assert!(is_held("http://h/a/b", uri), "{uri}");
        }
        for uri in [
            "file:/held/x",
            "file://localhost/held/x",
            "file:////held/x",
            "FILE:///held/x",
        ] {
            assert!(is_held("file:///held/x", uri), "{uri}");
        }
        for uri in [
            "http://h/a/c",
            "http://h:8080/a/b",
            "http://h/a/b?q=1",
            "note:x",
        ] {
            assert!(!is_held("http://h/a/b", uri), "{uri}");
        }
    }

    #[test]
    fn while_one_is_held_nothing_is_read_that_no_list_describes() {
        let templates = ["chg://doc/t/{n}", "chg://plain"];
        for uri in [
            "chg://doc/one?",
            "chg://doc/one?x=1",
            "chg://doc/one;a",
            "chg://doc/one:80",
            "chg:doc/one",
            "chg://doc/two",
        ] {
            assert!(is_held_beside("chg://doc/one", &templates, uri), "{uri}");
        }
        for uri in ["chg://doc/t/7", "chg://doc/t/{n}", "chg://plain"] {
            assert!(!is_held_beside("chg://doc/one", &templates, uri), "{uri}");
        }
        assert!(is_held_beside(
            "chg://doc/one",
            &["{+any}"],
            "chg://doc/one?"
        ));
    }

    #[test]
    fn a_uri_is_folded_once_however_many_templates_there_are() {
        let templates: Vec<String> = (0..40).map(|n| format!("chg://t{n}/{{n}}")).collect();
        let templates: Vec<&str> = templates.iter().map(|template| &**template).collect();
        let uri = format!("chg://x/{}", "a%41/".repeat(8000));
        let before = letters::decoded_bytes();
        assert!(is_held_beside("chg://doc/one", &templates, &uri));
        let read = letters::decoded_bytes() - before;
        assert!(
            read < 8 * uri.len() + 100_000,
            "{read} bytes for {}",
            uri.len()
        );
    }
}
