//! Bad days of an upstream: what befalls its process or its address, and answers that fail.

use rustix::process::{Pid, Signal, kill_process};

use super::{Face, Upstream};
use crate::support::script::{Behaviour, Command, HttpTrouble};

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

    /// Describes a tool, prompt, resource or template that it offers otherwise from now on, and says nothing about it.
    pub async fn describe_silently(&self, key: &str, definition: &str) {
        self.change(|script| {
            let lists = [
                &mut script.tools,
                &mut script.prompts,
                &mut script.resources,
                &mut script.templates,
            ];
            let mut all = lists.into_iter().flatten();
            let offer = all.find(|offer| offer.key == key);
            definition.clone_into(&mut offer.expect("it is offered").definition);
        })
        .await;
    }

    /// Answers a method like this from now on, and says nothing about it.
    pub async fn answer(&self, method: &str, behaviour: Behaviour) {
        self.change(|script| {
            script.answers.insert(method.to_owned(), behaviour);
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

    /// Over HTTP: ends as a killed process does.
    pub fn stop(&self) {
        self.http().stop();
    }

    /// Over HTTP: listens again after [`Upstream::stop`], where it did or elsewhere.
    pub async fn start_again(&self, elsewhere: bool) {
        self.http().start_again(elsewhere).await;
    }
}
