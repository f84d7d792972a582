//! Carries out what is planned for a server, and writes down when calls may fail of it.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    daemon::Home,
    judge::Trouble,
    plan::{Edit, Fault, Transport},
    servers::{CHANGING, Config, Server},
};
use crate::bad_days::{echo_at_length, half_echo};
use crate::support::{
    behaviours::{exit, gate, malformed},
    script::{Behaviour, HttpTrouble},
};

/// What happened when, since the start of the run.
pub struct History {
    start: Instant,
    troubles: Mutex<Vec<Trouble>>,
}

impl History {
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            troubles: Mutex::default(),
        }
    }

    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Something begins. Gives its place.
    pub fn begin(&self, server: Option<&str>, what: String, harmless: bool) -> usize {
        let mut troubles = self.troubles.lock().expect("no panic under lock");
        troubles.push(Trouble {
            server: server.map(str::to_owned),
            tool: None,
            what,
            harmless,
            began: self.now(),
            ended: None,
        });
        troubles.len() - 1
    }

    fn only_of(&self, place: usize, tool: &'static str) {
        self.troubles.lock().expect("no panic under lock")[place].tool = Some(tool);
    }

    fn of_all_tools(&self, place: usize) {
        self.troubles.lock().expect("no panic under lock")[place].tool = None;
    }

    pub fn end(&self, place: usize) {
        let now = self.now();
        self.troubles.lock().expect("no panic under lock")[place].ended = Some(now);
    }

    pub fn troubles(&self) -> Vec<Trouble> {
        self.troubles.lock().expect("no panic under lock").clone()
    }
}

/// What faults work on.
pub struct Scene {
    pub home: Home,
    pub config: Config,
    pub history: History,
}

/// How long answers go wrong, so that a few calls meet it.
const A_WHILE: Duration = Duration::from_millis(500);

/// An edit takes effect within a second; a machine that is busy takes longer.
const EDITED: Duration = Duration::from_secs(3);

/// How long a change may take to be held, and an approval to be given.
const REVIEWED: Duration = Duration::from_secs(40);

impl Scene {
    /// Lets this befall a server, and comes back when it is over.
    pub async fn befall(&self, server: &Server, fault: Fault) {
        let name = &server.plan.name;
        let harmless = fault.is_harmless(server.plan.transport);
        let place = self
            .history
            .begin(Some(name), format!("{fault:?}"), harmless);
        let over = if let Fault::Approval { by_command } = fault {
            self.history.only_of(place, CHANGING);
            self.approval(server, place, by_command).await
        } else {
            self.carry_out(server, fault).await;
            true
        };
        // What does not end is found by whoever judges.
        if over {
            self.history.end(place);
        }
    }

    async fn carry_out(&self, server: &Server, fault: Fault) {
        let upstream = &server.upstream;
        match fault {
            Fault::Kill => self.kill(server).await,
            Fault::Freeze(time) => {
                upstream.signal_children(Signal::STOP);
                sleep(time).await;
                upstream.signal_children(Signal::CONT);
            }
            Fault::Garbage => {
                for line in GARBAGE {
                    upstream.write_line(line).await;
                }
            }
            Fault::HalfAnswers => self.answers(server, half_echo()).await,
            Fault::Malformed => self.answers(server, malformed()).await,
            Fault::DiesOfCalls => self.answers(server, exit()).await,
            Fault::Complaints => upstream.complain(20_000).await,
            Fault::Silence(time) => {
                let late = server.noted(gate("late").then(echo_at_length()));
                upstream.behave(&late).await;
                sleep(time).await;
                upstream.open("late").await;
                upstream.behave(&server.calm()).await;
                upstream.shut("late").await;
            }
            Fault::SlowStart(time) => {
                let milliseconds = u64::try_from(time.as_millis()).expect("a short time");
                upstream.open_slowly(milliseconds).await;
                self.kill(server).await;
                sleep(time + A_WHILE).await;
                upstream.open_slowly(0).await;
            }
            Fault::Away { time, elsewhere } => {
                let before = upstream.address();
                upstream.stop();
                sleep(time).await;
                upstream.start_again(elsewhere).await;
                if upstream.address() != before {
                    let url = Value::from(upstream.url());
                    self.edit_entry(server, "url", url).await;
                }
            }
            Fault::Refuses(status) => self.trouble(server, HttpTrouble::Refused(status)).await,
            Fault::Fails(status) => self.trouble(server, HttpTrouble::Failed(status)).await,
            Fault::ForgetsSessions => upstream.forget_sessions(404),
            Fault::ListChanges => server.change_list().await,
            Fault::EntryEdited => {
                let number =
                    self.home.places.port.to_string() + "-" + &uuid::Uuid::new_v4().to_string();
                let key = if server.plan.transport == Transport::Stdio {
                    "args"
                } else {
                    "headers"
                };
                let value = match key {
                    // The fake ignores what follows its script.
                    "args" => {
                        let mut arguments = upstream.entry()["args"].take();
                        let list = arguments.as_array_mut().expect("arguments");
                        list.push(number.into());
                        arguments
                    }
                    _ => json!({"X-Edit": number}),
                };
                self.edit_entry(server, key, value).await;
            }
            Fault::SwitchedOff => {
                self.edit_entry(server, "enabled", false.into()).await;
                self.edit_entry(server, "enabled", true.into()).await;
            }
            Fault::Restarted => {
                let path = format!("/api/v1/servers/{}/restart", server.plan.name);
                // Without a daemon there is nothing to restart.
                let _ = self.home.rest("POST", &path, "").await;
            }
            Fault::Approval { .. } => unreachable!("it has its own end"),
        }
    }

