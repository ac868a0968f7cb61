//! The openings of a process: a store that is closed and opened again, also while a readiness check runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use elah_store::{Clock, Error, Options, Store, check_all};
use tempfile::TempDir;

use super::support::{Opened, get, put};

/// As long as somebody held the closed store, a larger `bytes_max` was refused, and entries expired by the clock of the first
/// opening.
#[test]
fn a_closed_store_that_is_opened_again_has_the_options_of_this_opening() {
    let first = Opened::with_bytes_max(1 << 24);
    let table = first.store.table("heap").expect("a name");
    first.store.close();

    let time = Arc::new(AtomicU64::new(5));
    let pause = Duration::from_secs(3600);
    let options = |bytes_max| {
        let clock = Clock::Manual(Arc::clone(&time));
        Options { bytes_max, fold_pause: pause, sweep_pause: pause, clock }
    };
    let second = Store::open(first.dir.path(), &options(1 << 26)).expect("a store that nobody has open");
    assert_eq!(second.now_ms(), 5);
    let heap = second.table("heap").expect("a name");
    put(&heap, b"k", b"v", Some(Duration::from_secs(60))).expect("a put");
    assert_eq!(get(&heap, b"k"), Some(b"v".to_vec()));
    time.fetch_add(60_001, Ordering::AcqRel);
    assert_eq!(get(&heap, b"k"), None);

    assert!(matches!(Store::open(first.dir.path(), &options(1 << 24)), Err(Error::CannotOpen { .. })));
    assert_eq!(table.get(b"k", &mut Vec::new()), Err(Error::Closed));
    first.store.close();
    assert_eq!(get(&heap, b"k"), None, "the first one closes nothing of the second");
}

/// The writer, which looks, waited for the lock of the thread that closes, and that thread for the end of the writer.
#[test]
fn a_store_may_be_closed_while_it_is_checked() {
    let (ended, end) = channel();
    std::thread::spawn(move || {
        let dir = TempDir::new().expect("a temporary directory");
        let pause = Duration::from_secs(1);
        let options = Options { bytes_max: 1 << 24, fold_pause: pause, sweep_pause: pause, clock: Clock::System };
        for _ in 0..20 {
            let store = Store::open(dir.path(), &options).expect("a store");
            put(&store.table("heap").expect("a name"), b"k", b"v", None).expect("a put");
            let ended = ended.clone();
            check_all(move |_| ended.send(()).expect("somebody waits"));
            store.close();
        }
    });
    for _ in 0..20 {
        end.recv_timeout(Duration::from_secs(60)).expect("the result of a check");
    }
}
