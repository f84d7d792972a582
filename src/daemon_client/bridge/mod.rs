//! Carries lines between one client on stdin and stdout and the daemon of the data folder, which it starts if there is none. When
//! the daemon goes away the client stays: its requests in flight fail, and the next one reaches a new daemon in an opened connection.
//!
//! Bytes pass as they are; `requests` reads just enough of them.

mod daemon_socket;
mod notices;
mod reach;
mod requests;

use std::{io, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, WriteHalf},
    sync::{Notify, mpsc},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub use self::daemon_socket::DaemonSocket;
use self::{
    daemon_socket::DaemonConnection,
    reach::reach,
    requests::{ClientLine, ClientRequest, LineTurn, PendingRequests},
};
use crate::{
    failure::ErrorCode,
    runtime::sync::Guarded,
    wire::{
        error_frame,
        instance::IS_OURSELVES,
        lines::{self, Line, Lines},
        method, notification_frame,
    },
};

/// Limit: a line of the client. The daemon has a smaller one and says so; this one is against lines without end.
const LARGEST_QUESTION: usize = 64 << 20;

/// Limit: a line of the daemon. Results of upstreams end at half of this.
const LARGEST_ANSWER: usize = 128 << 20;

/// Limit: lines of the client that wait for their turn, and frames that wait for the client to read.
const WAITING: usize = 64;

/// How long a client that has closed its input is given for its last answers. Requests end sooner by themselves.
const LAST_ANSWERS: Duration = Duration::from_mins(30);

/// How long the daemon may then take to end the connection and the requests that are left.
const PARTING: Duration = Duration::from_secs(3);

/// The program that a bridge runs in.
pub trait BridgeHost {
    /// Refuses the daemon of the data folder where another one is meant.
    fn check_daemon(&self) -> impl Future<Output = Result<(), AbsentDaemon>>;

    /// Starts a daemon and returns when it serves, or when another one has the data folder.
    fn start_daemon(&self) -> impl Future<Output = Result<(), AbsentDaemon>>;

    /// Returns when the client reads no more.
    fn output_closed(&self) -> impl Future<Output = ()>;

    /// Shows a text to the user of the program.
    fn note(&self, text: &str);

    /// Shows why no client is served, and what to do about it.
    fn fail(&self, why: &str, step: &str);
}

/// Why there is no daemon to ask, or the one that runs is the wrong one, and what to do about it.
pub struct AbsentDaemon {
    /// Why.
    pub why: String,
    /// What to do, in a terminal.
    pub step: String,
    /// The kind of failure.
    pub code: ErrorCode,
    /// The end of a client for whom there was none at any time.
    pub unserved: Unserved,
}

/// Why a client was not served.
#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    /// The daemon is the client: it has started the program in which the bridge runs.
    #[error("{IS_OURSELVES}: this client was started by the daemon itself")]
    StartedByDaemon,
    /// There was no daemon at any time, as [`BridgeHost::fail`] has said.
    #[error("no daemon was running")]
    NoDaemon,
    /// The daemon let the client in at no time, as [`BridgeHost::fail`] has said.
    #[error("the daemon refused the client")]
    Refused(ErrorCode),
}

/// Carries lines until the client's input ends or it reads no more. A daemon that is the client itself lets nobody in: its first
/// requests are answered with that, and then it is over.
pub async fn carry(
    socket: DaemonSocket,
    host: impl BridgeHost,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin,
) -> Result<(), Unserved> {
    let (out, frames) = mpsc::channel(WAITING);
    let (sender, lines) = mpsc::channel(WAITING);
    let gone = CancellationToken::new();
    let _reading = AbortOnDropHandle::new(tokio::spawn(read(input, sender, gone.clone())));
    let bridge = Bridge {
        socket,
        host,
        shared: Arc::new(Shared {
            gone,
            state: Guarded::default(),
            lost: Notify::new(),
            heard: Notify::new(),
            out,
        }),
        attached: None,
    };
    let mut writing = pin!(lines::write(frames, output));
    tokio::select! {
        // The client reads no more.
        _ = &mut writing => Ok(()),
        ended = bridge.run(lines) => {
            // As slowly as the client reads.
            drop(timeout(LAST_ANSWERS, writing).await);
            ended
        }
    }
}

