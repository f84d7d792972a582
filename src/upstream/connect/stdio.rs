//! Starts a server as a child process and opens the connection to it, with a handshake unless it wants none. `start_*` run the program;
//! `open_*` talk to one that runs. A program that ends over a handshake or a probe that it does not know is started again for the other.

use std::{sync::OnceLock, time::Duration};

use super::{
    ConnectAttempt, ConnectError, Ready,
    era::{Era, ProbeError, probe},
    handshake::{self, OpenError, Opened},
};
use crate::{
    config::{ProtocolEra, ServerEntry, Stdio},
    link::{self, Connection, Link},
    process::{self, BaseEnvironment, Grace, Launch, Process, SpawnError},
    wire::Revision,
};

/// How long a server that refused the handshake may take to say what it wants instead.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the program and opens the connection.
pub(super) async fn start(
    attempt: &ConnectAttempt<'_>,
    stdio: &Stdio,
) -> Result<(Ready, Process), ConnectError> {
    let entry = attempt.entry;
    let login_path = attempt.context.login_path.get().await;
    let environment = &attempt.settings.environment;
    let program = Program {
        attempt,
        launch: Launch::of(entry, stdio),
        environment: BaseEnvironment::new(environment, login_path.as_deref()),
    };
    let started = match entry.protocol_era {
        ProtocolEra::Legacy => program.start_with_handshake().await,
        ProtocolEra::Modern => program.start_with_probe(Otherwise::Refuse).await,
        ProtocolEra::Auto if attempt.remembered.is_none_or(Revision::has_handshake) => {
            program.start_with_either().await
        }
        ProtocolEra::Auto => match program.start_with_probe(Otherwise::ShakeHands).await {
            Err(Failed::Opening(error)) if error.is_an_end() => {
                tracing::debug!(server = %entry.name, %error, "the server is started again and offered a handshake");
                program.start_with_either().await
            }
            started => started,
        },
    };
    started.map_err(|failed| failed.into_connect_error(entry))
}

/// A program that is started, once or again.
struct Program<'a> {
    attempt: &'a ConnectAttempt<'a>,
    launch: Launch,
    environment: BaseEnvironment,
}

/// What to do with a server that answers the probe by wanting a handshake.
#[derive(Clone, Copy)]
enum Otherwise {
    ShakeHands,
    Refuse,
}

/// Why there is no connection.
enum Failed {
    /// The server could not be started.
    Starting(ConnectError),
    /// The handshake failed.
    Opening(OpenError),
    /// The server has no handshake, and no revision in common with us.
    Probing(ProbeError),
    /// The configuration wants a server without a handshake, and this one has one.
    WantsHandshake,
}

impl From<ProbeError> for Failed {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Link(error) => Self::Opening(OpenError::Link(error)),
            error => Self::Probing(error),
        }
    }
}

impl Failed {
    fn into_connect_error(self, entry: &ServerEntry) -> ConnectError {
        match self {
            Self::Starting(error) => error,
            Self::Opening(error) => ConnectError::of_handshake(entry, &error),
            Self::Probing(error) => ConnectError::of_probe(entry, &error),
            Self::WantsHandshake => ConnectError::wants_handshake(),
        }
    }
}

