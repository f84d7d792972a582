//! A server made with the official Rust SDK, on its pipes or, where it is given a port, over Streamable HTTP, which speaks both eras. Questions
//! it asks without a handshake only.

use std::{env, error::Error, sync::Arc};

use rmcp::{
    ErrorData, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        InputRequiredResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig, Tool, ToolAnnotations,
    },
    service::{RequestContext, RoleServer},
    transport::{
        self,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("rust", "1"))
            .with_instructions("Greets.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![
            tool(
                "greet",
                "Greets somebody.",
                &json!({"name": {"type": "string"}}),
            ),
            tool("ask", "Asks who is there.", &json!({})),
            tool(
                "write",
                "Has the client's model write something.",
                &json!({}),
            ),
        ]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = call.arguments.map(Value::Object).unwrap_or_default();
        let answers = json!(call.input_responses);
        let (person, poem) = (
            &answers["person"]["content"],
            &answers["poem"]["content"]["text"],
        );
        match (call.name.as_ref(), person, poem) {
            ("greet", _, _) => Ok(text(format!("Hello, {}!", word(&given["name"])))),
            ("ask", Value::Object(person), _) => {
                Ok(text(format!("Hello, {}!", word(&person["name"]))))
            }
            ("ask", _, _) => ask(
                "person",
                json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who are you?", "requestedSchema": {
                    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
                }}}),
            ),
            ("write", _, Value::String(poem)) => Ok(text(format!("It said: {poem}"))),
            ("write", _, _) => ask(
                "poem",
                json!({"method": "sampling/createMessage", "params": {"maxTokens": 9, "messages": [
                    {"role": "user", "content": {"type": "text", "text": "A poem, please."}},
                ]}}),
            ),
            (name, _, _) => Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        }
    }
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let schema = json!({"type": "object", "properties": properties});
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, schema).with_annotations(ToolAnnotations::new().read_only(true))
}

fn text(said: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(said)]).into()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn ask(key: &str, question: Value) -> Result<CallToolResponse, ErrorData> {
    let question = serde_json::from_value(question)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let questions = [(key.to_owned(), question)].into();
    Ok(InputRequiredResult::new(Some(questions), None).into())
}

async fn serve_http(port: u16) -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Server), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    Ok(axum::serve(listener, router).await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(port) = env::args().nth(1) {
        return serve_http(port.parse()?).await;
    }
    Server.serve(transport::stdio()).await?.waiting().await?;
    Ok(())
}
