//! Bad days of an upstream: what befalls its process or its address, and answers that fail.

use std::{path::Path, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;

use crate::support::{
    behaviours::step,
    fake_upstream::{Face, Upstream},
    patience,
    random::Random,
    script::{Behaviour, Command, HttpTrouble, Step},
};

/// Replies with the arguments, and with as many characters as their `length` says, after as many `milliseconds`.
pub fn echo_at_length() -> Behaviour {
    step(Step::EchoAtLength)
}

/// Writes the `token` of the arguments into a file, then goes on.
pub fn journal(file: &Path) -> Behaviour {
    step(Step::Journal(file.to_owned()))
}

/// Dies in the middle of its reply.
pub fn half_echo() -> Behaviour {
    step(Step::HalfEcho)
}

impl Upstream {
    /// Sends a signal to every running child.
    pub fn signal_children(&self, signal: Signal) {
        for pid in self.alive() {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            // It may have ended already.
            let _ = kill_process(pid.expect("a process id"), signal);
        }
    }

    /// Writes a line on every stdout, whatever it is; over HTTP into every stream.
    pub async fn write_line(&self, line: &str) {
        match &self.face {
            Face::Http(server) => server.push(line.to_owned()),
            Face::Stdio { control, .. } => control.command(&Command::Send(line.to_owned())).await,
        }
    }

    /// Every running child writes so many lines to stderr.
    pub async fn complain(&self, lines: usize) {
        self.control().command(&Command::Complain(lines)).await;
    }

    /// Every tool does this from now on; their definitions stay.
    pub async fn behave(&self, behaviour: &Behaviour) {
        self.change(|script| {
            for tool in &mut script.tools {
                tool.behaviour = behaviour.clone();
            }
        })
        .await;
    }

    /// `initialize` and `server/discover` take so long from now on.
    pub async fn open_slowly(&self, milliseconds: u64) {
        self.change(|script| script.opening_delay_ms = milliseconds)
            .await;
    }

    /// Over HTTP: every POST fails like this from now on.
    pub async fn trouble(&self, trouble: Option<HttpTrouble>) {
        self.change(|script| script.http.trouble = trouble).await;
    }

    /// Over HTTP: ends as a killed process does: nobody listens, every connection is cut, and the sessions are forgotten.
    pub fn stop(&self) {
        let http = self.http();
        let serving = http.serving.lock().expect("no panic under lock");
        serving.1.abort();
        http.shared.forget_sessions(None);
        http.shared.cut_connections();
    }

    /// Over HTTP: listens again after [`Upstream::stop`]; elsewhere if it has to be so, or if somebody else has the port by now.
    pub async fn start_again(&self, elsewhere: bool) {
        let http = self.http();
        let address = http.address();
        let mut same = TcpListener::bind(address).await;
        for _ in 0..100 {
            // The task that listened may not have ended yet.
            if same.is_err() {
                tokio::time::sleep(patience::LOOK_AGAIN).await;
                same = TcpListener::bind(address).await;
            }
        }
        let listener = match same {
            Ok(listener) if !elsewhere => listener,
            // Kept until the other one is bound, which is therefore another.
            _kept => TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
        };
        let serving = http.shared.clone().serve(listener);
        *http.serving.lock().expect("no panic under lock") = serving;
    }
}

impl Random {
    /// Another row of numbers for each seed and number.
    pub fn derived(seed: u64, number: u64) -> Self {
        let mut first = Self::new(seed ^ number.wrapping_mul(0xA076_1D64_78BD_642F));
        Self::new(first.next())
    }

    /// A time between these.
    pub fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_millis();
        let span = u64::try_from(span).expect("a run is shorter");
        least + Duration::from_millis(self.below(span + 1))
    }
}
