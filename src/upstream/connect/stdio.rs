//! Starts a server as a child process and opens the connection to it, with or without a handshake as it wants it.

use std::pin::pin;

use super::{
    ConnectContext, ConnectError, Ready,
    control::{self, Declared, OpenError, Opened},
    era::{Era, PROBE, ProbeError, probe},
    shake_hands,
};
use crate::{
    config::{ServerEntry, Settings, Stdio},
    link::{self, Connection},
    process::{self, BaseEnvironment, Grace, Launch, Process, StderrLog},
    wire::{RequestNumbers, Revision},
};

/// What a start takes besides the entry.
pub(in crate::upstream) struct StartParts<'a> {
    pub(in crate::upstream) settings: &'a Settings,
    pub(in crate::upstream) connect_context: &'a ConnectContext,
    pub(in crate::upstream) stderr: &'a StderrLog,
    pub(in crate::upstream) declared: &'a Declared,
    pub(in crate::upstream) numbers: &'a RequestNumbers,
}

/// Starts it. `remembered` is what this server spoke when it was last met under this configuration.
pub(in crate::upstream) async fn start(
    entry: &ServerEntry,
    stdio: &Stdio,
    parts: StartParts<'_>,
    remembered: Option<Revision>,
) -> Result<(Ready, Process), ConnectError> {
    let StartParts {
        settings,
        connect_context,
        stderr,
        declared,
        numbers,
    } = parts;
    let login_path = connect_context.login_path.get().await;
    let program = Program {
        entry,
        launch: launch(entry, stdio),
        environment: BaseEnvironment::new(&settings.environment, login_path.as_deref()),
        connect_context,
        stderr,
        declared,
        numbers,
    };
    if remembered.is_some_and(Revision::has_handshake) {
        let refused = match program.shake_hands().await {
            Err(NotShaken::Handshake(error @ OpenError::Refused { .. })) => error,
            shaken => return shaken.map_err(|error| error.of(entry)),
        };
        // Perhaps it wants none any more.
        return program
            .ask_first(None)
            .await
            .map_err(|failed| match failed {
                Failed::Final(error) => error,
                Failed::Asked(_) => ConnectError::of_handshake(entry, &refused),
            });
    }
    match program.ask_first(remembered).await {
        Ok(opened) => return Ok(opened),
        Err(Failed::Final(error)) => return Err(error),
        // Some end when they are asked what they do not know, or take nothing more: such a one gets the handshake alone.
        Err(Failed::Asked(reason)) => tracing::debug!(
            server = %entry.name,
            reason,
            "the server is started again and not asked what it speaks"
        ),
    }
    let shaken = program.shake_hands().await;
    shaken.map_err(|error| error.of(entry))
}

fn launch(entry: &ServerEntry, stdio: &Stdio) -> Launch {
    let env = stdio.env.iter();
    Launch {
        server: entry.name.clone(),
        command: stdio.command.clone(),
        args: stdio.args.clone(),
        env: env.map(|(k, v)| (k.clone(), v.clone())).collect(),
        cwd: stdio.cwd.clone(),
    }
}

/// What it takes to start the server, once or again.
struct Program<'a> {
    entry: &'a ServerEntry,
    launch: Launch,
    environment: BaseEnvironment,
    connect_context: &'a ConnectContext,
    stderr: &'a StderrLog,
    declared: &'a Declared,
    numbers: &'a RequestNumbers,
}

/// Why there is no connection with a handshake.
enum NotShaken {
    /// The server could not be started.
    NotStarted(ConnectError),
    /// The handshake failed.
    Handshake(OpenError),
}

impl NotShaken {
    fn of(self, entry: &ServerEntry) -> ConnectError {
        match self {
            Self::NotStarted(error) => error,
            Self::Handshake(error) => ConnectError::of_handshake(entry, &error),
        }
    }
}

/// Why a server that was asked what it speaks has no connection.
enum Failed {
    /// The asking may be to blame.
    Asked(String),
    /// It is not.
    Final(ConnectError),
}

impl Program<'_> {
    fn spawn(&self) -> Result<(Connection, Process), ConnectError> {
        let (connect_context, environment) = (self.connect_context, &self.environment);
        let (process, input, output) = process::spawn(
            &self.launch,
            environment,
            &connect_context.ledger,
            self.stderr,
        )
        .map_err(|error| ConnectError {
            reason: error.to_string(),
            outside: error.outside().to_owned(),
            next_step: error.next_step().to_owned(),
        })?;
        let exited = process.exited();
        let ended = async move { exited.await.to_string() };
        let made = link::stdio::connect(input, output, ended, self.numbers.clone());
        Ok((made.into(), process))
    }

    /// Starts it and does the handshake.
    async fn shake_hands(&self) -> Result<(Ready, Process), NotShaken> {
        let (connection, process) = self.spawn().map_err(NotShaken::NotStarted)?;
        match shake_hands(connection, self.declared).await {
            Ok(ready) => Ok((ready, process)),
            Err(error) => {
                process.stop(Grace::NONE).await;
                Err(NotShaken::Handshake(error))
            }
        }
    }

    /// Starts it, asks what it speaks and goes on as it wants.
    async fn ask_first(&self, remembered: Option<Revision>) -> Result<(Ready, Process), Failed> {
        let (connection, process) = self.spawn().map_err(Failed::Final)?;
        // Boxed, because it is large and seldom.
        let asked = Box::pin(ask_first(self, connection, remembered));
        match asked.await {
            Ok(ready) => Ok((ready, process)),
            Err(failed) => {
                process.stop(Grace::NONE).await;
                Err(failed)
            }
        }
    }
}

/// A server that says nothing gets the handshake as well, and what it answers first counts: it may want no handshake and only be
/// slow to start.
async fn ask_first(
    program: &Program<'_>,
    connection: Connection,
    remembered: Option<Revision>,
) -> Result<Ready, Failed> {
    let entry = program.entry;
    let Connection {
        link,
        control,
        news,
        tasks,
    } = connection;
    let (lane, asked_on) = (control.outgoing.clone(), link.clone());
    let mut asked = pin!(probe(&asked_on));
    // Nothing is sent before it is waited for.
    let mut handshake = Box::pin(control::open(control, program.declared));
    let era = match remembered {
        Some(_) => Some(asked.as_mut().await),
        None => tokio::time::timeout(PROBE, asked.as_mut()).await.ok(),
    };
    let opened = match era {
        Some(Ok(Era::Modern(description))) => {
            Opened::without_handshake(link.clone(), lane, description)
        }
        Some(Ok(Era::Legacy)) => shaken(handshake.await)?,
        Some(Err(error)) => return Err(unknown(entry, &error)),
        None => tokio::select! {
            biased;
            era = asked => match era {
                Ok(Era::Modern(description)) => Opened::without_handshake(link.clone(), lane, description),
                Ok(Era::Legacy) => shaken(handshake.await)?,
                Err(error) => return Err(unknown(entry, &error)),
            },
            opened = handshake.as_mut() => shaken(opened)?,
        },
    };
    Ok(Ready {
        link,
        news,
        tasks,
        opened,
    })
}

fn shaken(opened: Result<Opened, OpenError>) -> Result<Opened, Failed> {
    opened.map_err(|error| Failed::Asked(error.to_string()))
}

fn unknown(entry: &ServerEntry, error: &ProbeError) -> Failed {
    match error {
        ProbeError::Link(error) => Failed::Asked(error.to_string()),
        error => Failed::Final(ConnectError::of_probe(entry, error)),
    }
}
