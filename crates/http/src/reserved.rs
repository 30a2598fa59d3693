//! Field names that are not a policy's to set.

use http::header::HeaderName;

use crate::error::PresentationError;

/// What frames a message, belongs to one hop, says what the body is, or is Cupo's to say; sorted.
const RESERVED: &[&str] = &[
    "accept-ranges",
    "age",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "retry-after",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Whether a field of this name, in lower case, is not a policy's to set.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok() || name.starts_with("grpc-")
}

/// The name of a field that a policy may set in a refusal.
pub(crate) fn settable(text: &str) -> Result<HeaderName, PresentationError> {
    let name =
        HeaderName::from_bytes(text.as_bytes()).map_err(|_| PresentationError::FieldName(text.into()))?;
    if is_reserved(name.as_str()) { Err(PresentationError::FieldReserved(text.into())) } else { Ok(name) }
}

/// The name of a field that says what is left. Fields with a meaning of their own to browsers and caches are no such name.
pub(crate) fn field_name(text: &str) -> Result<HeaderName, PresentationError> {
    let name = settable(text)?;
    let meant =
        ["access-control-", "sec-", "set-cookie", "www-authenticate", "cache-control", "location", "vary"];
    if meant.iter().any(|taken| name.as_str().starts_with(taken)) {
        return Err(PresentationError::FieldReserved(text.into()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, is_reserved};

    #[test]
    fn the_list_is_sorted_and_searched() {
        assert!(RESERVED.is_sorted());
        assert!(RESERVED.iter().all(|name| is_reserved(name)));
        assert!(is_reserved("grpc-status") && !is_reserved("x-reason") && !is_reserved("content"));
    }
}
