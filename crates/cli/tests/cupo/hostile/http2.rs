//! Over HTTP/2, frame by frame.

use super::{Tried, exchange};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field, spelled out.
fn field(name: &[u8], value: &[u8]) -> Vec<u8> {
    let length = |text: &[u8]| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name, &[length(value)], value].concat()
}

/// A block of fields: `GET`, `http`, `a`, this path and more.
fn block(path: &[u8], more: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut block =
        [field(b":method", b"GET"), field(b":scheme", b"http"), field(b":authority", b"a")].concat();
    block.extend(field(b":path", path));
    for (name, value) in more {
        block.extend(field(name, value));
    }
    block
}

fn request(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, block)
}

fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    let with = |name: &[u8], value: &[u8]| request(1, &block(b"/evil", &[(name, value)]));
    let posted = |length: &[u8], body: &[u8]| {
        let block = block(b"/evil", &[(b"content-length", length)]);
        [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, body)].concat()
    };
    let open = frame(HEADERS, END_STREAM, 1, &block(b"/evil", &[]));
    vec![
        ("an upper case name", with(b"X-A", b"b")),
        ("a line end in a value", with(b"x-a", b"b\r\nGET /evil HTTP/1.1")),
        ("a zero in a value", with(b"x-a", b"b\0c")),
        ("a colon in a name", with(b"x:a", b"b")),
        ("a line end in a name", with(b"x\r\na", b"b")),
        ("an empty name", with(b"", b"b")),
        ("connection", with(b"connection", b"close")),
        ("a transfer coding", with(b"transfer-encoding", b"chunked")),
        ("te", with(b"te", b"gzip")),
        ("a late pseudo field", with(b":path", b"/evil2")),
        ("an unknown pseudo field", with(b":client", b"b")),
        ("a line end in the path", request(1, &block(b"/evil HTTP/1.1\r\nX: y", &[]))),
        ("a blank in the path", request(1, &block(b"/evil evil", &[]))),
        ("an empty path", request(1, &block(b"", &[]))),
        ("no path", request(1, &[field(b":method", b"GET"), field(b":scheme", b"http")].concat())),
        ("no method", request(1, &[field(b":path", b"/evil"), field(b":scheme", b"http")].concat())),
        (
            "two lengths",
            request(1, &block(b"/evil", &[(b"content-length", b"1"), (b"content-length", b"2")])),
        ),
        ("a length that is none", posted(b"+3", b"abc")),
        ("less than its length", posted(b"10", b"abc")),
        ("more than its length", posted(b"1", b"abc")),
        ("an index that is none", request(1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        ("a block cut short", request(1, &[0, 200, b'a'])),
        ("a Huffman code that is none", request(1, &[0, 0x84, 0xff, 0xff, 0xff, 0xff, 0])),
        ("an even stream", request(2, &block(b"/evil", &[]))),
        ("the stream 0", request(0, &block(b"/evil", &[]))),
        ("data on an idle stream", frame(DATA, 0, 9, b"abc")),
        ("data on the stream 0", frame(DATA, 0, 0, b"abc")),
        ("an oversized frame", frame(DATA, 0, 1, &[0; 20_000])),
        ("settings of an odd length", frame(SETTINGS, 0, 0, &[0; 5])),
        ("settings on a stream", frame(SETTINGS, 0, 1, &[])),
        ("a window of nothing", frame(WINDOW_UPDATE, 0, 0, &[0; 4])),
        ("a ping of 7 bytes", frame(PING, 0, 0, &[0; 7])),
        ("a lone continuation", frame(CONTINUATION, END_HEADERS, 1, &block(b"/evil", &[]))),
        ("a frame between continuations", [open.clone(), frame(PING, 0, 0, &[0; 8])].concat()),
        (
            "continuations without end",
            [open, frame(CONTINUATION, 0, 1, &field(b"x-a", &[b'y'; 120])).repeat(2_000)].concat(),
        ),
        ("a reset of an idle stream", frame(RST_STREAM, 0, 7, &[0, 0, 0, 8])),
        ("an unknown frame", frame(0xfa, 0xff, 3, &[1; 100])),
        ("garbage", vec![0xff; 500]),
    ]
}

/// The statuses of responses whose first field is an indexed `:status`, in the table's order; others begin differently.
fn statuses(mut bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = bytes {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        let Some((payload, after)) = rest.split_at_checked(length) else { break };
        if *kind == HEADERS {
            found.extend(payload.first());
        }
        bytes = after;
    }
    found
}

/// `:status: 500` in the static table.
const INTERNAL_ERROR: u8 = 0x80 | 14;

#[test]
fn no_frame_hurts_or_smuggles() {
    let tried = Tried::new();
    for (name, frames) in corpus() {
        let bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frames].concat();
        let answer = exchange(tried.address(), &bytes, false);
        assert!(!statuses(&answer).contains(&INTERNAL_ERROR), "{name}");
        // A body that breaks may have begun to be passed on; nothing else may.
        let begun: &[&str] = if name.contains("its length") { &["/evil"] } else { &[] };
        tried.serves_on(name, begun);
    }
}

#[test]
fn ten_thousand_resets_stop_nobody() {
    let tried = Tried::new();
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for number in 0..10_000_u32 {
        let stream = number * 2 + 1;
        bytes.extend(request(stream, &block(b"/reset", &[])));
        bytes.extend(frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
    }
    let answer = exchange(tried.address(), &bytes, false);
    assert!(!statuses(&answer).contains(&INTERNAL_ERROR));
    assert_eq!(crate::client::get(tried.address(), "/good").status, 200);
}
