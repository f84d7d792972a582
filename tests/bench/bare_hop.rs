//! The least that a proxy on hyper costs: requests in, requests out on pooled connections, nothing read and nothing kept.
//!
//! `bare_hop LISTEN UPSTREAM`, two addresses. It ends when it is killed.

use std::{
    env,
    error::Error,
    sync::{Arc, Mutex},
};

use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    header::{CONNECTION, HOST, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn Error + Send + Sync>;

/// The server, and the connections to it that are between two requests, or soon will be.
struct Upstream {
    address: String,
    host: HeaderValue,
    connections: Mutex<Vec<SendRequest<Incoming>>>,
}

impl Upstream {
    /// One that is free, or a new one.
    async fn connection(&self) -> Result<SendRequest<Incoming>, Failure> {
        let free = {
            let mut all = self.connections.lock().expect("no panic under lock");
            all.retain(|one| !one.is_closed());
            let found = all.iter().rposition(SendRequest::is_ready);
            found.map(|at| all.swap_remove(at))
        };
        if let Some(free) = free {
            return Ok(free);
        }
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn answer(&self, mut request: Request<Incoming>) -> Result<Response<Incoming>, Failure> {
        request.headers_mut().insert(HOST, self.host.clone());
        request.headers_mut().remove(CONNECTION);
        let mut sender = self.connection().await?;
        let response = sender.send_request(request).await;
        // It is not ready before the answer's body has passed.
        let mut all = self.connections.lock().expect("no panic under lock");
        all.push(sender);
        Ok(response?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let addresses: Vec<String> = env::args().skip(1).collect();
    let [listen, address] = addresses.as_slice() else {
        return Err("bare_hop LISTEN UPSTREAM".into());
    };
    let upstream = Arc::new(Upstream {
        address: address.clone(),
        host: address.parse()?,
        connections: Mutex::default(),
    });
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let upstream = upstream.clone();
        let service = service_fn(move |request| {
            let upstream = upstream.clone();
            async move { upstream.answer(request).await }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
