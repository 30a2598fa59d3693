//! A response as the attributes that costs are found by.

use std::borrow::Cow;

use cupo_core::ResponseAttributes;
use http::{HeaderMap, HeaderValue, StatusCode};

/// The head of a response of the service's, as [`ResponseAttributes`].
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its fields.
    pub headers: &'a HeaderMap,
}

impl ResponseAttributes for ResponseHead<'_> {
    fn status(&self) -> Option<u16> {
        Some(self.status.as_u16())
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let mut lines = self.headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let first = lines.next()?;
        lines.next().is_none().then_some(Cow::Borrowed(first))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::{ResponseAttributes as _, ResponseHead};

    #[test]
    fn a_header_that_comes_twice_says_nothing() {
        let mut headers = HeaderMap::new();
        let cost = |headers: &HeaderMap| {
            let head = ResponseHead { status: StatusCode::OK, headers };
            head.header("x-cost").map(|value| String::from_utf8(value.into_owned()).unwrap())
        };
        assert_eq!(cost(&headers), None);
        headers.append("X-Cost", "7".parse().unwrap());
        assert_eq!(cost(&headers).as_deref(), Some("7"));
        headers.append("x-cost", "7".parse().unwrap());
        assert_eq!(cost(&headers), None);
        assert_eq!(ResponseHead { status: StatusCode::FORBIDDEN, headers: &headers }.status(), Some(403));
    }
}
