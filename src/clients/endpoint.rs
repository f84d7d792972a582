//! The endpoints at which clients are served: which there are, and why an entry of a client gets only errors at its endpoint. Pure.

use super::{Client, ClientServer};
use crate::{
    config::{DEMO, IssuedToken, Settings, TokenHash},
    failure::{ErrorCode, Failure, Result},
    text::{ServerName, names},
};

/// The endpoints without a name in their path.
const ENDPOINTS: [&str; 5] = ["/mcp", "/mcp/all", "/mcp/call", "/mcp/code", "/mcp/proxy"];

/// A path at which clients are served; or what to write instead.
pub fn endpoint_path(text: &str) -> Result<String, String> {
    let uri = text.parse::<http::Uri>();
    if !uri.is_ok_and(|uri| uri.path() == text) {
        return Err("write a path such as /mcp or /mcp/all".to_owned());
    }
    let of_one = ["/mcp/server/", "/mcp/p/"]
        .iter()
        .find_map(|folder| text.strip_prefix(folder));
    let is_of_one = of_one.is_some_and(|name| !name.is_empty() && !name.contains('/'));
    if is_of_one || ENDPOINTS.contains(&text) {
        return Ok(text.to_owned());
    }
    let known = ENDPOINTS.join(", ");
    let known = format!("write {known}, /mcp/server/NAME or /mcp/p/NAME");
    Err(match names::closest(text, ENDPOINTS.into_iter()) {
        Some(close) => format!("did you mean {close}? Otherwise {known}"),
        None => known,
    })
}

/// The endpoint, if this configuration has what it names, or if `has_server` says that the daemon has.
pub fn check_endpoint(
    settings: &Settings,
    has_server: impl Fn(&str) -> bool,
    endpoint: &str,
) -> Result {
    let servers = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| broken.name.as_str());
    let (kind, name, known): (_, _, Vec<&str>) =
        if let Some(name) = endpoint.strip_prefix("/mcp/server/") {
            ("server", name, servers.chain(broken).collect())
        } else if let Some(name) = endpoint.strip_prefix("/mcp/p/") {
            let known = settings.profiles.keys().map(String::as_str);
            ("profile", name, known.collect())
        } else {
            return Ok(());
        };
    if known.contains(&name) || kind == "server" && has_server(name) {
        return Ok(());
    }
    let meant = names::closest(name, known.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    let step = match (kind, known.is_empty()) {
        ("server", true) => "add a server".to_owned(),
        (_, true) => "add it to `profiles` in the configuration file".to_owned(),
        (_, false) => format!("name a configured {kind}: {}", known.join(", ")),
    };
    let what = format!(
        "nothing was changed: {endpoint} needs the {kind} {name:?}, which is not configured{meant}"
    );
    Err(Failure::new(ErrorCode::ClientUnchanged, what, step))
}

/// The endpoint in an entry that leads to us, and whether this configuration has what it names.
pub(super) fn endpoint_of(ours: &ClientServer, settings: &Settings) -> Option<(String, bool)> {
    let words = ours.url().into_iter().chain(ours.args());
    let mut words = words.flat_map(|word| word.split('='));
    let endpoint = words.find_map(|word| {
        let uri: http::Uri = word.parse().ok()?;
        let path = uri.path();
        let of_sse = |_| endpoint_path(path.trim_end_matches("/sse"));
        endpoint_path(path).or_else(of_sse).ok()
    })?;
    let is_configured = check_endpoint(settings, |name| name == DEMO, &endpoint).is_ok();
    Some((endpoint, is_configured))
}

/// Why an entry that leads to us gets nothing but errors, and what to do: its address names what is not configured, or its token counts no
/// more.
pub fn why_refused(
    client: Client,
    ours: &ClientServer,
    settings: &Settings,
) -> Option<(String, String)> {
    let id = client.id();
    if let Some((path, false)) = endpoint_of(ours, settings) {
        let what = format!("its endpoint, {path}, is not configured");
        return Some((what, format!("`mcpproxy connect {id} --endpoint /mcp`")));
    }
    let mut tokens = ours.token().into_iter().chain(ours.args());
    let token = tokens.find(|word| word.starts_with(IssuedToken::PREFIX))?;
    let known = settings.issued.find(&TokenHash::of(token));
    known.is_none_or(IssuedToken::is_expired).then(|| {
        let what = "its token was revoked or has expired, so mcpproxy refuses it (HTTP 401)";
        let step = format!("`mcpproxy connect {id} --token`");
        (what.to_owned(), step)
    })
}

/// Why a client without a token is refused, and what to do. `sends_token` is that of its entry.
pub fn why_without_token(
    client: Client,
    sends_token: Option<bool>,
    settings: &Settings,
) -> Option<(String, String)> {
    let is_refused = sends_token == Some(false) && settings.requires_credentials();
    is_refused.then(|| {
        let why = "sends no token, so mcpproxy refuses it (HTTP 401)";
        let step = format!("`mcpproxy connect {} --token`", client.id());
        (why.to_owned(), step)
    })
}

#[cfg(test)]
mod tests {
    use super::endpoint_path;

    #[test]
    fn an_endpoint_is_one_that_there_is() {
        for known in [
            "/mcp",
            "/mcp/all",
            "/mcp/proxy",
            "/mcp/server/time",
            "/mcp/p/work",
        ] {
            assert_eq!(endpoint_path(known).as_deref(), Ok(known));
        }
        for unknown in [
            "/mcp/al",
            "/mcp/server/",
            "/mcp/p/a/b",
            "/mcpx",
            "/",
            "x",
            "/mcp?x",
        ] {
            endpoint_path(unknown).expect_err(unknown);
        }
        let why = endpoint_path("/mcp/al").expect_err("there is none");
        assert!(why.contains("did you mean /mcp/all?"), "{why}");
    }
}
