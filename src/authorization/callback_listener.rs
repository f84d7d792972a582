//! The address that the browser comes back to: a port of this machine that listens while one login waits, and shows the outcome.

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::Uri;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use url::form_urlencoded;

use super::LoginError;
use crate::{config::loopback::is_loopback, runtime::accepting::patiently, storage::in_words};

/// Limit: bytes of a request's head; how long a browser may take to say what it wants, because some open connections in advance and say
/// nothing; connections without a request yet, of which the oldest gives way to a new one, so that nobody keeps the browser out by opening
/// many; and requests that are answered at the same time, for which others wait.
const LARGEST: usize = 16 << 10;
const HEAD: Duration = Duration::from_secs(2);
const SILENT: usize = 64;
const ANSWERED: usize = 16;

/// Where the browser is sent back to where nothing is configured.
const PATH: &str = "/callback";

/// Where the browser is sent back to.
pub(super) enum Redirect {
    /// To this machine.
    Here {
        host: String,
        port: Option<u16>,
        path: String,
    },
    /// To another: a person brings the address from there.
    Elsewhere(String),
}

/// Takes the callback that the browser brings.
pub(super) trait CallbackReceiver: Send + Sync + 'static {
    /// Takes it, and gives the outcome.
    fn take(&self, callback: Callback) -> BoxFuture<'_, Result<(), LoginError>>;

    /// Returns when nothing more is expected.
    fn over(&self) -> BoxFuture<'_, ()>;

    /// The server that one logs in to.
    fn server(&self) -> &str;
}

/// A port that listens.
pub(super) struct CallbackListener {
    listener: TcpListener,
    address: SocketAddr,
    /// As the redirect names it.
    host: String,
    path: String,
}

impl Redirect {
    pub(super) fn of(configured: Option<&str>) -> Self {
        let Some(configured) = configured else {
            return Self::Here {
                host: Ipv4Addr::LOCALHOST.to_string(),
                port: None,
                path: PATH.to_owned(),
            };
        };
        let uri: Uri = configured.parse().unwrap_or_default();
        match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(host)) if is_loopback(host) => Self::Here {
                host: host.to_owned(),
                port: uri.port_u16(),
                path: uri.path().to_owned(),
            },
            _ => Self::Elsewhere(configured.to_owned()),
        }
    }

    /// Listens, at the port of an earlier login if that is free: the authorization server may know that one only.
    pub(super) async fn listen(
        &self,
        earlier: Option<&str>,
    ) -> Result<Option<CallbackListener>, String> {
        let Self::Here { host, port, path } = self else {
            return Ok(None);
        };
        let bare = host.trim_matches(['[', ']']);
        let ip: IpAddr = match bare.parse() {
            Ok(IpAddr::V6(_)) => Ipv6Addr::LOCALHOST.into(),
            Ok(IpAddr::V4(address)) => address.into(),
            Err(_) => Ipv4Addr::LOCALHOST.into(),
        };
        let bound = match (port, earlier.and_then(port_of)) {
            (Some(port), _) => TcpListener::bind((ip, *port)).await,
            (None, None) => TcpListener::bind((ip, 0)).await,
            (None, Some(earlier)) => match TcpListener::bind((ip, earlier)).await {
                Ok(bound) => Ok(bound),
                Err(_) => TcpListener::bind((ip, 0)).await,
            },
        };
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| {
            let port = port.unwrap_or_default();
            format!(
                "cannot listen at {host}:{port} for the browser's return: {}",
                in_words(&error)
            )
        })?;
        Ok(Some(CallbackListener {
            listener,
            address,
            host: host.clone(),
            path: path.clone(),
        }))
    }

    /// The address for the browser.
    pub(super) fn address(&self, listener: Option<&CallbackListener>) -> String {
        match (self, listener) {
            (Self::Elsewhere(address), _) => address.clone(),
            (Self::Here { host, port, path }, listener) => {
                let bound = listener.map(|listener| listener.address.port());
                let port = bound.or(*port).unwrap_or_default();
                format!("http://{host}:{port}{path}")
            }
        }
    }
}

fn port_of(address: &str) -> Option<u16> {
    let uri: Uri = address.parse().ok()?;
    uri.host().filter(|host| is_loopback(host))?;
    uri.port_u16()
}

