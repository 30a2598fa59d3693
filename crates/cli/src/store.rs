//! The store that the policy or an option asks for.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cupo_config::{Config, ConfigErrors, MemoryBound, PasswordSource, RedisSource, StoreSource, read_file};
use cupo_core::{
    BlockChange, BlockList, Check, CheckItem, Executed, Granted, Key, Preview, Settlement, Store, StoreError,
    Timestamp, Uncovered, Upkeep,
};
use cupo_store_memory::{MemoryStore, MemoryStoreError};
use cupo_store_redis::{RedisError, RedisSettings, RedisStore, Secret};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};

/// The longest file of certificates that is read, in bytes: 1 MiB.
pub(crate) const MAX_PEM_BYTES: usize = 1 << 20;

/// Why there is no store.
#[derive(Debug, Error)]
pub(crate) enum NoStore {
    #[error("store.memory: {0}")]
    Memory(#[from] MemoryStoreError),
    #[error("store.redis: {0}")]
    Redis(#[from] RedisError),
    #[error("`{}` cannot be read: {source}", path.display())]
    File { field: &'static str, path: PathBuf, source: io::Error },
}

impl NoStore {
    /// As an error of the field of the policy that is to blame.
    pub(crate) fn within(self, config: &Config) -> ConfigErrors {
        match self {
            Self::Memory(error) => config.unusable("store.memory", error),
            Self::File { field, .. } => config.unusable(field, self),
            Self::Redis(error) => config.unusable(field_of(&error), error),
        }
    }
}

/// The field that is to blame; where several are, the store's.
const fn field_of(error: &RedisError) -> &'static str {
    match error {
        RedisError::Scheme { .. }
        | RedisError::NoHost
        | RedisError::Port { .. }
        | RedisError::SeveralHosts { .. }
        | RedisError::Database { .. }
        | RedisError::ClusterDatabase { .. }
        | RedisError::NoMaster
        | RedisError::Encoding { .. }
        | RedisError::Rest { .. } => "store.redis.url",
        RedisError::Prefix { .. } => "store.redis.prefix",
        RedisError::SecretVariable { .. } => "store.redis.password_env",
        RedisError::EmptySecretFile { .. } => "store.redis.password_file",
        _ => "store.redis",
    }
}

/// One of the stores.
pub(crate) enum AnyStore {
    Memory(MemoryStore),
    Redis(RedisStore),
}

impl AnyStore {
    /// The store that `source` asks for; `default_bytes` bounds one in memory where the policy does not.
    pub(crate) fn open(source: &StoreSource, default_bytes: Option<usize>) -> Result<Self, NoStore> {
        match source {
            StoreSource::Redis(redis) => Ok(Self::Redis(RedisStore::new(settings(redis)?)?)),
            _ => Ok(Self::Memory(memory(source, default_bytes)?)),
        }
    }

    pub(crate) const fn redis(&self) -> Option<&RedisStore> {
        match self {
            Self::Memory(_) => None,
            Self::Redis(store) => Some(store),
        }
    }

    pub(crate) const fn memory(&self) -> Option<&MemoryStore> {
        match self {
            Self::Memory(store) => Some(store),
            Self::Redis(_) => None,
        }
    }
}

impl Store for AnyStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        match self {
            Self::Memory(store) => Ok(store.execute(check, now)),
            // The future of the larger store would make every future of the smaller one as large.
            Self::Redis(store) => Box::pin(store.check(check, now)).await,
        }
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        match self {
            Self::Memory(store) => Ok(store.preview(check, now)),
            Self::Redis(store) => Box::pin(store.preview(check, now)).await,
        }
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => {
                store.cancel(item, now, end);
                Ok(())
            }
            Self::Redis(store) => Box::pin(store.cancel(item, now, end)).await,
        }
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => {
                store.carry(from, to, now);
                Ok(())
            }
            Self::Redis(store) => Box::pin(store.carry(from, to, now)).await,
        }
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        match self {
            Self::Memory(store) => Ok(store.settle(settlements, now)),
            Self::Redis(store) => Box::pin(store.settle(settlements, now)).await,
        }
    }
}

