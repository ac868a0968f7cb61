//! A number as written in the text.

/// A number that fits a 64-bit float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'t> {
    pub(crate) text: &'t str,
    /// Its digits before an exponent, without the point, if they are at most [`SHORT_DIGITS`].
    pub(crate) digits: u64,
    /// How many of these are after the point; `None` if there are more digits, or an exponent.
    pub(crate) decimals: Option<usize>,
    pub(crate) is_integer: bool,
}

/// This many digits always fit an `i64`.
pub(crate) const SHORT_DIGITS: usize = 18;
/// A float represents every whole number up to this one.
const EXACT_MAX: u64 = 1 << 53;
const POWERS_OF_TEN: [f64; SHORT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

impl<'t> Number<'t> {
    /// As written.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Whether it has neither a fraction nor an exponent.
    pub fn is_integer(&self) -> bool {
        self.is_integer
    }

    /// The number, when it is written as an integer that fits.
    #[inline]
    pub fn integer(&self) -> Option<i64> {
        match (self.is_integer, self.decimals) {
            (true, Some(_)) => Some(if self.is_negative() { -(self.digits as i64) } else { self.digits as i64 }),
            (true, None) => self.text.parse().ok(),
            _ => None,
        }
    }

    /// The nearest float. A whole number that fits a float exactly, divided by such a power of ten, is rounded once.
    #[inline]
    pub fn float(&self) -> f64 {
        match self.decimals {
            Some(decimals) if self.digits <= EXACT_MAX => {
                let magnitude = self.digits as f64 / POWERS_OF_TEN[decimals];
                if self.is_negative() { -magnitude } else { magnitude }
            }
            _ => self.text.parse().unwrap_or(f64::NAN),
        }
    }

    fn is_negative(&self) -> bool {
        self.text.as_bytes()[0] == b'-'
    }
}
