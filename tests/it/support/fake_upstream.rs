//! Fake upstreams, from the test's side: first described, then started, then watched and commanded.

mod eras;
mod program;
mod trouble;
mod waiting;

use std::{
    collections::HashMap, fmt::Display, net::SocketAddr, path::PathBuf, pin::Pin, sync::Mutex,
};

use axum::http::StatusCode;
use serde_json::{Value, json, value::RawValue};
use tempfile::TempDir;

use super::{
    control::Control,
    fake_http::FakeHttp,
    patience,
    record::{How, Received, Record},
    script::{Behaviour, Command, HttpAnswers, Offer, Script, UnknownMethods},
};

/// The description of an upstream that is not started yet.
#[derive(Clone)]
pub struct FakeUpstream {
    script: Script,
    /// As the configuration names it.
    transport: &'static str,
}

impl FakeUpstream {
    /// A real child process.
    pub fn stdio() -> Self {
        Self::new("stdio")
    }

    /// A server over Streamable HTTP on a port of its own.
    pub fn http() -> Self {
        Self::new("http")
    }

    /// A server over HTTP+SSE on a port of its own.
    pub fn sse() -> Self {
        Self::new("sse")
    }

    /// One over each transport.
    pub fn of_each_transport() -> [Self; 3] {
        [Self::stdio(), Self::http(), Self::sse()]
    }

    /// One over each transport, over HTTP with answers that are streams.
    pub fn of_each_stream() -> [Self; 3] {
        let over_http = Self::http().answering(HttpAnswers::Sse);
        [Self::stdio(), over_http, Self::sse()]
    }

    fn new(transport: &'static str) -> Self {
        Self {
            script: Script::default(),
            transport,
        }
    }

    /// Answers this revision (2025-06-18 otherwise).
    pub fn speaking(mut self, revision: &str) -> Self {
        revision.clone_into(&mut self.script.revision);
        self
    }

    pub fn instructions(mut self, text: &str) -> Self {
        self.script.instructions = Some(text.to_owned());
        self
    }

    /// Declares exactly these capabilities.
    pub fn capabilities(mut self, raw: &str) -> Self {
        self.script.capabilities = Some(raw.to_owned());
        self
    }

    /// Offers a tool with a plain definition.
    pub fn tool(self, name: &str, behaviour: Behaviour) -> Self {
        let definition = plain_tool(name);
        self.raw_tool(&definition, behaviour)
    }

    /// Offers a tool with a definition that is served as it stands.
    pub fn raw_tool(mut self, definition: impl Display, behaviour: Behaviour) -> Self {
        self.script.tools.push(offer("name", definition, behaviour));
        self
    }

    pub fn prompt(mut self, definition: impl Display, behaviour: Behaviour) -> Self {
        self.script
            .prompts
            .push(offer("name", definition, behaviour));
        self
    }

    pub fn resource(mut self, definition: impl Display, behaviour: Behaviour) -> Self {
        self.script
            .resources
            .push(offer("uri", definition, behaviour));
        self
    }

    pub fn template(mut self, definition: impl Display) -> Self {
        let template = offer("uriTemplate", definition, Behaviour::default());
        self.script.templates.push(template);
        self
    }

    /// Answers a method in another way than usual: `.on("initialize", hang())`.
    pub fn on(mut self, method: &str, behaviour: Behaviour) -> Self {
        self.script.answers.insert(method.to_owned(), behaviour);
        self
    }

    /// Serves its lists in pages.
    pub fn pages_of(mut self, size: usize) -> Self {
        self.script.page_size = Some(size);
        self
    }

    /// The last page of a list points at the first.
    pub fn cyclic_pages(mut self) -> Self {
        self.script.cyclic_pages = true;
        self
    }

    pub fn unknown_methods(mut self, fate: UnknownMethods) -> Self {
        self.script.unknown_methods = fate;
        self
    }

    /// Writes a line to stdout before it speaks MCP.
    pub fn banner(mut self, line: &str) -> Self {
        self.script.stdio.banner.push(line.to_owned());
        self
    }

    /// Writes this line to stdout after each frame.
    pub fn noise(mut self, line: &str) -> Self {
        self.script.stdio.noise = Some(line.to_owned());
        self
    }

