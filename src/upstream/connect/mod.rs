//! Makes a connection to one server: starts or dials it, opens the connection with or without a handshake, and reads its lists.

mod era;
pub(in crate::upstream) mod handshake;
mod http;
pub(in crate::upstream) mod life_signs;
pub(in crate::upstream) mod listening;
pub(in crate::upstream) mod lists;
pub(in crate::upstream) mod own_requests;
mod stdio;

use std::{path::PathBuf, time::Duration};

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use self::{
    era::ProbeError,
    handshake::{OpenError, Opened},
    listening::ChangeSubscription,
    lists::{ListError, ReadLists},
    own_requests::ServerError,
};
use crate::{
    activity::Activity,
    authorization::Logins,
    catalog::Listing,
    config::{Keeper, ServerEntry, Settings, Transport, TransportKind},
    failure::NextStep,
    gate,
    link::{Connection, Link, LinkError, News, Noise},
    process::{ChildLedger, LoginPath, Process},
    text::{ServerName, moment},
    upstream::{
        calls::{handle::UpstreamShared, questions::EarlyNews},
        connect_error::ConnectError,
    },
    wire::{Raw, Revision},
};

/// What every connection of this daemon is made with.
pub struct ConnectContext {
    /// Where logs of servers and the ledger stand.
    pub data_dir: PathBuf,
    /// The children of this daemon, on disk.
    pub ledger: ChildLedger,
    /// The search path of the user's login shell.
    pub login_path: LoginPath,
    /// Where changes of the servers' status are recorded.
    pub activity: Activity,
    /// The logins of remote servers.
    pub logins: Logins,
    /// Gives the secrets of a server before its start; `None` where the settings were read just now.
    pub keeper: Option<Keeper>,
}

/// A connection that is ready for calls.
pub(in crate::upstream) struct Open {
    pub(in crate::upstream) link: Link,
    pub(in crate::upstream) news: mpsc::Receiver<News>,
    /// The subscription to changes, for servers that need one.
    pub(in crate::upstream) listening: Option<ChangeSubscription>,
    pub(in crate::upstream) process: Option<Process>,
    pub(in crate::upstream) listing: Listing,
    /// Why some of the lists are empty.
    pub(in crate::upstream) failed_lists: Vec<ListError>,
    pub(in crate::upstream) tasks: Vec<AbortOnDropHandle<()>>,
    pub(in crate::upstream) meanwhile: EarlyNews,
}

/// One attempt to connect: to which server, and what it takes.
struct ConnectAttempt<'a> {
    entry: &'a ServerEntry,
    settings: &'a Settings,
    context: &'a ConnectContext,
    shared: &'a UpstreamShared,
    remembered: Option<Revision>,
    /// The capabilities that a handshake declares.
    declared: Raw,
    /// What a program writes to its standard output instead of messages.
    noise: Noise,
}

/// Connects. Dropping the future undoes everything, the child included. `remembered` is what the server spoke when it was last
/// met under this configuration: it saves the question, and is not relied upon.
pub(in crate::upstream) async fn connect(
    entry: &ServerEntry,
    settings: &Settings,
    context: &ConnectContext,
    shared: &UpstreamShared,
    remembered: Option<Revision>,
    deadline: Duration,
) -> Result<Open, ConnectError> {
    let attempt = ConnectAttempt {
        entry,
        settings,
        context,
        shared,
        remembered,
        declared: handshake::declared(shared.instance_scope.as_ref(), entry),
        noise: Noise::new(&entry.name, entry.secrets.clone()),
    };
    let log_began = shared.stderr.position();
    open(&attempt, deadline).await.map_err(|error| {
        let error = match attempt.noise.first() {
            Some(line) => error.after_writing(line),
            None => error,
        };
        let error = error.with_words(&shared.stderr, log_began);
        error.without(&shared.secrets_of(entry))
    })
}

