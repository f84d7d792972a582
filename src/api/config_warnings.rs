//! Warnings about a change of the configuration: which clients it shuts out, and what it opens to others.

use std::collections::BTreeSet;

use super::Verbs;
use crate::{
    call_context::OpenSession,
    clients::{client_rows, home_places, our_address},
    config::{ANONYMOUS, ChangedValue, Listen, Warning},
    management::{ConfigChange, ShutOut},
};

/// Adds the warnings to a change. `open` are the sessions before it. Blocks.
pub(super) fn warn<V: Verbs>(change: &mut ConfigChange, verbs: &V, open: &[OpenSession]) {
    let changes = &change.changes;
    let options = verbs.location().map(|daemon| &daemon.serve_options[..]);
    let options = options.unwrap_or_default();
    let open_address = |one: &ChangedValue| of_open_address(one, options);
    let opened = changes.iter().filter_map(of_no_access_rules);
    let opened: Vec<Warning> = opened
        .chain(changes.iter().filter_map(open_address))
        .collect();
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
    let warning = "without `serverAuth` every client can use every tool";
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

/// A warning if other machines can reach the new address, and if a daemon with these options of `serve` would not listen there.
fn of_open_address(change: &ChangedValue, serve_options: &[String]) -> Option<Warning> {
    let address = match &change.after {
        Some(after) if change.path == ["listen"] => after.as_str()?,
        _ => return None,
    };
    let address = address.parse::<Listen>().ok()?;
    let open = address.for_this_machine().err()?;
    let refused = address.refused_with(serve_options);
    let warning = refused.map_or_else(|| open.what(), |refused| refused.to_string());
    Some(Warning::new(warning).at("listen"))
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
        let check = |address: &str, options: &[&str], expected: Option<bool>| {
            let change = changed("listen", Some(json!(address)));
            let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
            let warning = of_open_address(&change, &options);
            let names_option = warning.map(|warning| warning.text.contains("--insecure"));
            assert_eq!(names_option, expected, "{address}");
        };
        check("0.0.0.0:9191", &[], Some(true));
        check("0.0.0.0:9191", &["--insecure"], Some(false));
        check("127.0.0.1:9191", &[], None);
        check("no address", &[], None);
    }
}