    /// Writes a line to stderr at the start.
    pub fn complaint(mut self, line: &str) -> Self {
        self.script.stdio.complaints.push(line.to_owned());
        self
    }

    /// Outlives the end of its stdin, and SIGTERM.
    pub fn stubborn(mut self) -> Self {
        self.script.stdio.stubborn = true;
        self
    }

    /// Exits at once.
    pub fn stillborn(mut self, code: i32) -> Self {
        self.script.stdio.stillborn = Some(code);
        self
    }

    pub fn answering(mut self, answers: HttpAnswers) -> Self {
        self.script.http.answer = answers;
        self
    }

    /// Over HTTP, works without session ids.
    pub fn without_sessions(mut self) -> Self {
        self.script.http.sessions = false;
        self
    }

    /// Over HTTP, has no GET stream.
    pub fn without_stream(mut self) -> Self {
        self.script.http.stream = false;
        self
    }

    /// Makes it reachable. A child is started by whoever runs [`Upstream::command_line`].
    pub async fn start(mut self) -> Upstream {
        let record = Record::new();
        let face = if self.transport == "stdio" {
            let control = Control::listen(record.clone()).await;
            self.script.stdio.control = Some(control.address);
            let folder = tempfile::tempdir().expect("a temporary folder");
            Face::Stdio { control, folder }
        } else {
            Face::Http(FakeHttp::start(self.script.clone(), record.clone()).await)
        };
        let upstream = Upstream {
            record,
            script: Mutex::new(self.script.clone()),
            transport: self.transport,
            face,
        };
        upstream.write_script(&self.script);
        upstream
    }
}

impl IntoFuture for FakeUpstream {
    type Output = Upstream;
    type IntoFuture = Pin<Box<dyn Future<Output = Upstream> + Send>>;

    /// [`FakeUpstream::start`].
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

/// A definition with nothing special about it.
pub fn plain_tool(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"The tool {name}.","inputSchema":{{"type":"object"}}}}"#
    )
}

fn offer(key: &str, definition: impl Display, behaviour: Behaviour) -> Offer {
    let definition = definition.to_string();
    assert!(!definition.contains('\n'), "a frame is one line");
    // Not a tree: a definition may hold numbers that no tree can.
    let fields: HashMap<String, &RawValue> =
        serde_json::from_str(&definition).expect("a definition is an object");
    let value = fields.get(key).map_or("null", |raw| raw.get());
    let key = serde_json::from_str(value).unwrap_or_default();
    Offer {
        key,
        definition,
        behaviour,
    }
}

/// A running fake upstream.
pub struct Upstream {
    record: Record,
    script: Mutex<Script>,
    transport: &'static str,
    pub face: Face,
}

pub enum Face {
    Stdio { control: Control, folder: TempDir },
    Http(FakeHttp),
}

impl Upstream {
    /// This upstream as an entry of `mcpServers`.
    pub fn entry(&self) -> Value {
        match &self.face {
            Face::Http(_) => json!({"url": self.url(), "type": self.transport}),
            Face::Stdio { .. } => {
                let (command, args) = self.command_line();
                json!({"command": command, "args": args})
            }
        }
    }

    /// How a child of this upstream is started.
    pub fn command_line(&self) -> (PathBuf, Vec<PathBuf>) {
        (program::fake_stdio(), vec![self.script_file()])
    }

    pub fn url(&self) -> String {
        let path = self.transport.replace("http", "mcp");
        format!("http://{}/{path}", self.address())
    }

    pub fn address(&self) -> SocketAddr {
        self.http().address()
    }

    /// The frames of this method that came in, exactly as they came.
    pub fn received(&self, method: &str) -> Vec<String> {
        let found = self.record.select(|entry| is_frame(entry, method));
        found.into_iter().map(|entry| entry.body).collect()
    }

    /// Everything that came in, in order.
    pub fn everything(&self) -> Vec<Received> {
        self.record.select(|_| true)
    }

    /// How often a child was started.
    pub fn spawn_count(&self) -> usize {
        self.control().pids().len()
    }

    /// Every child that ever ran.
    pub fn pids(&self) -> Vec<u32> {
        self.control().pids()
    }

    /// Every child that runs now.
    pub fn alive(&self) -> Vec<u32> {
        self.control().alive()
    }

