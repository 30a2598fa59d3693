use core::time::Duration;

use crate::{RedisError, RedisSettings, Secret};

fn settings(url: &str) -> RedisSettings {
    RedisSettings::from_url(url).unwrap()
}

fn with(change: impl FnOnce(&mut RedisSettings)) -> Result<(), RedisError> {
    let mut settings = settings("rediss://u:p@a");
    change(&mut settings);
    settings.validate()
}

#[test]
fn the_defaults_are_valid() {
    assert!(with(|_| {}).is_ok());
    assert!(settings("redis-cluster://a,b").validate().is_ok());
    assert!(settings("redis-sentinel://a/m").validate().is_ok());
}

#[test]
fn each_bound_is_kept() {
    assert!(matches!(with(|s| s.batch_max = 0), Err(RedisError::Range { setting: "batch_max", .. })));
    assert!(matches!(with(|s| s.batch_max = 501), Err(RedisError::Range { setting: "batch_max", .. })));
    assert!(matches!(with(|s| s.max_waiters = 0), Err(RedisError::Range { setting: "max_waiters", .. })));
    assert!(matches!(with(|s| s.calls_in_flight = 65), Err(RedisError::Range { .. })));
    assert!(matches!(with(|s| s.breaker.failures = 0), Err(RedisError::Range { .. })));
    assert!(matches!(
        with(|s| s.deadline = Duration::ZERO),
        Err(RedisError::Time { setting: "deadline", .. })
    ));
    assert!(matches!(with(|s| s.breaker.rest = Duration::from_secs(61)), Err(RedisError::Time { .. })));
    assert!(matches!(with(|s| s.password = None), Err(RedisError::NoPassword)));
    assert!(matches!(
        with(|s| s.tls.client_certificate = Some(Vec::new())),
        Err(RedisError::HalfClientCertificate)
    ));
    assert!(matches!(
        with(|s| (s.tls.enabled, s.tls.ca) = (false, Some(Vec::new()))),
        Err(RedisError::CertificatesWithoutTls)
    ));
    let mut cluster = settings("redis-cluster://a/1");
    assert!(matches!(cluster.validate(), Err(RedisError::ClusterDatabase { database: 1 })));
    cluster.database = 0;
    cluster.prefix = "{x}".to_owned();
    assert!(matches!(cluster.validate(), Err(RedisError::Prefix { .. })));
}

#[test]
fn secrets_come_from_files_and_the_environment() {
    let file = std::env::temp_dir().join(format!("cupo-secret-{}", std::process::id()));
    std::fs::write(&file, "hunter2\n").unwrap();
    assert_eq!(Secret::from_file(&file).unwrap(), Secret::new("hunter2"));
    std::fs::write(&file, "\n").unwrap();
    assert!(matches!(Secret::from_file(&file), Err(RedisError::EmptySecretFile { .. })));
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(Secret::from_file(&file), Err(RedisError::File { .. })));
    assert!(matches!(Secret::from_env("CUPO_NO_SUCH_VARIABLE"), Err(RedisError::SecretVariable { .. })));
    assert!(Secret::from_env("PATH").is_ok());
}
