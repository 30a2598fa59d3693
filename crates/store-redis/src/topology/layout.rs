//! Which node of a cluster owns which slot.

use redis::Value;

use crate::connect::text;
use crate::error::ConnectionError;
use crate::name::SLOTS;
use crate::settings::Address;

/// A range of slots and the primary that owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: Address,
}

/// Reads the reply to `CLUSTER SLOTS` that the node at `from` gave.
pub(super) fn read(reply: &Value, from: &Address) -> Result<Vec<Range>, ConnectionError> {
    let odd = || ConnectionError::Answer("CLUSTER SLOTS");
    let Value::Array(ranges) = reply else { return Err(odd()) };
    let mut read = Vec::with_capacity(ranges.len());
    for range in ranges {
        let Value::Array(fields) = range else { return Err(odd()) };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = fields.as_slice() else {
            return Err(odd());
        };
        let [host, Value::Int(port), ..] = primary.as_slice() else { return Err(odd()) };
        let slot = |n: i64| u16::try_from(n).ok().filter(|&n| n < SLOTS).ok_or_else(odd);
        let port = u16::try_from(*port).map_err(|_| odd())?;
        // A node that does not know its own name leaves it out: it is the one that was asked.
        let host = match (text(host), from) {
            (Some(host), _) if !host.is_empty() && host != "?" => host.to_owned(),
            (_, Address::Tcp { host, .. }) => host.clone(),
            _ => return Err(odd()),
        };
        read.push(Range { first: slot(*first)?, last: slot(*last)?, primary: Address::Tcp { host, port } });
    }
    Ok(read)
}

/// The address in a redirection, where a missing host means the one that redirects.
pub(super) fn redirected(to: &str, from: &Address) -> Option<Address> {
    let (host, port) = to.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = match (host, from) {
        ("" | "?", Address::Tcp { host, .. }) => host.clone(),
        ("" | "?", Address::Unix(_)) => return None,
        (host, _) => host.trim_start_matches('[').trim_end_matches(']').to_owned(),
    };
    Some(Address::Tcp { host, port })
}

#[cfg(test)]
mod tests {
    use super::{Address, Range, Value, read, redirected};

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.as_bytes().to_vec()), Value::Int(port), Value::Nil])
    }

    #[test]
    fn ranges_are_read_and_nonsense_is_refused() {
        let range = |first, last, node| Value::Array(vec![Value::Int(first), Value::Int(last), node]);
        let reply =
            Value::Array(vec![range(0, 5_000, node("", 7000)), range(5_001, 16_383, node("b", 7001))]);
        let ranges = read(&reply, &tcp("a", 7000)).unwrap();
        assert_eq!(ranges[0], Range { first: 0, last: 5_000, primary: tcp("a", 7000) });
        assert_eq!(ranges[1], Range { first: 5_001, last: 16_383, primary: tcp("b", 7001) });
        for odd in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 16_384, node("a", 1))]),
            Value::Array(vec![range(-1, 1, node("a", 1))]),
            Value::Array(vec![range(0, 1, node("a", 70_000))]),
            Value::Array(vec![range(0, 1, Value::Nil)]),
        ] {
            assert!(read(&odd, &tcp("a", 7000)).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn redirections_may_leave_the_host_out() {
        assert_eq!(redirected("10.0.0.7:7001", &tcp("a", 1)), Some(tcp("10.0.0.7", 7001)));
        assert_eq!(redirected(":7001", &tcp("a", 1)), Some(tcp("a", 7001)));
        assert_eq!(redirected("2001:db8::1:7001", &tcp("a", 1)), Some(tcp("2001:db8::1", 7001)));
        assert_eq!(redirected("nonsense", &tcp("a", 1)), None);
    }
}
