// The functions that fuzzers feed: each parser of what comes from outside, with what has to hold whatever it is fed. Run by
// `scripts/fuzz.sh`, and for a moment by the tests of the command, which include this file.

use std::net::IpAddr;
use std::num::NonZeroU8;

use cupo_core::{Attributes, ClientAddressHeader, Proxies, Template, Timestamp, Trust, normalise};
use cupo_http::{Advice, Diagnostics, Peer, Presentation, RequestAttributes, client_address};
use cupo_server::{ProxyProtocol, ReadProxyHeader};
use http::header::{HeaderMap, HeaderName, HeaderValue};

pub type Target = fn(&[u8]);

/// Every target by the name of its folder of seeds.
pub const ALL: [(&str, Target); 8] = [
    ("x_forwarded_for", x_forwarded_for),
    ("forwarded", forwarded),
    ("proxy_header", proxy_header),
    ("path", path),
    ("pairs", pairs),
    ("languages", languages),
    ("advice", advice),
    ("policy", policy),
];

const PROXY: Peer = Peer::Address(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
const CALLER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn lines(name: &HeaderName, data: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in data.split(|byte| *byte == b'\n').take(64) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(name, value);
        }
    }
    headers
}

/// Whatever callers wrote, the address that our own proxy appended is the client's.
fn chain(name: &HeaderName, data: &[u8], appended: &str) {
    let mut headers = lines(name, data);
    let proxies = Proxies::from(vec!["10.0.0.0/8".parse().expect("it is a network")]);
    let header = ClientAddressHeader::named(name.as_str());
    let mut trust = Trust { proxies, client_address_header: header, ..Trust::default() };
    assert!(client_address(PROXY, &headers, &trust).is_some());
    let parts = http::Request::new(()).into_parts().0;
    let attributes = RequestAttributes::from_head(&parts.method, &parts.uri, &headers, PROXY, &trust);
    assert!(attributes.diagnostics(attributes.diagnostics(Diagnostics::NONE)).is_empty());
    let _ = client_address(Peer::Relayed(CALLER), &headers, &trust);

    // In a line of its own, and behind the last one.
    let mut joined = headers.clone();
    if let Some(last) = headers.get_all(name).iter().next_back() {
        let whole = [last.as_bytes(), b", ", appended.as_bytes()].concat();
        joined.append(name, HeaderValue::from_bytes(&whole).expect("both are values"));
    }
    headers.append(name, HeaderValue::from_str(appended).expect("it is a value"));
    joined.append(name, HeaderValue::from_static(","));
    for proxies in [trust.proxies.clone(), Proxies::Hops(NonZeroU8::MIN)] {
        trust.proxies = proxies;
        assert_eq!(client_address(PROXY, &headers, &trust), Some(CALLER));
        if joined.len() > 1 && name == "x-forwarded-for" {
            assert_eq!(client_address(PROXY, &joined, &trust), Some(CALLER));
        }
    }
}

pub fn x_forwarded_for(data: &[u8]) {
    chain(&HeaderName::from_static("x-forwarded-for"), data, "203.0.113.9");
}

pub fn forwarded(data: &[u8]) {
    chain(&http::header::FORWARDED, data, "proto=https;For=\"203.0.113.9:_x\";host=\"a,\\\"b\"");
}

/// A header has an end, and is the same one whatever follows it.
pub fn proxy_header(data: &[u8]) {
    for protocol in [ProxyProtocol::V1, ProxyProtocol::V2, ProxyProtocol::Any] {
        match protocol.read(data) {
            ReadProxyHeader::Whole { client, length } => {
                assert!(length <= data.len() && length <= 536);
                let whole = &data[..length];
                assert_eq!(protocol.read(whole), ReadProxyHeader::Whole { client, length });
                assert_eq!(protocol.read(&whole[..length - 1]), ReadProxyHeader::Partial);
            }
            ReadProxyHeader::Partial => assert!(data.len() < 536),
            ReadProxyHeader::Missing | ReadProxyHeader::Malformed => {
                let more = [data, b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n"].concat();
                assert_eq!(protocol.read(&more), protocol.read(data), "what is wrong stays wrong");
            }
        }
    }
    assert_eq!(ProxyProtocol::Off.read(data), ReadProxyHeader::Missing);
}

/// One spelling, and templates that match what they say.
pub fn path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (template, path) = text.split_once('\n').unwrap_or((text, text));
    let normal = normalise(path);
    assert!(normal.starts_with('/') && (normal.len() == 1 || !normal.ends_with('/')), "{path:?}: {normal:?}");
    assert!(normal.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'), "{path:?}: {normal:?}");
    for segment in normal.split('/').skip(1) {
        assert!(!matches!(segment, "." | "..") && (!segment.is_empty() || normal.len() == 1), "{normal:?}");
    }
    assert_eq!(normalise(&format!("/x/..{normal}")), normalise(&normal));
    if let Ok(template) = Template::parse(template) {
        let _ = template.matches(&normal);
        assert_eq!(
            Template::parse(template.as_str()).map(|again| again.as_str().to_owned()),
            Ok(template.as_str().to_owned())
        );
    }
}

/// Query parameters and cookies.
pub fn pairs(data: &[u8]) {
    let mut halves = data.splitn(3, |byte| *byte == b'\n');
    let mut half = || halves.next().unwrap_or_default();
    let (name, query, cookie) = (String::from_utf8_lossy(half()).into_owned(), half(), half());
    let Ok(uri) = http::Uri::from_maybe_shared([b"/?", query].concat()) else { return };
    let mut headers = lines(&http::header::COOKIE, cookie);
    if let Ok(value) = HeaderValue::from_bytes(query) {
        headers.insert(http::header::HOST, value);
    }
    let trust = Trust::default();
    let attributes = RequestAttributes::from_head(&http::Method::GET, &uri, &headers, PROXY, &trust);
    let _ = (attributes.query(&name), attributes.cookie(&name), attributes.host().map(str::len));
    let _ = (attributes.header("host"), attributes.api_key(), attributes.user());
}

/// `Accept-Language` and `Accept`: an answer, whatever is asked for.
pub fn languages(data: &[u8]) {
    let mut headers = lines(&http::header::ACCEPT_LANGUAGE, data);
    headers.extend(lines(&http::header::ACCEPT, data));
    let response = Presentation::default().unavailable(&headers, 0);
    assert!(response.status().is_server_error() && !response.body().is_empty());
}

/// What a client reads of a response's rate-limit fields.
pub fn advice(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(64) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(line[colon + 1..].trim_ascii()));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    for now in [0, 1_700_000_000_000_000] {
        let _ = Advice::read(&headers, Timestamp::from_micros(now)).wait();
    }
}

/// A policy file is understood, or every error says where and what.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Err(errors) = cupo_config::parse("cupo.yaml", text) else { return };
    assert!(errors.iter().count() > 0);
    for error in &errors {
        assert!(
            error.line() > 0 && error.column() > 0 && !error.message().is_empty() && !error.hint().is_empty()
        );
    }
    assert!(!errors.to_string().contains(|c: char| c.is_control() && c != '\n'));
}
