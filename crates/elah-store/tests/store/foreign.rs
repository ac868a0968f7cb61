//! LMDB files that are not stores of this version.

use std::time::Duration;

use elah_store::{Clock, Options, Store};
use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvOpenOptions};
use tempfile::TempDir;

#[allow(unsafe_code)]
fn open(dir: &TempDir) -> Env {
    // SAFETY: nothing else has opened this new directory.
    unsafe { EnvOpenOptions::new().map_size(1024 * 1024).open(dir.path()) }.expect("an environment")
}

/// Why a store is refused whose LMDB file has one entry.
fn refusal(key: &[u8], value: &[u8]) -> String {
    let dir = TempDir::new().expect("a directory");
    let env = open(&dir);
    let txn = env.write_txn().expect("a transaction");
    env.create_databases_and_commit(txn, |opener, txn| {
        let tree = opener.create_database::<Bytes, Bytes>(txn, None)?;
        tree.put(txn, key, value)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })
    .expect("a commit");
    env.prepare_for_closing().wait();
    let options =
        Options { bytes_max: 1024 * 1024, fold_pause: Duration::ZERO, sweep_pause: Duration::from_secs(1), clock: Clock::System };
    Store::open(dir.path(), &options).err().expect("a refusal").to_string()
}

#[test]
fn a_file_of_another_program_is_refused() {
    assert!(refusal(b"key", b"value").ends_with("cannot be opened: data.mdb was not made by Elah."));
}

#[test]
fn a_file_of_another_version_is_refused() {
    let reason = refusal(b"\0\0format", b"elah store 9");
    let expected = "its format is 9, and Elah 0.1.0 reads formats up to 1; start the version that wrote it or a later version.";
    assert!(reason.ends_with(expected), "{reason}");
}
