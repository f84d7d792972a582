//! A server that speaks TLS, and the papers it and its clients need.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::PathBuf,
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tempfile::TempDir;

use super::ODD;

/// The name that the server's certificate bears.
pub(super) const HOST: &str = "server.test";

/// A certificate and its private key, as PEM.
pub(super) type Papers = (&'static str, &'static str);

macro_rules! certificate {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/certificates/", $name))
    };
}

const AUTHORITY: &str = certificate!("ca.pem");
/// Of [`HOST`].
const SERVER: Papers = (certificate!("server.pem"), certificate!("server.key"));
/// Of [`HOST`]; it signed itself and says that it is an authority's.
const ITSELF: Papers = (certificate!("itself.pem"), certificate!("itself.key"));
/// Of a client.
pub(super) const CLIENT: Papers = (certificate!("client.pem"), certificate!("client.key"));

/// A folder for the papers of an authority.
pub(super) struct Authority(TempDir);

impl Authority {
    pub(super) fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    /// A file with this text.
    pub(super) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// A file with its own certificate.
    pub(super) fn ca_file(&self) -> PathBuf {
        self.file("ca.pem", AUTHORITY)
    }

    /// A file with the certificate of [`serve_as_authority`].
    pub(super) fn own_file(&self) -> PathBuf {
        self.file("itself.pem", ITSELF.0)
    }
}

/// Starts a server for [`HOST`] that answers every request with [`ODD`]; its port. It ends with the tests. It may ask its
/// clients for certificates of the authority.
pub(super) fn serve(asks_clients: bool) -> u16 {
    serve_with(asks_clients, SERVER)
}

/// The same with a certificate that signed itself and says that it is an authority's.
pub(super) fn serve_as_authority() -> u16 {
    serve_with(false, ITSELF)
}

fn serve_with(asks_clients: bool, papers: Papers) -> u16 {
    let settings = Arc::new(server_settings(asks_clients, papers));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let connection = ServerConnection::new(settings.clone()).expect("good settings");
            // A client that does not like the certificate ends the connection.
            let _ = answer(StreamOwned::new(connection, socket));
        }
    });
    port
}

fn server_settings(asks_clients: bool, papers: Papers) -> ServerConfig {
    let (certificate, key) = papers;
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).expect("PEM");
    roots.add(authority).expect("a certificate");
    let verifier = if asks_clients {
        WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .expect("a verifier")
    } else {
        WebPkiClientVerifier::no_client_auth()
    };
    let chain = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![chain], key)
        .expect("a chain and its key")
}

/// Answers one request, whatever it is.
fn answer(stream: impl Read + Write) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().expect("a number");
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    let body = format!(r#"{{"jsonrpc":"2.0","id":"p1","result":{ODD}}}"#);
    let stream = stream.get_mut();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}