/// Connects within the deadline, and reads the lists.
async fn open(attempt: &ConnectAttempt<'_>, deadline: Duration) -> Result<Open, ConnectError> {
    let (entry, shared) = (attempt.entry, attempt.shared);
    let opening = async {
        match &entry.transport {
            Transport::Stdio(stdio) => {
                let (ready, process) = Box::pin(stdio::start(attempt, stdio)).await?;
                Ok((ready, Some(process)))
            }
            Transport::Remote(remote) => Ok((Box::pin(http::reach(attempt, remote)).await?, None)),
        }
    };
    let Ok(opened) = tokio::time::timeout(deadline, opening).await else {
        let (since, step) = match entry.transport {
            Transport::Stdio(_) => (
                " of its start",
                "have its `args` start it for stdio, or raise its `init_timeout` if it is slow",
            ),
            Transport::Remote(_) => (
                "",
                "restart that server, or raise its `init_timeout` if it is slow",
            ),
        };
        let reason = format!("no answer within {} s{since}", deadline.as_secs());
        let step = NextStep::fix_key("init_timeout", step);
        return Err(ConnectError::plain(&reason, step));
    };
    let (Ready { connection, opened }, process) = opened?;
    let Connection {
        link,
        mut news,
        tasks,
    } = connection;
    let listening = listening(&entry.name, &link, &opened).await;
    let mut meanwhile = EarlyNews::default();
    let reading = Box::pin(lists::read(
        &link,
        &entry.name,
        opened.initialize,
        opened.revision,
    ));
    let listed = tokio::select! {
        listed = reading => listed,
        never = meanwhile.attend(shared, &link, opened.revision, &mut news) => match never {},
    };
    let ReadLists { listing, failed } = listed.map_err(|error| ConnectError {
        outside: error.outside().into(),
        ..ConnectError::plain(&error.to_string(), error.step(entry))
    })?;
    Ok(Open {
        link,
        news,
        listening,
        process,
        listing,
        failed_lists: failed,
        tasks,
        meanwhile,
    })
}

/// A stateless server announces changes on a subscription only. It is opened before the lists are read, so that no change falls between
/// the two.
async fn listening(
    server: &ServerName,
    link: &Link,
    opened: &Opened,
) -> Option<ChangeSubscription> {
    let revision = opened.revision;
    if !revision.has_listen() {
        return None;
    }
    let description = &opened.initialize;
    let mut listening = ChangeSubscription::start(server, link.clone(), revision, description);
    listening.begun().await;
    Some(listening)
}

/// A connection that is open and not listed yet.
struct Ready {
    connection: Connection,
    opened: Opened,
}

/// What the operator can do about a server whose answer is against the protocol.
fn faulty_step() -> NextStep {
    NextStep::act("report this to the server's authors")
}

/// What the operator can do about a server that speaks only these revisions: whichever is older is updated.
fn update_step(theirs: &[String]) -> NextStep {
    let newest = Revision::NEWEST.as_str();
    let is_dated = theirs.iter().all(|name| moment::is_day(name));
    NextStep::act(match theirs.iter().max() {
        Some(latest) if is_dated && latest.as_str() > newest => "update mcpproxy",
        Some(_) if is_dated => "update the server",
        _ => "update mcpproxy or the server",
    })
}

/// What the operator can do about a server that answers and refuses.
fn refused_step(entry: &ServerEntry) -> NextStep {
    match entry.transport {
        // It is not running, and an inspection starts it.
        Transport::Stdio(_) if gate::awaits_approval(entry) => NextStep::act("correct the cause"),
        Transport::Stdio(_) => NextStep::act("correct the cause, then restart the server"),
        Transport::Remote(_) => NextStep::act("read the log on its host, or tell its operator"),
    }
}

/// The same about one that answers with an error, which may give no cause to correct.
fn error_step(entry: &ServerEntry, error: &ServerError) -> NextStep {
    match entry.transport {
        Transport::Stdio(_) if error.message.is_none() => faulty_step(),
        _ => refused_step(entry),
    }
}

/// What the operator can do about a connection that failed with this error.
fn step(entry: &ServerEntry, error: &LinkError) -> NextStep {
    let is_remote = matches!(entry.transport, Transport::Remote(_));
    let of_url = |how: &str| NextStep::fix_key("url", how);
    match error {
        LinkError::Status {
            status: 401 | 403, ..
        } => NextStep::fix(NextStep::CREDENTIALS),
        LinkError::Status {
            status: 404 | 405, ..
        } => match entry.transport.kind() {
            TransportKind::Auto => of_url("check the path of its `url` (most end in /mcp or /sse)"),
            _ => NextStep::FindType,
        },
        LinkError::Lost(_) | LinkError::Broken(_) if is_remote => {
            of_url("read that server's log, or correct its `url` (most end in /mcp or /sse)")
        }
        LinkError::NotDelivered(_) if is_remote => {
            of_url("start that server, or correct its `url`")
        }
        LinkError::Endless(_) => NextStep::act(ConnectError::ONLY_MESSAGES),
        LinkError::Ourselves => NextStep::Remove,
        LinkError::Status { status, .. } if *status == 429 || error.retry_after().is_some() => {
            NextStep::Wait
        }
        LinkError::Status {
            status: 300..=399, ..
        } => of_url(
            "if that is a login page, add credentials to its `headers`; else write the new address into its `url`",
        ),
        LinkError::Status {
            status: 400..=499, ..
        } => NextStep::fix("tell its operator, or correct its `url` or `headers`"),
        LinkError::Tls(mistake) => match mistake.key() {
            Some(key) => NextStep::fix_key(key, mistake.step()),
            None => NextStep::act(mistake.step()),
        },
        LinkError::NoHost(_) => of_url("correct the host in its `url`, or check your network"),
        LinkError::NoProxy(_) => NextStep::act(
            "correct that variable where the daemon runs, or name the server's host in NO_PROXY; then restart the daemon",
        ),
        LinkError::NotHttp => {
            of_url("correct the port in its `url`, or write https:// if it speaks TLS")
        }
        LinkError::OddEndpoint(_) | LinkError::Broken(_) => faulty_step(),
        LinkError::NotDelivered(_) | LinkError::Lost(_) => NextStep::ReadLog,
        _ => refused_step(entry),
    }
}

