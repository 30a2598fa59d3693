//! The few bytes of protobuf that a refusal of gRPC needs: fields of varints and of bytes, one after another.

/// Adds a field that is a number; zero is what is not there.
pub(super) fn number(field: u8, value: u64, out: &mut Vec<u8>) {
    if value > 0 {
        out.push(field << 3);
        varint(value, out);
    }
}

/// Adds a field that is a text, bytes, or a message.
pub(super) fn bytes(field: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    varint(u64::try_from(value.len()).unwrap_or(u64::MAX), out);
    out.extend_from_slice(value);
}

/// Adds a field that is a message.
pub(super) fn message(field: u8, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    bytes(field, &inner, out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}
