//! One server with everything, made with the official Rust SDK, which speaks both eras. Usage: `rmcp_everything [MODE PORT]`, without them on
//! its pipes. MODE: `sessions` for whoever shakes hands, or `both` eras without.

#![expect(
    deprecated,
    reason = "what is on its way out is what servers of today use"
)]

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::*,
    service::{RequestContext, SubscriptionContext},
    transport::{
        self, StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

const NOTE: &str = "note://one";
const PAGE: &str = "https://login.example/page";

/// Pages that were opened, by the key of the call that wanted it.
static OPENED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// What was added at run time: its kind and name.
static ADDED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
/// The kinds of what changed, for those who listen without a handshake.
static CHANGES: LazyLock<broadcast::Sender<&str>> = LazyLock::new(|| broadcast::channel(64).0);

struct Server;

fn made<T: DeserializeOwned>(of: Value) -> Result<T, ErrorData> {
    serde_json::from_value(of).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn added(kind: &str) -> Vec<String> {
    let all = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    let of_kind = all.iter().filter(|(of, _)| *of == kind);
    of_kind.map(|(_, name)| name.clone()).collect()
}

fn object(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn form(message: &str) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": object("name")})
}

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The tools, with the one argument that each of them takes, if any.
const TOOLS: [(&str, Option<&str>); 16] = [
    ("greet", Some("name")),
    ("fail", None),
    ("steps", None),
    ("say", None),
    ("form", None),
    ("page", None),
    ("sample", None),
    ("roots", None),
    ("withdraw", None),
    ("visit", Some("key")),
    ("wait", Some("path")),
    ("add_tool", Some("name")),
    ("add_prompt", Some("name")),
    ("add_resource", Some("name")),
    ("touch", None),
    ("ask", None),
];

impl Server {
    async fn does(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = call.arguments.map(Value::Object).unwrap_or_default();
        let answers = json!(call.input_responses);
        let peer = &context.peer;
        match &*call.name {
            "greet" => {
                let text = format!("Hello, {}!", word(&given["name"]));
                Ok(CallToolResult::structured(json!({ "text": text })).into())
            }
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("on purpose")]).into()),
            "steps" => {
                for step in [1, 2] {
                    progress(&context, json!({"progress": step, "total": 2})).await?;
                }
                Ok(said("done"))
            }
            "say" => {
                let line = made(json!({"level": "warning", "data": "a line"}))?;
                peer.notify_logging_message(line).await.map_err(failed)?;
                Ok(said("done"))
            }
            "form" => {
                let answer = elicited(&context, form("Who?")).await?;
                let name = word(&answer["content"]["name"]);
                Ok(said(format!("{} {name}", word(&answer["action"]))))
            }
            "page" => {
                let page = json!({"mode": "url", "message": "Log in.", "url": PAGE, "elicitationId": "one"});
                Ok(said(word(&elicited(&context, page).await?["action"])))
            }
            "sample" => {
                let asked = json!({"maxTokens": 9, "messages": [
                    {"role": "user", "content": {"type": "text", "text": "A poem."}},
                ]});
                let answer = peer.create_message(made(asked)?).await.map_err(failed)?;
                Ok(said(word(&json!(answer)["content"]["text"])))
            }
            "roots" => {
                let answer = peer.list_roots().await.map_err(failed)?;
                let uris: Vec<_> = answer
                    .roots
                    .iter()
                    .map(|root| root.uri.to_string())
                    .collect();
                Ok(said(uris.join(" ")))
            }
            "withdraw" => {
                let asking = elicited(&context, form("Anybody?"));
                match tokio::time::timeout(Duration::from_millis(400), asking).await {
                    Ok(answer) => answer.map(|_| said("answered")),
                    Err(_) => Ok(said("withdrawn")),
                }
            }
            "visit" => {
                let key = word(&given["key"]).to_owned();
                let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
                if !opened.insert(key) {
                    return Ok(said("visited"));
                }
                let page = json!({"elicitations": [
                    {"mode": "url", "message": "Log in.", "url": PAGE, "elicitationId": "two"},
                ]});
                Err(ErrorData::new(
                    ErrorCode(-32042),
                    "a page is wanted first",
                    Some(page),
                ))
            }
            "wait" => {
                progress(&context, json!({"progress": 1})).await?;
                tokio::select! {
                    () = context.ct.cancelled() => {
                        let _ = std::fs::write(word(&given["path"]), "");
                    }
                    () = tokio::time::sleep(Duration::from_secs(30)) => (),
                }
                Ok(said("over"))
            }
            "add_tool" => {
                add("tool", &given);
                peer.notify_tool_list_changed().await.map_err(failed)?;
                Ok(said("done"))
            }
            "add_prompt" => {
                add("prompt", &given);
                peer.notify_prompt_list_changed().await.map_err(failed)?;
                Ok(said("done"))
            }
            "add_resource" => {
                add("resource", &given);
                peer.notify_resource_list_changed().await.map_err(failed)?;
                Ok(said("done"))
            }
            "touch" => {
                let _ = CHANGES.send("note");
                let note = made(json!({ "uri": NOTE }))?;
                peer.notify_resource_updated(note).await.map_err(failed)?;
                Ok(said("done"))
            }
            "ask" => match &answers["who"]["content"] {
                Value::Object(who) => Ok(said(format!("Hello, {}!", word(&who["name"])))),
                _ if !can_be_asked(&context) => Err(ErrorData::new(
                    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                    "no form can be shown",
                    Some(json!({"requiredCapabilities": {"elicitation": {"form": {}}}})),
                )),
                _ => {
                    let question = json!({"method": "elicitation/create", "params": form("Who?")});
                    let questions = [("who".to_owned(), made(question)?)].into();
                    Ok(InputRequiredResult::new(Some(questions), None).into())
                }
            },
            name if added("tool").iter().any(|known| known == name) => Ok(said("added")),
            name => Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        }
    }
}

