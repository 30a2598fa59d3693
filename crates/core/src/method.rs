//! Methods in one spelling.

/// The methods that are registered with IANA, and `PURGE`, sorted.
const REGISTERED: [&str; 41] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// What keys count a method by: a known one in upper case, and all others as one, or a caller would be a new client with every
/// method that he makes up.
pub(crate) fn counted(method: &str) -> &'static str {
    if let Ok(at) = REGISTERED.binary_search(&method) {
        return REGISTERED.get(at).copied().unwrap_or("OTHER");
    }
    REGISTERED.into_iter().find(|known| known.eq_ignore_ascii_case(method)).unwrap_or("OTHER")
}

#[cfg(test)]
mod tests {
    use super::{REGISTERED, counted};

    #[test]
    fn known_methods_are_themselves_and_all_others_are_one() {
        assert!(REGISTERED.is_sorted());
        for method in REGISTERED {
            assert_eq!(counted(method), method);
            assert_eq!(counted(&method.to_ascii_lowercase()), method);
        }
        for made_up in ["", "A1", "GETS", "GE", "other", "FOO"] {
            assert_eq!(counted(made_up), "OTHER");
        }
    }
}
