//! Asks an admin API over HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cupo_config::read_file;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::args::ReachArgs;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest answer that is read, in bytes: 64 MiB.
const MOST_BODY: usize = 64 << 20;

/// The longest file of certificates that is read, in bytes: 1 MiB.
const MAX_PEM_BYTES: usize = 1 << 20;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum NoAnswer {
    #[error(
        "`{0}` is not where an admin API listens: write http://HOST:PORT, https://HOST:PORT or unix:/PATH"
    )]
    Url(Box<str>),
    #[error("the environment has no token in the variable `{0}`")]
    NoToken(Box<str>),
    #[error("the token in the variable `{0}` of the environment has characters that no header carries")]
    Token(Box<str>),
    #[error("`{}` cannot be used: {reason}", path.display())]
    File { path: PathBuf, reason: Box<str> },
    #[error("with https, --ca-file has to name who signs the gateway's certificate")]
    NoAuthority,
    #[error("the admin API at {url} cannot be reached: {reason}")]
    Unreachable { url: Box<str>, reason: Box<str> },
}

impl NoAnswer {
    /// Whether the options are to blame.
    pub(crate) const fn is_usage(&self) -> bool {
        !matches!(self, Self::Unreachable { .. })
    }
}

/// Where an admin API is, and who asks.
pub(crate) struct Client {
    url: Box<str>,
    place: Place,
    authority: HeaderValue,
    token: Option<HeaderValue>,
    runtime: Runtime,
}

enum Place {
    Tcp { address: String, tls: Option<(TlsConnector, ServerName<'static>)> },
    Unix(PathBuf),
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Client {
    pub(crate) fn new(args: &ReachArgs) -> Result<Self, NoAnswer> {
        let (place, authority) = place(args)?;
        let token = args.token_env.as_deref().map(token).transpose()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(&args.url, &error))?;
        Ok(Self { url: args.url.as_str().into(), place, authority, token, runtime })
    }

    /// Sends a request, with a body of JSON if there is one.
    pub(crate) fn ask(
        &self,
        method: Method,
        target: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, NoAnswer> {
        let asked = async { timeout(PATIENCE, self.exchange(method, target, body)).await };
        match self.runtime.block_on(asked) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(unreachable(&self.url, &*error)),
            Err(_) => {
                Err(NoAnswer::Unreachable { url: self.url.clone(), reason: "it does not answer".into() })
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        target: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let stream: Box<dyn Stream> = match &self.place {
            Place::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Place::Tcp { address, tls: None } => Box::new(TcpStream::connect(address).await?),
            Place::Tcp { address, tls: Some((connector, name)) } => {
                let stream = TcpStream::connect(address).await?;
                Box::new(connector.connect(name.clone(), stream).await?)
            }
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let driven = tokio::spawn(connection);
        let mut request = Request::new(Full::new(Bytes::from(body.unwrap_or_default())));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse::<Uri>()?;
        let has_body = !request.body().clone().collect().await?.to_bytes().is_empty();
        let headers = request.headers_mut();
        headers.insert(HOST, self.authority.clone());
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MOST_BODY).collect().await?.to_bytes();
        driven.abort();
        Ok(Answer { status, body })
    }
}

fn unreachable(url: &str, error: &dyn std::error::Error) -> NoAnswer {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    NoAnswer::Unreachable { url: url.into(), reason: reason.into() }
}

fn token(variable: &str) -> Result<HeaderValue, NoAnswer> {
    let token = std::env::var(variable).ok().filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| NoAnswer::NoToken(variable.into()))?;
    let mut value =
        HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| NoAnswer::Token(variable.into()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where to connect to, and the host to ask for.
fn place(args: &ReachArgs) -> Result<(Place, HeaderValue), NoAnswer> {
    let wrong = || NoAnswer::Url(args.url.as_str().into());
    if let Some(path) = args.url.strip_prefix("unix:") {
        let path = path.starts_with('/').then(|| PathBuf::from(path)).ok_or_else(wrong)?;
        return Ok((Place::Unix(path), HeaderValue::from_static("localhost")));
    }
    let url: Uri = args.url.parse().map_err(|_| wrong())?;
    let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
    let (Some(authority), Some(host), true) = (url.authority(), url.host(), is_bare) else {
        return Err(wrong());
    };
    if authority.as_str().contains('@') {
        return Err(wrong());
    }
    let port = |default| url.port_u16().unwrap_or(default);
    let value = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?;
    match url.scheme_str() {
        Some("http") => Ok((Place::Tcp { address: format!("{host}:{}", port(80)), tls: None }, value)),
        Some("https") => {
            let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(bare).map_err(|_| wrong())?;
            let tls = Some((connector(args)?, name));
            Ok((Place::Tcp { address: format!("{host}:{}", port(443)), tls }, value))
        }
        _ => Err(wrong()),
    }
}

fn connector(args: &ReachArgs) -> Result<TlsConnector, NoAnswer> {
    let authority = args.ca_file.as_deref().ok_or(NoAnswer::NoAuthority)?;
    let wrong = |path: &Path, reason: &dyn std::fmt::Display| NoAnswer::File {
        path: path.to_owned(),
        reason: reason.to_string().into(),
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authority)? {
        roots.add(certificate).map_err(|error| wrong(authority, &error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(authority, &error))?
        .with_root_certificates(roots);
    let config = match (&args.cert_file, &args.key_file) {
        (Some(cert), Some(key)) => {
            let bytes = read_file(key, MAX_PEM_BYTES).map_err(|error| wrong(key, &error))?;
            let own = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| wrong(key, &error))?;
            config.with_client_auth_cert(certificates(cert)?, own).map_err(|error| wrong(cert, &error))?
        }
        _ => config.with_no_client_auth(),
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NoAnswer> {
    let wrong = |reason: &dyn std::fmt::Display| NoAnswer::File {
        path: path.to_owned(),
        reason: reason.to_string().into(),
    };
    let bytes = read_file(path, MAX_PEM_BYTES).map_err(|error| wrong(&error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong(&"it has no certificate")),
        Err(error) => Err(wrong(&error)),
    }
}