impl ConnectError {
    /// The handshake failed.
    pub(in crate::upstream) fn of_handshake(entry: &ServerEntry, error: &OpenError) -> Self {
        let step = match error {
            OpenError::Link(error) => step(entry, error),
            OpenError::Refused(error) => error_step(entry, error),
            OpenError::Unusable => faulty_step(),
            OpenError::Exited(_) => NextStep::ReadLog,
        };
        Self {
            outside: error.outside().into(),
            retry_after: error.retry_after(),
            has_exited: matches!(error, OpenError::Exited(_)),
            ..Self::plain(&error.to_string(), step)
        }
    }

    /// The server needs no handshake, and refused its description or has no revision in common with us.
    pub(in crate::upstream) fn of_probe(entry: &ServerEntry, error: &ProbeError) -> Self {
        let step = match error {
            ProbeError::Foreign(theirs) => update_step(theirs),
            ProbeError::Contradictory(_) => faulty_step(),
            ProbeError::Refused(error) => error_step(entry, error),
            ProbeError::Link(error) => {
                return Self::of_handshake(entry, &OpenError::Link(error.clone()));
            }
        };
        Self {
            outside: error.outside().into(),
            ..Self::plain(&error.to_string(), step)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use serde_json::json;

    use super::*;
    use crate::{
        config::{self, Surroundings},
        text::{Quoted, Secrets},
    };

    /// The entry of a remote server.
    pub(super) fn remote() -> Arc<ServerEntry> {
        entry(r#"{"url": "http://127.0.0.1:9/mcp"}"#)
    }

    fn entry(entry: &str) -> Arc<ServerEntry> {
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let text = format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#);
        let settings = config::parse(&text, &surroundings).expect("a configuration");
        let entry = settings.servers.into_values().next();
        entry.expect("an entry")
    }

    #[test]
    fn only_where_nothing_answers_the_step_is_to_start_the_server() {
        let empty = String::new;
        let refused = |text: &serde_json::Value| {
            let error = ServerError::read(&Raw::author(text), &Secrets::default());
            OpenError::Refused(error)
        };
        for (error, is_start) in [
            (OpenError::Link(LinkError::NotDelivered(empty())), true),
            (OpenError::Link(LinkError::OddEndpoint(empty())), false),
            (OpenError::Link(LinkError::Broken(empty())), false),
            (
                OpenError::Link(LinkError::HeaderMismatch(Quoted::default())),
                false,
            ),
            (refused(&json!({"code": 0})), false),
            (OpenError::Unusable, false),
        ] {
            let failed = ConnectError::of_handshake(&remote(), &error);
            let step = failed.step.at_terminal("s");
            assert_eq!(step.contains("start that server"), is_start, "{step}");
        }
        // Its log says no more than its answer, which it does not repeat when it is run by hand.
        for (error, reason, step) in [
            (
                json!({"code": 1, "message": "no"}),
                "\"no\" (1)",
                "correct the cause",
            ),
            (json!({"message": "no"}), "\"no\"", "correct the cause"),
            (
                json!({"code": -32000}),
                "error -32000, without a message",
                "report this",
            ),
            (
                json!("oops"),
                "its error has neither code nor message",
                "report this",
            ),
        ] {
            let stdio = entry(r#"{"command": "x"}"#);
            let failed = ConnectError::of_handshake(&stdio, &refused(&error));
            assert!(failed.step.at_terminal("s").starts_with(step), "{error}");
            assert_eq!(failed.reason, format!("initialize was refused: {reason}"));
        }
        let held = entry(r#"{"command": "x", "quarantined": true}"#);
        let failed = ConnectError::of_handshake(&held, &refused(&json!({"message": "no"})));
        assert_eq!(failed.step.at_terminal("s"), "correct the cause");
    }

    #[test]
    fn whichever_speaks_the_older_revision_is_updated() {
        for (theirs, expected) in [
            (&["2027-09-01", "2026-01-01"][..], "update mcpproxy"),
            (&["2026-01-01"][..], "update the server"),
            (&["next"][..], "update mcpproxy or the server"),
        ] {
            let theirs: Vec<_> = theirs.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(update_step(&theirs).at_terminal("s"), expected);
        }
    }
}