/// Reads the client's lines; `gone` signals the end even while nobody takes them.
async fn read(input: impl AsyncRead + Unpin, sender: mpsc::Sender<Line>, gone: CancellationToken) {
    let mut lines = Lines::new(input, LARGEST_QUESTION);
    // An input that breaks off is at its end.
    while let Ok(Some(line)) = lines.next().await {
        if sender.send(line).await.is_err() {
            return;
        }
    }
    gone.cancel();
}

struct Bridge<H> {
    socket: DaemonSocket,
    host: H,
    shared: Arc<Shared>,
    /// The connection to the daemon, until the next one is opened: the daemon may be gone already.
    attached: Option<Attached>,
}

struct Attached {
    to_daemon: WriteHalf<DaemonConnection>,
    from_daemon: AbortOnDropHandle<()>,
}

struct Shared {
    /// The client's input has ended: it gets the answers to what it asked, and nothing else.
    gone: CancellationToken,
    state: Guarded<State>,
    /// The daemon is gone, and there is something to ask again.
    lost: Notify,
    /// After the end of the input: a line of the daemon was carried.
    heard: Notify,
    out: mpsc::Sender<Bytes>,
}

#[derive(Default)]
struct State {
    requests: PendingRequests,
    /// The connection of the bridge still leads to a daemon: requests may be noted.
    is_connected: bool,
    /// Lines that a lost daemon left unanswered, to be sent once more.
    again: Vec<Bytes>,
    /// A line of the daemon is on its way to the client, which reads slowly.
    tells: bool,
    /// The client is waited for no longer.
    parted: bool,
}

impl State {
    /// Whether the client has yet to get an answer.
    fn owes(&self) -> bool {
        self.tells || !self.again.is_empty() || self.requests.any_open()
    }
}

impl<H: BridgeHost> Bridge<H> {
    async fn run(mut self, mut heard: mpsc::Receiver<Line>) -> Result<(), Unserved> {
        // Without waiting for the first line, so that the daemon starts while the client does. Every request reports a failure.
        let first = self.attach().await;
        if let Err(absent) = &first
            && !matches!(absent.unserved, Unserved::StartedByDaemon)
        {
            self.host.fail(&absent.why, &absent.step);
        }
        loop {
            tokio::select! {
                line = heard.recv() => match line {
                    Some(Line::Text(line)) => self.take(line, LineTurn::First).await?,
                    Some(Line::TooLarge(id)) => {
                        let error = crate::wire::RpcError::too_large();
                        self.shared.tell(error_frame(id.as_ref(), &error.to_raw())).await;
                    }
                    None => {
                        let is_attached = self.attached.is_some();
                        if let Ok(answered) = timeout(LAST_ANSWERS, self.give_last_answers()).await {
                            answered?;
                        }
                        self.part().await;
                        return match first {
                            Err(absent) if !is_attached => Err(absent.unserved),
                            _ => Ok(()),
                        };
                    }
                },
                () = self.shared.lost.notified() => self.ask_again().await?,
            }
        }
    }

    /// Waits until a client that has closed its input has its last answers, or is gone.
    async fn give_last_answers(&mut self) -> Result<(), Unserved> {
        let shared = self.shared.clone();
        while shared.state.lock().owes() {
            tokio::select! {
                () = shared.heard.notified() => (),
                () = shared.lost.notified() => self.ask_again().await?,
                () = self.host.output_closed() => break,
            }
        }
        Ok(())
    }

    async fn ask_again(&mut self) -> Result<(), Unserved> {
        let again = std::mem::take(&mut self.shared.state.lock().again);
        for line in again {
            self.take(line, LineTurn::Again).await?;
        }
        Ok(())
    }

