//! The limits of a store.

/// The longest key, in bytes. LMDB allows 511; the expiry index needs some of them.
pub const KEY_BYTES_MAX: usize = 480;
/// The longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest name of a table or counter, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Tables and counters in one store.
pub const TABLES_MAX: usize = 1024;
/// The most reads and writes of one transaction, and the most bytes that it may have read.
pub const OPERATIONS_MAX: usize = 100_000;
/// Reads and open transactions at one moment, over all processes.
pub(crate) const READERS_MAX: u32 = 1022;