    /// Lets through everybody who waits at this gate, now and later.
    pub async fn open(&self, gate: &str) {
        self.change(|script| script.open_gates.push(gate.to_owned()))
            .await;
    }

    /// Makes everybody wait at this gate again.
    pub async fn shut(&self, gate: &str) {
        self.change(|script| script.open_gates.retain(|open| open != gate))
            .await;
    }

    /// Offers these tools from now on, and says nothing about it.
    pub async fn offer_silently(&self, tools: &[(String, Behaviour)]) {
        let offers = tools
            .iter()
            .map(|(definition, behaviour)| offer("name", definition, behaviour.clone()))
            .collect();
        self.change(|script| script.tools = offers).await;
    }

    /// Offers these tools from now on and sends `list_changed`.
    pub async fn offer(&self, tools: &[(String, Behaviour)]) {
        self.offer_silently(tools).await;
        self.push(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
            .await;
    }

    /// Offers one more prompt or resource and sends `list_changed`.
    pub async fn offer_more(&self, kind: &str, definition: &str) {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{kind}/list_changed"}}"#);
        self.change(|script| match kind {
            "prompts" => script
                .prompts
                .push(offer("name", definition, Behaviour::default())),
            "resources" => script
                .resources
                .push(offer("uri", definition, Behaviour::default())),
            _ => panic!("{kind} are not offered this way"),
        })
        .await;
        self.push(&frame).await;
    }

    /// Sends a frame of its own accord: on stdout, on every GET stream, or where nobody has such a thing on the subscriptions that
    /// want it.
    pub async fn push(&self, frame: &str) {
        if self.speaks_modern_only() {
            return self.tell(frame).await;
        }
        match &self.face {
            Face::Http(server) => server.push(frame.to_owned()),
            Face::Stdio { control, .. } => control.command(&Command::Send(frame.to_owned())).await,
        }
    }

    /// Ends every running child and waits until they are gone.
    pub async fn crash(&self) {
        self.control().command(&Command::Exit(3)).await;
        self.wait_for_children(0).await;
    }

    /// Over HTTP: forgets all sessions. Requests that name one get this status.
    pub fn forget_sessions(&self, refusal: u16) {
        let refusal = StatusCode::from_u16(refusal).expect("a status");
        self.http().forget_sessions(refusal);
    }

    /// Over HTTP: cuts every connection.
    pub fn cut_connections(&self) {
        self.http().cut_connections();
    }

    /// Over HTTP: cuts every connection and accepts no new ones until told otherwise.
    pub fn refuse_connections(&self, refuse: bool) {
        self.http().refuse_connections(refuse);
    }

    pub async fn change(&self, change: impl FnOnce(&mut Script)) {
        let script = {
            let mut script = self.script.lock().expect("no panic under lock");
            change(&mut script);
            script.clone()
        };
        self.write_script(&script);
        match &self.face {
            Face::Http(server) => server.follow(script),
            Face::Stdio { control, .. } => {
                control.command(&Command::Follow(Box::new(script))).await;
            }
        }
    }

    /// A child that starts later reads what is in force then.
    fn write_script(&self, script: &Script) {
        if let Face::Stdio { folder, .. } = &self.face {
            let text = serde_json::to_string(script).expect("a script is plain data");
            let next = folder.path().join("next.json");
            std::fs::write(&next, text).expect("the temporary folder is ours");
            std::fs::rename(next, self.script_file()).expect("the temporary folder is ours");
        }
    }

    fn script_file(&self) -> PathBuf {
        match &self.face {
            Face::Stdio { folder, .. } => folder.path().join("script.json"),
            Face::Http(_) => panic!("an upstream over HTTP has no script file"),
        }
    }

    pub fn control(&self) -> &Control {
        match &self.face {
            Face::Stdio { control, .. } => control,
            Face::Http(_) => panic!("an upstream over HTTP has no children"),
        }
    }

    pub fn http(&self) -> &FakeHttp {
        match &self.face {
            Face::Http(server) => server,
            Face::Stdio { .. } => panic!("an upstream on stdio has no address"),
        }
    }
}

fn is_frame(entry: &Received, method: &str) -> bool {
    entry.how == How::Frame && entry.method() == method
}