impl CallbackListener {
    /// Takes requests until the login is over.
    pub(super) async fn serve(self, login: Arc<dyn CallbackReceiver>) {
        let place = Arc::new(Place {
            path: self.path,
            hosts: hosts(&self.host, self.address.port()),
        });
        let mut silent = JoinSet::new();
        let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
        let mut answered = JoinSet::new();
        loop {
            tokio::select! {
                () = login.over() => break,
                Some(_) = answered.join_next() => (),
                Some(request) = silent.join_next(), if answered.len() < ANSWERED => {
                    if let Ok(Some((stream, head))) = request {
                        answered.spawn(answer(stream, head, place.clone(), login.clone()));
                    }
                }
                accepted = patiently(self.listener.accept()) => {
                    // One that is gone already is none.
                    if let Ok((stream, _)) = accepted {
                        oldest_first.retain(|one| !one.is_finished());
                        if oldest_first.len() >= SILENT
                            && let Some(oldest) = oldest_first.pop_front()
                        {
                            oldest.abort();
                        }
                        oldest_first.push_back(silent.spawn(request(stream)));
                    }
                }
            }
        }
        drop((self.listener, silent));
        // The browser that brought the end gets its answer; silent connections are not waited for.
        let last_words = async { while answered.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_secs(1), last_words).await;
    }
}

/// What counts as a request for us.
struct Place {
    path: String,
    hosts: Vec<String>,
}

/// How a browser that follows the redirect names this host, in lower case.
fn hosts(configured: &str, port: u16) -> Vec<String> {
    let mut names = vec!["127.0.0.1", "localhost", "[::1]"];
    names.push(configured);
    let with_port = names.iter().map(|name| format!("{name}:{port}"));
    let mut all: Vec<String> = with_port.map(|host| host.to_ascii_lowercase()).collect();
    if port == 80 {
        all.extend(names.iter().map(|name| name.to_ascii_lowercase()));
    }
    all
}

/// A connection with its request; nothing of one that sends none in time.
async fn request(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let head = tokio::time::timeout(HEAD, head(&mut stream)).await;
    Some((stream, head.ok()?.ok()?))
}

async fn answer(
    mut stream: TcpStream,
    head: String,
    place: Arc<Place>,
    login: Arc<dyn CallbackReceiver>,
) {
    let (status, text) = match query_of(&head, &place) {
        None => ("404 Not Found", "Nothing here.".to_owned()),
        Some(query) => match login.take(Callback::of_query(query)).await {
            Ok(()) => (
                "200 OK",
                format!(
                    "You are logged in to {}. You can close this page.",
                    login.server()
                ),
            ),
            Err(error) => ("400 Bad Request", format!("The login failed: {error}")),
        },
    };
    // The login is what it is, whether the browser gets this or not.
    let _ = tokio::time::timeout(HEAD, write(&mut stream, &page(status, &text))).await;
}

async fn write(stream: &mut TcpStream, page: &str) -> io::Result<()> {
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}

async fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LARGEST || stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    String::from_utf8(head).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The query of a request for this place.
fn query_of<'a>(head: &'a str, place: &Place) -> Option<&'a str> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?')?;
    let mut named = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let host = named.next()?.to_ascii_lowercase();
    let is_ours = place.hosts.contains(&host) && named.next().is_none();
    (method == "GET" && path == place.path && is_ours).then_some(query)
}

fn page(status: &str, text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let body =
        format!("<!doctype html><meta charset=\"utf-8\"><title>mcpproxy</title><p>{escaped}\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n{body}",
        body.len()
    )
}

// What the authorization server sends the browser back with (RFC 6749, 4.1.2; RFC 9207). Pure.

/// The parameters of a redirect.
#[derive(Default, PartialEq, Eq)]
pub struct Callback {
    /// The code that is exchanged for tokens.
    pub code: Option<String>,
    /// Which login it belongs to.
    pub state: Option<String>,
    /// Who says so.
    pub issuer: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

impl Callback {
    /// Reads the query of an address. A parameter that appears twice is none (RFC 6749, 3.1).
    pub fn of_query(query: &str) -> Self {
        let one = |wanted: &str| {
            let pairs = form_urlencoded::parse(query.as_bytes());
            let mut values = pairs.filter(|(name, _)| name == wanted);
            let value = values.next().map(|(_, value)| value.into_owned());
            value.filter(|_| values.next().is_none())
        };
        Self {
            code: one("code"),
            state: one("state"),
            issuer: one("iss"),
            error: one("error"),
            error_description: one("error_description"),
        }
    }

