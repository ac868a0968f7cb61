//! The backoff after failed connections to a worker.

use std::time::Duration;

/// The pause after the second failure in a row; it doubles with each further one. A replaced worker is back within a third of a
/// second.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// The pause after this many failures in a row: none after the first.
pub(crate) fn pause(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        _ => PAUSE_MAX.min(PAUSE_MIN * (1 << (failures - 2).min(10))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_a_quarter_of_a_second() {
        let millis: Vec<_> = (0..10).map(|failures| pause(failures).as_millis()).collect();
        assert_eq!(millis, [0, 0, 10, 20, 40, 80, 160, 250, 250, 250]);
        assert_eq!(pause(u32::MAX), PAUSE_MAX);
    }
}
