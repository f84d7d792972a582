//! Ways to a server: TLS and proxies.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::{
    Client, ODD,
    odd_server::{OddServer, json},
    soon,
    tls_server::{Authority, CLIENT, HOST, serve, serve_as_authority},
};
use crate::{
    link::{Endpoint, EndpointError, LinkError, http::connect},
    wire::RequestNumbers,
};

fn at(url: String) -> Endpoint {
    Endpoint {
        url,
        ..Endpoint::default()
    }
}

fn proxies(url: &str) -> Matcher {
    Matcher::builder().all(url.to_owned()).build()
}

/// A proxy that says what it was asked for and connects to `port` on this machine, whatever that was.
struct Proxy {
    address: String,
    asked: mpsc::UnboundedReceiver<String>,
}

impl Proxy {
    /// An HTTP proxy.
    async fn http(port: u16) -> Self {
        Self::start(port, async |client: &mut TcpStream| {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await?);
            }
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            Ok(String::from_utf8_lossy(&head).into_owned())
        })
        .await
    }

    /// A SOCKS proxy (RFC 1928) that takes names and asks for no password.
    async fn socks(port: u16) -> Self {
        Self::start(port, async |client: &mut TcpStream| {
            let mut greeting = [0; 2];
            client.read_exact(&mut greeting).await?;
            client.read_exact(&mut vec![0; greeting[1].into()]).await?;
            client.write_all(&[5, 0]).await?;
            let mut head = [0; 5];
            client.read_exact(&mut head).await?;
            let mut name = vec![0; head[4].into()];
            client.read_exact(&mut name).await?;
            let port = client.read_u16().await?;
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
            Ok(format!("{}:{port}", String::from_utf8_lossy(&name)))
        })
        .await
    }

    async fn start(
        port: u16,
        greet: impl AsyncFn(&mut TcpStream) -> std::io::Result<String> + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (say, asked) = mpsc::unbounded_channel();
        tokio::task::spawn_local(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let Ok(what) = greet(&mut client).await else {
                    continue;
                };
                let _ = say.send(what);
                let mut server = TcpStream::connect(("127.0.0.1", port))
                    .await
                    .expect("it is there");
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
            }
        });
        Self { address, asked }
    }

    async fn asked(&mut self) -> String {
        soon(self.asked.recv()).await.expect("it runs")
    }
}

/// Reaches the test server through a proxy that knows where it is.
async fn reached(endpoint: &Endpoint, proxy: &str) -> Result<String, LinkError> {
    Client::through(endpoint, &proxies(proxy))
        .result(1, "x")
        .await
}

#[tokio::test(flavor = "local")]
async fn a_server_is_trusted_through_ca_file_only() {
    let authority = Authority::new();
    let port = serve(false);
    let mut endpoint = at(format!("https://{HOST}:{port}/mcp"));
    let proxy = Proxy::http(port).await;
    let proxy = format!("http://{}", proxy.address);
    match reached(&endpoint, &proxy).await {
        Err(LinkError::Tls(mistake)) => {
            let step = mistake.step();
            assert!(step.contains("into `ca_file` of its entry"), "{step}");
        }
        other => panic!("{other:?}"),
    }
    endpoint.ca_file = Some(authority.ca_file());
    assert_eq!(reached(&endpoint, &proxy).await.expect("an answer"), ODD);
}

#[tokio::test(flavor = "local")]
async fn common_mistakes_about_tls_are_said_in_words() {
    let authority = Authority::new();
    let check = async |endpoint: Endpoint, port: u16, words: &str| {
        let proxy = Proxy::http(port).await;
        let proxy = format!("http://{}", proxy.address);
        match reached(&endpoint, &proxy).await {
            Err(LinkError::Tls(mistake)) => {
                let said = format!("{mistake}; {}", mistake.step());
                assert!(said.contains(words), "{said}");
            }
            Err(error) => assert!(error.to_string().contains(words), "{error}"),
            other => panic!("{other:?}"),
        }
    };
    let trusting = |ca_file| Endpoint {
        ca_file: Some(ca_file),
        ..at(format!("https://{HOST}/mcp"))
    };
    let plain = OddServer::after_handshake(|seen| json(200, &seen.answer(ODD))).await;
    let plain: Uri = plain.url.parse().expect("an address");
    let plain = plain.port_u16().expect("a port");
    let (itself, its_file) = (serve_as_authority(), authority.own_file());
    check(
        trusting(authority.ca_file()),
        plain,
        "does not speak TLS; write http://",
    )
    .await;
    let words =
        "an issuer's certificate, not a server's; give that server a certificate of its own";
    check(trusting(its_file), itself, words).await;
    let elsewhere = Endpoint {
        ca_file: Some(authority.ca_file()),
        ..at("https://other.test/mcp".to_owned())
    };
    check(elsewhere, serve(false), "another host").await;
    let port = serve(false);
    let plain = at(format!("http://127.0.0.1:{port}/mcp"));
    check(plain, port, "does not speak HTTP").await;
}

#[tokio::test(flavor = "local")]
async fn a_client_shows_its_certificate() {
    let authority = Authority::new();
    let port = serve(true);
    let proxy = Proxy::http(port).await;
    let proxy = format!("http://{}", proxy.address);
    let mut endpoint = at(format!("https://{HOST}:{port}/mcp"));
    endpoint.ca_file = Some(authority.ca_file());
    assert!(reached(&endpoint, &proxy).await.is_err());
    let (certificate, key) = CLIENT;
    endpoint.client_cert = Some(authority.file("client.pem", &format!("{certificate}{key}")));
    assert_eq!(reached(&endpoint, &proxy).await.expect("an answer"), ODD);
}

