//! Makes a connection to one server: starts or dials it, shakes hands, reads its lists.

use std::{path::PathBuf, time::Duration};

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{
    control::{self, Control, OpenError},
    link::{self, Connection, Link, News},
    lists,
    process::{self, BaseEnvironment, Launch, Ledger, LoginPath, Process, StderrLog},
};
use crate::{
    catalog::Listing,
    config::{Remote, RemoteKind, ServerEntry, Settings, Stdio, Transport, duration},
};

/// How long the lists of a server may take, all together.
pub(super) const LISTING: Duration = Duration::from_secs(30);

/// What every connection of this daemon is made with.
pub struct Ground {
    /// Where logs of servers and the ledger stand.
    pub data_dir: PathBuf,
    /// The children of this daemon, on disk.
    pub ledger: Ledger,
    /// The search path of the user's login shell.
    pub login_path: LoginPath,
}

/// A connection that is ready for calls.
pub(super) struct Open {
    pub(super) link: Link,
    pub(super) control: Control,
    pub(super) news: mpsc::Receiver<News>,
    pub(super) process: Option<Process>,
    pub(super) listing: Listing,
    pub(super) tasks: Vec<AbortOnDropHandle<()>>,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError {
    /// The whole reason, for the operator: may name paths of this machine.
    pub reason: String,
    /// What a client may read.
    pub outside: String,
    /// What the operator can do.
    pub next_step: String,
}

/// Connects. Dropping the future undoes everything, the child included.
pub(super) async fn connect(
    entry: &ServerEntry,
    settings: &Settings,
    ground: &Ground,
    stderr: &StderrLog,
    deadline: Duration,
) -> Result<Open, ConnectError> {
    let opening = async {
        let (connection, process) = match &entry.transport {
            Transport::Stdio(stdio) => start(entry, stdio, settings, ground, stderr).await?,
            Transport::Remote(remote) => {
                if remote.kind == RemoteKind::Sse {
                    return Err(ConnectError::plain(
                        "the HTTP+SSE transport is not supported by this version",
                        "use \"type\": \"http\" if the server offers Streamable HTTP",
                    ));
                }
                (dial(remote)?, None)
            }
        };
        let Connection {
            link,
            control,
            news,
            tasks,
        } = connection;
        let opened = control::open(control, !entry.roots.is_empty())
            .await
            .map_err(|e| refused(entry, &e))?;
        Ok((link, news, tasks, process, opened))
    };
    let Ok(opened) = tokio::time::timeout(deadline, opening).await else {
        return Err(ConnectError::plain(
            &format!(
                "it did not answer initialize within {} s",
                deadline.as_secs()
            ),
            &logs_hint(entry),
        ));
    };
    let (link, news, tasks, process, opened) = opened?;
    let reading = Box::pin(lists::read(&link, opened.initialize, opened.revision));
    let listing = match tokio::time::timeout(LISTING, reading).await {
        Ok(Ok(listing)) => listing,
        Ok(Err(error)) => return Err(ConnectError::plain(&error.to_string(), &logs_hint(entry))),
        Err(_) => {
            let reason = format!(
                "it did not list its tools within {}",
                duration::show(LISTING)
            );
            return Err(ConnectError::plain(&reason, &logs_hint(entry)));
        }
    };
    Ok(Open {
        link,
        control: opened.control,
        news,
        process,
        listing,
        tasks,
    })
}

async fn start(
    entry: &ServerEntry,
    stdio: &Stdio,
    settings: &Settings,
    ground: &Ground,
    stderr: &StderrLog,
) -> Result<(Connection, Option<Process>), ConnectError> {
    let login_path = ground.login_path.get().await;
    let environment = BaseEnvironment::new(&settings.environment, login_path.as_deref());
    let launch = Launch {
        server: entry.name.clone(),
        command: stdio.command.clone(),
        args: stdio.args.clone(),
        env: stdio
            .env
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        cwd: stdio.cwd.clone(),
    };
    let (process, input, output) = process::spawn(&launch, &environment, &ground.ledger, stderr)
        .map_err(|error| ConnectError {
            reason: error.to_string(),
            outside: error.outside().to_owned(),
            next_step: error.next_step().to_owned(),
        })?;
    let exited = process.exited();
    let ended = async move { exited.await.to_string() };
    Ok((
        link::stdio::connect(input, output, ended).into(),
        Some(process),
    ))
}

fn dial(remote: &Remote) -> Result<Connection, ConnectError> {
    let endpoint = link::http::Endpoint {
        url: remote.url.clone(),
        headers: remote.headers.clone(),
        ca_file: remote.ca_file.clone(),
        client_cert: remote.client_cert.clone(),
    };
    match link::http::connect(&endpoint) {
        Ok(connection) => Ok(connection.into()),
        Err(error) => Err(ConnectError {
            reason: error.to_string(),
            outside: "its configuration cannot be used".to_owned(),
            next_step: "correct the entry in the configuration".to_owned(),
        }),
    }
}

fn refused(entry: &ServerEntry, error: &OpenError) -> ConnectError {
    ConnectError::plain(&error.to_string(), &logs_hint(entry))
}

fn logs_hint(entry: &ServerEntry) -> String {
    match entry.transport {
        Transport::Stdio(_) => format!(
            "`mcpproxy upstream logs {}` shows what it wrote",
            entry.name
        ),
        Transport::Remote(_) => "check that the URL is right and the server is running".to_owned(),
    }
}

impl ConnectError {
    fn plain(reason: &str, next_step: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            outside: reason.to_owned(),
            next_step: next_step.to_owned(),
        }
    }
}
