//! Which keys of an entry of ours may come from text of others: their files, links, and what pages give to be pasted. Pure.

use serde_json::Value;

use super::line_words::is_among;
use crate::config;

/// What starts or reaches the server, and what only narrows what it may do. All other keys, also those that are still to come, a person
/// writes into the configuration.
const FROM_OTHERS: &str = "command args env cwd working_dir url headers ca_file client_cert type protocol transport oauth \
    protocol_era roots start init_timeout call_tool_timeout idle_timeout min_idle_timeout max_idle_timeout \
    max_concurrent_requests enabled disabled quarantined enabled_tools disabled_tools \
    tool_acl.destructive isolation.image isolation.working_dir";

/// Whether an entry may have this key, or this member of one, with this value from others.
pub(super) fn may_come(path: &str, value: &Value) -> bool {
    match path.split_once('.').unwrap_or((path, "")) {
        ("isolation", "enabled") => *value == true,
        ("isolation", "network_mode") => *value == "none",
        ("session_scope", "") => *value != "shared",
        _ => is_among(path, FROM_OTHERS),
    }
}

/// Whether a key that was left out, or the member of one, could lower the protection of whoever uses the server.
pub fn may_lower_protection(path: &str) -> bool {
    let key = path.split('.').next().unwrap_or(path);
    config::is_entry_key(key) && !is_among(key, FROM_OTHERS)
}
