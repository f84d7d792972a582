//! The link in front of rmcp's own server, with sessions.

use std::sync::Arc;

use futures_util::future::join_all;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
        ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::{net::TcpListener, sync::mpsc};

use super::{Client, soon};
use crate::{
    link::{Incoming, News},
    wire::{Outcome, Raw},
};

#[derive(Clone)]
struct Tools {
    /// Says what happens to a call that hangs.
    hanging: mpsc::UnboundedSender<&'static str>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = Tool::new("echo", "says it again", Arc::new(JsonObject::new()));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    #[expect(
        deprecated,
        reason = "legacy servers ask for roots, and no other question is shorter"
    )]
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let peer = &context.peer;
        match &*request.name {
            "change" => peer.notify_tool_list_changed().await.expect("sent"),
            "hang" => {
                let _ = self.hanging.send("begun");
                context.ct.cancelled().await;
                let _ = self.hanging.send("cancelled");
            }
            "ask" => {
                let token = context.meta.get_progress_token().expect("a token");
                let step = |n| ProgressNotificationParam::new(token.clone(), n);
                peer.notify_progress(step(1.0)).await.expect("sent");
                let answer = peer.list_roots().await.expect("an answer");
                assert!(answer.roots.is_empty());
                peer.notify_progress(step(2.0)).await.expect("sent");
            }
            _ => (),
        }
        Ok(CallToolResult::success(vec![ContentBlock::text(request.name)]).into())
    }
}

struct RmcpServer {
    url: String,
    sessions: Arc<LocalSessionManager>,
    hanging: mpsc::UnboundedReceiver<&'static str>,
}

impl RmcpServer {
    async fn start() -> Self {
        let (say, hanging) = mpsc::unbounded_channel();
        let sessions = Arc::new(LocalSessionManager::default());
        let tools = Tools { hanging: say };
        let service = StreamableHttpService::new(
            move || Ok(tools.clone()),
            sessions.clone(),
            StreamableHttpServerConfig::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let router = axum::Router::new().nest_service("/mcp", service);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            sessions,
            hanging,
        }
    }

    async fn forget_everybody(&self) {
        use rmcp::transport::streamable_http_server::SessionManager;
        let known: Vec<_> = self
            .sessions
            .sessions
            .read()
            .await
            .keys()
            .cloned()
            .collect();
        for id in known {
            self.sessions.close_session(&id).await.expect("closed");
        }
    }
}

fn echoed(tool: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{tool}"}}],"isError":false}}"#)
}

async fn changed(client: &mut Client) {
    loop {
        if let News::Notification(notice) = client.next_news().await
            && &*notice.method == "notifications/tools/list_changed"
        {
            return;
        }
    }
}

/// Progress, question, progress, answer: every message must be of this very call.
async fn ask(client: &Client, number: u64) -> Vec<String> {
    let mut exchange = client.call(number, "ask").await.expect("taken");
    let mut seen = Vec::new();
    loop {
        match soon(exchange.next()).await.expect("a message") {
            Incoming::Notice(notice) => {
                let params = notice.params.expect("params");
                let token = params.get("progressToken").and_then(|token| token.string());
                assert_eq!(token, Some(format!("p{number}")));
                seen.push(notice.method.into());
            }
            Incoming::Question(question) => {
                seen.push(question.method.into());
                let yes = Raw::parse_str(r#"{"roots":[]}"#).expect("JSON");
                let yes = Outcome::Result(yes);
                client.link.answer(&question.id, &yes).await.expect("taken");
            }
            Incoming::Answer(Outcome::Result(result)) => {
                assert_eq!(result.as_str(), echoed("ask"));
                return seen;
            }
            Incoming::Answer(Outcome::Error(error)) => panic!("{}", error.as_str()),
        }
    }
}

#[tokio::test]
async fn a_server_of_rmcp_is_called_and_left() {
    let mut server = RmcpServer::start().await;
    let client = Client::opened(&server.url).await;
    assert_eq!(
        client.result(1, "echo").await.expect("an answer"),
        echoed("echo")
    );

    let expected = [
        "notifications/progress",
        "roots/list",
        "notifications/progress",
    ];
    for seen in join_all((10..18).map(|number| ask(&client, number))).await {
        assert_eq!(seen, expected);
    }

    let exchange = client.call(2, "hang");
    tokio::select! {
        _ = exchange => (),
        begun = server.hanging.recv() => assert_eq!(begun, Some("begun")),
    }
    while soon(server.hanging.recv()).await != Some("cancelled") {}

    client.link.close().await;
    assert!(server.sessions.sessions.read().await.is_empty());
}

#[tokio::test]
async fn a_session_that_rmcp_forgets_is_renewed_and_news_flow_again() {
    let server = RmcpServer::start().await;
    let mut client = Client::opened(&server.url).await;
    for round in 0..2 {
        server.forget_everybody().await;
        let calls = (0..20).map(|n| client.result(round * 100 + n, "echo"));
        for result in join_all(calls).await {
            assert_eq!(result.expect("an answer"), echoed("echo"));
        }
        assert_eq!(server.sessions.sessions.read().await.len(), 1);
        while !matches!(client.next_news().await, News::Renewed(_)) {}
        // What rmcp says before anybody listens waits for the stream.
        client
            .result(round * 100 + 50, "change")
            .await
            .expect("an answer");
        changed(&mut client).await;
    }
}
