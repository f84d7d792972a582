//! A balancer that knows nothing: each new connection goes to the next of its targets.

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use super::http::Reachable;

/// Dropping it closes its port; connections that are open go on.
pub struct Balancer {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl Balancer {
    pub async fn before(targets: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let accepting = tokio::spawn(async move {
            for target in targets.iter().cycle() {
                let (mut client, _) = listener.accept().await.expect("a client");
                let target = *target;
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(target).await else {
                        return;
                    };
                    // Whichever side ends it.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self {
            address,
            accepting: accepting.abort_handle(),
        }
    }
}

impl Reachable for Balancer {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
