//! The ways in to a server, each of which asks for one thing and says what became of it; and servers to ask.

use std::{cell::Cell, collections::BTreeMap};

use mcpproxy::failure::ErrorCode;

use super::outcome::SAID;
use crate::support::prelude::*;

pub(super) use super::outcome::{Outcome, refused};

/// How a caller comes in with a call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `tools/call` of `SERVER__TOOL`, by a client with a handshake and by one without.
    Offered,
    OfferedModern,
    /// Through the tool `call_tool_read`, `call_tool_write` or `call_tool_destructive`.
    Variant(&'static str),
    /// Through the tool `call_tool`.
    CallTool,
    /// `call_tool` and `call_tools` in a script of `code_execution`, and one that `mcpproxy code` sends.
    Script,
    ScriptBatch,
    ScriptRest,
    /// `call` of the tool `proxy`, by `SERVER__TOOL` and by `SERVER:TOOL`.
    ProxyOffered,
    ProxyNamed,
    /// `tools/call` on `/mcp/server/SERVER`, by a client with a handshake and by one without.
    Native,
    NativeModern,
    /// `POST /api/v1/call`.
    Rest,
    /// `mcpproxy call`.
    Cli,
}

pub(super) const WAYS: [Way; 15] = [
    Way::Offered,
    Way::OfferedModern,
    Way::Variant("read"),
    Way::Variant("write"),
    Way::Variant("destructive"),
    Way::CallTool,
    Way::Script,
    Way::ScriptBatch,
    Way::ScriptRest,
    Way::ProxyOffered,
    Way::ProxyNamed,
    Way::Native,
    Way::NativeModern,
    Way::Rest,
    Way::Cli,
];

