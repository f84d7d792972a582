//! One run: everything is started, calls and faults happen side by side, then it has to be quiet and end with nothing left.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    clients::{self, Client},
    daemon::{self, Figures, Home},
    faults::{History, Scene},
    judge::{self, Call, End, Outcome, RECOVERY, Tally, Violation},
    plan::Plan,
    servers::{self, Config, Server, TOOLS},
};
use crate::support::{processes, random::Random};

/// How many calls a client has in flight.
const LANES: u64 = 2;

/// One call in so many has a huge answer.
const HUGE_ONE_IN: u64 = 200;

const HUGE: usize = 20 << 20;

/// What came of it.
pub struct Report {
    pub tally: Tally,
    pub violations: Vec<Violation>,
    pub history: Vec<judge::Trouble>,
    pub before: Figures,
    pub after: Figures,
}

pub struct Run {
    plan: Plan,
    pub scene: Scene,
    pub servers: Vec<Server>,
    pub clients: Vec<Arc<Client>>,
    calls: Mutex<Vec<Call>>,
    /// What was seen wrong besides calls.
    seen: Mutex<Vec<Violation>>,
    daemon: Mutex<u32>,
}

/// What one call asks for.
struct Asked {
    token: String,
    length: usize,
    milliseconds: u64,
}

/// Ends whatever a run that failed leaves.
struct Cleanup(String);

impl Drop for Cleanup {
    fn drop(&mut self) {
        for mark in [daemon::MARK, servers::MARK] {
            for pid in processes::marked(mark, &self.0) {
                daemon::kill(pid, Signal::KILL);
            }
        }
    }
}

/// Runs this plan in an empty folder.
pub async fn run(plan: Plan, folder: &std::path::Path) -> Result<Report, String> {
    let mark = uuid::Uuid::new_v4().to_string();
    let _cleanup = Cleanup(mark.clone());
    let home = Home::new(folder, &mark);
    let mut servers = Vec::new();
    for (number, server) in plan.servers.iter().enumerate() {
        servers.push(Server::start(server, number, folder).await);
    }
    let config = Config::new(&home.config_file(), home.places.port);
    config
        .edit(|config| {
            for server in &servers {
                config.enter(server, &mark);
            }
        })
        .await;
    let daemon = home.start().await?;
    let clients = clients::all(&home.places, |endpoint| home.bridge(endpoint));
    let run = Arc::new(Run {
        scene: Scene {
            home,
            config,
            history: History::new(),
        },
        plan,
        servers,
        clients,
        calls: Mutex::default(),
        seen: Mutex::default(),
        daemon: Mutex::new(daemon),
    });
    run.whole().await
}

impl Run {
    async fn whole(self: Arc<Self>) -> Result<Report, String> {
        self.warm_up().await;
        sleep(Duration::from_secs(2)).await;
        let before = daemon::figures(self.daemon_pid()).ok_or("no figures")?;
        self.clone().everything_at_once().await;
        self.round().await;
        self.check_processes("when it is quiet again").await;
        let after = self.check_figures(before).await;
        self.check_strays();
        // What a killed daemon leaves, the next one finds.
        self.kill_daemon().await;
        self.round().await;
        self.check_processes("after kill -9 and a start").await;
        self.check_end().await;
        let journals = self
            .servers
            .iter()
            .map(|server| (server.plan.name.clone(), server.executed()));
        let history = self.scene.history.troubles();
        let calls = std::mem::take(&mut *self.calls.lock().expect("no panic under lock"));
        let (tally, mut violations) = judge::judge(&calls, &history, &journals.collect());
        violations.append(&mut self.seen.lock().expect("no panic under lock"));
        Ok(Report {
            tally,
            violations,
            history,
            before,
            after,
        })
    }

    pub fn daemon_pid(&self) -> u32 {
        *self.daemon.lock().expect("no panic under lock")
    }

    pub fn note(&self, server: Option<&str>, what: impl Into<String>) {
        self.seen
            .lock()
            .expect("no panic under lock")
            .push(Violation {
                what: what.into(),
                server: server.map(str::to_owned),
                at: self.scene.history.now(),
                call: None,
            });
    }

    /// Every server is called, and every client calls; lists are on the disk before anything is killed.
    async fn warm_up(self: &Arc<Self>) {
        self.round().await;
        let mut tasks = JoinSet::new();
        for number in 0..self.clients.len() {
            let run = self.clone();
            tasks.spawn(async move {
                let mut random = Random::derived(run.plan.seed, 1_000 + number as u64);
                for at in 0..2 {
                    run.one_call(number, &mut random, format!("w{number}-{at}"), 0)
                        .await;
                }
            });
        }
        finish(tasks).await;
    }

    async fn everything_at_once(self: Arc<Self>) {
        let start = Instant::now();
        let end = start + self.plan.time;
        let mut tasks = JoinSet::new();
        for number in 0..self.clients.len() {
            for lane in 0..LANES {
                tasks.spawn(self.clone().lane(number, lane, end));
            }
        }
        for number in 0..self.servers.len() {
            let run = self.clone();
            tasks.spawn(async move {
                for planned in &run.plan.faults[number] {
                    tokio::time::sleep_until(start + planned.at).await;
                    // What came late is left out, so that the run has an end.
                    if Instant::now() < end {
                        run.scene.befall(&run.servers[number], planned.what).await;
                    }
                }
            });
        }
        let run = self.clone();
        tasks.spawn(async move {
            for planned in &run.plan.edits {
                tokio::time::sleep_until(start + planned.at).await;
                run.scene.edit(planned.what).await;
            }
        });
        let run = self.clone();
        tasks.spawn(async move {
            for at in &run.plan.kills {
                tokio::time::sleep_until(start + *at).await;
                run.kill_daemon().await;
            }
        });
        finish(tasks).await;
    }

