//! The admin API of a gateway: from what the policy says to a listener.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use cupo_config::{AdminSource, AdminTlsSource, Config, ConfigErrors, ListenSource, read_file};
use cupo_core::{Clock, Observer};
use cupo_server::{
    AdminListener, AdminSettings, AdminTls, AdminToken, Control, Nearest, RunningAdmin, start_admin,
};
use cupo_tower::ReloadHandle;

use crate::failure::Failure;
use crate::store::AnyStore;

/// The longest file of certificates that is read, in bytes: 1 MiB.
const MAX_PEM_BYTES: usize = 1 << 20;

/// The permissions of a Unix socket's file: its owner may connect, and nobody else.
const SOCKET_MODE: u32 = 0o600;

/// What the policy says of the admin API, with its files read.
#[derive(Debug)]
pub(crate) struct Said {
    source: AdminSource,
    settings: AdminSettings,
}

impl Said {
    /// `None` where the policy has no admin API.
    ///
    /// # Errors
    /// [`ConfigErrors`]: which field names what cannot be used.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, ConfigErrors> {
        let Some(source) = config.admin.clone() else { return Ok(None) };
        let tokens = source
            .tokens
            .iter()
            .map(|said| AdminToken::new(&said.name, said.token.expose(), said.may_read, said.may_change));
        let tokens = tokens.collect();
        let tls = source.tls.as_ref().map(|said| tls(said, config)).transpose()?;
        Ok(Some(Self { source, settings: AdminSettings { tokens, tls } }))
    }

    /// Listens where the policy says.
    pub(super) fn bind(self) -> Result<Bound, Failure> {
        let listener = match &self.source.listen {
            ListenSource::Unix(path) => {
                AdminListener::bind_unix(path, self.source.socket_mode.unwrap_or(SOCKET_MODE))?
            }
            ListenSource::Tcp(address) => AdminListener::bind(*address)?,
            _ => AdminListener::bind(AdminSource::LISTEN)?,
        };
        let has_tls = self.settings.tls.is_some();
        if !has_tls && listener.address().is_some_and(|address| !address.ip().is_loopback()) {
            tracing::warn!("the admin API answers other machines without TLS: tokens can be read on the way");
        }
        Ok(Bound { listener, settings: self.settings, has_tls })
    }
}

/// An admin API that listens, and does not answer yet.
pub(super) struct Bound {
    listener: AdminListener,
    settings: AdminSettings,
    has_tls: bool,
}

impl Bound {
    pub(super) fn start<C: Clock + 'static, O: Observer + 'static>(
        self,
        handle: ReloadHandle<AnyStore, C, O>,
        nearest: Arc<Nearest>,
        control: Arc<dyn Control>,
    ) -> Result<Answering, Failure> {
        let running = start_admin(self.settings, self.listener, handle, nearest, control)?;
        Ok(Answering { running, has_tls: self.has_tls })
    }
}

/// An admin API that answers.
pub(super) struct Answering {
    running: RunningAdmin,
    has_tls: bool,
}

impl Answering {
    /// Where, as a URL.
    pub(super) fn url(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        let of = |address: SocketAddr| format!("{scheme}://{address}");
        let path = self.running.socket_path().unwrap_or(Path::new("")).display();
        self.running.address().map_or_else(|| format!("unix:{path}"), of)
    }

    pub(super) fn stop(self) {
        self.running.stop();
    }
}

fn tls(said: &AdminTlsSource, config: &Config) -> Result<AdminTls, ConfigErrors> {
    let folder = Path::new(config.source.name()).parent().unwrap_or(Path::new(""));
    let read = |field: &str, path: &Path| {
        let path = folder.join(path);
        read_file(&path, MAX_PEM_BYTES).map_err(|error| {
            config.unusable(field, format_args!("`{}` cannot be read: {error}", path.display()))
        })
    };
    let cert = read("admin.tls.cert_file", &said.cert_file)?;
    let key = read("admin.tls.key_file", &said.key_file)?;
    let client_ca =
        said.client_ca_file.as_deref().map(|path| read("admin.tls.client_ca_file", path)).transpose()?;
    AdminTls::from_pem(&cert, &key, client_ca.as_deref()).map_err(|error| config.unusable("admin.tls", error))
}
