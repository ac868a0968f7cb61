//! New object ids: 4 bytes of time in seconds, 5 that name the process, 3 that count.

use mongodb::bson::oid::ObjectId;

/// An id that no other process makes, whether or not it was forked from this one.
pub fn generate_object_id() -> [u8; 12] {
    let mut bytes = ObjectId::new().bytes();
    // The driver draws the name of the process once, and a fork copies it.
    for (byte, mark) in bytes[4..8].iter_mut().zip(std::process::id().to_be_bytes()) {
        *byte ^= mark;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ() {
        let ids: HashSet<_> = (0..10_000).map(|_| generate_object_id()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
