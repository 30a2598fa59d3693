use super::parse;
use crate::{Address, Deployment, RedisError, Secret};

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp { host: host.to_owned(), port }
}

#[test]
fn one_server() {
    let settings = parse("rediss://ada:p%40ss@redis.example:7000/3").unwrap();
    assert_eq!(settings.deployment, Deployment::Standalone(tcp("redis.example", 7000)));
    assert_eq!(settings.username.as_deref(), Some("ada"));
    assert_eq!(settings.password, Some(Secret::new("p@ss")));
    assert_eq!((settings.database, settings.tls.enabled), (3, true));

    let settings = parse("valkey://[2001:db8::7]").unwrap();
    assert_eq!(settings.deployment, Deployment::Standalone(tcp("2001:db8::7", 6379)));
    assert_eq!((settings.username, settings.password, settings.tls.enabled), (None, None, false));

    let settings = parse("redis://:only-a-password@h").unwrap();
    assert_eq!((settings.username, settings.password), (None, Some(Secret::new("only-a-password"))));

    let settings = parse("unix:///run/valkey.sock").unwrap();
    assert_eq!(settings.deployment, Deployment::Standalone(Address::Unix("/run/valkey.sock".into())));
}

#[test]
fn several_servers() {
    let settings = parse("redis-sentinel://u:p@a,b:7/my%20primary/2").unwrap();
    let Deployment::Sentinel { sentinels, master, .. } = settings.deployment else { panic!("sentinels") };
    assert_eq!((sentinels, master.as_str()), (vec![tcp("a", 26379), tcp("b", 7)], "my primary"));
    assert_eq!((settings.database, settings.username.as_deref()), (2, Some("u")));

    let settings = parse("rediss-cluster://a:1,[::1]:2").unwrap();
    assert_eq!(settings.deployment, Deployment::Cluster(vec![tcp("a", 1), tcp("::1", 2)]));
    assert!(settings.tls.enabled);
}

#[test]
fn what_is_wrong_is_said_and_no_password_is_shown() {
    let error = |url: &str| parse(url).unwrap_err();
    assert!(matches!(error("http://a"), RedisError::Scheme { scheme } if scheme == "http"));
    assert!(matches!(error("localhost:6379"), RedisError::Scheme { scheme } if scheme == "localhost"));
    assert!(matches!(error("redis://"), RedisError::NoHost));
    assert!(matches!(error("redis://:7"), RedisError::NoHost));
    assert!(matches!(error("unix://socket"), RedisError::NoHost));
    assert!(matches!(error("redis://a:0"), RedisError::Port { port } if port == "0"));
    assert!(matches!(error("redis://a:65536"), RedisError::Port { .. }));
    assert!(matches!(error("redis://a,b"), RedisError::SeveralHosts { hosts: 2 }));
    assert!(matches!(error("redis://a/x"), RedisError::Database { database } if database == "x"));
    assert!(matches!(error("redis://a/1/2"), RedisError::Rest { rest } if rest == "2"));
    assert!(matches!(error("redis://a/1?db=2"), RedisError::Rest { rest } if rest == "?db=…"));
    for (address, secret) in [("redis://ada:hunter2", "hunter2"), ("redis://a/?password=hunter2", "hunter2")]
    {
        assert!(!error(address).to_string().contains(secret), "{address}");
    }
    assert!(matches!(error("redis-sentinel://a"), RedisError::NoMaster));
    assert!(matches!(error("redis://%ff:x@a"), RedisError::Encoding { part: "user" }));
    for url in [
        "redis://u:hunter2@a:x",
        "redis://u:hunter2@a/x/y/z",
        "redis://u:hunter2@a,b",
        "redis://u:hunter2/@a",
        "u:hunter2@a",
    ] {
        let error = error(url);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    assert!(!format!("{:?}", parse("redis://u:hunter2@a").unwrap()).contains("hunter2"));
}
