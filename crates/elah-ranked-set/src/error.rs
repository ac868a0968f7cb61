//! The errors of a ranked set, one variant per possible reaction of the caller.

use std::fmt;

use super::bounds::{COMPONENTS_MAX, CURSOR_BYTES_MAX, DECIMALS_MAX, MEMBER_BYTES_MAX, PREFIX_BYTES_MAX};
use super::decimal::text_of;

/// A refused operation. The set is as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A score is not a number: NaN, an infinity, or invalid text.
    NotANumber { text: String },
    /// A score has more decimal digits than its component.
    TooPrecise { text: String, decimals: u8 },
    /// A score, or the sum that an increment would make, is outside of the 64 bits of its component.
    OutOfRange { text: String, decimals: u8 },
    /// A score has a different number of components than the set's order.
    WrongComponents { given: usize, expected: usize },
    /// An order must have 1 to `COMPONENTS_MAX` components, each of up to `DECIMALS_MAX` decimal digits.
    InvalidOrder { components: usize, decimals: u8 },
    /// A member's name may have up to `MEMBER_BYTES_MAX` bytes.
    MemberTooLong { bytes: usize },
    /// The set has reached its maximum number of members.
    Full { members: usize },
    /// A cursor is not one of a set with this order.
    InvalidCursor { why: &'static str },
    /// The prefix of a stored set's rows is too long.
    PrefixTooLong { bytes: usize },
    /// A stored row is damaged, or from a set with another order.
    InvalidRow { why: &'static str },
    /// A member's name is not UTF-8, so it has no form in JSON.
    NotText { name: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotANumber { text } => write!(f, "A score must be a finite number, not {text}."),
            Error::TooPrecise { text, decimals } => {
                write!(f, "A score of {text} has too many decimal digits: this set keeps {decimals}.")
            }
            Error::OutOfRange { text, decimals } => {
                let (min, max) = (text_of(i64::MIN, *decimals), text_of(i64::MAX, *decimals));
                write!(f, "A score of {text} is out of range: it must be {min} to {max}.")
            }
            Error::WrongComponents { given, expected } => {
                write!(f, "A score with {given} components was given: this set's scores have {expected}.")
            }
            Error::InvalidOrder { components, decimals } => write!(
                f,
                "An order has {components} components with up to {decimals} decimal digits: there may be 1 to {COMPONENTS_MAX} of up to \
                 {DECIMALS_MAX} digits."
            ),
            Error::MemberTooLong { bytes } => {
                write!(f, "A member's name of {bytes} bytes is too long; it may have up to {MEMBER_BYTES_MAX}.")
            }
            Error::Full { members } => write!(f, "The set has {members} members already, which is its limit."),
            Error::InvalidCursor { why } => {
                write!(f, "A cursor cannot be used: {why} (it may have up to {CURSOR_BYTES_MAX} bytes).")
            }
            Error::PrefixTooLong { bytes } => {
                write!(f, "A prefix of {bytes} bytes is too long; it may have up to {PREFIX_BYTES_MAX}.")
            }
            Error::InvalidRow { why } => write!(f, "A stored row of a ranked set cannot be read: {why}."),
            Error::NotText { name } => write!(f, "A member's name is no valid UTF-8, which JSON needs: {name:?}."),
        }
    }
}

impl std::error::Error for Error {}