    async fn take(&mut self, line: Bytes, turn: LineTurn) -> Result<(), Unserved> {
        let mut requests = match ClientLine::read(&line) {
            ClientLine::Malformed(answer) => {
                self.shared.tell(answer).await;
                return Ok(());
            }
            // About requests that went with the old daemon, if none is there.
            ClientLine::WantsNoAnswer(withdrawn) => {
                if let Some(id) = withdrawn {
                    self.shared.state.lock().requests.withdrawn(&id);
                }
                self.send(&line).await;
                return Ok(());
            }
            ClientLine::Requests(requests) => requests,
        };
        while let Err(unnoted) = self.shared.note(requests, &line, turn) {
            requests = unnoted;
            if let Err(absent) = self.attach().await {
                for one in &requests {
                    let answer = requests::unreachable(one, &absent);
                    self.shared.tell(answer).await;
                }
                return match absent.unserved {
                    ourselves @ Unserved::StartedByDaemon => Err(ourselves),
                    _ => Ok(()),
                };
            }
        }
        self.send(&line).await;
        Ok(())
    }

    async fn send(&mut self, line: &Bytes) {
        if let Some(attached) = &mut self.attached {
            // A daemon that is gone is noticed where its answers are read.
            let _ = write(&mut attached.to_daemon, line).await;
        }
    }

    /// Goes to the daemon; a client that has opened its connection before is in the same state afterwards.
    async fn attach(&mut self) -> Result<(), AbsentDaemon> {
        if let Some(lost) = self.attached.take() {
            // The failures of its requests go to the client before anything of the new daemon.
            let _ = lost.from_daemon.await;
        }
        let left = async {
            // Its last requests may still be answered.
            self.shared.gone.cancelled().await;
            sleep(PARTING).await;
        };
        let connection = tokio::select! {
            reached = reach(&self.socket, &self.host) => reached?,
            () = left => {
                return Err(AbsentDaemon {
                    why: "the client has disconnected".to_owned(),
                    step: "start it again".to_owned(),
                    code: ErrorCode::Internal,
                    unserved: Unserved::NoDaemon,
                });
            }
        };
        let (from_daemon, mut to_daemon) = tokio::io::split(connection);
        let replay = self.shared.attach();
        let shared = self.shared.clone();
        let from_daemon = tokio::spawn(async move { shared.hear(from_daemon).await });
        for line in replay.iter().flatten() {
            // As in `send`.
            let _ = write(&mut to_daemon, line).await;
        }
        self.attached = Some(Attached {
            to_daemon,
            from_daemon: AbortOnDropHandle::new(from_daemon),
        });
        if replay.is_some() {
            self.host.note("connected to a new daemon");
            for list in [
                method::TOOLS_CHANGED,
                method::PROMPTS_CHANGED,
                method::RESOURCES_CHANGED,
            ] {
                self.shared.tell(notification_frame(list, None)).await;
            }
        }
        Ok(())
    }

    /// The client has gone.
    async fn part(self) {
        self.shared.state.lock().parted = true;
        let Some(mut attached) = self.attached else {
            return;
        };
        let parting = async {
            // The daemon closes the connection then.
            let _ = attached.to_daemon.shutdown().await;
            let _ = attached.from_daemon.await;
        };
        let _ = timeout(PARTING, parting).await;
    }
}

impl Shared {
    /// Carries what the daemon says, until it is gone.
    async fn hear(&self, from_daemon: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(from_daemon, LARGEST_ANSWER);
        while let Ok(Some(line)) = lines.next().await {
            if lines.is_over() {
                // The daemon ends each line, so this is a part of one.
                break;
            }
            match line {
                Line::Text(line) => {
                    let passes = {
                        let mut state = self.state.lock();
                        let is_wanted = !self.gone.is_cancelled() || state.owes();
                        state.tells = state.requests.answered(&line) && is_wanted;
                        state.tells
                    };
                    if passes {
                        self.tell(line).await;
                        self.state.lock().tells = false;
                    }
                }
                Line::TooLarge(id) => {
                    if let Some(id) = id {
                        let answer = requests::too_large(&id);
                        self.state.lock().requests.answered(&answer);
                        self.tell(answer).await;
                    }
                }
            }
            if self.gone.is_cancelled() {
                self.heard.notify_one();
            }
        }
        let failed = {
            let mut state = self.state.lock();
            if state.parted {
                // The daemon has ended the requests because their client left.
                return;
            }
            let lost = state.requests.lose();
            state.is_connected = false;
            // Those of a daemon before may still wait for their turn.
            state.again.extend(lost.again);
            lost.failed
        };
        for id in failed {
            self.tell(requests::lost(&id)).await;
        }
        self.lost.notify_one();
    }

