//! The fake servers of a run and the file that names them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use serde_json::{Map, Value, json};

use super::plan::{Era, ServerPlan, Transport};
use crate::bad_days::{echo_at_length, journal};
use crate::support::{
    fake_upstream::{FakeUpstream, Upstream},
    script::{Behaviour, HttpAnswers},
};

/// Stands in the environment of every server on stdio.
pub const MARK: &str = "MCPPROXY_CHAOS_SERVER";

/// The tools of every server, with their annotations. The last one's definition changes.
pub const TOOLS: &[(&str, &str)] = &[
    ("look", r#"{"readOnlyHint":true}"#),
    ("work", "{}"),
    ("wipe", r#"{"destructiveHint":true}"#),
    (CHANGING, "{}"),
];

/// The tool whose definition changes.
pub const CHANGING: &str = "shift";

pub struct Server {
    pub plan: ServerPlan,
    pub upstream: Upstream,
    pub journal: PathBuf,
    offered: Mutex<Offered>,
}

/// What it offers at present.
#[derive(Default)]
struct Offered {
    /// How often the definition has changed.
    version: u32,
    extra: bool,
}

impl Server {
    pub async fn start(plan: &ServerPlan, number: usize, folder: &Path) -> Self {
        let journal = folder.join(format!("{}.journal", plan.name));
        let fake = match plan.transport {
            Transport::Stdio => FakeUpstream::stdio(),
            Transport::Http => FakeUpstream::http(),
            Transport::Sse => FakeUpstream::sse(),
        };
        let fake = match plan.era {
            Era::Handshake(revision) => fake.speaking(revision),
            Era::Modern => fake.speaking("2026-07-28"),
            Era::Both => fake.speaking_both(),
        };
        let fake = match (plan.transport, number % 3) {
            (Transport::Stdio, 0) => fake.stubborn(),
            (Transport::Stdio, _) | (_, 0) => fake,
            (_, 1) => fake.answering(HttpAnswers::Sse),
            (_, _) => fake.answering(HttpAnswers::SseInPieces(1000)),
        };
        let calm = calm(&journal);
        let offered = Offered::default();
        let fake = offered.tools().into_iter().fold(fake, |fake, definition| {
            fake.raw_tool(&definition, calm.clone())
        });
        Self {
            plan: plan.clone(),
            upstream: fake.start().await,
            journal,
            offered: Mutex::new(offered),
        }
    }

    /// What its tools do when nothing is wrong.
    pub fn calm(&self) -> Behaviour {
        calm(&self.journal)
    }

    /// They do this once they have noted the call.
    pub fn noted(&self, then: Behaviour) -> Behaviour {
        journal(&self.journal).then(then)
    }

    /// Offers a tool more or a tool less, and says so.
    pub async fn change_list(&self) {
        self.change(|offered| offered.extra = !offered.extra).await;
    }

    /// Changes a definition, and says so.
    pub async fn change_definition(&self) {
        self.change(|offered| offered.version += 1).await;
    }

    async fn change(&self, change: impl FnOnce(&mut Offered)) {
        let tools = {
            let mut offered = self.offered.lock().expect("no panic under lock");
            change(&mut offered);
            offered.tools()
        };
        let calm = self.calm();
        let tools: Vec<_> = tools.into_iter().map(|tool| (tool, calm.clone())).collect();
        self.upstream.offer(&tools).await;
    }

    /// What it has executed.
    pub fn executed(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.journal).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn calm(file: &Path) -> Behaviour {
    journal(file).then(echo_at_length())
}

impl Offered {
    fn tools(&self) -> Vec<String> {
        let mut all: Vec<String> = TOOLS
            .iter()
            .map(|(name, annotations)| {
                let version = if *name == CHANGING { self.version } else { 0 };
                definition(name, version, annotations)
            })
            .collect();
        if self.extra {
            all.push(definition("extra", 0, "{}"));
        }
        all
    }
}

fn definition(name: &str, version: u32, annotations: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"Does {name}, version {version}.","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#
    )
}

/// The configuration file, as an editor writes it.
pub struct Config {
    file: PathBuf,
    state: tokio::sync::Mutex<ConfigState>,
}

#[derive(Default)]
pub struct ConfigState {
    settings: Map<String, Value>,
    entries: Map<String, Value>,
    comment: Option<String>,
    n_writes: usize,
}

impl Config {
    pub fn new(file: &Path, port: u16) -> Self {
        let settings = json!({
            "listen": format!("127.0.0.1:{port}"),
            "tool_discovery_interval": "7s",
            "health_check_interval": "3s",
            "idle_check_interval": "1s",
        });
        let state = ConfigState {
            settings: settings.as_object().expect("an object").clone(),
            ..ConfigState::default()
        };
        Self {
            file: file.to_owned(),
            state: tokio::sync::Mutex::new(state),
        }
    }

    /// Changes what stands there and writes it.
    pub async fn edit(&self, change: impl FnOnce(&mut ConfigState)) {
        let mut state = self.state.lock().await;
        change(&mut state);
        state.n_writes += 1;
        self.write(&state.text(), state.n_writes);
    }

    /// Writes half of it, and soon after the whole.
    pub async fn break_for(&self, time: std::time::Duration) {
        let mut state = self.state.lock().await;
        let text = state.text();
        let half = &text.as_bytes()[..text.len() / 2];
        fs::write(&self.file, half).expect("the folder is ours");
        tokio::time::sleep(time).await;
        state.n_writes += 1;
        self.write(&text, state.n_writes);
    }

    /// While the guard is held, nobody writes.
    pub async fn whole(&self) -> impl Sized + '_ {
        self.state.lock().await
    }

    /// In place, or as a new file in its place.
    fn write(&self, text: &str, number: usize) {
        if number.is_multiple_of(2) {
            return fs::write(&self.file, text).expect("the folder is ours");
        }
        let next = self.file.with_extension("next");
        fs::write(&next, text).expect("the folder is ours");
        fs::rename(next, &self.file).expect("the folder is ours");
    }
}

impl ConfigState {
    /// Names a server as it is now.
    pub fn enter(&mut self, server: &Server, mark: &str) {
        let mut entry = server.upstream.entry();
        // A touched one shall fail soon, the others are given time on a machine that is busy.
        let patience = if server.plan.touched { "12s" } else { "40s" };
        entry["call_tool_timeout"] = patience.into();
        entry["init_timeout"] = patience.into();
        if server.plan.transport == Transport::Stdio {
            entry["env"] = json!({MARK: mark});
        }
        if server.plan.sleepy {
            entry["idle_timeout"] = "1s".into();
        }
        self.entries.insert(server.plan.name.clone(), entry);
    }

    /// Another entry, or none.
    pub fn set(&mut self, name: &str, entry: Option<Value>) {
        match entry {
            Some(entry) => drop(self.entries.insert(name.to_owned(), entry)),
            None => drop(self.entries.remove(name)),
        }
    }

    /// One key of a server's entry.
    pub fn set_key(&mut self, name: &str, key: &str, value: Value) {
        self.entries[name][key] = value;
    }

    /// A number that no edit had before.
    pub fn number(&self) -> usize {
        self.n_writes
    }

    pub fn comment(&mut self, text: &str) {
        self.comment = Some(text.to_owned());
    }

    fn text(&self) -> String {
        let mut config = self.settings.clone();
        config.insert("mcpServers".to_owned(), self.entries.clone().into());
        let text = serde_json::to_string_pretty(&config).expect("JSON");
        match &self.comment {
            Some(comment) => format!("// {comment}\n{text}"),
            None => text,
        }
    }
}
