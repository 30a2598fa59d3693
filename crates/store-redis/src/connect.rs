//! Opens connections, and asks a server what it is.

use core::time::Duration;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    ProtocolVersion, RedisConnectionInfo, TlsCertificates, Value,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::timeout;

use crate::error::{ConnectionError, RedisError};
use crate::fault::connection_error;
use crate::secret::Secret;
use crate::settings::{Address, RedisSettings};

/// Bytes that were sent and not acknowledged for so long break the connection, whatever else happens.
const USER_TIMEOUT: Duration = Duration::from_secs(5);
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Who logs in, and to which database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Login {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) database: u32,
}

/// Opens connections with the same settings to different servers.
#[derive(Debug)]
pub(crate) struct Opener {
    certificates: Option<TlsCertificates>,
    within: Duration,
    pipeline: usize,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) is_replica: bool,
    pub(crate) mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Standalone,
    Cluster,
    Sentinel,
}

impl Opener {
    pub(crate) fn new(settings: &RedisSettings) -> Result<Self, RedisError> {
        let tls = &settings.tls;
        let certificates = tls.enabled.then(|| TlsCertificates {
            client_tls: tls.client_certificate.as_ref().zip(tls.client_key.as_ref()).map(|(cert, key)| {
                ClientTlsConfig { client_cert: cert.clone(), client_key: key.expose().as_bytes().to_vec() }
            }),
            root_cert: tls.ca.clone(),
        });
        let opener = Self {
            certificates,
            within: settings.connect_timeout,
            pipeline: settings.calls_in_flight.saturating_mul(4).max(64),
        };
        if let Some(ca) = &tls.ca
            && !matches!(CertificateDer::pem_slice_iter(ca).next(), Some(Ok(_)))
        {
            return Err(RedisError::NoAuthority);
        }
        if opener.certificates.is_some() {
            // Somebody else in the process may have chosen a provider already; theirs is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            // Certificates that cannot be read are found now, not when the first connection is made.
            let nowhere = Address::Tcp { host: "localhost".to_owned(), port: 1 };
            opener
                .client(&nowhere, &Login::default())
                .map_err(|error| RedisError::Certificates { source: Arc::new(error) })?;
        }
        Ok(opener)
    }

    /// The longest that opening takes.
    pub(crate) const fn within(&self) -> Duration {
        self.within
    }

    /// A connection to the server at `address`, and what the server says of itself.
    pub(crate) async fn open(
        &self,
        address: &Address,
        login: &Login,
    ) -> Result<(MultiplexedConnection, Hello), ConnectionError> {
        let open = async {
            let client = self.client(address, login).map_err(|e| connection_error(e, self.within))?;
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(self.within))
                .set_response_timeout(None)
                .set_pipeline_buffer_size(self.pipeline);
            let mut connection = client
                .get_multiplexed_async_connection_with_config(&config)
                .await
                .map_err(|e| connection_error(e, self.within))?;
            let hello = hello(&mut connection, self.within).await?;
            Ok((connection, hello))
        };
        timeout(self.within, open).await.unwrap_or(Err(ConnectionError::Silent(self.within)))
    }

    fn client(&self, address: &Address, login: &Login) -> redis::RedisResult<Client> {
        let address = match (address, &self.certificates) {
            (Address::Unix(path), _) => ConnectionAddr::Unix(path.clone()),
            (Address::Tcp { host, port }, None) => ConnectionAddr::Tcp(host.clone(), *port),
            (Address::Tcp { host, port }, Some(_)) => {
                ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None }
            }
        };
        let mut session = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name()
            .set_db(login.database.into());
        if let Some(username) = &login.username {
            session = session.set_username(username);
        }
        if let Some(password) = &login.password {
            session = session.set_password(password.expose());
        }
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3));
        #[cfg(target_os = "linux")]
        let tcp = tcp.set_user_timeout(USER_TIMEOUT);
        let info: ConnectionInfo =
            address.into_connection_info()?.set_redis_settings(session).set_tcp_settings(tcp);
        match &self.certificates {
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
            None => Client::open(info),
        }
    }
}

/// Asks a server what it is. `HELLO` needs no permission and is answered while the server loads or runs a long script.
pub(crate) async fn hello(
    connection: &mut MultiplexedConnection,
    within: Duration,
) -> Result<Hello, ConnectionError> {
    let command = redis::cmd("HELLO");
    let value: Value = match timeout(within, command.query_async(connection)).await {
        Ok(answer) => answer.map_err(|error| connection_error(error, within))?,
        Err(_) => return Err(ConnectionError::Silent(within)),
    };
    let Value::Map(fields) = value else { return Err(ConnectionError::Answer("HELLO")) };
    let field =
        |name: &str| fields.iter().find(|(key, _)| text(key) == Some(name)).and_then(|(_, v)| text(v));
    let (Some(mode), Some(version)) = (field("mode"), field("version")) else {
        return Err(ConnectionError::Answer("HELLO"));
    };
    let mode = match mode {
        "standalone" => Mode::Standalone,
        "cluster" => Mode::Cluster,
        "sentinel" => Mode::Sentinel,
        _ => return Err(ConnectionError::Answer("HELLO")),
    };
    let is_old = match version.split('.').map(str::parse::<u32>).collect::<Vec<_>>().as_slice() {
        [Ok(major), Ok(minor), ..] => (*major, *minor) < (6, 2),
        _ => false,
    };
    if is_old {
        return Err(ConnectionError::TooOld { version: version.to_owned() });
    }
    // A Sentinel has no role.
    let is_replica = matches!(field("role"), Some("replica" | "slave"));
    Ok(Hello { is_replica, mode })
}

pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => core::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        _ => None,
    }
}
