//! Tokens: what names of methods and fields are made of.

/// Whether this is a character of a token (RFC 9110, section 5.6.2): what names of methods and fields are made of.
#[must_use]
pub const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
