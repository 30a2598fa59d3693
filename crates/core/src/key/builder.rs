//! Canonical, injective key bytes.

use core::fmt;

use smallvec::SmallVec;

/// What a rule counts: canonical bytes. Two keys are equal exactly if they were built from equal parts, since every part
/// carries its length: `a_b` + `c` and `a` + `b_c` differ.
///
/// ```
/// use cupo_core::Key;
///
/// let one = Key::builder("rule").part(1, "", b"a_b").part(1, "", b"c").build();
/// let two = Key::builder("rule").part(1, "", b"a").part(1, "", b"b_c").build();
/// assert_ne!(one, two);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(SmallVec<[u8; 56]>);

impl Key {
    /// Begins a key of the rule or namespace called `scope`.
    #[must_use]
    pub fn builder(scope: &str) -> KeyBuilder {
        let mut builder = KeyBuilder(Self(SmallVec::new()));
        builder.field(scope.as_bytes());
        builder
    }

    /// The beginning of a key in the scope called `name`, in which `shape` tells some keys from others.
    pub(crate) fn scope(name: &str, shape: &[u8]) -> Self {
        let mut builder = KeyBuilder(Self(SmallVec::new()));
        let mut scope: SmallVec<[u8; 56]> = SmallVec::from_slice(name.as_bytes());
        scope.extend_from_slice(shape);
        builder.field(&scope);
        builder.build()
    }

    /// Whether an earlier builder made the beginning of this key.
    pub(crate) fn begins_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The same key behind another beginning; `None` where it does not begin with `from`.
    pub(crate) fn moved(&self, from: &Self, to: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(from.as_bytes())?;
        let mut key = to.clone();
        key.0.extend_from_slice(rest);
        Some(key)
    }

    /// Begins a key with bytes that an earlier builder made.
    pub(crate) fn continued(prefix: &Self) -> KeyBuilder {
        KeyBuilder(Self(SmallVec::from_slice(&prefix.0)))
    }

    /// The canonical bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.0.escape_ascii())
    }
}

/// Builds a [`Key`] part by part.
#[derive(Debug, Clone)]
pub struct KeyBuilder(Key);

impl KeyBuilder {
    /// Adds a part: its kind, the name it was asked for by (empty where the kind has none), and its value.
    #[must_use]
    #[inline]
    pub fn part(mut self, kind: u8, name: &str, value: &[u8]) -> Self {
        self.push(kind, name, value);
        self
    }

    /// The key.
    #[must_use]
    #[inline]
    pub fn build(self) -> Key {
        self.0
    }

    #[inline]
    pub(crate) fn push(&mut self, kind: u8, name: &str, value: &[u8]) {
        self.0.0.push(kind);
        self.field(name.as_bytes());
        self.field(value);
    }

    /// A field: its length as LEB128, then its bytes.
    #[inline]
    fn field(&mut self, bytes: &[u8]) {
        let mut length = bytes.len();
        loop {
            let [low, ..] = (length & 0x7f).to_le_bytes();
            length >>= 7;
            if length == 0 {
                self.0.0.push(low);
                break;
            }
            self.0.0.push(low | 0x80);
        }
        self.0.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn lookalikes_differ() {
        let keys = [
            Key::builder("r").build(),
            Key::builder("").build(),
            Key::builder("r").part(1, "", b"").build(),
            Key::builder("r").part(2, "", b"").build(),
            Key::builder("r").part(1, "a", b"").build(),
            Key::builder("r").part(1, "", b"a").build(),
            Key::builder("r").part(1, "a", b"b").build(),
            Key::builder("r").part(1, "ab", b"").build(),
            Key::builder("r").part(1, "", b"a").part(1, "", b"b").build(),
            Key::builder("r").part(1, "", b"ab").part(1, "", b"").build(),
            Key::builder("r").part(1, "", b"a\x01\x00\x01b").build(),
            Key::builder("r").part(1, "", &[b'x'; 127]).build(),
            Key::builder("r").part(1, "", &[b'x'; 128]).build(),
            Key::builder("r").part(1, "", &[b'x'; 16_384]).build(),
        ];
        for (i, a) in keys.iter().enumerate() {
            for (j, b) in keys.iter().enumerate() {
                assert_eq!(i == j, a == b, "{a:?} {b:?}");
            }
        }
    }
}
