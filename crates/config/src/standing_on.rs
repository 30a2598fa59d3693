//! Which files a policy stands on, and what of it holds from a start on only.

use std::path::{Path, PathBuf};

use crate::admin_source::AdminSource;
use crate::jwt_source::{JwtKeySource, JwtSource};
use crate::source::{Config, GatewaySource, LimitsSource, TimeoutsSource};
use crate::store_source::{PasswordSource, RedisSource, StoreSource};
use crate::{MAX_FILE_BYTES, file};

impl Config {
    /// Every file that the policy stands on: its own, and those that it names.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let callers = self.callers.as_ref().map(|file| file.path.clone());
        let mut files = named(self.source.name(), callers, self.jwt.as_ref());
        files.extend(self.files_of_the_start().into_iter().map(|(_, path)| path));
        files
    }

    /// Those of them that matter to a start only, each with its field: of the store, and of the admin API.
    #[must_use]
    pub fn files_of_the_start(&self) -> Vec<(&'static str, PathBuf)> {
        of_the_start(self.source.name(), &self.store, self.admin.as_ref())
    }

    /// Whether the policy file and the file of callers still say what they said. Blocks on file I/O.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let own = file::read(Path::new(self.source.name()), MAX_FILE_BYTES);
        own.is_ok_and(|own| own.text() == self.source.text())
            && self.callers.as_ref().is_none_or(crate::CallersFile::is_current)
    }
}

/// The policy file, and the files that it names and that swap with it.
pub(crate) fn named(policy: &str, callers: Option<PathBuf>, jwt: Option<&JwtSource>) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(policy)];
    files.extend(callers);
    files.extend(jwt.and_then(|jwt| match &jwt.keys {
        JwtKeySource::File(path) => Some(beside(policy, path)),
        JwtKeySource::Environment(_) => None,
    }));
    files
}

/// The files that a policy names and that matter to a start.
pub(crate) fn of_the_start(
    policy: &str,
    store: &StoreSource,
    admin: Option<&AdminSource>,
) -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    let mut add = |field, path: Option<&PathBuf>| files.extend(path.map(|path| (field, path.clone())));
    if let StoreSource::Redis(redis) = store {
        let password = match &redis.password {
            Some(PasswordSource::File(path)) => Some(path),
            _ => None,
        };
        add("store.redis.password_file", password);
        add("store.redis.tls.ca_file", redis.ca_file.as_ref());
        add("store.redis.tls.certificate_file", redis.certificate_file.as_ref());
        add("store.redis.tls.key_file", redis.key_file.as_ref());
    }
    if let Some(tls) = admin.and_then(|admin| admin.tls.as_ref()) {
        add("admin.tls.cert_file", Some(&beside(policy, &tls.cert_file)));
        add("admin.tls.key_file", Some(&beside(policy, &tls.key_file)));
        add(
            "admin.tls.client_ca_file",
            tls.client_ca_file.as_ref().map(|path| beside(policy, path)).as_ref(),
        );
    }
    files
}

fn beside(policy: &str, path: &Path) -> PathBuf {
    Path::new(policy).parent().unwrap_or(Path::new("")).join(path)
}

impl StoreSource {
    /// The fields in which the two differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let (Self::Redis(one), Self::Redis(other)) = (self, other) else {
            let field = match (self, other) {
                (Self::Memory { .. }, Self::Memory { .. }) => "store.memory",
                _ => "store",
            };
            return if self == other { Vec::new() } else { vec![field] };
        };
        // Whoever adds a field says here whether it waits for a start.
        let RedisSource {
            url,
            username,
            password,
            prefix,
            deadline,
            connect_timeout,
            max_waiters,
            batch_max,
            denial_cache,
            breaker_failures,
            breaker_rest,
            ca_file,
            certificate_file,
            key_file,
        } = &**one;
        let breaker = (breaker_failures, breaker_rest);
        let tls = (ca_file, certificate_file, key_file);
        chosen([
            ("store.redis.url", *url != other.url),
            ("store.redis.username", *username != other.username),
            ("store.redis.password", *password != other.password),
            ("store.redis.prefix", *prefix != other.prefix),
            ("store.redis.deadline", *deadline != other.deadline),
            ("store.redis.connect_timeout", *connect_timeout != other.connect_timeout),
            ("store.redis.max_waiters", *max_waiters != other.max_waiters),
            ("store.redis.batch_max", *batch_max != other.batch_max),
            ("store.redis.denial_cache", *denial_cache != other.denial_cache),
            ("store.redis.breaker", breaker != (&other.breaker_failures, &other.breaker_rest)),
            ("store.redis.tls", tls != (&other.ca_file, &other.certificate_file, &other.key_file)),
        ])
    }
}

impl GatewaySource {
    /// The fields in which the two differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Whoever adds a field says here whether it waits for a start.
        let Self {
            listen,
            socket_mode,
            proxy_protocol,
            upstream,
            upstream_protocol,
            health_path,
            status_path,
            access_log,
            workers,
            timeouts: TimeoutsSource { connect, request_header, response_header, idle, keep_alive, drain },
            limits:
                LimitsSource {
                    header_bytes,
                    headers,
                    target_bytes,
                    body_bytes,
                    response_header_bytes,
                    connections,
                    concurrent_streams,
                },
        } = self;
        let (timeouts, limits) = (&other.timeouts, &other.limits);
        chosen([
            ("listen", *listen != other.listen),
            ("socket_mode", *socket_mode != other.socket_mode),
            ("proxy_protocol", *proxy_protocol != other.proxy_protocol),
            ("upstream", *upstream != other.upstream),
            ("upstream_protocol", *upstream_protocol != other.upstream_protocol),
            ("health_path", *health_path != other.health_path),
            ("status", *status_path != other.status_path),
            ("access_log", *access_log != other.access_log),
            ("workers", *workers != other.workers),
            ("timeouts.connect", *connect != timeouts.connect),
            ("timeouts.request_header", *request_header != timeouts.request_header),
            ("timeouts.response_header", *response_header != timeouts.response_header),
            ("timeouts.idle", *idle != timeouts.idle),
            ("timeouts.keep_alive", *keep_alive != timeouts.keep_alive),
            ("timeouts.drain", *drain != timeouts.drain),
            ("limits.header_bytes", *header_bytes != limits.header_bytes),
            ("limits.headers", *headers != limits.headers),
            ("limits.target_bytes", *target_bytes != limits.target_bytes),
            ("limits.body_bytes", *body_bytes != limits.body_bytes),
            ("limits.response_header_bytes", *response_header_bytes != limits.response_header_bytes),
            ("limits.connections", *connections != limits.connections),
            ("limits.concurrent_streams", *concurrent_streams != limits.concurrent_streams),
        ])
    }
}

fn chosen<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
}