/// The answer to an elicitation. Dropped before that, it is taken back.
async fn elicited(
    context: &RequestContext<RoleServer>,
    question: Value,
) -> Result<Value, ErrorData> {
    let question = json!({"method": "elicitation/create", "params": question});
    let question = ServerRequest::ElicitRequest(made(question)?);
    let answer = context.peer.send_request(question).await;
    Ok(json!(answer.map_err(failed)?))
}

/// Whether the client says in its request that it shows forms.
fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    let able = context.meta.client_capabilities();
    able.is_some_and(|able| able.elicitation.is_some())
}

async fn progress(context: &RequestContext<RoleServer>, mut step: Value) -> Result<(), ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        step["progressToken"] = json!(token);
        let told = context.peer.notify_progress(made(step)?).await;
        told.map_err(failed)?;
    }
    Ok(())
}

fn add(kind: &'static str, given: &Value) {
    let mut all = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert((kind, word(&given["name"]).to_owned()));
    drop(all);
    let _ = CHANGES.send(kind);
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true}, "logging": {}, "completions": {},
        });
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("matrix", "1"))
            .with_instructions("Has everything.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|(name, takes)| {
            let schema = takes.map_or_else(|| json!({"type": "object"}), object);
            json!({"name": name, "description": "A tool.", "inputSchema": schema})
        });
        let added = added("tool").into_iter();
        let added = added.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
        let all: Vec<Value> = tools.chain(added).collect();
        made(json!({ "tools": all }))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.does(call, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = [json!({"name": "name", "required": true})];
        let hello = json!({"name": "hello", "description": "Greets.", "arguments": arguments});
        let added = added("prompt")
            .into_iter()
            .map(|name| json!({ "name": name }));
        let all: Vec<Value> = [hello].into_iter().chain(added).collect();
        made(json!({ "prompts": all }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = match &*request.name {
            "hello" => format!("Say hello to {}.", word(&json!(request.arguments)["name"])),
            _ => "added".to_owned(),
        };
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        let result: GetPromptResult = made(json!({ "messages": [message] }))?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let note = json!({"uri": NOTE, "name": "note", "mimeType": "text/plain"});
        let added = added("resource").into_iter();
        let added = added.map(|name| json!({"uri": format!("added://{name}"), "name": name}));
        let all: Vec<Value> = [note].into_iter().chain(added).collect();
        made(json!({ "resources": all }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let of = json!({"uriTemplate": "note://of/{person}", "name": "note_of", "mimeType": "text/plain"});
        made(json!({ "resourceTemplates": [of] }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.to_string();
        let text = match uri.strip_prefix("note://of/") {
            Some(person) => format!("a note of {person}"),
            None if uri == NOTE => "a note".to_owned(),
            None if uri.starts_with("added://") => "added".to_owned(),
            None => return Err(ErrorData::resource_not_found("no such resource", None)),
        };
        let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
        let result: ReadResourceResult = made(json!({ "contents": contents }))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let value = format!("{}da", request.argument.value);
        made(json!({"completion": {"values": [value]}}))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = CHANGES.subscribe();
        let sink = context.sink();
        loop {
            let kind = tokio::select! {
                () = context.cancelled() => return Ok(()),
                kind = changes.recv() => kind,
            };
            // What was not to be heard of is refused by the SDK.
            let _ = match kind {
                Ok("tool") => sink.notify_tool_list_changed().await,
                Ok("prompt") => sink.notify_prompt_list_changed().await,
                Ok("resource") => sink.notify_resource_list_changed().await,
                Ok(_) => sink.notify_resource_updated(NOTE).await,
                Err(_) => return Ok(()),
            };
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, mode, port] = &*arguments else {
        Server.serve(transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(mode == "sessions");
    let service = StreamableHttpService::new(|| Ok(Server), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, router).await?;
    Ok(())
}
