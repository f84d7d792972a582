//! The two ways to a daemon: TCP for clients and for operators with a credential, behind the guard; the local socket for the owner of the
//! data folder.

use std::{sync::Arc, time::Duration};

use axum::Router as HttpRouter;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    auth_layer::{AuthLayer, Reach},
    connections::ClientConnections,
    core::Core,
    guard::RefusalLines,
    http,
    local_socket::LocalSocket,
    operator_bodies,
};
use crate::{
    api::{Api, page},
    inbound::Inbound,
    process,
};

/// How long calls in flight may take to end after the first signal.
const DRAIN: Duration = Duration::from_secs(10);

/// What is listened on.
pub(super) struct BoundSockets {
    pub(super) tcp: Vec<TcpListener>,
    /// The command line's socket.
    pub(super) local: Option<LocalSocket>,
}

/// Opens every face. They end after `closing`, when what is in flight is answered.
pub(super) fn open(
    core: &Core,
    api: &Api,
    sockets: BoundSockets,
    closing: &CancellationToken,
) -> JoinSet<()> {
    let auth_layer = |routes: HttpRouter, operators: HttpRouter, reach: Reach| {
        Arc::new(AuthLayer {
            inbound: core.inbound.clone(),
            routes,
            operators,
            instance: core.ledger.instance().clone(),
            access: core.access.clone(),
            reach,
            refusals: RefusalLines::default(),
            activity: core.activity.clone(),
            closing: closing.clone(),
        })
    };
    let memory = core.inbound.memory();
    let operators = operator_bodies::bounded(api.routes(), memory);
    let over_tcp = http::Served {
        auth_layer: auth_layer(open_routes(core, api), operators.clone(), Reach::Network),
        connections: ClientConnections::within(process::raise_descriptor_limit()),
        memory: memory.clone(),
        closing: closing.clone(),
    };
    let mut faces = JoinSet::new();
    for listener in sockets.tcp {
        faces.spawn(http::serve(listener, over_tcp.clone(), DRAIN));
    }
    if let Some(socket) = sockets.local {
        let over_socket = http::Served {
            auth_layer: auth_layer(HttpRouter::new(), operators, Reach::Local),
            // Programs of the operator's own.
            connections: over_tcp.connections.others(),
            ..over_tcp
        };
        faces.spawn(http::serve(socket, over_socket, DRAIN));
    }
    faces.spawn(see_off(core.inbound.clone(), closing.clone()));
    faces
}

/// What is open to all on the network.
fn open_routes(core: &Core, api: &Api) -> HttpRouter {
    let routes = core.inbound.routes().merge(page::routes());
    routes
        .merge(api.health_routes())
        .merge(api.page_routes())
        .merge(api.metrics_routes(core.activity.metrics()))
}

/// Clients that are attached leave when their requests are answered, which may take as long as any other request; so may requests
/// whose stream their client can take up again.
async fn see_off(inbound: Inbound, closing: CancellationToken) {
    closing.cancelled().await;
    if timeout(DRAIN, inbound.all_left()).await.is_err() {
        tracing::warn!("clients and streams cut off at shutdown: they took longer than 10 s");
    }
}