    /// Notes requests about to be sent, unless the daemon is gone.
    fn note(
        &self,
        requests: Vec<ClientRequest>,
        line: &Bytes,
        turn: LineTurn,
    ) -> Result<(), Vec<ClientRequest>> {
        let mut state = self.state.lock();
        if !state.is_connected {
            return Err(requests);
        }
        state.requests.note(requests, line, turn);
        Ok(())
    }

    /// Notes that a daemon is there. The lines to send it first, if the client had opened its connection before.
    fn attach(&self) -> Option<Vec<Bytes>> {
        let mut state = self.state.lock();
        state.is_connected = true;
        state.requests.replay()
    }

    async fn tell(&self, frame: Bytes) {
        // A client that reads no more ends everything elsewhere.
        let _ = self.out.send(frame).await;
    }
}

async fn write(to_daemon: &mut WriteHalf<DaemonConnection>, line: &Bytes) -> io::Result<()> {
    to_daemon.write_all(line).await?;
    to_daemon.write_all(b"\n").await?;
    to_daemon.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that has asked one question, and what it gets.
    fn asking() -> (Shared, mpsc::Receiver<Bytes>) {
        let (out, frames) = mpsc::channel(WAITING);
        let shared = Shared {
            gone: CancellationToken::new(),
            state: Guarded::default(),
            lost: Notify::new(),
            heard: Notify::new(),
            out,
        };
        shared.attach();
        ask(&shared, 1, "tools/call");
        (shared, frames)
    }

    fn ask(shared: &Shared, id: u8, method: &str) {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let line = Bytes::from(line);
        let ClientLine::Requests(requests) = ClientLine::read(&line) else {
            panic!("a request");
        };
        assert!(shared.note(requests, &line, LineTurn::First).is_ok());
    }

    #[tokio::test]
    async fn half_an_answer_of_a_daemon_that_is_gone_is_no_answer() {
        let (shared, mut frames) = asking();
        shared
            .hear(&br#"{"jsonrpc":"2.0","id":1,"result":{"con"#[..])
            .await;
        let told = frames.recv().await.expect("an answer");
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains("connection_lost"), "{told}");
        assert!(frames.try_recv().is_err(), "nothing else");
    }

    #[tokio::test]
    async fn lines_to_ask_again_outlast_another_lost_daemon() {
        let (shared, _frames) = asking();
        for id in [2, 3] {
            shared.attach();
            ask(&shared, id, "tools/list");
            shared.hear(&b""[..]).await;
        }
        assert_eq!(shared.state.lock().again.len(), 2);
    }

    #[tokio::test]
    async fn a_client_that_has_left_gets_its_answers_and_no_news() {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let said = [progress, answer, news, ""].join("\n");
        for (has_left, expected) in [
            (false, &[progress, answer, news][..]),
            (true, &[progress, answer]),
        ] {
            let (shared, mut frames) = asking();
            if has_left {
                shared.gone.cancel();
            }
            shared.hear(said.as_bytes()).await;
            drop(shared);
            let mut got = Vec::new();
            while let Some(frame) = frames.recv().await {
                got.push(String::from_utf8_lossy(&frame).into_owned());
            }
            assert_eq!(got, expected, "has left: {has_left}");
        }
    }

    #[tokio::test]
    async fn a_client_that_has_left_hears_of_no_lost_daemon() {
        let (shared, mut frames) = asking();
        shared.state.lock().parted = true;
        shared.hear(&b""[..]).await;
        drop(shared);
        assert_eq!(frames.recv().await, None);
    }
}