impl Program<'_> {
    fn spawn(&self) -> Result<(Connection, Process), ConnectError> {
        let shared = self.attempt.shared;
        let (process, input, output) = process::spawn(
            &self.launch,
            &self.environment,
            &self.attempt.context.ledger,
            &shared.stderr,
        )
        .map_err(|error| {
            if let SpawnError::NotFound { path, .. } = &error {
                let server = &self.launch.server;
                tracing::debug!(%server, ?path, "the command was looked for on this PATH");
            }
            ConnectError {
                outside: error.outside().into(),
                ..ConnectError::plain(&error.to_string(), error.step())
            }
        })?;
        let exited = process.exited();
        let ended = async move { exited.await.to_string() };
        let noise = self.attempt.noise.clone();
        let made = link::stdio::connect(input, output, ended, shared.numbers.clone(), noise);
        Ok((made.by(Link::Stdio), process))
    }

    /// Starts it and opens the connection like this; a server with which that fails is ended.
    async fn start<F>(&self, open: impl FnOnce(Link) -> F) -> Result<(Ready, Process), Failed>
    where
        F: Future<Output = Result<Opened, Failed>>,
    {
        let (connection, process) = self.spawn().map_err(Failed::Starting)?;
        let failed = match open(connection.link.clone()).await {
            Ok(opened) => return Ok((Ready { connection, opened }, process)),
            Err(failed) => failed,
        };
        drop(connection);
        let is_over = matches!(&failed, Failed::Opening(error) if error.is_an_end());
        let exit = if is_over {
            process.just_exited().await
        } else {
            None
        };
        process.stop(Grace::NONE).await;
        Err(exit.map_or(failed, |exit| Failed::Opening(OpenError::Exited(exit))))
    }

    /// The handshake alone.
    async fn start_with_handshake(&self) -> Result<(Ready, Process), Failed> {
        let open = |link| async move { self.open_by_handshake(&link).await };
        self.start(open).await
    }

    /// The probe, and no handshake if it wants none.
    async fn start_with_probe(&self, otherwise: Otherwise) -> Result<(Ready, Process), Failed> {
        // Boxed, because it is large and seldom.
        let open = |link| Box::pin(async move { self.open_by_probe(&link, otherwise).await });
        self.start(open).await
    }

    /// The handshake, and the probe if the server refuses that.
    async fn start_with_either(&self) -> Result<(Ready, Process), Failed> {
        let refusal = &OnceLock::new();
        // Boxed, because it is large.
        let open = |link| Box::pin(async move { self.open_by_either(&link, refusal).await });
        match (self.start(open).await, refusal.get()) {
            // It has ended over the handshake, so the probe comes first.
            (Err(Failed::Opening(error)), Some(refused)) if error.is_an_end() => {
                let started = self.start_with_probe(Otherwise::Refuse).await;
                started.map_err(|_| Failed::Opening(refused.clone()))
            }
            (started, _) => started,
        }
    }

    async fn open_by_handshake(&self, link: &Link) -> Result<Opened, Failed> {
        let shaken = handshake::shake_hands(link, &self.attempt.declared).await;
        shaken.map_err(Failed::Opening)
    }

    /// Opens a server by the probe. One that wants a handshake gets it, or is refused.
    async fn open_by_probe(&self, link: &Link, otherwise: Otherwise) -> Result<Opened, Failed> {
        match (probe(link).await?, otherwise) {
            (Era::Modern(opened), _) => Ok(opened),
            (Era::Legacy, Otherwise::ShakeHands) => self.open_by_handshake(link).await,
            (Era::Legacy, Otherwise::Refuse) => Err(Failed::WantsHandshake),
        }
    }

    /// Opens a server with a handshake, and probes it where it refuses that, which is noted in `refusal`. Servers of both eras get the
    /// handshake, too: most are written for clients that answer requests, and offer less to others.
    async fn open_by_either(
        &self,
        link: &Link,
        refusal: &OnceLock<OpenError>,
    ) -> Result<Opened, Failed> {
        match self.open_by_handshake(link).await {
            Err(Failed::Opening(error)) if error.is_refusal() => {
                // Set once, and read when it is of use.
                let _ = refusal.set(error.clone());
                match tokio::time::timeout(PROBE_TIMEOUT, probe(link)).await {
                    Ok(Ok(Era::Modern(opened))) => Ok(opened),
                    Ok(Ok(Era::Legacy)) | Err(_) => Err(Failed::Opening(error)),
                    Ok(Err(error)) => Err(error.into()),
                }
            }
            opened => opened,
        }
    }
}