    async fn kill(&self, server: &Server) {
        if server.plan.transport == Transport::Stdio {
            server.upstream.signal_children(Signal::KILL);
            return;
        }
        server.upstream.stop();
        server.upstream.start_again(false).await;
        let url = Value::from(server.upstream.url());
        self.config
            .edit(|config| config.set_key(&server.plan.name, "url", url))
            .await;
    }

    async fn answers(&self, server: &Server, end: Behaviour) {
        server.upstream.behave(&server.noted(end)).await;
        sleep(A_WHILE).await;
        server.upstream.behave(&server.calm()).await;
    }

    async fn trouble(&self, server: &Server, trouble: HttpTrouble) {
        server.upstream.trouble(Some(trouble)).await;
        sleep(A_WHILE).await;
        server.upstream.trouble(None).await;
    }

    async fn edit_entry(&self, server: &Server, key: &str, value: Value) {
        let name = &server.plan.name;
        self.config
            .edit(|config| config.set_key(name, key, value))
            .await;
        sleep(EDITED).await;
    }

    /// A definition changes, is held, is looked at and approved. Whether that came to its end.
    async fn approval(&self, server: &Server, place: usize, by_command: bool) -> bool {
        server.change_definition().await;
        let begun = Instant::now();
        let name = &server.plan.name;
        let mut asked_again = false;
        let seen = loop {
            if let Some(seen) = self.held(name).await {
                break seen;
            }
            if begun.elapsed() > REVIEWED {
                return false;
            }
            if begun.elapsed() > REVIEWED / 8 && !asked_again {
                // Nobody heard of it: the server was not connected.
                asked_again = true;
                self.history.of_all_tools(place);
                let path = format!("/api/v1/servers/{name}/restart");
                let _ = self.home.rest("POST", &path, "").await;
            }
            sleep(A_WHILE / 5).await;
        };
        // Time to read it, in which calls are refused.
        sleep(2 * A_WHILE).await;
        while begun.elapsed() < 2 * REVIEWED {
            if self.approved(name, &seen, by_command).await {
                return true;
            }
            sleep(A_WHILE / 5).await;
        }
        false
    }

    /// What a person sees of a server whose changed tool is held.
    async fn held(&self, name: &str) -> Option<String> {
        let path = format!("/api/v1/servers/{name}/inspect");
        let (_, found) = self.home.rest("GET", &path, "").await?;
        let things = found["things"].as_array()?;
        things
            .iter()
            .find(|thing| thing["name"] == CHANGING && thing["held"] == true)?;
        Some(found["seen"].as_str()?.to_owned())
    }

    async fn approved(&self, name: &str, seen: &str, by_command: bool) -> bool {
        if by_command {
            let arguments = ["upstream", "approve", name, CHANGING, "--seen", seen];
            let ended = self.home.program(&arguments).status().await;
            if ended.is_ok_and(|status| status.success()) {
                return true;
            }
        } else {
            let path = format!("/api/v1/servers/{name}/approve");
            let body = json!({"seen": seen, "names": [CHANGING], "by": "chaos"});
            let answer = self.home.rest("POST", &path, &body.to_string()).await;
            if answer.is_some_and(|(status, _)| status == 200) {
                return true;
            }
        }
        // It may have been done by one whose answer was lost. A daemon that has not read the lists yet does not know what it holds.
        let path = format!("/api/v1/servers/{name}/inspect");
        let found = self.home.rest("GET", &path, "").await;
        let is_ready = found.is_some_and(|(_, found)| found["server"]["state"] == "Ready");
        is_ready && self.held(name).await.is_none()
    }

    /// Edits the file in a way that concerns no server.
    pub async fn edit(&self, edit: Edit) {
        let place = self.history.begin(None, format!("edit: {edit:?}"), true);
        match edit {
            Edit::Comment => {
                let comment = |config: &mut super::servers::ConfigState| {
                    let number = config.number();
                    config.comment(&format!("edit {number}"));
                };
                self.config.edit(comment).await;
            }
            Edit::Guest => {
                let guest = json!({"command": "/bin/false"});
                self.config
                    .edit(|config| config.set("guest", Some(guest)))
                    .await;
                sleep(EDITED).await;
                self.config.edit(|config| config.set("guest", None)).await;
            }
            Edit::Broken => self.config.break_for(A_WHILE).await,
        }
        self.history.end(place);
    }
}

/// Lines that are no messages, or belong to nobody.
const GARBAGE: &[&str] = &[
    "no message at all",
    "{",
    r#"{"jsonrpc":"2.0","id":"nobody","result":{"content":[{"type":"text","text":"foreign"}]}}"#,
    r#"{"jsonrpc":"2.0","id":987654321,"error":{"code":1,"message":"foreign"}}"#,
    "[1,2,3]",
    r#"{"jsonrpc":"2.0","method":"notifications/nothing"}"#,
    "\u{1b}[31mred\u{1b}[0m",
];
