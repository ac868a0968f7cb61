//! The limits of a set: lengths, counts and digits.

/// The components of a score.
pub const COMPONENTS_MAX: usize = 8;
/// The digits after the decimal point of a component.
pub const DECIMALS_MAX: u8 = 18;
/// The longest name of a member, in bytes.
pub const MEMBER_BYTES_MAX: usize = 10 * 1024;
/// The longest cursor, in bytes.
pub const CURSOR_BYTES_MAX: usize = MEMBER_BYTES_MAX + 128;
/// The longest key of a row, in bytes.
pub const ROW_KEY_BYTES_MAX: usize = 480;
/// Longer names are hashed in the key of a row.
pub(crate) const PLAIN_NAME_BYTES: usize = 256;
/// The longest prefix of the rows of a set, in bytes: the rest of a key beside a name.
pub const PREFIX_BYTES_MAX: usize = ROW_KEY_BYTES_MAX - PLAIN_NAME_BYTES - 2;
