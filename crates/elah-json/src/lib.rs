//! A cursor over the text of JSON.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cursor;
mod fault;
mod number;
mod raw;
pub mod text;

pub use cursor::{Cursor, Token};
pub use fault::{Fault, Reason, place};
pub use number::Number;
pub use raw::Raw;
