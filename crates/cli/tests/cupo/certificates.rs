//! An authority, a server and a client whom it vouches for.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Files of certificates in a folder, by their paths.
pub(crate) struct Certificates {
    pub(crate) authority: String,
    pub(crate) server: String,
    pub(crate) server_key: String,
    pub(crate) client: String,
    pub(crate) client_key: String,
    /// Another authority, which vouches for nobody.
    pub(crate) other: String,
}

impl Certificates {
    pub(crate) fn new(folder: &Path) -> Self {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let authority = |name: &str| {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, name);
            let key = KeyPair::generate().unwrap();
            let pem = params.self_signed(&key).unwrap().pem();
            (pem, Issuer::new(params, key))
        };
        let (pem, issuer) = authority("test authority");
        let signed = |name: &str, hosts: &[&str]| {
            let mut params =
                CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
                    .unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
            let key = KeyPair::generate().unwrap();
            (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
        };
        let (server, server_key) = signed("localhost", &["localhost"]);
        let (client, client_key) = signed("alice", &[]);
        Self {
            authority: write("ca.pem", &pem),
            server: write("server.pem", &server),
            server_key: write("server.key", &server_key),
            client: write("client.pem", &client),
            client_key: write("client.key", &client_key),
            other: write("other.pem", &authority("another").0),
        }
    }
}
