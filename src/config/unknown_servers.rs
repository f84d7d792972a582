//! Servers that access rules and profiles name and that are not configured: a rule for a name that is misspelt does nothing.

use super::settings::Settings;

/// What is said of them.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let is_known = |server: &str| {
        settings.servers.contains_key(server)
            || settings.broken.iter().any(|broken| broken.name == server)
    };
    let mut warnings = Vec::new();
    let mut check = |place: String, server: Option<&str>| {
        if let Some(server) = server.filter(|server| !is_known(server)) {
            warnings.push(format!(
                "`{place}` names the server {server:?}, which is not configured"
            ));
        }
    };
    let acl = settings
        .server_auth
        .as_ref()
        .and_then(|auth| auth.acl.as_ref());
    for (index, rule) in acl.iter().flat_map(|acl| acl.rules.iter().enumerate()) {
        let names = rule.tools.iter().chain(&rule.prompts).flatten();
        for pattern in names {
            check(format!("serverAuth.acl.rules[{index}]"), pattern.server());
        }
    }
    for (name, profile) in &settings.profiles {
        for pattern in profile.tools.iter().flatten() {
            check(format!("profiles.{name}"), pattern.server());
        }
        for pattern in profile.servers.iter().flatten() {
            let server = pattern.as_str();
            check(
                format!("profiles.{name}"),
                (!server.contains('*')).then_some(server),
            );
        }
    }
    warnings
}
