//! A counter whose first increment in memory need not wait for the disk.

use super::support::{Opened, wait};

#[test]
fn an_introduced_counter_counts_in_memory_from_the_first_time() {
    let opened = Opened::with_bytes_max(16 * 1024 * 1024);
    let visits = opened.store.counter("visits").expect("a name");
    assert_eq!(visits.increment_in_memory(b"a", 1), Ok(None));
    visits.introduce();
    assert_eq!(wait(|done| opened.store.flush(done)), Ok(()));
    assert_eq!(visits.increment_in_memory(b"a", 1), Ok(Some(1)));
    visits.introduce();
    assert_eq!(visits.increment_in_memory(b"a", 1), Ok(Some(2)));
}
