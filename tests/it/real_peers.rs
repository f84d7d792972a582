//! The official Rust SDK on both sides of the daemon: its client in front, its server behind.

use std::{net::SocketAddr, sync::Arc};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ContentBlock,
        JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
        ServerConfig, Tool,
    },
    service::{RequestContext, RunningService},
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::json;

use crate::support::{
    behaviours::*, daemon::TestDaemon, fake_upstream::FakeUpstream, http::Reachable,
};

type Client = RunningService<RoleClient, ClientConfig>;

async fn connect(to: SocketAddr, path: &str, lifecycle: ClientLifecycleMode) -> Client {
    // The client wants a provider even where it never speaks TLS; another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{to}{path}"));
    let transport = StreamableHttpClientTransport::from_config(config);
    ClientConfig::default()
        .serve_with_lifecycle(transport, lifecycle)
        .await
        .expect("the client connects")
}

fn probing() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

fn arguments(value: serde_json::Value) -> JsonObject {
    serde_json::from_value(value).expect("an object")
}

#[tokio::test]
async fn the_official_client_lists_and_calls() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    daemon.wait_for_tool("up__echo").await;
    let modern = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    for lifecycle in [ClientLifecycleMode::Initialize, probing(), modern] {
        for (path, tool) in [("/mcp/all", "up__echo"), ("/mcp/server/up", "echo")] {
            let client = connect(daemon.address(), path, lifecycle.clone()).await;
            let tools = client.list_all_tools().await.expect("a list");
            assert_eq!(tools.len(), 1);
            assert_eq!(tools[0].name, tool);
            let call =
                CallToolRequestParams::new(tool).with_arguments(arguments(json!({"a": [1]})));
            let result = client.call_tool(call).await.expect("a result");
            assert_eq!(result.structured_content, Some(json!({"a": [1]})));
            let error = client
                .call_tool(CallToolRequestParams::new("nothing"))
                .await;
            assert!(error.is_err(), "{error:?}");
            client.cancel().await.expect("it ends in order");
        }
    }
}

/// A server of the official SDK with one tool.
#[derive(Clone)]
struct Adder;

impl ServerHandler for Adder {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = arguments(json!({"type": "object", "required": ["a", "b"]}));
        let tool = Tool::new("add", "Adds two numbers.", Arc::new(schema));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let number = |key: &str| arguments.get(key).and_then(serde_json::Value::as_i64);
        let (Some(a), Some(b)) = (number("a"), number("b")) else {
            return Err(ErrorData::invalid_params("two numbers are needed", None));
        };
        let text = ContentBlock::text((a + b).to_string());
        Ok(CallToolResult::success(vec![text]).into())
    }
}

async fn serve(config: StreamableHttpServerConfig) -> SocketAddr {
    let service: StreamableHttpService<Adder, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Adder), Arc::default(), config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn the_official_server_is_listed_and_called() {
    let address = serve(StreamableHttpServerConfig::default()).await;
    let daemon = TestDaemon::builder()
        .entry(
            "adder",
            json!({"url": format!("http://{address}/mcp"), "type": "http"}),
        )
        .await;
    let client = daemon.client_of("adder__add").await;
    assert_eq!(
        client.call("adder__add", r#"{"a":2,"b":40}"#).await.text(),
        "42"
    );
    let reply = client.call("adder__add", "{}").await;
    assert_eq!(reply.error_code(), -32602);
    assert!(reply.error().contains("two numbers"), "{}", reply.error());
}

#[tokio::test]
async fn the_official_client_and_server_meet_through_the_daemon() {
    let address = serve(StreamableHttpServerConfig::default()).await;
    let daemon = TestDaemon::builder()
        .entry("adder", json!({"url": format!("http://{address}/mcp")}))
        .await;
    daemon.wait_for_tool("adder__add").await;
    let client = connect(daemon.address(), "/mcp/server/adder", probing()).await;
    let call = CallToolRequestParams::new("add").with_arguments(arguments(json!({"a": 1, "b": 1})));
    let result = client.call_tool(call).await.expect("a result");
    assert_eq!(result.content, [ContentBlock::text("2")]);
    client.cancel().await.expect("it ends in order");
}
