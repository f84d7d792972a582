//! The control lane in front of rmcp's own server, with sessions.

use std::sync::Arc;

use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        SessionManager, StreamableHttpServerConfig, StreamableHttpService,
        session::local::LocalSessionManager,
    },
};
use tokio::net::TcpListener;

use super::*;
use crate::{
    link::{self, Connection, Endpoint},
    wire::RequestNumbers,
};

/// Nothing here takes long; what hangs shall fail.
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Clone)]
struct Server;

impl ServerHandler for Server {}

/// A server, and who has a session with it.
async fn started() -> (String, Arc<LocalSessionManager>) {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(
        || Ok(Server),
        sessions.clone(),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, sessions)
}

async fn forget_everybody(sessions: &LocalSessionManager) {
    let known: Vec<_> = sessions.sessions.read().await.keys().cloned().collect();
    for id in known {
        sessions.close_session(&id).await.expect("closed");
    }
}

#[tokio::test]
async fn a_client_of_rmcp_drives_the_control_lane() {
    let (url, sessions) = started().await;
    let endpoint = Endpoint {
        url,
        ..Endpoint::default()
    };
    let connection = Connection::from(
        link::http::connect(&endpoint, RequestNumbers::default()).expect("a good endpoint"),
    );
    let declared = Declared::Bridged { roots: true };
    let handshake = Box::pin(open(connection.control, &declared));
    let opened = tokio::time::timeout(DEADLINE, handshake).await;
    let opened = opened.expect("in time").expect("a handshake");
    assert!(opened.initialize.get("capabilities").is_some());
    assert!(matches!(
        opened.control.ping(DEADLINE).await,
        Ping::Answered
    ));
    forget_everybody(&sessions).await;
    assert!(matches!(
        opened.control.ping(DEADLINE).await,
        Ping::Answered
    ));
    let closing = tokio::time::timeout(DEADLINE, opened.control.close());
    closing.await.expect("in time");
    assert!(sessions.sessions.read().await.is_empty());
}
