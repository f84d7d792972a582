//! Opens connections: directly or through the proxy that the environment names, in plain or over TLS, within a deadline.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::{
    legacy::connect::{
        Connected, Connection, HttpConnector,
        proxy::{SocksV4, SocksV5, Tunnel},
    },
    proxy::matcher::{Intercept, Matcher},
};
use rustls::ClientConfig;
use tower_service::Service;

use super::{
    Endpoint, EndpointError,
    reach::{AddressReach, OUT_OF_REACH, Resolver},
    tls,
};
use crate::config::loopback::is_loopback;

/// How long a connection may take to be made: name, TCP, proxy and TLS together.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a silent connection is trusted before the system asks whether the other side is still there. Streams of notifications
/// are silent for hours; without this a machine that slept would wait on dead ones.
const KEEPALIVE: Duration = Duration::from_secs(45);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to one server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Dialer(Arc<Route>);

struct Route {
    tcp: HttpConnector<Resolver>,
    /// How far it leads where no proxy stands between.
    reach: AddressReach,
    proxy: Option<Intercept>,
    /// There if the server or its proxy speaks TLS.
    tls: Option<Arc<ClientConfig>>,
}

impl Dialer {
    /// Chooses the way to a server.
    pub(super) fn new(
        endpoint: &Endpoint,
        server: &Uri,
        proxies: &Matcher,
        reach: AddressReach,
    ) -> Result<Self, EndpointError> {
        let proxy = proxies
            .intercept(server)
            .filter(|_| !is_this_machine(server.host().unwrap_or_default()));
        let is_https = |uri: &Uri| uri.scheme() == Some(&Scheme::HTTPS);
        let needs_tls = is_https(server) || proxy.as_ref().is_some_and(|p| is_https(p.uri()));
        let tls = needs_tls.then(|| tls::settings(endpoint)).transpose()?;
        // A proxy stands where a person put it.
        let within = if proxy.is_some() {
            AddressReach::Anywhere
        } else {
            reach
        };
        let mut tcp = HttpConnector::new_with_resolver(Resolver::new(within));
        // Otherwise it would refuse to connect for https.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
        tcp.set_keepalive_retries(Some(3));
        Ok(Self(Arc::new(Route {
            tcp,
            reach,
            proxy,
            tls,
        })))
    }

    /// What a proxy wants to see in every request, when requests and not only connections pass through it.
    pub(super) fn proxy_credentials(&self, server: &Uri) -> Option<&HeaderValue> {
        let proxy = self.0.proxy.as_ref()?;
        forwards(proxy, server)
            .then(|| proxy.basic_auth())
            .flatten()
    }
}

/// Requests for plain http servers are handed to an HTTP proxy; for all others it only connects.
fn forwards(proxy: &Intercept, server: &Uri) -> bool {
    server.scheme() == Some(&Scheme::HTTP)
        && matches!(proxy.uri().scheme_str(), Some("http" | "https"))
}

/// This machine is never reached through a proxy.
fn is_this_machine(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    is_loopback(name) || name.to_ascii_lowercase().ends_with(".localhost")
}

impl Dialer {
    /// Where connections for a server lead first: to it, or to the proxy.
    pub(super) fn goal<'a>(&'a self, server: &'a Uri) -> &'a Uri {
        self.0.proxy.as_ref().map_or(server, Intercept::uri)
    }

    /// Opens a connection to the server, or to the proxy that takes its requests.
    pub(super) async fn dial(&self, server: Uri) -> Result<Stream, BoxError> {
        match tokio::time::timeout(CONNECT, self.0.dial(server)).await {
            Ok(stream) => stream,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }
}

impl Route {
    async fn dial(&self, server: Uri) -> Result<Stream, BoxError> {
        if !self.reach.may_reach(server.host().unwrap_or_default()) {
            return Err(OUT_OF_REACH.into());
        }
        let tcp = self.tcp.clone();
        let Some(proxy) = &self.proxy else {
            return self.reach(tcp, server).await;
        };
        let at = proxy.uri().clone();
        if forwards(proxy, &server) {
            let mut stream = self.reach(tcp, at).await?;
            stream.forwarded = true;
            return Ok(stream);
        }
        match at.scheme_str() {
            Some("socks5" | "socks5h") => {
                let local_dns = at.scheme_str() == Some("socks5");
                let mut socks = SocksV5::new(at, tcp).local_dns(local_dns);
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                self.reach(socks, with_port(server)).await
            }
            Some("socks4" | "socks4a") => {
                let local_dns = at.scheme_str() == Some("socks4");
                let socks = SocksV4::new(at, tcp).local_dns(local_dns);
                self.reach(socks, with_port(server)).await
            }
            Some("https") => {
                let tcp = self.over_tls(tcp)?;
                self.reach(through(proxy, tcp), server).await
            }
            _ => self.reach(through(proxy, tcp), server).await,
        }
    }

    /// Connects with `connector`, and speaks TLS on top where the scheme asks for it.
    async fn reach<C>(&self, connector: C, to: Uri) -> Result<Stream, BoxError>
    where
        C: Service<Uri> + Send,
        C::Response: Io,
        C::Future: Send + 'static,
        C::Error: Into<BoxError>,
    {
        if to.scheme() == Some(&Scheme::HTTPS) {
            connect(self.over_tls(connector)?, to).await
        } else {
            connect(connector, to).await
        }
    }

    fn over_tls<C>(&self, connector: C) -> Result<HttpsConnector<C>, BoxError> {
        let tls = self.tls.clone().ok_or("TLS is not set up")?;
        Ok(HttpsConnector::from((connector, tls)))
    }
}

/// The connectors for SOCKS take any address without a port to mean 443.
fn with_port(server: Uri) -> Uri {
    let Some(host) = server
        .host()
        .filter(|_| server.port().is_none() && server.scheme() == Some(&Scheme::HTTP))
    else {
        return server;
    };
    let authority = format!("{host}:80").parse();
    let mut parts = server.into_parts();
    parts.authority = authority.ok().or(parts.authority);
    Uri::from_parts(parts).expect("one authority took the place of another")
}

fn through<C>(proxy: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

async fn connect<C>(mut connector: C, to: Uri) -> Result<Stream, BoxError>
where
    C: Service<Uri>,
    C::Response: Io,
    C::Error: Into<BoxError>,
{
    poll_fn(|context| connector.poll_ready(context))
        .await
        .map_err(Into::into)?;
    let io = connector.call(to).await.map_err(Into::into)?;
    Ok(Stream {
        io: Box::new(io),
        forwarded: false,
    })
}

trait Io: Read + Write + Connection + Send + Unpin + 'static {}

impl<T: Read + Write + Connection + Send + Unpin + 'static> Io for T {}

/// A connection, whatever lies under it.
pub(super) struct Stream {
    io: Box<dyn Io>,
    /// The other end is a proxy that takes whole requests.
    forwarded: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.forwarded)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::is_this_machine;

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "x.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "10.0.0.1", "[::2]"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