impl Upkeep for AnyStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        match self {
            Self::Memory(store) => Upkeep::reset(store, key).await,
            Self::Redis(store) => Upkeep::reset(store, key).await,
        }
    }

    async fn grant(&self, item: &CheckItem, now: Timestamp) -> Result<Granted, StoreError> {
        match self {
            Self::Memory(store) => Upkeep::grant(store, item, now).await,
            Self::Redis(store) => Upkeep::grant(store, item, now).await,
        }
    }

    async fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> Result<BlockChange, StoreError> {
        match self {
            Self::Memory(store) => Upkeep::block(store, key, span, now).await,
            Self::Redis(store) => Upkeep::block(store, key, span, now).await,
        }
    }

    async fn blocks(&self, known: Option<u64>, now: Timestamp) -> Result<Option<BlockList>, StoreError> {
        match self {
            Self::Memory(store) => Upkeep::blocks(store, known, now).await,
            Self::Redis(store) => Upkeep::blocks(store, known, now).await,
        }
    }
}

/// Where a store in Redis does its work.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).thread_name("cupo-store").enable_all().build()
}

/// The store that `--store` names.
pub(crate) fn named(name: &str) -> StoreSource {
    if name == "memory" {
        return StoreSource::default();
    }
    let mut redis = RedisSource::default();
    redis.url = name.to_owned();
    StoreSource::Redis(Box::new(redis))
}

/// How to reach the servers that the policy names.
pub(crate) fn settings(source: &RedisSource) -> Result<RedisSettings, NoStore> {
    let mut settings = RedisSettings::from_url(&source.url)?;
    if source.username.is_some() {
        settings.username.clone_from(&source.username);
    }
    match &source.password {
        Some(PasswordSource::Environment(name)) => settings.password = Some(Secret::from_env(name)?),
        Some(PasswordSource::File(path)) => settings.password = Some(Secret::from_file(path)?),
        _ => {}
    }
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    settings.prefix = source.prefix.clone().unwrap_or(settings.prefix);
    settings.deadline = source.deadline.unwrap_or(settings.deadline);
    settings.connect_timeout = source.connect_timeout.unwrap_or(settings.connect_timeout);
    settings.max_waiters = source.max_waiters.map_or(settings.max_waiters, size);
    settings.batch_max = source.batch_max.map_or(settings.batch_max, size);
    settings.denial_cache = source.denial_cache.unwrap_or(settings.denial_cache);
    settings.breaker.failures = source.breaker_failures.unwrap_or(settings.breaker.failures);
    settings.breaker.rest = source.breaker_rest.unwrap_or(settings.breaker.rest);
    settings.tls.ca = pem("store.redis.tls.ca_file", source.ca_file.as_ref())?;
    settings.tls.client_certificate =
        pem("store.redis.tls.certificate_file", source.certificate_file.as_ref())?;
    settings.tls.client_key = source.key_file.as_ref().map(Secret::from_file).transpose()?;
    settings.validate()?;
    Ok(settings)
}

fn pem(field: &'static str, path: Option<&PathBuf>) -> Result<Option<Vec<u8>>, NoStore> {
    let read = |path: &PathBuf| {
        read_file(path, MAX_PEM_BYTES).map_err(|source| NoStore::File { field, path: path.clone(), source })
    };
    path.map(read).transpose()
}

fn memory(source: &StoreSource, default_bytes: Option<usize>) -> Result<MemoryStore, MemoryStoreError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let builder = MemoryStore::builder();
    let builder = match source {
        StoreSource::Memory { bound: Some(MemoryBound::Keys(keys)) } => builder.max_keys(size(*keys)),
        StoreSource::Memory { bound: Some(MemoryBound::Bytes(bytes)) } => builder.max_bytes(size(*bytes)),
        _ => default_bytes.map_or(builder, |bytes| builder.max_bytes(bytes)),
    };
    builder.build()
}
