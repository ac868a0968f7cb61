//! Opens the LMDB environment of a store and refuses whatever is not a whole store of this version.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, EnvOpenOptions, MdbError, PutFlags, RwIter, RwTxn, WithoutTls};

use super::bounds::READERS_MAX;
use super::check::{self, Checked, Fault};
use super::error::{Error, means_no_room};
use super::layout::{FORMAT, FORMAT_KEY};

pub(super) type Env = heed::Env<WithoutTls>;
pub(super) type Snapshot = heed::RoTxn<'static, WithoutTls>;
pub(super) type Tree = heed::Database<'static, Bytes, Bytes>;

const DATA_FILE: &str = "data.mdb";
/// Pages that are looked at when a store is opened: all of a small one, some milliseconds' worth of a large one.
const PAGES_CHECKED: u64 = 1024;
/// LMDB's lock file: 64 bytes for each reader and as much as that for its header, rounded up.
const LOCK_FILE_BYTES: usize = 64 * (READERS_MAX as usize + 2);
const PROBE_BYTES: usize = 64 * 1024;
/// A multiple of the page size of every system; LMDB's map must have whole pages.
const MAP_STEP_BYTES: u64 = 65536;

/// Opens or creates the store in `dir`, whose file may grow to `bytes_max` bytes.
pub(super) fn open(dir: &Path, bytes_max: u64) -> Result<(Env, Tree), Error> {
    fs::create_dir_all(dir).map_err(|error| Error::cannot_open(dir, error))?;
    if !dir.join(DATA_FILE).exists() {
        create(dir, bytes_max)?;
    }
    let env = open_checked(dir, bytes_max, PAGES_CHECKED)?.0;
    let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
    check_format(&env, tree, dir)?;
    env.clear_stale_readers()?;
    Ok((env, tree))
}

/// Looks at every page of the store in `dir`.
pub(super) fn check(dir: &Path) -> Result<Checked, Error> {
    if !dir.join(DATA_FILE).exists() {
        return Err(Error::cannot_open(dir, format!("there is no {DATA_FILE}")));
    }
    let (env, checked) = open_checked(dir, 0, u64::MAX)?;
    env.prepare_for_closing().wait();
    Ok(checked)
}

/// Opens the file when the pages that are nearest to its roots, `pages_max` of them, are what LMDB can read.
fn open_checked(dir: &Path, bytes_max: u64, pages_max: u64) -> Result<(Env, Checked), Error> {
    let file = File::open(dir.join(DATA_FILE)).map_err(|error| refusal(dir, heed::Error::Io(error)))?;
    check::check_metas(&file).map_err(|fault| faulty(dir, fault))?;
    let env = open_env(dir, bytes_max)?;
    loop {
        let snapshot = env.read_txn()?;
        if let Some(checked) = check::check_pages(&file, snapshot.id() as u64, pages_max).map_err(|fault| faulty(dir, fault))? {
            drop(snapshot);
            return Ok((env, checked));
        }
    }
}

fn faulty(dir: &Path, fault: Fault) -> Error {
    match fault {
        Fault::Io(error) => refusal(dir, heed::Error::Io(error)),
        Fault::NotLmdb => refusal(dir, heed::Error::Mdb(MdbError::Invalid)),
        Fault::Damaged(why) => Error::damaged(dir, why),
    }
}

/// Makes the file of a new store beside its place and puts it there whole: whatever ends the process meanwhile, a file that is there has been
/// a store.
fn create(dir: &Path, bytes_max: u64) -> Result<(), Error> {
    let cannot = |error| refusal(dir, heed::Error::Io(error));
    let draft = dir.join(format!("new.{}", std::process::id()));
    match fs::create_dir(&draft) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(error)),
        _ => {}
    }
    let created = open_env(&draft, bytes_max).and_then(|env| {
        let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
        check_format(&env, tree, &draft)?;
        env.prepare_for_closing().wait();
        match fs::hard_link(draft.join(DATA_FILE), dir.join(DATA_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot(error)),
            _ => sync_names(dir).map_err(cannot),
        }
    });
    fs::remove_dir_all(&draft).map_err(cannot)?;
    created
}

#[allow(unsafe_code)]
fn open_env(dir: &Path, bytes_max: u64) -> Result<Env, Error> {
    allocate_lock_file(dir).map_err(|error| refusal(dir, heed::Error::Io(error)))?;
    let map_bytes =
        usize::try_from(bytes_max.next_multiple_of(MAP_STEP_BYTES)).map_err(|error| Error::cannot_open(dir, error))?;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(map_bytes).max_readers(READERS_MAX);
    // SAFETY: the map is read only through LMDB, whose lock file keeps the processes apart; nothing else writes the file.
    unsafe { options.open(dir) }.map_err(|error| refusal(dir, error))
}

