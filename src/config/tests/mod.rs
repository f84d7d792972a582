//! Tests of the configuration as a whole, by what it promises.

use std::{path::Path, time::Duration};

use crate::config::{ConfigError, ServerEntry, Settings, Surroundings, Warning, parse};

mod access;
mod access_rules;
mod edit;
mod edit_properties;
mod entries;
mod isolation;
mod keeper;
mod lock_key;
mod page_of_keys;
mod patch;
mod secrets;
mod settings;
mod write;

fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret-value".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        "PORT" => Some("9999".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn try_read(text: &str) -> Result<Settings, ConfigError> {
    let surroundings = Surroundings {
        lookup: &variable,
        folder: Path::new("/etc/mcp"),
    };
    parse(text, &surroundings)
}

#[track_caller]
fn read(text: &str) -> Settings {
    try_read(text).expect("a good configuration")
}

/// The one server of a configuration that holds this entry.
#[track_caller]
fn server(entry: &str) -> ServerEntry {
    let settings = read(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}"));
    assert_eq!(settings.broken, [], "{entry}");
    ServerEntry::clone(&settings.servers["s"])
}

/// Why the entry is broken.
#[track_caller]
fn fault(entry: &str) -> String {
    let settings = read(&format!(
        "{{\"mcpServers\": {{\"s\": {entry}, \"well\": {{\"command\": \"x\"}}}}}}"
    ));
    assert!(settings.servers.contains_key("well"), "{entry}");
    assert_eq!(settings.broken.len(), 1, "{entry}");
    settings.broken[0].reason.clone()
}

#[track_caller]
fn check_fault(entry: &str, expected: &str) {
    let reason = fault(entry);
    assert!(reason.contains(expected), "{entry}: {reason}");
}

/// The warnings as they are printed.
fn printed(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(Warning::to_string).collect()
}

fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}
