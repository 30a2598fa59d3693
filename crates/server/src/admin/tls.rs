//! TLS of the admin API, and who a client's certificate says that it is of.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;

/// Certificates, ready to be shown.
#[derive(Clone)]
pub struct AdminTls {
    pub(super) acceptor: TlsAcceptor,
}

impl fmt::Debug for AdminTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminTls")
    }
}

impl AdminTls {
    /// From PEM. With `client_ca` clients have to show a certificate that it signed.
    ///
    /// # Errors
    /// [`Error::AdminCertificates`] where something is missing, or does not go together.
    pub fn from_pem(cert: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, Error> {
        let wrong = |why: &dyn fmt::Display| Error::AdminCertificates { reason: why.to_string().into() };
        let chain = certificates(cert, "the certificate chain")?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong(&format_args!("the key: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem, "the client authority")? {
                    roots
                        .add(certificate)
                        .map_err(|error| wrong(&format_args!("the client authority: {error}")))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .map_err(|error| wrong(&format_args!("the client authority: {error}")))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| wrong(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |why: &dyn fmt::Display| Error::AdminCertificates { reason: format!("{what}: {why}").into() };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => Err(wrong(&"it has no certificate")),
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(&error)),
    }
}

/// The subject of the certificate that the client has shown, as in `CN=alice, O=Example`. It was verified before.
pub(super) fn subject(connection: &ServerConnection) -> Option<Arc<str>> {
    let certificate = connection.peer_certificates()?.first()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let subject = parsed.subject().to_string();
    // It goes into logs.
    Some(if subject.is_empty() {
        "certificate".into()
    } else {
        subject.escape_debug().collect::<String>().into()
    })
}
