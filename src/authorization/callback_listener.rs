//! The port that the browser comes back to: it listens while one login waits, and shows the outcome. Reads the head of a request by hand:
//! only one GET is answered, and the connections that send nothing have to be counted, which a server of a library hides.

use std::{collections::VecDeque, io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

use super::{LoginError, callback::Callback};
use crate::runtime::accepting::patiently;

/// Limit: bytes of a request's head. A redirect has a code and a state in it, and the browser's own headers.
const LARGEST: usize = 16 << 10;

/// How long a browser may take to send its request, or to take the answer: some open connections in advance and say nothing.
const HEAD: Duration = Duration::from_secs(2);

/// Limit: connections without a request yet. The oldest gives way to a new one, so that nobody keeps the browser out by opening many.
const SILENT: usize = 64;

/// Limit: requests that are answered at the same time. Others wait.
const ANSWERED: usize = 16;

/// Takes the callback that the browser brings.
pub(super) trait CallbackReceiver: Send + Sync + 'static {
    /// Ends the login with it, and gives the outcome.
    fn take(self: Arc<Self>, callback: Callback) -> BoxFuture<'static, Result<(), LoginError>>;

    /// Returns when the login is over.
    fn over(&self) -> BoxFuture<'_, ()>;

    /// The server that one logs in to.
    fn server(&self) -> &str;
}

/// A port that listens.
pub(super) struct CallbackListener {
    listener: TcpListener,
    port: u16,
    /// As the redirect names it.
    host: String,
    path: String,
}

impl CallbackListener {
    /// Listens at an address of this machine, which the redirect names so.
    pub(super) async fn bind(address: SocketAddr, host: &str, path: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
            host: host.to_owned(),
            path: path.to_owned(),
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Takes requests until the login is over.
    pub(super) async fn serve(self, login: Arc<dyn CallbackReceiver>) {
        let place = Arc::new(Place {
            path: self.path,
            hosts: hosts(&self.host, self.port),
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

/// The path and the hosts that a request must name.
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

/// A connection with the head of its request; nothing if none comes in time.
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
    let server = login.server();
    let (status, text) = match query_of(&head, &place) {
        None => ("404 Not Found", "Nothing here.".to_owned()),
        Some(query) => match login.clone().take(Callback::of_query(query)).await {
            Ok(()) => {
                let text = format!("You are logged in to {server}. You can close this page.");
                ("200 OK", text)
            }
            Err(error) => {
                let then = "The next step is where you began the login.";
                let text = format!("Not logged in to {server}: {error}. {then}");
                ("400 Bad Request", text)
            }
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

/// The query of a request, if it is for this path and host.
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
        check("GET /callback?x=1&code=1 H", ours, Some("x=1&code=1"));
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
        fn take(self: Arc<Self>, _: Callback) -> BoxFuture<'static, Result<(), LoginError>> {
            Box::pin(async move {
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
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = CallbackListener::bind(any_port, "127.0.0.1", "/callback").await;
        let listener = listener.expect("a free port");
        let address = SocketAddr::from(([127, 0, 0, 1], listener.port()));
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
}
