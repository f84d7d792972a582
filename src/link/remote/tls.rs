//! Whom a connection trusts, and who it says it is. Built only for addresses that need it.

use std::{
    error::Error,
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{Endpoint, EndpointError};
use crate::{link::link_error::TlsMistake, storage};

/// The TLS settings for an endpoint.
pub(super) fn settings(endpoint: &Endpoint) -> Result<Arc<ClientConfig>, EndpointError> {
    let roots = match &endpoint.ca_file {
        None => system_roots().clone(),
        Some(path) => Arc::new(with_file(RootCertStore::clone(system_roots()), path)?),
    };
    if roots.is_empty() {
        return Err(EndpointError::Tls(
            "the system has no certificates to trust, and ca_file is not set".to_owned(),
        ));
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| EndpointError::Tls(error.to_string()))?
        .with_root_certificates(roots);
    let Some(path) = &endpoint.client_cert else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let bad = |why: String| EndpointError::File {
        what: "client_cert",
        path: path.clone(),
        why,
    };
    let chain = certificates(path).map_err(bad)?;
    let key = PrivateKeyDer::from_pem_file(path).map_err(|error| bad(in_words(&error)))?;
    let settings = builder.with_client_auth_cert(chain, key);
    Ok(Arc::new(settings.map_err(|_| {
        bad("its key and its certificate do not match".to_owned())
    })?))
}

/// What a connection failed of, where it is a common mistake.
pub(super) fn mistake_in(error: &(dyn Error + 'static)) -> Option<TlsMistake> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(error) = error.downcast_ref() {
            return Some(mistake(error));
        }
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        link = match wrapped {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn mistake(error: &rustls::Error) -> TlsMistake {
    use rustls::{CertificateError as Bad, Error::InvalidCertificate};

    match error {
        rustls::Error::InvalidMessage(_) => TlsMistake::PlainHttp,
        InvalidCertificate(Bad::UnknownIssuer) => TlsMistake::UnknownIssuer,
        InvalidCertificate(Bad::BadSignature) => TlsMistake::OtherIssuer,
        InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            TlsMistake::OtherHost
        }
        InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => TlsMistake::Expired,
        InvalidCertificate(Bad::Other(other))
            if other.to_string().contains("CaUsedAsEndEntity") =>
        {
            TlsMistake::Authority
        }
        InvalidCertificate(_) => TlsMistake::Unusable,
        rustls::Error::AlertReceived(_) => TlsMistake::Refused,
        _ => TlsMistake::Incompatible,
    }
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER
        .get_or_init(|| Arc::new(ring::default_provider()))
        .clone()
}

/// What the system trusts, read once: it takes 20 ms and some hundred kilobytes. A certificate that cannot be read is left out.
fn system_roots() -> &'static Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some system certificates are unreadable");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    })
}

fn with_file(mut roots: RootCertStore, path: &Path) -> Result<RootCertStore, EndpointError> {
    let bad = |why: String| EndpointError::File {
        what: "ca_file",
        path: path.to_owned(),
        why,
    };
    for certificate in certificates(path).map_err(bad)? {
        roots
            .add(certificate)
            .map_err(|_| bad("a certificate in it cannot be used".to_owned()))?;
    }
    Ok(roots)
}

/// The certificates of a PEM file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| in_words(&error))?
        .collect();
    match found {
        Ok(certificates) if certificates.is_empty() => Err("no certificate in it".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(in_words(&error)),
    }
}

/// The library's own text shows lines of the file, which may be those of a private key.
fn in_words(error: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error;
    match error {
        Error::Io(error) => storage::in_words(error),
        Error::NoItemsFound => "no private key in it".to_owned(),
        _ => "it is not PEM".to_owned(),
    }
}
