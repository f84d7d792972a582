//! Warnings about a change of the configuration: which clients it shuts out, and what it opens to others.

use std::collections::BTreeSet;

use super::Verbs;
use crate::{
    call_context::OpenSession,
    clients::{client_rows, home_places, our_address},
    config::{ANONYMOUS, ChangedValue, Listen, Needs, NotLoopback, Warning},
    management::{ConfigChange, ShutOut},
};

/// Adds the warnings to a change. `open` are the sessions before it. Blocks.
pub(super) fn warn<V: Verbs>(change: &mut ConfigChange, verbs: &V, open: &[OpenSession]) {
    let changes = &change.changes;
    let mut opened: Vec<Warning> = changes.iter().filter_map(of_no_access_rules).collect();
    if let Some(address) = changes.iter().find_map(open_address) {
        let daemon = verbs.location();
        let refused = daemon.map_or(Some(address), |daemon| daemon.refused(address.0));
        let text = refused.map_or_else(|| address.to_string(), |refused| refused.in_file());
        opened.push(Warning::new(text).at("listen"));
        if refused.is_some() {
            let others = changes.iter().filter(|one| one.path != ["listen"]);
            change.needs = Needs::of(&others.cloned().collect::<Vec<_>>());
        }
    }
    if changes.iter().any(requires_tokens) {
        let files = verbs.files();
        // Without a home there are no files of clients.
        if let Ok(places) = home_places(&files) {
            let rows = client_rows(&places, &our_address(&files, verbs.location()), true);
            let rows = rows.into_iter();
            let without = rows.filter(|row| row.connected && row.shows_token == Some(false));
            change.shut_out.extend(without.map(|row| ShutOut {
                name: row.title.to_owned(),
                client: Some(row.client.id().to_owned()),
            }));
        }
        let names = without_token(open).into_iter();
        change.shut_out.extend(names.map(|name| ShutOut {
            name: name.to_owned(),
            client: None,
        }));
    }
    change.warnings.extend(opened);
}

/// A warning if all access rules are removed.
fn of_no_access_rules(change: &ChangedValue) -> Option<Warning> {
    let is_removed = change.path == ["serverAuth"] && change.after.is_none();
    let warning =
        "without `serverAuth`, no access rules apply; only the limits of issued tokens remain";
    is_removed.then(|| Warning::new(warning).at("serverAuth"))
}

/// Whether clients need a token after the change.
fn requires_tokens(change: &ChangedValue) -> bool {
    let keys: Vec<&str> = change.path.iter().map(String::as_str).collect();
    match (&keys[..], &change.after) {
        (["serverAuth", "required"], Some(value)) => *value == true,
        (["serverAuth"], Some(value)) => value["required"] == true,
        _ => false,
    }
}

/// The clients with open sessions without a token. Clients of `mcpproxy stdio` need none.
fn without_token(open: &[OpenSession]) -> BTreeSet<&str> {
    let without = open
        .iter()
        .filter(|one| one.caller == ANONYMOUS && one.transport != "stdio");
    without
        .map(|one| one.client.as_deref().unwrap_or("a client without a name"))
        .collect()
}

/// The new address, if other machines can reach it.
fn open_address(change: &ChangedValue) -> Option<NotLoopback> {
    let address = match &change.after {
        Some(after) if change.path == ["listen"] => after.as_str()?,
        _ => return None,
    };
    address.parse::<Listen>().ok()?.for_this_machine().err()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use serde_json::{Value, json};

    use super::*;
    use crate::wire::Revision;

    fn changed(key: &str, after: Option<Value>) -> ChangedValue {
        ChangedValue {
            path: key.split('.').map(str::to_owned).collect(),
            before: None,
            after,
            partly: false,
        }
    }

    #[test]
    fn tokens_are_required_by_the_key_or_all_of_its_object() {
        let check = |key: &str, after, expected: bool| {
            assert_eq!(requires_tokens(&changed(key, after)), expected, "{key}");
        };
        check("serverAuth.required", Some(json!(true)), true);
        check("serverAuth.required", Some(json!(false)), false);
        check("serverAuth", Some(json!({ "required": true })), true);
        check("serverAuth", Some(json!({})), false);
        check("serverAuth", None, false);
        check("listen", Some(json!(true)), false);
    }

    #[test]
    fn open_sessions_over_the_network_without_a_token_are_named() {
        let session = |client: Option<&str>, transport, caller: &str| OpenSession {
            client: client.map(str::to_owned),
            revision: Revision::NEWEST_LEGACY,
            transport,
            endpoint: "/mcp".to_owned(),
            caller: caller.to_owned(),
            opened: SystemTime::now(),
            last_seen: SystemTime::now(),
            is_attended: false,
        };
        let open = [
            session(Some("late 1.0"), "http", "anonymous"),
            session(Some("late 1.0"), "sse", "anonymous"),
            session(Some("at home"), "stdio", "anonymous"),
            session(Some("known"), "http", "ada"),
            session(None, "http", "anonymous"),
        ];
        let names: Vec<&str> = without_token(&open).into_iter().collect();
        assert_eq!(names, ["a client without a name", "late 1.0"]);
    }

    #[test]
    fn what_opens_the_daemon_is_named() {
        assert!(of_no_access_rules(&changed("serverAuth", None)).is_some());
        assert!(of_no_access_rules(&changed("serverAuth.acl", None)).is_none());
        for (address, is_open) in [
            ("0.0.0.0:9191", true),
            ("127.0.0.1:9191", false),
            ("no address", false),
        ] {
            let change = changed("listen", Some(json!(address)));
            assert_eq!(open_address(&change).is_some(), is_open, "{address}");
        }
    }
}