#[test]
fn papers_that_are_none_are_named_and_not_shown() {
    let authority = Authority::new();
    let (certificate, key) = CLIENT;
    let broken_key = key.replace("-----END PRIVATE KEY-----", "");
    let secret = key.lines().nth(1).expect("a line of the key").to_owned();
    let check = |ca_file: Option<&str>, client_cert: Option<&str>, word: &str| {
        let endpoint = Endpoint {
            ca_file: ca_file.map(|text| authority.file("some-ca.pem", text)),
            client_cert: client_cert.map(|text| authority.file("client.pem", text)),
            ..at(format!("https://{HOST}/"))
        };
        let error = connect(&endpoint, RequestNumbers::default())
            .err()
            .expect("not usable")
            .to_string();
        assert!(error.contains(word) && error.contains(".pem"), "{error}");
        assert!(!error.contains(&secret), "{error}");
    };
    check(Some(""), None, "no certificate");
    check(Some("hello"), None, "no certificate");
    check(Some(key), None, "no certificate");
    check(None, Some(certificate), "no private key");
    check(None, Some(key), "no certificate");
    check(
        None,
        Some(&format!("{certificate}{broken_key}")),
        "client_cert",
    );

    let endpoint = Endpoint {
        ca_file: Some("/nowhere/ca.pem".into()),
        ..at(format!("https://{HOST}/"))
    };
    let error = connect(&endpoint, RequestNumbers::default())
        .err()
        .expect("not usable");
    assert!(
        matches!(
            error,
            EndpointError::File {
                what: "ca_file",
                ..
            }
        ),
        "{error}"
    );
    // Without TLS nobody looks for it.
    let endpoint = Endpoint {
        url: format!("http://{HOST}/"),
        ..endpoint
    };
    assert!(endpoint.parse().is_ok());
}

#[tokio::test(flavor = "local")]
async fn https_passes_through_a_tunnel() {
    let authority = Authority::new();
    let port = serve(false);
    let endpoint = Endpoint {
        ca_file: Some(authority.ca_file()),
        ..at(format!("https://{HOST}:{port}/mcp"))
    };
    let mut proxy = Proxy::http(port).await;
    let address = format!("http://me:pass%20word@{}", proxy.address);
    assert_eq!(reached(&endpoint, &address).await.expect("an answer"), ODD);
    let asked = proxy.asked().await;
    assert!(
        asked.starts_with(&format!("CONNECT {HOST}:{port} HTTP/1.1\r\n")),
        "{asked}"
    );
    assert!(
        asked.contains("Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n"),
        "{asked}"
    );
}

#[tokio::test(flavor = "local")]
async fn everything_passes_through_socks() {
    let authority = Authority::new();
    let port = serve(false);
    let endpoint = Endpoint {
        ca_file: Some(authority.ca_file()),
        ..at(format!("https://{HOST}:{port}/mcp"))
    };
    let mut proxy = Proxy::socks(port).await;
    let address = format!("socks5h://{}", proxy.address);
    assert_eq!(reached(&endpoint, &address).await.expect("an answer"), ODD);
    assert_eq!(proxy.asked().await, format!("{HOST}:{port}"));

    let server = OddServer::after_handshake(|seen| json(200, &seen.answer(ODD))).await;
    let port = server
        .url
        .parse::<Uri>()
        .expect("an address")
        .port_u16()
        .expect("a port");
    let mut proxy = Proxy::socks(port).await;
    let address = format!("socks5h://{}", proxy.address);
    let endpoint = at(format!("http://{HOST}/mcp"));
    assert_eq!(reached(&endpoint, &address).await.expect("an answer"), ODD);
    assert_eq!(proxy.asked().await, format!("{HOST}:80"));
}

#[tokio::test]
async fn plain_http_is_handed_to_the_proxy() {
    let mut proxy = OddServer::after_handshake(|seen| json(200, &seen.answer(ODD))).await;
    let address = proxy.url.replace("http://", "http://me:pw@");
    let endpoint = at(format!("http://{HOST}/mcp?a=b"));
    assert_eq!(reached(&endpoint, &address).await.expect("an answer"), ODD);
    let seen = proxy.sees("tools/call").await;
    assert_eq!(seen.target, format!("http://{HOST}/mcp?a=b"));
    assert_eq!(seen.header("host"), Some(HOST));
    assert_eq!(seen.header("proxy-authorization"), Some("Basic bWU6cHc="));
}

#[tokio::test]
async fn what_is_near_is_reached_without_the_proxy() {
    let server = OddServer::after_handshake(|seen| json(200, &seen.answer(ODD))).await;
    let mut proxy = OddServer::after_handshake(|_| json(500, "never")).await;
    let endpoint = at(server.url.clone());
    assert_eq!(
        reached(&endpoint, &proxy.url).await.expect("an answer"),
        ODD
    );
    let excepted = Matcher::builder()
        .all(proxy.url.clone())
        .no("name.invalid")
        .build();
    let endpoint = at("http://name.invalid/mcp".to_owned());
    let outcome = Client::through(&endpoint, &excepted).result(1, "x").await;
    assert!(matches!(outcome, Err(LinkError::NoHost(_))), "{outcome:?}");
    assert!(proxy.rest().is_empty());
}