/// A server whose `echo`, prompt, resource and template speak to a terminal; its `wave` does not.
pub(super) fn suspicious(name: &str) -> FakeUpstream {
    let said = r"\u001b]0;owned\u0007 shows \u001b[8mnothing\u001b[0m";
    let contents = reply(r#"{"contents":[]}"#);
    let define = |key: &str, value: &str| {
        format!(r#"{{"{key}":"{value}","name":"n","description":"{said}"}}"#)
    };
    let tool = format!(
        r#"{{"name":"echo","description":"The secretword tool for all that there is to be done in a house and around it {said}","inputSchema":{{"type":"object"}}}}"#
    );
    let prompt = format!(r#"{{"name":"greet","description":"{said}"}}"#);
    FakeUpstream::stdio()
        .raw_tool(&tool, echo())
        .tool("wave", echo())
        .prompt(&prompt, reply(r#"{"messages":[]}"#))
        .resource(define("uri", &format!("lib://{name}")), contents.clone())
        .template(define("uriTemplate", &format!("page://{name}/{{n}}")))
        .on("resources/read", contents)
        .on(
            "completion/complete",
            reply(r#"{"completion":{"values":[]}}"#),
        )
}

/// A server that offers one of each: the tools `echo` and `wave`, the prompt `greet`, the resource `lib://NAME` and the template
/// `page://NAME/{n}`.
pub(super) fn server(name: &str) -> FakeUpstream {
    let contents = reply(r#"{"contents":[]}"#);
    let resource = format!(r#"{{"uri":"lib://{name}","name":"r"}}"#);
    let template = format!(r#"{{"uriTemplate":"page://{name}/{{n}}","name":"t"}}"#);
    FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("wave", echo())
        .prompt(r#"{"name":"greet"}"#, reply(r#"{"messages":[]}"#))
        .resource(&resource, contents.clone())
        .template(&template)
        .on("resources/read", contents)
        .on(
            "completion/complete",
            reply(r#"{"completion":{"values":[]}}"#),
        )
        .on("vendor/do", reply("{}"))
}

/// A daemon that knows the lists of all its servers, and clients that are connected to each: nothing is refused because it is unknown.
pub(super) struct House {
    servers: BTreeMap<String, Upstream>,
    pub(super) daemon: TestDaemon,
    pub(super) all: TestClient,
    native: BTreeMap<String, TestClient>,
    last_page: Cell<u32>,
    /// What the clients show of themselves.
    credential: Option<String>,
}

impl House {
    /// Of these servers, whose entries say `more`.
    pub(super) async fn of(
        described: Vec<(String, FakeUpstream)>,
        more: &Value,
        settings: Value,
    ) -> Self {
        let mut servers = BTreeMap::new();
        for (name, server) in described {
            servers.insert(name, server.await);
        }
        let daemon = configured(&servers, |_| more.clone())
            .config(settings)
            .await;
        let all = daemon.client("/mcp/all").await;
        until_async("every server to be listed", async || {
            let listed = all.tool_names().await;
            let is_listed = |name: &String| {
                let prefix = format!("{name}__");
                listed.iter().any(|tool| tool.starts_with(&prefix))
            };
            servers.keys().all(is_listed).then_some(())
        })
        .await;
        Self::with_clients(servers, daemon).await
    }

    async fn with_clients(servers: BTreeMap<String, Upstream>, daemon: TestDaemon) -> Self {
        Self::with_clients_that_show(None, servers, daemon).await
    }

    async fn with_clients_that_show(
        credential: Option<String>,
        servers: BTreeMap<String, Upstream>,
        daemon: TestDaemon,
    ) -> Self {
        let client = async |path: &str| {
            let speaking = TestClient::speaking("2025-06-18");
            let speaking = match &credential {
                Some(credential) => speaking.showing("authorization", credential),
                None => speaking,
            };
            speaking.connect(&daemon, path).await
        };
        let mut native = BTreeMap::new();
        for name in servers.keys() {
            let client = client(&format!("/mcp/server/{name}")).await;
            native.insert(name.clone(), client);
        }
        Self {
            all: client("/mcp/all").await,
            servers,
            native,
            last_page: Cell::new(0),
            credential,
            daemon,
        }
    }

    /// The same, with clients that show a token which is issued to them with these limits.
    pub(super) async fn by_token(self, limits: Value) -> Self {
        let body = limits.to_string();
        let issued = self
            .daemon
            .rest("POST", "/api/v1/tokens", &body)
            .await
            .json();
        let token = issued["token"].as_str().expect("a token");
        let credential = Some(format!("Bearer {token}"));
        Self::with_clients_that_show(credential, self.servers, self.daemon).await
    }

    fn modern(&self, path: &str) -> ModernClient {
        let client = ModernClient::new(&self.daemon, path);
        match &self.credential {
            Some(credential) => client.showing("authorization", credential),
            None => client,
        }
    }

    /// Has the entries of these servers say this as well, and waits until that is in force.
    pub(super) async fn edit(&self, more: &[(&str, Value)]) {
        let more = |name: &str| {
            let found = more.iter().find(|(named, _)| *named == name);
            found.map_or(json!({}), |(_, more)| more.clone())
        };
        self.write(configured(&self.servers, more)).await;
    }

    /// Has the file say this besides, with the entries as they were, and waits until that is in force.
    pub(super) async fn configure(&self, settings: Value) {
        let edited = configured(&self.servers, |_| json!({})).config(settings);
        self.write(edited).await;
    }

    async fn write(&self, edited: Builder) {
        let edited = edited.config(json!({ "routing_mode": "direct" }));
        self.daemon.home().write_config(edited.text());
        // Read with everything else, and to be seen.
        until_async("the edit to be in force", async || {
            let status = self.daemon.rest("GET", "/api/v1/status", "").await.json();
            (status["routing_mode"] == "direct").then_some(())
        })
        .await;
    }

    /// A new daemon in the place of this one: the lists are known from disk, and every server sleeps.
    pub(super) async fn asleep(self) -> Self {
        let home = self.daemon.shutdown().await;
        for server in self.servers.values() {
            server.wait_for_children(0).await;
        }
        let daemon = TestDaemon::start_in(home).await;
        Self::with_clients(self.servers, daemon).await
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &Upstream> {
        self.servers.values()
    }

    pub(super) fn server(&self, name: &str) -> &Upstream {
        &self.servers[name]
    }

    pub(super) fn native(&self, server: &str) -> &TestClient {
        &self.native[server]
    }

    /// Calls a tool this way. What was refused must not have reached the server, and what passed must have.
    pub(super) async fn call(&self, way: Way, server: &str, tool: &str) -> Outcome {
        let reached = self.reached(server, "tools/call");
        let outcome = self.answer_of(way, server, tool).await;
        let passed = self.reached(server, "tools/call") - reached;
        let expected = usize::from(outcome == Outcome::Passed);
        assert_eq!(passed, expected, "{way:?} to {server}:{tool}: {outcome:?}");
        outcome
    }

    fn reached(&self, server: &str, method: &str) -> usize {
        let server = self.servers.get(server);
        server.map_or(0, |server| server.received(method).len())
    }

    async fn answer_of(&self, way: Way, server: &str, tool: &str) -> Outcome {
        let name = format!("{server}:{tool}");
        let offered = format!("{server}__{tool}");
        let path = format!("/mcp/server/{server}");
        let reply = match way {
            Way::Offered => self.all.call(&offered, "{}").await,
            Way::OfferedModern => self.modern("/mcp/all").call(&offered, "{}").await,
            Way::Variant(variant) => {
                let arguments = json!({ "name": name });
                let built_in = format!("call_tool_{variant}");
                self.all.call(&built_in, &arguments).await
            }
            Way::CallTool => {
                let arguments = json!({ "server": server, "tool": tool });
                self.all.call("call_tool", &arguments).await
            }
            Way::Script | Way::ScriptBatch | Way::ScriptRest => {
                return self.script_call(way, server, tool).await;
            }
            Way::ProxyOffered => self.proxied("call", "tool", &offered).await,
            Way::ProxyNamed => self.proxied("call", "tool", &name).await,
            Way::Native => self.native(server).call(tool, "{}").await,
            Way::NativeModern => self.modern(&path).call(tool, "{}").await,
            Way::Rest => return self.rest_call("destructive", &name).await,
            Way::Cli => return self.cli_call("destructive", &name).await,
        };
        Outcome::of(&reply)
    }

    pub(super) async fn rest_call(&self, variant: &str, name: &str) -> Outcome {
        let body = json!({ "variant": variant, "name": name });
        let answer = self.daemon.rest("POST", "/api/v1/call", &body).await.json();
        if let Some(code) = answer["code"].as_str() {
            return refused(code);
        }
        assert!(answer["result"].is_object(), "{answer}");
        Outcome::Passed
    }

    /// The command line says in words and by its exit code what REST says by a code.
    pub(super) async fn cli_call(&self, variant: &str, name: &str) -> Outcome {
        let call = ["call", variant, name];
        let (exit_code, _, said) = self.daemon.home().cli(&call).await;
        if exit_code == 0 {
            return Outcome::Passed;
        }
        let found = SAID.iter().find(|(_, words)| said.contains(words));
        let (code, _) = found.unwrap_or_else(|| panic!("no refusal: {said}"));
        let expected = ErrorCode::parse(code).expect("a code of ours").exit_code();
        assert_eq!(exit_code, i32::from(expected), "{said}");
        refused(code)
    }

    /// Asks for something that is no tool, on the endpoint of all servers and on that of this one.
    pub(super) async fn ask(&self, thing: Thing, server: &str) -> [Outcome; 2] {
        let page = self.next_page(server);
        let offered = thing.request(
            &format!("{server}__greet"),
            &format!("lib://{server}"),
            &page,
        );
        let page = self.next_page(server);
        let own = thing.request("greet", &format!("lib://{server}"), &page);
        let clients = [&self.all, self.native(server)];
        let mut outcomes = Vec::new();
        for (client, (method, params)) in clients.into_iter().zip([offered, own]) {
            let reached = self.reached(server, method);
            let outcome = Outcome::of(&client.request(method, &params.to_string()).await);
            let passed = self.reached(server, method) - reached;
            let expected = usize::from(outcome == Outcome::Passed);
            assert_eq!(passed, expected, "{thing:?} of {server}: {outcome:?}");
            outcomes.push(outcome);
        }
        outcomes.try_into().expect("two")
    }

    /// One that nobody has asked for or subscribed to.
    fn next_page(&self, server: &str) -> String {
        self.last_page.set(self.last_page.get() + 1);
        format!("page://{server}/{}", self.last_page.get())
    }
}

/// The servers as the configuration names them, and what their entries say besides.
fn configured(servers: &BTreeMap<String, Upstream>, more: impl Fn(&str) -> Value) -> Builder {
    let entry = |builder: Builder, (name, server): (&String, &Upstream)| {
        builder.upstream_with(name, server, more(name))
    };
    let scripts = json!({ "enable_code_execution": true });
    servers
        .iter()
        .fold(TestDaemon::builder().config(scripts), entry)
}

/// What a client can ask of a server besides its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    Prompt,
    Resource,
    PageOfTemplate,
    CompletionOfPrompt,
    CompletionOfTemplate,
    Subscription,
    /// Those that name the prompt or the resource that the list has.
    SubscriptionOfResource,
    CompletionOfListedTemplate,
}

/// What names a thing of the lists.
pub(super) const LISTED: [Thing; 5] = [
    Thing::Prompt,
    Thing::Resource,
    Thing::CompletionOfPrompt,
    Thing::SubscriptionOfResource,
    Thing::CompletionOfListedTemplate,
];

pub(super) const THINGS: [Thing; 6] = [
    Thing::Prompt,
    Thing::Resource,
    Thing::PageOfTemplate,
    Thing::CompletionOfPrompt,
    Thing::CompletionOfTemplate,
    Thing::Subscription,
];

impl Thing {
    fn request(self, prompt: &str, resource: &str, page: &str) -> (&'static str, Value) {
        let completion = |reference: Value| {
            let params = json!({ "ref": reference, "argument": { "name": "n", "value": "" } });
            ("completion/complete", params)
        };
        match self {
            Self::Prompt => ("prompts/get", json!({ "name": prompt })),
            Self::Resource => ("resources/read", json!({ "uri": resource })),
            Self::PageOfTemplate => ("resources/read", json!({ "uri": page })),
            Self::CompletionOfPrompt => completion(json!({ "type": "ref/prompt", "name": prompt })),
            Self::CompletionOfTemplate => {
                completion(json!({ "type": "ref/resource", "uri": page }))
            }
            Self::Subscription => ("resources/subscribe", json!({ "uri": page })),
            Self::SubscriptionOfResource => ("resources/subscribe", json!({ "uri": resource })),
            Self::CompletionOfListedTemplate => {
                let (start, _) = page.rsplit_once('/').expect("a page");
                let template = format!("{start}/{{n}}");
                completion(json!({ "type": "ref/resource", "uri": template }))
            }
        }
    }
}

fn annotated(name: &str, annotations: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#)
}

/// What each tool does, by its annotations or else by its name.
pub(super) fn effects() -> Vec<(String, FakeUpstream)> {
    let server = FakeUpstream::stdio()
        .raw_tool(annotated("look", r#"{"readOnlyHint":true}"#), echo())
        .raw_tool(annotated("change", r#"{"readOnlyHint":false}"#), echo())
        .raw_tool(annotated("wreck", r#"{"destructiveHint":true}"#), echo())
        .tool("delete_repo", echo())
        .tool("create_issue", echo())
        .tool("frobnicate", echo());
    vec![("up".to_owned(), server)]
}

/// Whether each may be called as `read` and as `write`; as `destructive` all may.
pub(super) const EFFECTS: [(&str, bool, bool); 6] = [
    ("look", true, true),
    ("change", false, true),
    ("wreck", false, false),
    ("delete_repo", false, false),
    ("create_issue", false, true),
    ("frobnicate", true, true),
];

/// The lists of what a server offers, and what names each entry.
pub(super) const LISTS: [(&str, (&str, &str)); 4] = [
    ("tools/list", ("tools", "name")),
    ("prompts/list", ("prompts", "name")),
    ("resources/list", ("resources", "uri")),
    (
        "resources/templates/list",
        ("resourceTemplates", "uriTemplate"),
    ),
];

/// What each of these lists names.
pub(super) async fn all_listed(client: &TestClient) -> [Vec<String>; 4] {
    let [tools, prompts, resources, templates] =
        LISTS.map(|(list, names)| listed(client, list, names));
    [tools.await, prompts.await, resources.await, templates.await]
}

/// What a list names, by this key of each entry.
pub(super) async fn listed(
    client: &TestClient,
    list: &str,
    (kind, key): (&str, &str),
) -> Vec<String> {
    let reply = client.request(list, "{}").await;
    let named = |entry: &String| {
        let entry: Value = serde_json::from_str(entry).expect("JSON");
        entry[key].as_str().expect("a name").to_owned()
    };
    entries(reply.result(), kind).iter().map(named).collect()
}

/// The names under `tools`, in alphabetical order.
pub(super) fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["tools"].as_array().expect("a list").iter();
    let mut names: Vec<&str> = tools.map(|t| t["name"].as_str().expect("a name")).collect();
    names.sort_unstable();
    names
}
