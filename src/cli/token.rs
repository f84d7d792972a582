//! `mcpproxy token`: issues, lists and revokes access tokens.

use bytes::Bytes;
use clap::{
    Args, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use http::Method;
use serde_json::json;

use super::{
    Done, Location, Output, client_warnings, connection, output,
    table::{name, text},
};
use crate::{
    config::{ANONYMOUS, AllowedCalls, duration},
    daemon_client::{self, DaemonClient, DaemonError, encoded},
    management::{DaemonLocation, Files, NewToken, NewlyIssued, TokenList, TokenRow},
};

/// Issue, list and revoke access tokens for clients
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    #[command(visible_aliases = ["create", "issue"])]
    Add(AddToken),
    /// List the tokens, with their limits and last use
    #[command(visible_alias = "ls")]
    List,
    #[command(visible_aliases = ["rm", "remove"])]
    Revoke(RevokeToken),
}

/// Issue a token, and show it once, with a message for its user
///
/// mcpproxy keeps only the token's hash. Without --calls, the token allows only reading.
#[derive(Debug, Args)]
pub(super) struct AddToken {
    /// The name of the token, and of its caller in rules and records
    #[arg(value_name = "NAME")]
    name: String,
    /// Only these servers
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        conflicts_with = "profile"
    )]
    servers: Vec<String>,
    /// Only this profile's servers and tools
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The call types it allows
    #[arg(long, value_parser = allowed_calls(), default_value = "read")]
    calls: AllowedCalls,
    /// How long it is valid, such as 30d; by default until you revoke it
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    expires: Option<String>,
    /// A role for access rules; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
}

fn allowed_calls() -> impl TypedValueParser<Value = AllowedCalls> {
    let words = [
        PossibleValue::new("read").help("Tools that only read"),
        PossibleValue::new("write").help("Those, and tools that write"),
        PossibleValue::new("all").help("Everything"),
    ];
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value(json!(word)))
}

/// Revoke a token at once, in every session
#[derive(Debug, Args)]
pub(super) struct RevokeToken {
    /// The token's name
    #[arg(value_name = "NAME")]
    name: String,
}

const TOKENS: &str = "/api/v1/tokens";

impl TokenCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let mut daemon = connection::open_or_files(&files, out).await?;
        match self {
            Self::Add(add) => {
                let body = output::as_json(&add.wanted())?;
                let body = daemon.ask(Method::POST, TOKENS, body).await?;
                let issued: NewlyIssued = daemon_client::read(TOKENS, &body)?;
                let name = &issued.name;
                out.done(&format!("issued {name}; its token is shown only now"));
                let location = connection::location_of(&daemon);
                if location.as_ref().is_some_and(|here| here.url.is_none()) {
                    out.warning("mcpproxy does not listen at this address: do not use it until `mcpproxy doctor` finds no problem");
                }
                if issued.lacks_host {
                    out.warning("mcpproxy listens on all addresses: in the text, replace MCPPROXY-HOST with the name of this machine");
                }
                say_limits(&files, location, out);
                out.answer(TOKENS, &body, |issued: NewlyIssued| {
                    output::print_line(issued.text.trim_end())
                })
            }
            Self::List => {
                let body = daemon.get(TOKENS).await?;
                out.answer(TOKENS, &body, |list| print(list, out))
            }
            Self::Revoke(RevokeToken { name }) => {
                let body = revoke(&mut daemon, &name).await?;
                out.done(&format!("revoked {name}"));
                let location = connection::location_of(&daemon);
                client_warnings::warn_of_refused(&files, location.as_ref(), out);
                if out.is_json() {
                    return output::print_json(&body);
                }
                Ok(())
            }
        }
    }
}

/// Says where a new token is of no use, and that others need none.
fn say_limits(files: &Files, location: Option<DaemonLocation>, out: Output) {
    // They were good a moment ago, or no token would have been issued.
    let Ok(settings) = files.settings_of_clients() else {
        return;
    };
    let listen = location.map(|location| location.listen);
    let is_local = match listen.filter(|listen| !listen.is_empty()) {
        Some(listen) => listen.iter().all(|address| address.ip().is_loopback()),
        None => settings.listen.is_loopback(),
    };
    if is_local {
        out.note("only this machine can reach the address in the text; for other machines: docs/how-to/share-with-a-team.md");
    }
    if !settings.requires_credentials() {
        out.note(&let_in());
    }
}

fn let_in() -> String {
    format!("a client without a token is let in as {ANONYMOUS}")
}

/// Revokes a token, and gives the daemon's answer.
pub(super) async fn revoke(daemon: &mut DaemonClient, name: &str) -> Result<Bytes, DaemonError> {
    let path = format!("{TOKENS}/{}", encoded(name));
    daemon.ask(Method::DELETE, &path, "").await
}

/// Reads `--expires`. The daemon reads the text again.
fn expiry(text: &str) -> Result<String, &'static str> {
    let time = duration::parse(text).filter(|time| !time.is_zero());
    time.map(|_| text.to_owned())
        .ok_or("write how long the token is valid, such as 30d or 12h, at most 365 days")
}

impl AddToken {
    fn wanted(self) -> NewToken {
        NewToken {
            name: self.name,
            subject: None,
            roles: self.roles,
            servers: (!self.servers.is_empty()).then_some(self.servers),
            profile: self.profile,
            calls: self.calls,
            expires: self.expires,
            client: None,
        }
    }
}

fn print(list: TokenList, out: Output) -> Done {
    out.note(&if list.required {
        "a client without a token is refused".to_owned()
    } else {
        let_in()
    });
    if list.tokens.is_empty() {
        out.note("no tokens yet; issue one: `mcpproxy token add NAME`");
        return Ok(());
    }
    let columns = [
        name("NAME"),
        text("TOKEN", 1),
        text("MAY HAVE", 2),
        text("CALLS", 1),
        text("EXPIRES", 1),
        text("LAST USED", 1),
    ];
    output::print_table(columns, list.tokens.into_iter().map(row))
}

fn row(token: TokenRow) -> [String; 6] {
    let what = match (token.servers, token.profile) {
        (Some(servers), _) => servers.join(", "),
        (None, Some(profile)) => format!("profile {profile}"),
        (None, None) => "all servers".to_owned(),
    };
    let calls = match token.calls {
        AllowedCalls::Read => "read",
        AllowedCalls::Write => "read, write",
        AllowedCalls::All => "all",
    };
    let ends = match token.expires {
        Some(_) if token.expired => "expired".to_owned(),
        Some(expires) => expires,
        None => "-".to_owned(),
    };
    [
        token.name,
        format!("{}…", token.begins),
        what,
        calls.to_owned(),
        ends,
        token.last_used.unwrap_or_else(|| "never".to_owned()),
    ]
}
