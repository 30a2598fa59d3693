//! Certificates that live as long as a test.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate authority, a server of 127.0.0.1 and `localhost`, and a client.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// The client's certificate, PEM.
    pub client: String,
    /// The client's key, PEM.
    pub client_key: String,
    server: String,
    server_key: String,
}

impl Certificates {
    /// New ones, which nobody else trusts.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn generate() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "cupo test authority");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let issue = |name: &str, hosts: &[&str]| {
            let key = KeyPair::generate().unwrap();
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let mut params = CertificateParams::new(hosts).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
        };
        let (server, server_key) = issue("cupo test server", &["127.0.0.1", "localhost"]);
        let (client, client_key) = issue("cupo test client", &[]);
        Self { authority: issuer.pem(), client, client_key, server, server_key }
    }

    /// Writes what a server needs into its folder; the lines of its configuration.
    pub(super) fn write(&self, folder: &Path) -> Vec<String> {
        let file = |name: &str, pem: &str| -> PathBuf {
            let path = folder.join(name);
            std::fs::write(&path, pem).unwrap();
            path
        };
        vec![
            format!("tls-ca-cert-file {}", file("authority.pem", &self.authority).display()),
            format!("tls-cert-file {}", file("server.pem", &self.server).display()),
            format!("tls-key-file {}", file("server.key", &self.server_key).display()),
            "tls-auth-clients yes".to_owned(),
        ]
    }
}
