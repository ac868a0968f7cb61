//! The rules that the exploration leaves out one at a time, to prove that it notices.

/// Which rules hold. Outside of tests all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Safeguards {
    /// How many tenths of a lease an acknowledged statement is worth to its writer.
    pub(crate) lease_tenths: u64,
    /// Whether a lease counts from the sending of the statement, and not from its reply.
    pub(crate) counts_from_sending: bool,
    /// Whether a claim has a number, as the other statements have, and so is a sign of life.
    pub(crate) numbers_claims: bool,
    /// Whether the memory of a failed batch is dropped, and with it the batches that build on it.
    pub(crate) drops_failed_memory: bool,
    /// Whether a session that begins behind what was confirmed is a loss.
    pub(crate) notices_loss: bool,
    /// Whether the calls of a shard end, and its batches are stored, before the shard is released.
    pub(crate) settles_before_release: bool,
}

impl Default for Safeguards {
    fn default() -> Self {
        Safeguards {
            lease_tenths: 9,
            counts_from_sending: true,
            numbers_claims: true,
            drops_failed_memory: true,
            notices_loss: true,
            settles_before_release: true,
        }
    }
}