/// LMDB makes its lock file sparse and maps it, so the first touch of a page on a full disk would kill the process.
/// A file of full length that lies on the disk already prevents that. It appears whole or not at all.
fn allocate_lock_file(dir: &Path) -> io::Result<()> {
    let path = dir.join("lock.mdb");
    if path.exists() {
        return Ok(());
    }
    let draft = dir.join(format!("lock.mdb.{}", std::process::id()));
    let mut file = File::create(&draft)?;
    let linked = write_zeros(&mut file, LOCK_FILE_BYTES).and_then(|()| match fs::hard_link(&draft, &path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    fs::remove_file(&draft)?;
    linked
}

/// Whether the disk takes some more bytes. LMDB reports a write that was cut short for lack of room as an input/output error, as it
/// does one that failed; this tells them apart. LMDB never writes over a page that a commit depends on, so even a sync that failed
/// on a full disk leaves what was stored before as it was.
pub(super) fn has_room(dir: &Path) -> bool {
    let probe = dir.join(format!("probe.{}", std::process::id()));
    let written = File::create(&probe).and_then(|mut file| write_zeros(&mut file, PROBE_BYTES));
    let _ = fs::remove_file(&probe);
    !written.is_err_and(|error| means_no_room(&error))
}

/// Fills a file that will be mapped: zeros that have their place on the disk, unlike those of a sparse file.
pub(super) fn write_zeros(file: &mut File, bytes: usize) -> io::Result<()> {
    const CHUNK: [u8; 4096] = [0; 4096];
    for _ in 0..bytes / CHUNK.len() {
        file.write_all(&CHUNK)?;
    }
    file.write_all(&CHUNK[..bytes % CHUNK.len()])
}

fn open_tree(env: &Env) -> Result<Tree, heed::Error> {
    let txn = env.read_txn()?;
    let opened = env.open_databases_and_commit(txn, |opener, txn| {
        let tree = opener.open_database::<Bytes, Bytes>(txn, None)?;
        Ok::<_, heed::Error>(match tree {
            Some(tree) => CommitOrAbort::Commit(tree),
            None => CommitOrAbort::Abort(heed::Error::Mdb(MdbError::NotFound)),
        })
    })?;
    Result::from(opened)
}

fn check_format(env: &Env, tree: Tree, dir: &Path) -> Result<(), Error> {
    let snapshot = env.read_txn()?;
    let (format, is_empty) = (tree.get(&snapshot, FORMAT_KEY)?.map(<[u8]>::to_vec), tree.is_empty(&snapshot)?);
    drop(snapshot);
    match format {
        Some(format) if format == FORMAT => Ok(()),
        Some(format) => {
            let found = String::from_utf8_lossy(&format).into_owned();
            Err(Error::cannot_open(
                dir,
                format!("its format is {found:?}; this version reads {:?}", String::from_utf8_lossy(FORMAT)),
            ))
        }
        None if is_empty => {
            let mut txn = env.write_txn()?;
            tree.put(&mut txn, FORMAT_KEY, FORMAT)?;
            txn.commit()?;
            sync_names(dir).map_err(|error| Error::cannot_open(dir, error))
        }
        None => Err(Error::cannot_open(dir, "data.mdb was not made by Elah")),
    }
}

/// A file that is on the disk is lost all the same when the directory that names it is not.
fn sync_names(dir: &Path) -> io::Result<()> {
    let dir = dir.canonicalize()?;
    dir.ancestors().take(2).try_for_each(|dir| File::open(dir)?.sync_all())
}

fn refusal(dir: &Path, error: heed::Error) -> Error {
    let why = match error {
        heed::Error::Io(error) if means_no_room(&error) => return heed::Error::Io(error).into(),
        heed::Error::Io(error) => match error.kind() {
            io::ErrorKind::PermissionDenied => "this user may not write there".to_owned(),
            io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
            _ => error.to_string(),
        },
        heed::Error::Mdb(MdbError::Invalid) => "data.mdb is not an LMDB file, or it is damaged".to_owned(),
        heed::Error::Mdb(MdbError::VersionMismatch) => "data.mdb was written by another version of LMDB".to_owned(),
        heed::Error::EnvAlreadyOpened => {
            "this process still holds an older opening of it (an unfinished transaction, or a store inherited through a fork that \
             Ruby does not know of)"
                .to_owned()
        }
        other => other.to_string(),
    };
    Error::cannot_open(dir, why)
}

/// Puts entries whose keys are new. In the order of their keys, those of one page take the way down the tree once: LMDB begins where the
/// last one went.
pub(super) struct NewRows<'t> {
    cursor: RwIter<'t, Bytes, Bytes>,
}

impl<'t> NewRows<'t> {
    pub(super) fn new(tree: Tree, txn: &'t mut RwTxn<'_>) -> Result<Self, heed::Error> {
        Ok(NewRows { cursor: tree.iter_mut(txn)? })
    }

    /// Puts an entry; `false` when the key has one, which stays.
    #[allow(unsafe_code)]
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool, heed::Error> {
        // SAFETY: nothing that was read through the cursor, or from this transaction, is kept: the transaction is borrowed until the cursor
        // goes.
        match unsafe { self.cursor.put_current_with_options::<Bytes>(PutFlags::NO_OVERWRITE, key, value) } {
            Ok(()) => Ok(true),
            Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
