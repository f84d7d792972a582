//! Makes a connection to one server: starts or dials it, opens the connection as it wants that, reads its lists.

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
    handshake::{OpenError, Opened, declared},
    listening::ChangeSubscription,
    lists::{ListError, ReadLists},
    stdio::StartParts,
};
use crate::{
    activity::Activity,
    authorization::Logins,
    catalog::Listing,
    config::{Keeper, ServerEntry, Settings, Transport},
    link::{self, Connection, Link, LinkError, News, Noise},
    process::{ChildLedger, LoginPath, Process},
    text::names::ServerName,
    upstream::{
        calls::{handle::UpstreamShared, questions::EarlyNews},
        connect_error::ConnectError,
    },
    wire::Revision,
};

/// What every connection of this daemon is made with.
pub struct ConnectContext {
    /// Where logs of servers and the ledger stand.
    pub data_dir: PathBuf,
    /// The children of this daemon, on disk.
    pub ledger: ChildLedger,
    /// The search path of the user's login shell.
    pub login_path: LoginPath,
    /// Where it is recorded how servers are.
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

/// Connects. Dropping the future undoes everything, the child included. `remembered` is what the server spoke when it was last
/// met under this configuration: it saves the question, and is not relied upon.
pub(in crate::upstream) async fn connect(
    entry: &ServerEntry,
    settings: &Settings,
    connect_context: &ConnectContext,
    shared: &UpstreamShared,
    remembered: Option<Revision>,
    deadline: Duration,
) -> Result<Open, ConnectError> {
    let noise = &Noise::new(&entry.name, entry.secrets.clone());
    let connecting = open(
        entry,
        settings,
        connect_context,
        shared,
        remembered,
        deadline,
        noise,
    );
    connecting.await.map_err(|error| {
        let error = match noise.first() {
            Some(line) => error.after_writing(line),
            None => error,
        };
        error.without(&shared.secrets_of(entry))
    })
}

/// Connects, and leaves in `noise` what the server says instead of messages.
async fn open(
    entry: &ServerEntry,
    settings: &Settings,
    connect_context: &ConnectContext,
    shared: &UpstreamShared,
    remembered: Option<Revision>,
    deadline: Duration,
    noise: &Noise,
) -> Result<Open, ConnectError> {
    let scope = shared.instance_scope.as_ref();
    let declared = &declared(scope, entry);
    let opening = async {
        match &entry.transport {
            Transport::Stdio(stdio) => {
                let beginning = StartParts {
                    settings,
                    connect_context,
                    stderr: &shared.stderr,
                    declared,
                    numbers: &shared.numbers,
                    noise,
                };
                let starting = stdio::start(entry, stdio, beginning, remembered);
                let (ready, process) = Box::pin(starting).await?;
                Ok((ready, Some(process)))
            }
            Transport::Remote(remote) => {
                let instance = connect_context.ledger.instance();
                let reaching = http::reach(entry, remote, declared, remembered, shared, instance);
                Ok((Box::pin(reaching).await?, None))
            }
        }
    };
    let Ok(opened) = tokio::time::timeout(deadline, opening).await else {
        return Err(ConnectError::plain(
            &format!(
                "it did not answer initialize within {} s",
                deadline.as_secs()
            ),
            &format!(
                "{}; `init_timeout` of its entry gives it more time",
                logs_hint(entry)
            ),
        ));
    };
    let (ready, process) = opened?;
    let Ready {
        link,
        mut news,
        tasks,
        opened,
    } = ready;
    let listening = listening(&link, &opened).await;
    let mut meanwhile = EarlyNews::default();
    let reading = Box::pin(lists::read(&link, opened.initialize, opened.revision));
    let listed = tokio::select! {
        listed = reading => listed,
        never = meanwhile.attend(shared, &link, opened.revision, &mut news) => match never {},
    };
    let ReadLists { listing, failed } = listed.map_err(|error| ConnectError {
        reason: error.to_string(),
        outside: error.outside(),
        next_step: logs_hint(entry),
        retry_after: None,
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
async fn listening(link: &Link, opened: &Opened) -> Option<ChangeSubscription> {
    let Opened {
        initialize,
        revision,
    } = opened;
    if !revision.has_listen() {
        return None;
    }
    let mut listening = ChangeSubscription::start(link.clone(), *revision, initialize);
    listening.begun().await;
    Some(listening)
}

/// A connection that is open and not listed yet.
pub(in crate::upstream) struct Ready {
    pub(in crate::upstream) link: Link,
    pub(in crate::upstream) news: mpsc::Receiver<News>,
    pub(in crate::upstream) tasks: Vec<AbortOnDropHandle<()>>,
    pub(in crate::upstream) opened: Opened,
}

impl Ready {
    fn new(connection: Connection, opened: Opened) -> Self {
        let Connection { link, news, tasks } = connection;
        Self {
            link,
            news,
            tasks,
            opened,
        }
    }
}

pub(in crate::upstream) fn logs_hint(entry: &ServerEntry) -> String {
    match entry.transport {
        Transport::Stdio(_) => logs_step(&entry.name),
        Transport::Remote(_) => "check that the URL is right and the server is running".to_owned(),
    }
}

/// Where it stands what a program wrote to its stderr.
pub(in crate::upstream) fn logs_step(server: &ServerName) -> String {
    format!("`mcpproxy upstream logs {server}` shows what it wrote")
}

/// A next step as it is for a program that wrote nothing to its stderr, so that its log would say nothing.
pub fn step_without_log(step: &str, server: &ServerName) -> String {
    let instead = format!(
        "it wrote nothing to its standard error: run its command by hand to see what it does, as `mcpproxy upstream show {server}` shows it"
    );
    step.replace(&logs_step(server), &instead)
}

/// What the operator can do about lists of a server that is connected and could not be read.
pub(in crate::upstream) fn lists_hint(entry: &ServerEntry) -> String {
    match entry.transport {
        Transport::Stdio(_) => logs_hint(entry),
        Transport::Remote(_) => format!(
            "the server is at fault: tell its authors; `mcpproxy upstream restart {}` lists again",
            entry.name
        ),
    }
}

/// What the operator can do about a connection that failed so.
fn next_step(entry: &ServerEntry, error: &OpenError) -> String {
    match error {
        OpenError::Link(LinkError::Status {
            status: 401 | 403, ..
        }) => {
            "it wants other credentials: check \"headers\" of its entry, mostly \"Authorization\""
                .to_owned()
        }
        OpenError::Link(LinkError::Status {
            status: 404 | 405, ..
        }) => {
            let path = "check the path of its URL, which mostly ends in /mcp or /sse";
            match entry.transport.label() {
                "auto" => path.to_owned(),
                kind => format!(
                    "{path}; if that is right, it may not speak {kind}: `mcpproxy upstream patch {} type=auto` finds out what it does",
                    entry.name
                ),
            }
        }
        OpenError::Link(LinkError::Ourselves) => format!(
            "a server behind itself would never end: `mcpproxy upstream remove {}` takes it out",
            entry.name
        ),
        OpenError::Link(LinkError::Status { status: 429, .. }) => format!(
            "the server wants fewer requests: wait, then `mcpproxy upstream restart {}`",
            entry.name
        ),
        OpenError::Link(LinkError::NotDelivered(reason) | LinkError::Lost(reason)) => {
            link::certificate_step(reason).map_or_else(|| logs_hint(entry), str::to_owned)
        }
        _ => logs_hint(entry),
    }
}

impl ConnectError {
    /// The handshake came to nothing.
    pub(in crate::upstream) fn of_handshake(entry: &ServerEntry, error: &OpenError) -> Self {
        Self {
            reason: error.to_string(),
            outside: error.outside(),
            next_step: next_step(entry, error),
            retry_after: error.retry_after(),
        }
    }

    /// The server is stateless, but not with us.
    pub(in crate::upstream) fn of_probe(entry: &ServerEntry, error: &ProbeError) -> Self {
        Self {
            reason: error.to_string(),
            outside: error.outside(),
            next_step: match error {
                ProbeError::Foreign { .. } => "update mcpproxy or the server".to_owned(),
                ProbeError::Link(error) => next_step(entry, &OpenError::Link(error.clone())),
                ProbeError::Refused { .. } => logs_hint(entry),
            },
            retry_after: match error {
                ProbeError::Link(error) => error.retry_after(),
                ProbeError::Foreign { .. } | ProbeError::Refused { .. } => None,
            },
        }
    }
}
