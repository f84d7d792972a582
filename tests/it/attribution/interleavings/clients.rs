//! The clients of one seed: what they do, and how they look at what comes to them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{COURSES, Scene, Use};
use crate::support::{prelude::*, random::Random};

fn answer_of(client: &str) -> String {
    json!({ "action": "accept", "content": { "of": client } }).to_string()
}

/// The token, the course and the params of a call.
type NextCall = (String, &'static [&'static str], Value);

/// What a call does until it is answered.
fn in_course<'a>(course: &'a [&'a str]) -> &'a [&'a str] {
    let mut parts = course.split(|step| *step == "reply");
    parts.next().unwrap_or_default()
}

/// What both kinds of clients have.
pub struct Part {
    scene: Arc<Scene>,
    name: String,
    used: Use,
    random: Random,
    calls: usize,
    /// Questions of its calls must be answered: nobody else uses its connections.
    pub is_owner: bool,
}

impl Part {
    fn new(scene: &Arc<Scene>, name: &str, used: Use, random: &mut Random) -> Self {
        Self {
            scene: scene.clone(),
            name: name.to_owned(),
            used,
            random: Random::new(random.next()),
            calls: 0,
            is_owner: used != Use::All,
        }
    }

    /// A call: its token, its course, and its params.
    fn next_call(&mut self) -> NextCall {
        self.calls += 1;
        let server = match self.used {
            Use::All => usize::try_from(self.random.below(3)).expect("an index"),
            Use::Alone(server) => server,
        };
        let course = *self.random.of(&COURSES);
        let token = format!("{}.{}", self.name, self.calls);
        let name = &self.scene.servers[server].0;
        let arguments = json!({ "token": token, "course": course });
        let params = json!({ "name": format!("{name}__run"), "arguments": arguments });
        (token, course, params)
    }

    /// A time within which a call may have come anywhere.
    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.random.below(12_000))
    }
}

/// A client with a session, and somebody who listens on its own stream.
pub struct LegacyClient {
    pub part: Part,
    pub client: Arc<TestClient>,
    listener: tokio::task::JoinHandle<()>,
    withdrawn: Vec<u64>,
}

impl Drop for LegacyClient {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl LegacyClient {
    pub async fn connect(scene: &Arc<Scene>, name: &str, used: Use, random: &mut Random) -> Self {
        let able = TestClient::speaking("2025-11-25").declaring(r#"{"elicitation":{}}"#);
        let client = Arc::new(able.connect(&*scene.daemon, "/mcp/all").await);
        let part = Part::new(scene, name, used, random);
        let mut stream = client.listen().await.without_deadline();
        let (scene, name, answering) = (scene.clone(), name.to_owned(), client.clone());
        let listener = tokio::spawn(async move {
            while let Some(event) = stream.next().await {
                heard(&scene, &answering, &name, &event.data).await;
            }
        });
        Self {
            part,
            client,
            listener,
            withdrawn: Vec::new(),
        }
    }

    pub async fn play(&mut self, rounds: usize) {
        for _ in 0..rounds {
            match self.part.random.below(6) {
                0 => {
                    let params = r#"{"level":"info"}"#;
                    self.client
                        .request("logging/setLevel", params)
                        .await
                        .result();
                }
                1 => self.withdraw().await,
                2 => {
                    let (one, other) = (self.part.next_call(), self.part.next_call());
                    tokio::join!(self.call(one), self.call(other));
                }
                _ => {
                    let call = self.part.next_call();
                    self.call(call).await;
                }
            }
        }
        // The withdrawal may have been faster than the request, for whose stream the daemon would wait.
        for id in std::mem::take(&mut self.withdrawn) {
            self.cancel(id).await;
        }
    }

    async fn cancel(&self, id: u64) {
        let cancelled = json!({ "requestId": id }).to_string();
        let noted = self.client.notify("notifications/cancelled", &cancelled);
        assert_eq!(noted.await.status, 202);
    }

    /// Has each server ask once.
    pub async fn be_asked(&mut self) {
        for server in 0..3 {
            self.part.used = Use::Alone(server);
            let (token, _, mut params) = self.part.next_call();
            let course: &[&str] = &["ask", "reply"];
            params["arguments"]["course"] = json!(course);
            self.call((token, course, params)).await;
        }
        self.part.used = Use::All;
    }

    async fn call(&self, call: NextCall) {
        let (token, course, params) = call;
        let exchange = self.client.start("tools/call", &params.to_string()).await;
        self.finish(exchange, &token).await;
        let part = &self.part;
        // The process that all shared until its first question ends when its calls are answered: then nobody is asked after them.
        let is_divided = part.is_owner && part.used == Use::All;
        let asked = if is_divided {
            course
        } else {
            in_course(course)
        };
        part.scene.expect(&token, asked, part.is_owner);
    }

    async fn finish(&self, mut exchange: Exchange, token: &str) {
        while let Some(frame) = exchange.next().await {
            let scene = &self.part.scene;
            if !heard(scene, &self.client, &self.part.name, &frame).await {
                if !frame.contains(token) {
                    scene.blame(format!("{token} was answered {frame}"));
                }
                return;
            }
        }
        panic!("{token} was not answered");
    }

    /// Begins a call and withdraws it: its questions may be of any fate, but reach no stranger.
    async fn withdraw(&mut self) {
        let (.., params) = self.part.next_call();
        let moment = self.part.moment();
        let params = params.to_string();
        let calling = async {
            let mut exchange = self.client.start("tools/call", &params).await;
            while let Some(frame) = exchange.next().await {
                heard(&self.part.scene, &self.client, &self.part.name, &frame).await;
            }
        };
        // How far it comes is a matter of luck, as it is with people.
        let _ = tokio::time::timeout(moment, calling).await;
        self.withdrawn.push(self.client.last_id());
        self.cancel(self.client.last_id()).await;
        // What it was asked for another call on the stream of this one went with it.
        self.part.scene.forgive(&self.part.name);
    }
}

/// Takes what comes to a client with a session before an answer; whether it was such a thing. Answers what is asked.
async fn heard(scene: &Scene, client: &TestClient, name: &str, frame: &str) -> bool {
    let parsed: Value = serde_json::from_str(frame).unwrap_or_default();
    let Some(method) = parsed["method"].as_str() else {
        return frame.is_empty();
    };
    scene.check(name, frame);
    if method == "elicitation/create" {
        client.respond(&parsed["id"], &answer_of(name)).await;
    }
    true
}

/// A client without a session, known by its connection.
pub struct Modern {
    pub part: Part,
    client: ModernClient,
    able: &'static str,
    /// Calls that wait for its answers.
    parked: Vec<Parked>,
}

struct Parked {
    token: String,
    course: &'static [&'static str],
    params: Value,
    asked: Value,
}

impl Modern {
    pub async fn connect(scene: &Arc<Scene>, name: &str, used: Use, random: &mut Random) -> Self {
        let part = Part::new(scene, name, used, random);
        let able = *random.of(&["", "info"]);
        Self {
            client: Self::client(scene, able).await,
            part,
            able,
            parked: Vec::new(),
        }
    }

