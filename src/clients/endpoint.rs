//! The endpoints at which clients are served: which there are, and why an entry of a client gets only errors at its endpoint. Pure.

use super::{Client, ClientServer, our_entry::EntryTraits};
use crate::{
    config::{DEMO, IssuedToken, OurAddress, Settings, TokenHash},
    failure::{ErrorCode, Failure, Result},
    text::{ServerName, names},
};

/// The endpoints without a name in their path.
const ENDPOINTS: [&str; 5] = ["/mcp", "/mcp/all", "/mcp/call", "/mcp/code", "/mcp/proxy"];

/// The next step where `mcp-remote` sends no token.
pub(super) const BRIDGE_STEP: &str =
    "add `--header` and `Authorization: Bearer TOKEN` to the arguments of mcp-remote in that entry";

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
    let meant = names::closest(text, ENDPOINTS.into_iter());
    let meant = meant.map(|close| names::did_you_mean(&[close]));
    let known = ENDPOINTS.join(", ");
    Err(meant.unwrap_or_else(|| format!("write {known}, /mcp/server/NAME or /mcp/p/NAME")))
}

/// The endpoint that is served at a path.
pub(super) fn served_at(path: &str) -> Option<String> {
    let of_sse = || match path.strip_suffix("/sse")? {
        "" => Some("/mcp".to_owned()),
        path => endpoint_path(path).ok(),
    };
    endpoint_path(path).ok().or_else(of_sse)
}

/// Why the endpoint cannot be, and what to do, if neither this configuration has what it names, nor the daemon by `has_server`.
fn missing(
    settings: &Settings,
    has_server: impl Fn(&str) -> bool,
    endpoint: &str,
) -> Option<(String, String)> {
    let servers = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| broken.name.as_str());
    let (kind, name, known): (_, _, Vec<&str>) =
        if let Some(name) = endpoint.strip_prefix("/mcp/server/") {
            ("server", name, servers.chain(broken).collect())
        } else {
            let known = settings.profiles.keys().map(String::as_str).collect();
            ("profile", endpoint.strip_prefix("/mcp/p/")?, known)
        };
    if known.contains(&name) || kind == "server" && has_server(name) {
        return None;
    }
    let step = match names::closest(name, known.iter().copied()) {
        Some(meant) => names::did_you_mean(&[meant]),
        None if !known.is_empty() => format!("name a configured {kind}: {}", known.join(", ")),
        None if kind == "server" => "add a server".to_owned(),
        None => "add it to `profiles` in the configuration file".to_owned(),
    };
    let why = format!("{endpoint} needs the {kind} {name:?}, which is not configured");
    Some((why, step))
}

/// Fails if this configuration does not have what the endpoint names, nor the daemon by `has_server`.
pub fn check_endpoint(
    settings: &Settings,
    has_server: impl Fn(&str) -> bool,
    endpoint: &str,
) -> Result {
    missing(settings, has_server, endpoint).map_or(Ok(()), |(why, step)| {
        let what = format!("nothing was changed: {why}");
        Err(Failure::new(ErrorCode::ClientUnchanged, what, step))
    })
}

/// What an entry that leads to us keeps.
pub(super) fn traits_of(ours: &ClientServer) -> EntryTraits {
    EntryTraits {
        endpoint: endpoint_of(ours).filter(|path| path != "/mcp"),
        is_process: ours.command().is_some(),
        token: ours.sent_token(),
    }
}

/// The endpoint in an entry that leads to us.
fn endpoint_of(ours: &ClientServer) -> Option<String> {
    let words = ours.url().into_iter().chain(ours.args());
    let mut words = words.flat_map(|word| word.split('='));
    words.find_map(|word| {
        let uri: http::Uri = word.parse().ok()?;
        served_at(uri.path())
    })
}

/// Why nothing is served at the endpoint of an entry.
pub(super) fn why_unserved(
    client: Client,
    ours: &ClientServer,
    settings: &Settings,
) -> Option<Failure> {
    let (why, _) = missing(settings, |name| name == DEMO, &endpoint_of(ours)?)?;
    let id = client.id();
    let step = format!("`mcpproxy connect {id} --endpoint /mcp` gives it all servers");
    let request = "send another `endpoint`, such as /mcp";
    let error = format!("its endpoint {why}");
    Some(Failure::new(ErrorCode::ClientUnchanged, error, request).at_terminal(step))
}

/// Why an entry that leads to us gets nothing but errors, and what to do: it lacks a token, its address names what is not configured, or
/// its token counts no more. Nothing of one that starts an mcpproxy with other files.
pub fn why_refused(
    client: Client,
    ours: &ClientServer,
    us: &OurAddress,
    settings: &Settings,
) -> Option<Failure> {
    if !us.is_this_one(ours) {
        return None;
    }
    let id = client.id();
    let refused = |why: &str, step: &str, request: &str| {
        let code = ErrorCode::ClientUnchanged;
        Some(Failure::new(code, why, request).at_terminal(step))
    };
    let token_step = format!("`mcpproxy connect {id} --token`");
    let token_request = format!("POST /api/v1/clients/{id}/token gives it one");
    if ours.sends_token() == Some(false) && settings.requires_credentials() {
        let why = "it sends no token, so mcpproxy refuses it (HTTP 401)";
        if ours.is_bridged() {
            return refused(why, BRIDGE_STEP, BRIDGE_STEP);
        }
        return refused(why, &token_step, &token_request);
    }
    if let Some(refused) = why_unserved(client, ours, settings) {
        return Some(refused);
    }
    let is_issued = |token: &&str| token.starts_with(IssuedToken::PREFIX);
    let token = ours.token().filter(is_issued)?;
    if let Some(step) = settings.issued.step_if_unusable() {
        let why = "its token is refused, because the token file cannot be used";
        return refused(why, step, step);
    }
    let known = settings.issued.find(&TokenHash::of(token));
    if known.is_some_and(|known| !known.is_expired()) {
        return None;
    }
    let why = "its token was revoked or has expired, so mcpproxy refuses it (HTTP 401)";
    if ours.command().is_none() {
        return refused(why, &token_step, &token_request);
    }
    let step = "replace the token in its entry: `mcpproxy token add NAME` issues another";
    let request = "replace the token in its entry: POST /api/v1/tokens issues another";
    refused(why, step, request)
}

#[cfg(test)]
mod tests {
    use super::{endpoint_path, served_at};

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
        for (path, served) in [
            ("/mcp/all/sse", Some("/mcp/all")),
            ("/sse", Some("/mcp")),
            ("/mcp/", None),
            ("/MCP", None),
            ("/nope", None),
        ] {
            assert_eq!(served_at(path).as_deref(), served, "{path}");
        }
        let why = endpoint_path("/mcp/al").expect_err("there is none");
        assert_eq!(why, r#"did you mean "/mcp/all"?"#);
    }
}
