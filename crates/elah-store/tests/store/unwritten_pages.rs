//! A file that ends before its last page, because LMDB does not write pages that it has freed in the transaction that took them.

use std::fs;
use std::sync::mpsc::channel;

use elah_store::{Error, Store};

use super::support::{Opened, get};

/// Stores a long value and removes it in one commit, beside others that stay, until the file lacks pages.
fn shortened(opened: &mut Opened) {
    for round in 1..40 {
        let (table, heap) = (opened.store.table("kept").expect("a name"), opened.store.table("heap").expect("a name"));
        let (sender, receiver) = channel::<()>();
        let told = || {
            let sender = sender.clone();
            move |outcome: Result<bool, Error>| {
                outcome.expect("a write");
                drop(sender);
            }
        };
        for n in 0..60 {
            table.put(vec![n, round], vec![n; 1000], None, false, told());
        }
        for n in 0..30 {
            table.delete(vec![n, round - 1], told());
        }
        heap.put(b"long".to_vec(), vec![b'x'; 300_000 * usize::from(round)], None, false, told());
        heap.delete(b"long".to_vec(), told());
        drop(sender);
        assert!(receiver.recv().is_err());
        opened.store.close();
        let checked = Store::check(opened.dir.path()).expect("a sound store");
        let length = fs::metadata(opened.dir.path().join("data.mdb")).expect("a file").len();
        opened.reopen();
        if length / 4096 < 2 + checked.pages + checked.free_pages {
            return;
        }
    }
    panic!("every page of the file was written in 40 rounds");
}

#[test]
fn a_store_whose_last_pages_were_never_written_is_sound() {
    let mut opened = Opened::new();
    shortened(&mut opened);
    let table = opened.store.table("kept").expect("a name");
    assert_eq!(get(&table, &[59, 1]), Some(vec![59; 1000]));
}

#[test]
fn one_that_was_cut_off_further_is_damaged() {
    let mut opened = Opened::new();
    shortened(&mut opened);
    opened.store.close();
    let path = opened.dir.path().join("data.mdb");
    let length = fs::metadata(&path).expect("a file").len();
    let checked = Store::check(opened.dir.path()).expect("a sound store");
    let mut cut = length;
    // Pages at the end may be free as well.
    while cut > 8192 {
        cut -= 4096;
        fs::File::options().write(true).open(&path).and_then(|file| file.set_len(cut)).expect("a shorter file");
        match Store::check(opened.dir.path()) {
            Ok(again) => assert_eq!(again, checked, "at {cut} of {length} bytes"),
            Err(Error::Damaged { why, .. }) => return assert!(why.ends_with("it was cut off"), "{why}"),
            Err(other) => panic!("{other}"),
        }
    }
    panic!("a file of two pages has {checked:?}");
}
