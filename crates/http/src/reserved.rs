//! Field names that are not a policy's to set.

use http::header::HeaderName;

use crate::error::PresentationError;

/// Fields that are not a policy's to set: what frames a message, belongs to one hop, says what the body is, or is Cupo's to say. In
/// lower case and sorted; those that begin with `grpc-` are not either.
pub const RESERVED_FIELDS: &[&str] = &[
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

/// Fields that cannot say what is left of a limit, by their beginnings: they have a meaning of their own to browsers and caches.
pub const MEANT_FIELDS: &[&str] =
    &["access-control-", "sec-", "set-cookie", "www-authenticate", "cache-control", "location", "vary"];

/// Whether a field of this name, in lower case, is not a policy's to set.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED_FIELDS.binary_search(&name).is_ok() || name.starts_with("grpc-")
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
    if MEANT_FIELDS.iter().any(|taken| name.as_str().starts_with(taken)) {
        return Err(PresentationError::FieldReserved(text.into()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{RESERVED_FIELDS, is_reserved};

    #[test]
    fn the_list_is_sorted_and_searched() {
        assert!(RESERVED_FIELDS.is_sorted());
        assert!(RESERVED_FIELDS.iter().all(|name| is_reserved(name)));
        assert!(is_reserved("grpc-status") && !is_reserved("x-reason") && !is_reserved("content"));
    }
}
