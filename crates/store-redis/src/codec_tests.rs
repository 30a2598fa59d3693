use core::time::Duration;

use cupo_core::{CheckItem, Key, Limit, Rate, Refusal, StoreError, Timestamp, Verdict};
use redis::Value;

use super::{By, Call, Line, Lines, Reply};
use crate::name::Naming;
use crate::script::Scripts;
use crate::settings::StoreClock;

fn line(name: &[u8], cost: u64) -> Line {
    let limit = Limit::token_bucket(5, Rate::new(2, Duration::from_secs(1))).unwrap();
    let key = Key::builder("r").part(1, "", name).build();
    Line::new(&CheckItem { key, limit, cost }, &Naming::new("p", false))
}

fn reply(at: u64, unreadable: u32, decisions: &[[u64; 5]]) -> Vec<u8> {
    let mut bytes = at.to_be_bytes()[1..].to_vec();
    bytes.extend(unreadable.to_be_bytes());
    for [verdict, rest @ ..] in decisions {
        bytes.push(u8::try_from(*verdict).unwrap());
        rest.iter().for_each(|number| bytes.extend(&number.to_be_bytes()[1..]));
    }
    bytes
}

#[test]
fn a_key_goes_once_however_many_checks_use_it() {
    let checks: [Lines; 2] =
        [Lines::from_iter([line(b"a", 1), line(b"b", 2)]), Lines::from_iter([line(b"a", 9)])];
    let call = Call::check(checks.iter(), Timestamp::EPOCH, Some(Timestamp::from_micros(77)));
    let command = call.command(&Scripts::new(StoreClock::Caller).check, By::Hash);
    let arguments: Vec<Vec<u8>> = command
        .args_iter()
        .map(|argument| match argument {
            redis::Arg::Simple(bytes) => bytes.to_vec(),
            _ => panic!("a cursor"),
        })
        .collect();
    assert_eq!(arguments.len(), 7);
    assert_eq!((&arguments[0][..], &arguments[2][..]), (&b"EVALSHA"[..], &b"2"[..]));
    assert_eq!((arguments[3].last(), arguments[4].last()), (Some(&b'a'), Some(&b'b')));
    assert_eq!(arguments[6], b"77");
    let item = |key: u8, cost: u8| {
        let mut bytes = vec![0, key, 16 + 7];
        for number in [5, 1, 500_000, u64::from(cost)] {
            bytes.extend(&number.to_be_bytes()[1..]);
        }
        bytes
    };
    // The cost of 9 is more than the bucket holds: one above its capacity says as much.
    let expected = [&[0, 2][..], &item(1, 1), &item(2, 2), &[0, 1], &item(1, 6)].concat();
    assert_eq!(arguments[5], expected);
}

#[test]
fn a_reply_is_read_in_the_order_of_the_checks() {
    let bytes = reply(1_000, 3, &[[0, 0, 4, 500_000, 0], [1, 250_000, 0, 9, 7]]);
    let mut reply = Reply::read(Value::BulkString(bytes), 2).unwrap();
    assert_eq!(reply.unreadable, 3);
    let first = reply.take(&[line(b"a", 1)]).unwrap().unwrap();
    assert_eq!(first.at, Timestamp::from_micros(1_000));
    assert_eq!((first.decisions[0].verdict, first.decisions[0].remaining), (Verdict::Admit, 4));
    assert_eq!(first.decisions[0].reset_after, Duration::from_millis(500));
    let second = reply.take(&[line(b"a", 1)]).unwrap().unwrap();
    assert_eq!(second.decisions[0].retry_after(), Some(Duration::from_millis(250)));
    assert_eq!(second.decisions[0].delay, Duration::from_micros(7));
}

#[test]
fn what_the_script_never_says_is_an_error() {
    let read = |value| Reply::read(value, 1)?.take(&[line(b"a", 1)]);
    let good = [0, 0, 4, 0, 0];
    let bytes = |decisions: &[[u64; 5]]| Value::BulkString(reply(1, 0, decisions));
    assert!(read(bytes(&[good])).is_ok());
    let mut short = reply(1, 0, &[good]);
    short.pop();
    let odd = [
        Value::Nil,
        Value::Okay,
        Value::Int(1),
        Value::Array(Vec::new()),
        Value::SimpleString("no".to_owned()),
        Value::BulkString(Vec::new()),
        Value::BulkString(short),
        bytes(&[]),
        bytes(&[good, good]),
        bytes(&[[3, 0, 4, 0, 0]]),
        bytes(&[[1, 0, 4, 0, 0]]),
        bytes(&[[0, 7, 4, 0, 0]]),
        bytes(&[[2, 7, 4, 0, 0]]),
        bytes(&[[0, 0, 6, 0, 0]]),
        bytes(&[[0, 0, 4, 1 << 53, 0]]),
        bytes(&[[0, 0, 4, 0, 1 << 53]]),
        bytes(&[[1, 1 << 53, 4, 0, 0]]),
    ];
    for value in odd {
        let shown = format!("{value:?}");
        assert_eq!(read(value), Err(StoreError::Refused(Refusal::Protocol)), "{shown}");
    }
}