    /// Reads an address as it was copied from a browser; nothing if it is none.
    pub fn of_address(address: &str) -> Option<Self> {
        let address = address.trim().trim_matches(['"', '\'', '<', '>']);
        let uri: Uri = address.split('#').next()?.parse().ok()?;
        let query = uri.query()?;
        Some(Self::of_query(query)).filter(|callback| *callback != Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_redirect_is_taken() {
        let place = Place {
            path: "/callback".to_owned(),
            hosts: hosts("127.0.0.2", 4000),
        };
        let check = |line: &str, host: &str, expected: Option<&str>| {
            let head = format!("{line}\r\n{host}\r\n\r\n");
            assert_eq!(query_of(&head, &place), expected, "{line} {host}");
        };
        let ours = "Host: 127.0.0.1:4000";
        check("GET /callback?code=1 HTTP/1.1", ours, Some("code=1"));
        check("GET /favicon.ico HTTP/1.1", ours, None);
        check("GET /callback HTTP/1.1", ours, None);
        check("POST /callback?code=1 HTTP/1.1", ours, None);
        check("GET /other?code=1 HTTP/1.1", ours, None);
        check("", ours, None);
        let get = "GET /callback?code=1 HTTP/1.1";
        for host in [
            "host: LOCALHOST:4000",
            "Host: [::1]:4000",
            "Host: 127.0.0.2:4000",
        ] {
            check(get, host, Some("code=1"));
        }
        for host in [
            "Host: 127.0.0.1",
            "Host: 127.0.0.1:4001",
            "Host: evil.example:4000",
            "X: y",
            "Host: 127.0.0.1:4000\r\nHost: evil.example",
        ] {
            check(get, host, None);
        }
        assert!(hosts("localhost", 80).contains(&"localhost".to_owned()));
    }

    struct Waiting(tokio::sync::Notify);

    impl CallbackReceiver for Waiting {
        fn take(&self, _: Callback) -> BoxFuture<'_, Result<(), LoginError>> {
            Box::pin(async {
                self.0.notify_one();
                Ok(())
            })
        }

        fn over(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.0.notified())
        }

        fn server(&self) -> &'static str {
            "s"
        }
    }

    #[tokio::test]
    async fn silent_connections_do_not_keep_the_browser_out() {
        let redirect = Redirect::of(None);
        let listener = redirect.listen(None).await.expect("a free port");
        let listener = listener.expect("one of this machine");
        let address = listener.address;
        let login = Arc::new(Waiting(tokio::sync::Notify::new()));
        let serving = tokio::spawn(listener.serve(login));
        let begun = std::time::Instant::now();
        let mut idle = Vec::new();
        for _ in 0..2 * SILENT {
            idle.push(TcpStream::connect(address).await.expect("it listens"));
        }
        let mut browser = TcpStream::connect(address).await.expect("it listens");
        let get = format!("GET /callback?code=1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
        browser.write_all(get.as_bytes()).await.expect("it reads");
        let mut page = String::new();
        browser.read_to_string(&mut page).await.expect("an answer");
        assert!(page.contains("You are logged in to s"), "{page}");
        serving.await.expect("it ends");
        assert!(begun.elapsed() < HEAD, "{:?}", begun.elapsed());
        drop(idle);
    }

    #[test]
    fn a_page_runs_nothing() {
        let page = page("200 OK", "<script>&");
        assert!(page.contains("&lt;script&gt;&amp;") && page.contains("default-src 'none'"));
    }

    #[tokio::test]
    async fn the_browser_comes_back_where_it_was_told_to() {
        let check = async |configured: Option<&str>, expected: &str| {
            let redirect = Redirect::of(configured);
            let listener = redirect.listen(None).await.expect("a free port");
            let address = redirect.address(listener.as_ref());
            let port = listener.map(|listener| listener.address.port());
            let expected = expected.replace("PORT", &port.unwrap_or_default().to_string());
            assert_eq!(address, expected);
        };
        check(None, "http://127.0.0.1:PORT/callback").await;
        check(Some("http://localhost/back"), "http://localhost:PORT/back").await;
        check(Some("https://h/back"), "https://h/back").await;
        let first = Redirect::of(None);
        let listener = first.listen(None).await.expect("a free port");
        let earlier = first.address(listener.as_ref());
        let taken = first.listen(Some(&earlier)).await.expect("another port");
        assert_ne!(first.address(taken.as_ref()), earlier);
        drop(listener);
        let again = first.listen(Some(&earlier)).await.expect("the same port");
        assert_eq!(first.address(again.as_ref()), earlier);
    }
}

#[cfg(test)]
mod callback_tests {
    use super::*;

    #[test]
    fn a_pasted_address_is_read() {
        let callback = Callback::of_address(
            " 'http://127.0.0.1:1/callback?code=a%2Fb+c&state=s&iss=https%3A%2F%2Fi#x' \n",
        );
        let callback = callback.expect("an address");
        assert_eq!(callback.code.as_deref(), Some("a/b c"));
        assert_eq!(callback.state.as_deref(), Some("s"));
        assert_eq!(callback.issuer.as_deref(), Some("https://i"));
        for other in ["", "hello", "http://127.0.0.1:1/callback", "http://h/?x=1"] {
            assert!(Callback::of_address(other).is_none(), "{other}");
        }
        let doubled = Callback::of_query("code=a&code=b&state=s&error=e&error_description=d");
        assert!(doubled.code.is_none());
        assert_eq!(doubled.error.as_deref(), Some("e"));
    }
}