    /// One client calls, one call after the other.
    async fn lane(self: Arc<Self>, number: usize, lane: u64, end: Instant) {
        let mut random = Random::derived(self.plan.seed, number as u64 * LANES + lane);
        let mut count = 0;
        while Instant::now() < end {
            count += 1;
            if random.below(25) == 0 {
                self.look(number).await;
            }
            let huge = random.below(HUGE_ONE_IN) == 0;
            let token = format!("{number}-{lane}-{count}");
            let length = if huge { HUGE } else { 0 };
            self.one_call(number, &mut random, token, length).await;
            sleep(random.time(Duration::ZERO, Duration::from_millis(120))).await;
        }
    }

    async fn one_call(&self, client: usize, random: &mut Random, token: String, length: usize) {
        let server = random.of(&self.servers);
        let (tool, _) = *random.of(TOOLS);
        // Some are in flight whatever happens.
        let milliseconds = *random.of(&[0, 0, 0, 100, 300, 1000]);
        let asked = Asked {
            token,
            length,
            milliseconds,
        };
        self.call(client, server, tool, asked).await;
    }

    /// Whether it ended with its own result.
    async fn call(&self, client: usize, server: &Server, tool: &'static str, asked: Asked) -> bool {
        let name = &server.plan.name;
        let Asked {
            token,
            length,
            milliseconds,
        } = asked;
        let arguments = json!({"token": token, "length": length, "milliseconds": milliseconds});
        let began = self.scene.history.now();
        let outcome = self.clients[client].call(name, tool, &arguments).await;
        let end = judge::end_of(name, &token, length, outcome);
        let done = end == End::Done;
        let call = Call {
            token,
            client: self.clients[client].name.clone(),
            server: name.clone(),
            tool,
            began,
            ended: self.scene.history.now(),
            end,
        };
        self.calls.lock().expect("no panic under lock").push(call);
        done
    }

    /// Looks whether the list of tools has those of all servers that are left alone.
    async fn look(&self, number: usize) {
        let client = &self.clients[number];
        let began = self.scene.history.now();
        let Some(outcome) = client.list().await else {
            return;
        };
        let wrong = match outcome {
            Outcome::Answer(frame) => {
                let tools = frame["result"]["tools"].as_array();
                let names = tools.into_iter().flatten();
                let names: BTreeSet<&str> =
                    names.filter_map(|tool| tool["name"].as_str()).collect();
                let untouched = self.servers.iter().filter(|server| !server.plan.touched);
                let missing: Vec<&str> = untouched
                    .map(|server| &*server.plan.name)
                    .filter(|name| !names.contains(&*format!("{name}__look")))
                    .collect();
                if missing.is_empty() {
                    return;
                }
                format!("a list without the tools of {missing:?}")
            }
            other => format!("a list failed: {other:?}"),
        };
        let down = |trouble: &judge::Trouble| {
            trouble.server.is_none()
                && !trouble.harmless
                && trouble
                    .ended
                    .is_none_or(|ended| began <= ended + Duration::from_secs(2))
        };
        if !self.scene.history.troubles().iter().any(down) {
            self.note(None, format!("{}: {wrong}", client.name));
        }
    }

    /// Calls every server until it answers; those that were left alone have one try.
    async fn round(self: &Arc<Self>) {
        let mut tasks = JoinSet::new();
        for number in 0..self.servers.len() {
            let run = self.clone();
            tasks.spawn(async move {
                let server = &run.servers[number];
                let deadline = Instant::now() + RECOVERY;
                for (tool, _) in TOOLS {
                    loop {
                        let token = uuid::Uuid::new_v4().to_string();
                        let asked = Asked {
                            token,
                            length: 0,
                            milliseconds: 0,
                        };
                        let done = run.call(0, server, tool, asked).await;
                        if done || !server.plan.touched || Instant::now() > deadline {
                            break;
                        }
                        sleep(Duration::from_millis(300)).await;
                    }
                }
            });
        }
        finish(tasks).await;
    }

    async fn kill_daemon(&self) {
        // A daemon does not start with a file that is half written.
        let _whole = self.scene.config.whole().await;
        let place = self
            .scene
            .history
            .begin(None, "kill -9 of the daemon".to_owned(), false);
        let pid = self.daemon_pid();
        daemon::kill(pid, Signal::KILL);
        let started = match daemon::ended(pid).await {
            Ok(()) => self.scene.home.start().await,
            Err(why) => Err(why),
        };
        match started {
            Ok(pid) => {
                *self.daemon.lock().expect("no panic under lock") = pid;
                self.scene.history.end(place);
            }
            Err(why) => self.note(None, why),
        }
    }
}

/// Waits for all of them; what panics in one of them fails the run.
async fn finish(mut tasks: JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}