    async fn client(scene: &Scene, level: &str) -> ModernClient {
        let able = json!({ "elicitation": {} });
        let client = ModernClient::able_to(&*scene.daemon, "/mcp/all", &able);
        let client = if level.is_empty() {
            client
        } else {
            client.logging_at(level)
        };
        client.on_one_connection().await
    }

    pub async fn play(&mut self, rounds: usize) {
        for _ in 0..rounds {
            match self.part.random.below(6) {
                0 => self.abandon().await,
                1 if !self.parked.is_empty() => self.go_on(0).await,
                _ => self.call().await,
            }
        }
        while let Some(last) = self.parked.len().checked_sub(1) {
            if self.part.random.below(4) == 0 {
                self.give_up(last).await;
            } else {
                self.go_on(last).await;
            }
        }
    }

    async fn call(&mut self) {
        let (token, course, params) = self.part.next_call();
        self.send(token, course, params.clone(), params).await;
    }

    async fn send(
        &mut self,
        token: String,
        course: &'static [&'static str],
        params: Value,
        sent: Value,
    ) {
        let reply = self.client.request("tools/call", &sent.to_string()).await;
        let scene = &self.part.scene;
        for notice in &reply.notices {
            scene.check(&self.part.name, notice);
        }
        let asked = reply.value();
        if asked["resultType"] == "input_required" {
            scene.check(&self.part.name, &reply.frame);
            self.parked.push(Parked {
                token,
                course,
                params,
                asked,
            });
            return;
        }
        if !reply.frame.contains(&token) {
            scene.blame(format!("{token} was answered {}", reply.frame));
        }
        // Outside of its calls nobody can ask it, and the server may end with its connection.
        scene.expect(&token, in_course(course), self.part.is_owner);
    }

    async fn go_on(&mut self, at: usize) {
        let parked = self.parked.remove(at);
        let answer: Value = serde_json::from_str(&answer_of(&self.part.name)).expect("JSON");
        let requests = parked.asked["inputRequests"]
            .as_object()
            .expect("questions");
        let answers: BTreeMap<_, _> = requests.keys().map(|key| (key, &answer)).collect();
        let mut sent = parked.params.clone();
        sent["inputResponses"] = json!(answers);
        sent["requestState"] = parked.asked["requestState"].clone();
        self.send(parked.token, parked.course, parked.params, sent)
            .await;
    }

    /// Ends a parked call, as its end of time would.
    async fn give_up(&mut self, at: usize) {
        let mut parked = self.parked.remove(at);
        parked.params["arguments"]["other"] = json!(true);
        parked.params["requestState"] = parked.asked["requestState"].clone();
        let params = parked.params.to_string();
        let refused = self.client.request("tools/call", &params).await;
        assert_eq!(refused.error_code(), -32602, "{}", refused.frame);
        self.part.scene.forgive(&self.part.name);
    }

    /// Leaves in the middle of a call, and comes back as nobody knows whom.
    async fn abandon(&mut self) {
        while !self.parked.is_empty() {
            self.go_on(0).await;
        }
        let (.., params) = self.part.next_call();
        let (moment, params) = (self.part.moment(), params.to_string());
        let calling = async {
            let reply = self.client.request("tools/call", &params).await;
            let asked = reply.value();
            (asked["resultType"] == "input_required").then_some(asked)
        };
        let _ = tokio::time::timeout(moment, calling).await;
        self.part.scene.forgive(&self.part.name);
        self.part.name.push('b');
        self.part.is_owner &= self.part.used == Use::All;
        self.client = Self::client(&self.part.scene, self.able).await;
    }
}
