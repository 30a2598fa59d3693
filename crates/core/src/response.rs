//! What may be asked of a response.

use std::borrow::Cow;

/// What may be asked of the response to a request, to find out what the request cost. A door answers what it knows.
///
/// Whoever implements it answers for where the response is from: it is that of the service behind the limits, which callers
/// cannot write.
pub trait ResponseAttributes {
    /// The status, from 100 to 599.
    fn status(&self) -> Option<u16> {
        None
    }

    /// The value of a header. `name` is in lower case. `None` where it is not there, or comes several times: nobody knows which
    /// one counts then.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }
}
