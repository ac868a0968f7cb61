//! Leases as JSON text.

use crate::Lease;

/// Appends a list of leases: an object with `lease`, `item`, `session`, `begun_at` and `held_until` for each, `null` where there is
/// none. A session that is not UTF-8 has U+FFFD for what is not.
pub fn write_leases<'l>(leases: impl Iterator<Item = Option<Lease<'l>>>, into: &mut Vec<u8>) {
    into.push(b'[');
    for (index, lease) in leases.enumerate() {
        if index > 0 {
            into.push(b',');
        }
        match lease {
            Some(lease) => write_lease(&lease, into),
            None => into.extend_from_slice(b"null"),
        }
    }
    into.push(b']');
}

fn write_lease(lease: &Lease<'_>, into: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    into.extend_from_slice(b"{\"lease\":\"");
    into.extend_from_slice(buffer.format(lease.item).as_bytes());
    into.push(b'-');
    into.extend_from_slice(buffer.format(lease.serial).as_bytes());
    into.extend_from_slice(b"\",\"item\":");
    into.extend_from_slice(buffer.format(lease.item).as_bytes());
    into.extend_from_slice(b",\"session\":");
    match &lease.session {
        Some(session) => write_text(&String::from_utf8_lossy(session), into),
        None => into.extend_from_slice(b"null"),
    }
    into.extend_from_slice(b",\"begun_at\":");
    into.extend_from_slice(buffer.format(lease.begun).as_bytes());
    into.extend_from_slice(b",\"held_until\":");
    into.extend_from_slice(buffer.format(lease.due).as_bytes());
    into.push(b'}');
}

fn write_text(text: &str, into: &mut Vec<u8>) {
    into.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => into.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => into.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => into.push(byte),
        }
    }
    into.push(b'"');
}
