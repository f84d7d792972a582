//! A server that speaks TLS, and the papers it and its clients need.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::PathBuf,
    sync::Arc,
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
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

/// An authority and a folder for its papers.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).expect("a certificate"),
            folder: TempDir::new().expect("a folder"),
        }
    }

    /// A file with this text.
    pub(super) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// A file with its own certificate.
    pub(super) fn ca_file(&self) -> PathBuf {
        self.file("ca.pem", &self.issuer.pem())
    }

    /// A certificate for a name, and its private key, as PEM.
    pub(super) fn certify(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }

    /// Starts a server for [`HOST`] that answers every request with [`ODD`]; its port. It ends with the tests. It may ask its
    /// clients for certificates of this authority.
    pub(super) fn serve(&self, asks_clients: bool) -> u16 {
        self.serve_with(asks_clients, &self.certify(HOST))
    }

    /// The same with a certificate that signed itself and says that it is an authority's, which comes as a file.
    pub(super) fn serve_as_authority(&self) -> (u16, PathBuf) {
        let mut params = CertificateParams::new(vec![HOST.to_owned()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let papers = (certificate.pem(), key.serialize_pem());
        let port = self.serve_with(false, &papers);
        (port, self.file("itself.pem", &papers.0))
    }

    fn serve_with(&self, asks_clients: bool, papers: &(String, String)) -> u16 {
        let settings = Arc::new(self.server_settings(asks_clients, papers));
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

    fn server_settings(&self, asks_clients: bool, papers: &(String, String)) -> ServerConfig {
        let (certificate, key) = papers;
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("a certificate");
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
