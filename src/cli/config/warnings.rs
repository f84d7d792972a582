//! What a person should know of a change of the configuration.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{connect, refused_clients};
use crate::{
    clients::{ClientRow, client_rows, home_places, our_address},
    config::{ANONYMOUS, ChangedValue, Listen},
    management::{ConfigChange, DaemonLocation, Files},
};

/// The warnings about a change that was made, or would be, with these sessions open before it.
pub(super) fn warnings_of(
    change: &ConfigChange,
    files: &Files,
    location: Option<&DaemonLocation>,
    open: &Value,
    dry_run: bool,
) -> Vec<String> {
    let mut warnings: Vec<String> = change.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(of_no_access_rules(&change.changes));
    if change.changes.iter().any(requires_tokens) {
        let refused = if dry_run {
            "would be refused"
        } else {
            "is now refused"
        };
        if let Ok(places) = home_places(files) {
            let rows = client_rows(&places, &our_address(files, location), true);
            warnings.extend(
                rows.iter()
                    .filter_map(|row| of_refused_client(row, refused)),
            );
        }
        let names = without_token(open).into_iter();
        warnings
            .extend(names.map(|name| format!("{name} is connected without a token and {refused}")));
    }
    if change.id.is_some() && change.changes.iter().any(takes_endpoint) {
        warnings.extend(refused_clients::warnings(files, location));
    }
    let listens = change.changes.iter().find(|one| one.path == ["listen"]);
    warnings.extend(listens.and_then(of_open_address));
    if change.id.is_some() && listens.is_some() {
        warnings.extend(connect::address_warnings(files, location, None));
    }
    warnings
}

fn of_no_access_rules(changes: &[ChangedValue]) -> Option<String> {
    let is_removed = |one: &ChangedValue| one.path == ["serverAuth"] && one.after.is_none();
    let warning = "without `serverAuth` every client can use every tool";
    changes.iter().any(is_removed).then(|| warning.to_owned())
}

/// Whether an endpoint of a server or a profile goes.
fn takes_endpoint(change: &ChangedValue) -> bool {
    let first = change.path.first().map(String::as_str);
    change.after.is_none() && matches!(first, Some("mcpServers" | "profiles"))
}

/// Whether clients have to show a token from then on.
fn requires_tokens(change: &ChangedValue) -> bool {
    let keys: Vec<&str> = change.path.iter().map(String::as_str).collect();
    match (&keys[..], &change.after) {
        (["serverAuth", "required"], Some(value)) => *value == true,
        (["serverAuth"], Some(value)) => value["required"] == true,
        _ => false,
    }
}

/// That a client of this machine shows no token.
fn of_refused_client(row: &ClientRow, refused: &str) -> Option<String> {
    (row.connected && row.shows_token == Some(false)).then(|| {
        format!(
            "{} sends no token and {refused}: `mcpproxy connect {} --token`",
            row.title,
            row.client.id()
        )
    })
}

/// The clients with open sessions that need a token from then on, and showed none. Those that `mcpproxy stdio` serves need none.
fn without_token(open: &Value) -> BTreeSet<&str> {
    let sessions = open["sessions"].as_array().into_iter().flatten();
    sessions
        .filter(|one| one["caller"] == ANONYMOUS && one["transport"] != "stdio")
        .map(|one| one["client"].as_str().unwrap_or("a client without a name"))
        .collect()
}

/// That other machines reach the new address.
fn of_open_address(listens: &ChangedValue) -> Option<String> {
    let address = listens.after.as_ref().and_then(Value::as_str)?;
    let error = address.parse::<Listen>().ok()?.for_this_machine().err()?;
    let what = error.what();
    Some(format!(
        "{what}; the daemon listens there only with `serve --insecure`"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        ChangedValue, of_no_access_rules, of_open_address, requires_tokens, without_token,
    };

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
        let session = |client: Value, transport: &str, caller: &str| json!({ "client": client, "transport": transport, "caller": caller });
        let open = json!({ "sessions": [
            session(json!("late 1.0"), "http", "anonymous"),
            session(json!("late 1.0"), "sse", "anonymous"),
            session(json!("at home"), "stdio", "anonymous"),
            session(json!("known"), "http", "ada"),
            session(Value::Null, "http", "anonymous"),
        ] });
        let names: Vec<&str> = without_token(&open).into_iter().collect();
        assert_eq!(names, ["a client without a name", "late 1.0"]);
        assert!(without_token(&Value::Null).is_empty(), "no daemon");
    }

    #[test]
    fn what_opens_the_daemon_is_named() {
        assert!(of_no_access_rules(&[changed("serverAuth", None)]).is_some());
        assert!(of_no_access_rules(&[changed("serverAuth.acl", None)]).is_none());
        let check = |address: &str, expected: bool| {
            let change = changed("listen", Some(json!(address)));
            assert_eq!(of_open_address(&change).is_some(), expected, "{address}");
        };
        check("0.0.0.0:9191", true);
        check("127.0.0.1:9191", false);
        check("no address", false);
    }
}
