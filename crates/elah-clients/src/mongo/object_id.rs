//! New object IDs: 4 bytes of time in seconds, 5 that identify the process, 3 of a counter.

use mongodb::bson::oid::ObjectId;

/// An ID that no other process creates, including forks of this one.
pub fn generate_object_id() -> [u8; 12] {
    let mut bytes = ObjectId::new().bytes();
    // The driver chooses the process's bytes once, and a fork copies them.
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
