//! Clients of both eras at servers of each transport, in orders that a seed decides: what a call causes, in its course or after it,
//! reaches the client that called or nobody, and a client that is alone on its connection always.
//!
//! `MCPPROXY_SEEDS` says how many seeds are played, `MCPPROXY_SEED` which is the first.

mod clients;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;

use self::clients::{LegacyClient, Modern};
use crate::support::{prelude::*, random::Random};

/// So many seeds have servers at a time.
const BATCH: u64 = 12;

/// How long answers are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What calls do.
const COURSES: [&[&str]; 6] = [
    &["log", "ask", "log", "reply"],
    &["reply", "pause", "log", "ask"],
    &["pause", "ask", "reply", "pause", "ask"],
    &["log", "pause", "log", "reply"],
    &["pause", "pause", "pause", "log", "ask", "reply"],
    &["ask", "pause", "ask", "reply", "log"],
];

/// The servers of one seed, and what was seen there.
struct Scene {
    daemon: Arc<TestDaemon>,
    seed: u64,
    servers: Vec<(String, Upstream)>,
    /// Questions that are asked for certain, by their ids: whether they must be answered.
    asked: Mutex<BTreeMap<String, bool>>,
    wrong: Mutex<Vec<String>>,
}

/// How a client uses the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// All of them, as others do.
    All,
    /// One that nobody else uses.
    Alone(usize),
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_reaches_a_stranger_in_whatever_order_it_comes() {
    let first = from_environment("MCPPROXY_SEED").unwrap_or(1);
    let last = first + from_environment("MCPPROXY_SEEDS").unwrap_or(36);
    let daemon = Arc::new(TestDaemon::builder().await);
    for batch in (first..last).step_by(usize::try_from(BATCH).expect("few")) {
        let seeds = batch..last.min(batch + BATCH);
        let scenes = join_all(seeds.map(|seed| Scene::set(&daemon, seed))).await;
        let mut builder = TestDaemon::builder();
        for (name, server) in scenes.iter().flat_map(|scene| &scene.servers) {
            builder = builder.upstream(name, server);
        }
        daemon.home().write_config(builder.text());
        join_all(scenes.iter().map(Scene::play)).await;
    }
}

impl Scene {
    async fn set(daemon: &Arc<TestDaemon>, seed: u64) -> Arc<Self> {
        let all = [
            ("stdio", FakeUpstream::stdio()),
            ("http", FakeUpstream::http().answering(HttpAnswers::Sse)),
            ("sse", FakeUpstream::sse()),
        ];
        let starting = all.map(async |(transport, server)| {
            let server = server.tool("run", course()).await;
            (format!("{transport}{seed}"), server)
        });
        Arc::new(Self {
            daemon: daemon.clone(),
            seed,
            servers: join_all(starting).await,
            asked: Mutex::default(),
            wrong: Mutex::default(),
        })
    }

    async fn play(self: &Arc<Self>) {
        let watcher = self.daemon.client("/mcp/all").await;
        for (name, _) in &self.servers {
            watcher.wait_for_tool(&format!("{name}__run")).await;
        }
        let mut random = Random::new(self.seed);
        let alone = random.below(4) == 0;
        let used = |n| if alone { Use::Alone(n) } else { Use::All };
        let (mut a, mut b) = (
            LegacyClient::connect(self, "L1", used(0), &mut random).await,
            LegacyClient::connect(self, "L2", used(1), &mut random).await,
        );
        let mut c = Modern::connect(self, "M1", used(2), &mut random).await;
        if alone {
            tokio::join!(a.play(4), b.play(4), c.play(4));
        } else {
            let mut d = Modern::connect(self, "M2", Use::All, &mut random).await;
            tokio::join!(a.play(4), b.play(4), c.play(4), d.play(4));
            self.settle().await;
            // By now each server has asked: whoever can answer is alone.
            a.be_asked().await;
            self.settle().await;
            for part in [&mut a.part, &mut b.part, &mut c.part, &mut d.part] {
                part.is_owner = true;
            }
            tokio::join!(a.play(3), b.play(3), c.play(3), d.play(3));
        }
        self.settle().await;
        for client in [&a, &b] {
            client.client.delete().await;
        }
        watcher.delete().await;
        let wrong = self.wrong.lock().expect("no panic under lock");
        assert!(wrong.is_empty(), "seed {}: {wrong:#?}", self.seed);
    }

    fn blame(&self, what: String) {
        self.wrong.lock().expect("no panic under lock").push(what);
    }

    /// Notes questions that a call has caused, or will: whether they must be answered.
    fn expect(&self, token: &str, course: &[&str], is_owner: bool) {
        let mut asked = self.asked.lock().expect("no panic under lock");
        let steps = course.iter().enumerate();
        for (n, _) in steps.filter(|(_, step)| **step == "ask") {
            asked.insert(format!("{token}/{n}"), is_owner);
        }
    }

    /// Waits until all that was asked is answered, and looks at the answers.
    async fn settle(&self) {
        let expected = self.asked.lock().expect("no panic under lock").clone();
        let answers = until("the servers to be answered", || {
            let answers = self.answers();
            let has_all = expected.keys().all(|id| answers.contains_key(id));
            has_all.then_some(answers)
        });
        let answers = tokio::time::timeout(PATIENCE, answers).await;
        let answers = answers.unwrap_or_else(|_| {
            let answers = self.answers();
            let missing: Vec<_> = expected
                .keys()
                .filter(|id| !answers.contains_key(*id))
                .collect();
            panic!("seed {}: nobody answered {missing:?}", self.seed)
        });
        for (id, answers) in answers {
            let client = id.split('.').next().unwrap_or_default();
            let [answer] = &answers[..] else {
                self.blame(format!("{id} was answered {} times", answers.len()));
                continue;
            };
            if answer["result"].is_object() {
                if answer["result"]["content"]["of"] != client {
                    self.blame(format!("{id} was answered by a stranger: {answer}"));
                }
            } else if expected.get(&id).is_some_and(|must| *must) {
                self.blame(format!("{id} was refused: {answer}"));
            }
        }
    }

    /// What the servers were answered, by the ids of their questions.
    fn answers(&self) -> BTreeMap<String, Vec<Value>> {
        let mut answers = BTreeMap::<_, Vec<_>>::new();
        for received in self
            .servers
            .iter()
            .flat_map(|(_, server)| server.everything())
        {
            let frame: Value = serde_json::from_str(&received.body).unwrap_or_default();
            if let (Some(id), Value::Null) = (frame["id"].as_str(), &frame["method"])
                && id.contains('/')
            {
                answers.entry(id.to_owned()).or_default().push(frame);
            }
        }
        answers
    }

    /// What is said to a client has to be of a call of its own.
    fn check(&self, client: &str, text: &str) {
        for said in text.split("of ").skip(1) {
            if !said.starts_with(&format!("{client}.")) {
                let said = said.split('"').next();
                self.blame(format!("{client} heard of {said:?}: {text}"));
            }
        }
    }

    /// A client withdrew a call, and with that maybe questions of others of its calls.
    fn forgive(&self, client: &str) {
        let mut asked = self.asked.lock().expect("no panic under lock");
        for (id, must) in asked.iter_mut() {
            *must &= id.split('.').next() != Some(client);
        }
    }
}
