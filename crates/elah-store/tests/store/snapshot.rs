//! Snapshots of a store that other processes change, close and are killed in: each restored copy has what was confirmed before, once.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use elah_store::{Clock, Error, Options, Snapshot, Store};
use tempfile::TempDir;

use super::support::{get, put, wait};

const ROUNDS: usize = 20;
const ROLE: &str = "ELAH_STORE_TEST_WRITER";

fn options() -> Options {
    Options {
        bytes_max: 64 * 1024 * 1024,
        fold_pause: Duration::from_millis(2),
        sweep_pause: Duration::from_secs(3600),
        clock: Clock::System,
    }
}

/// Writes the snapshot's files as a new directory.
fn restore(snapshot: &Snapshot) -> TempDir {
    let dir = TempDir::new().expect("a directory");
    let mut file = File::create(dir.path().join(Snapshot::DATA_FILE)).expect("a file");
    let (mut chunk, mut at) = (vec![0; 10_000], 0);
    loop {
        let read = snapshot.read(at, &mut chunk).expect("a read");
        file.write_all(&chunk[..read]).expect("a write");
        at += read as u64;
        if read < chunk.len() {
            break;
        }
    }
    assert_eq!(at, snapshot.bytes());
    for (name, content) in snapshot.journals() {
        fs::write(dir.path().join(name), content).expect("a journal");
    }
    dir
}

/// The numbers of a writer: increments in memory and puts that were confirmed.
struct Progress(File);

impl Progress {
    fn open(path: &Path) -> Self {
        Progress(File::options().read(true).write(true).create(true).truncate(false).open(path).expect("a file"))
    }

    fn get(&self, index: u64) -> u64 {
        let mut bytes = [0; 8];
        match self.0.read_at(&mut bytes, index * 8) {
            Ok(8) => u64::from_le_bytes(bytes),
            _ => 0,
        }
    }

    fn set(&self, index: u64, number: u64) {
        self.0.write_all_at(&number.to_le_bytes(), index * 8).expect("a write");
    }
}

struct Writer {
    child: Child,
    progress: Progress,
    path: PathBuf,
    kills: u64,
}

impl Writer {
    fn start(dir: &Path, name: &str) -> Self {
        let path = dir.join(format!("{name}.progress"));
        Writer { child: Writer::spawn(dir, name), progress: Progress::open(&path), path, kills: 0 }
    }

    fn spawn(dir: &Path, name: &str) -> Child {
        Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "store::snapshot::writer", "--ignored", "--nocapture"])
            .env(ROLE, dir.join(name))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process")
    }

    fn kill(&mut self) {
        self.child.kill().expect("a kill");
        self.child.wait().expect("its end");
    }

    fn restart(&mut self) {
        self.kill();
        self.kills += 1;
        let (dir, name) = (self.path.parent().expect("a parent"), self.path.file_stem().expect("a name"));
        self.child = Writer::spawn(dir, name.to_str().expect("a name"));
    }

    fn numbers(&self) -> (u64, u64) {
        (self.progress.get(0), self.progress.get(1))
    }

    fn wait_for_more(&self, than: (u64, u64)) {
        while self.numbers().0 <= than.0 || self.numbers().1 <= than.1 {
            std::thread::yield_now();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Journals of other living processes, which take a snapshot long to read: meanwhile the writers fold theirs several times.
fn idle_journals(dir: &Path) -> Vec<File> {
    let idle = |number| {
        let file = File::create(dir.join(format!("counters-0-{number}.journal"))).expect("a file");
        file.set_len(2 * 1024 * 1024).and_then(|()| file.lock()).expect("a locked journal");
        file
    };
    (0..20).map(idle).collect()
}

/// The process of a [`Writer`]: counts in memory and puts, and closes the store again and again, so that journals come and go.
#[test]
#[ignore = "a part of the test below"]
fn writer() {
    let Some(role) = env::var_os(ROLE).map(PathBuf::from) else { return };
    let (dir, name) = (role.parent().expect("a directory"), role.file_name().expect("a name").as_encoded_bytes());
    let progress = Progress::open(&role.with_extension("progress"));
    loop {
        let store = Store::open(dir.join("store"), &options()).expect("a store");
        let (counter, table) = (store.counter("counted").expect("a name"), store.table("put").expect("a name"));
        for _ in 0..60 {
            for _ in 0..500 {
                let counted = counter.increment_in_memory(name, 1).expect("an increment");
                if counted.is_none() {
                    wait(|done| counter.increment(name.to_vec(), 1, None, done)).expect("an increment");
                }
                progress.set(0, progress.get(0) + 1);
            }
            let next = progress.get(1) + 1;
            put(&table, &[name, &next.to_be_bytes()].concat(), &[b'x'; 500], None).expect("a put");
            progress.set(1, next);
        }
        store.close();
    }
}

#[test]
fn a_snapshot_has_what_was_confirmed_before_it_once() {
    let dir = TempDir::new().expect("a directory");
    let mut writers = [Writer::start(dir.path(), "a"), Writer::start(dir.path(), "b")];
    writers.iter().for_each(|writer| writer.wait_for_more((0, 0)));
    let _idle = idle_journals(&dir.path().join("store"));
    let mut journals = 0;
    for round in 0..ROUNDS {
        if round % 4 == 3 {
            writers[round / 4 % 2].restart();
        }
        let before = [writers[0].numbers(), writers[1].numbers()];
        let snapshot = Snapshot::take(dir.path().join("store")).expect("a snapshot");
        writers.iter().zip(before).for_each(|(writer, before)| writer.wait_for_more(before));
        let copy = restore(&snapshot);
        let after = [writers[0].numbers(), writers[1].numbers()];
        journals += snapshot.journals().len();
        drop(snapshot);
        Store::check(copy.path()).expect("a sound copy");
        let store = Store::open(copy.path(), &options()).expect("the copy");
        let (counter, table) = (store.counter("counted").expect("a name"), store.table("put").expect("a name"));
        for (index, name) in [b"a", b"b"].into_iter().enumerate() {
            let counted = counter.get(name).expect("a count") as u64;
            // A kill between an increment and its confirmation leaves one more.
            let most = after[index].0 + 1 + writers[index].kills;
            assert!((before[index].0..=most).contains(&counted), "round {round}: {counted}, not {} to {most}", before[index].0);
            for number in 1..=before[index].1 {
                let key = [&name[..], &number.to_be_bytes()].concat();
                assert!(get(&table, &key).is_some(), "round {round}: put {number} is missing");
            }
        }
        store.close();
    }
    assert!(journals > 0, "no snapshot had to take a journal");
}

#[test]
fn there_is_no_snapshot_of_what_is_no_store() {
    let dir = TempDir::new().expect("a directory");
    let error = Snapshot::take(dir.path()).err().expect("a refusal");
    assert!(error.to_string().ends_with("cannot be opened: there is no data.mdb."), "{error}");
    fs::write(dir.path().join("data.mdb"), []).expect("a file");
    assert!(matches!(Snapshot::take(dir.path()).err(), Some(Error::Damaged { .. })));
}
