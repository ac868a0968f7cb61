//! The LMDB environment of a store: opened, created, migrated, and refused if it is not a whole store that this version reads.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{CommitOrAbort, CompactionOption, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RwIter, RwTxn, WithoutTls};

use super::bounds::READERS_MAX;
use super::check::{self, Checked, Fault};
use super::error::{Error, means_no_room};
use super::format::{FORMATS, Formats, Found};
use super::in_use::InUse;

pub(super) type Env = heed::Env<WithoutTls>;
pub(super) type Snapshot = heed::RoTxn<'static, WithoutTls>;
pub(super) type Tree = heed::Database<'static, Bytes, Bytes>;

pub(super) const DATA_FILE: &str = "data.mdb";
pub(super) const LOCK_FILE: &str = "lock.mdb";
/// Pages that are looked at when a store is opened: all of a small one, some milliseconds' worth of a large one.
const PAGES_CHECKED: u64 = 1024;
/// LMDB's lock file: 64 bytes for each reader and as much as that for its header, rounded up.
const LOCK_FILE_BYTES: usize = 64 * (READERS_MAX as usize + 2);
/// The file that a compaction writes.
const DRAFT_FILE: &str = "data.mdb.compact";
/// So long a migration waits until those have closed the store that know only the earlier format.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(5);
const ATTEMPT_PATIENCE: Duration = Duration::from_millis(50);
const PROBE_BYTES: usize = 64 * 1024;
/// A multiple of the page size of every system; LMDB's map must have whole pages.
const MAP_STEP_BYTES: u64 = 65536;

/// What an opening may do to the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Opens or creates the store in `dir`, whose file may grow to `bytes_max` bytes.
pub(super) fn open(dir: &Path, bytes_max: u64) -> Result<(Env, Tree, InUse), Error> {
    open_as(dir, bytes_max, FORMATS)
}

/// As `open`, in a version that reads `formats`.
pub(super) fn open_as(dir: &Path, bytes_max: u64, formats: Formats) -> Result<(Env, Tree, InUse), Error> {
    fs::create_dir_all(dir).map_err(|error| Error::cannot_open(dir, error))?;
    let mut give_up_at = None;
    loop {
        let in_use = InUse::share(dir)?;
        if !dir.join(DATA_FILE).exists() {
            create(dir, bytes_max, formats)?;
        }
        let env = open_checked(dir, bytes_max, PAGES_CHECKED, Access::Write)?.0;
        let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
        if let Found::Earlier(format) = found(&env, tree, dir, formats)? {
            env.prepare_for_closing().wait();
            drop(in_use);
            // The other workers of a server find the earlier format at the same time, and one of them migrates.
            let give_up_at = *give_up_at.get_or_insert_with(|| Instant::now() + MIGRATION_PATIENCE);
            match InUse::alone(dir, ATTEMPT_PATIENCE)? {
                Some(_alone) => migrate(dir, bytes_max, formats)?,
                None if Instant::now() < give_up_at => {}
                None => {
                    let what = format!("migrate it from format {format} to {}", formats.current());
                    return Err(Error::InUse { path: dir.to_owned(), what });
                }
            }
            continue;
        }
        env.clear_stale_readers()?;
        return Ok((env, tree, in_use));
    }
}

/// Opens a store that must exist, after a check of up to `pages_max` pages.
pub(super) fn open_existing(dir: &Path, pages_max: u64) -> Result<(Env, Tree, InUse, Checked), Error> {
    let (env, in_use, checked) = open_unread(dir, pages_max)?;
    let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
    found(&env, tree, dir, FORMATS)?;
    Ok((env, tree, in_use, checked))
}

/// Opens a store that must exist and that no process has open, after a check of every page. `what` says why nobody else may.
pub(super) fn open_alone(dir: &Path, what: &str) -> Result<(Env, Tree, InUse), Error> {
    if !dir.join(DATA_FILE).exists() {
        return Err(Error::cannot_open(dir, format!("there is no {DATA_FILE}")));
    }
    let alone = InUse::alone(dir, Duration::ZERO)?;
    let alone = alone.ok_or_else(|| Error::InUse { path: dir.to_owned(), what: what.to_owned() })?;
    let access = if is_read_only(dir) { Access::Read } else { Access::Write };
    let (env, _) = open_checked(dir, 0, u64::MAX, access)?;
    let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
    found(&env, tree, dir, FORMATS)?;
    Ok((env, tree, alone))
}

fn open_unread(dir: &Path, pages_max: u64) -> Result<(Env, InUse, Checked), Error> {
    if !dir.join(DATA_FILE).exists() {
        return Err(Error::cannot_open(dir, format!("there is no {DATA_FILE}")));
    }
    let in_use = InUse::share(dir)?;
    if !is_read_only(dir) {
        let (env, checked) = open_checked(dir, 0, pages_max, Access::Write)?;
        return Ok((env, in_use, checked));
    }
    drop(in_use);
    // LMDB then has no lock file to tell writers which pages a reader needs. Somebody may write through another mount of the same files.
    let alone = InUse::alone(dir, Duration::ZERO)?
        .ok_or_else(|| Error::InUse { path: dir.to_owned(), what: "read it on a read-only file system".to_owned() })?;
    let (env, checked) = open_checked(dir, 0, pages_max, Access::Read)?;
    Ok((env, alone, checked))
}

/// Looks at every page of the store in `dir`.
pub(super) fn check(dir: &Path) -> Result<Checked, Error> {
    let (env, _, checked) = open_unread(dir, u64::MAX)?;
    env.prepare_for_closing().wait();
    Ok(checked)
}

/// Replaces the file of the store in `dir` by one without free pages, and returns the bytes of the two. No other process may have it open.
pub(super) fn compact(dir: &Path) -> Result<(u64, u64), Error> {
    let cannot = |error| refusal(dir, heed::Error::Io(error));
    let path = dir.join(DATA_FILE);
    if !path.exists() {
        return Err(Error::cannot_open(dir, format!("there is no {DATA_FILE}")));
    }
    let _alone =
        InUse::alone(dir, Duration::ZERO)?.ok_or_else(|| Error::InUse { path: dir.to_owned(), what: "compact it".to_owned() })?;
    let (env, _) = open_checked(dir, 0, u64::MAX, Access::Write)?;
    let before = fs::metadata(&path).map_err(cannot)?;
    let draft = dir.join(DRAFT_FILE);
    let copied = copy_without_free_pages(&env, &draft, &before);
    env.prepare_for_closing().wait();
    let after = copied.inspect_err(|_| drop(fs::remove_file(&draft)))?;
    // What the lock file says of the last commit holds for the former file only.
    fs::remove_file(dir.join(LOCK_FILE))
        .and_then(|()| fs::rename(&draft, &path))
        .and_then(|()| sync_names(dir))
        .map_err(cannot)?;
    Ok((before.len(), after))
}

fn copy_without_free_pages(env: &Env, to: &Path, before: &fs::Metadata) -> Result<u64, Error> {
    let dir = env.path();
    let cannot = |error| refusal(dir, heed::Error::Io(error));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(to).map_err(cannot)?;
    file.set_permissions(before.permissions()).map_err(cannot)?;
    fchown(&file, Some(before.uid()), Some(before.gid())).map_err(cannot)?;
    env.copy_to_file(&mut file, CompactionOption::Enabled)?;
    file.sync_all().map_err(cannot)?;
    check::check_unused(&file).map_err(|fault| faulty(dir, fault))?;
    Ok(file.metadata().map_err(cannot)?.len())
}

/// Gives the store in `dir`, which nobody else has open, the current format.
fn migrate(dir: &Path, bytes_max: u64, formats: Formats) -> Result<(), Error> {
    let env = open_checked(dir, bytes_max, PAGES_CHECKED, Access::Write)?.0;
    let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
    // Another process may have done it meanwhile.
    let migrated = match found(&env, tree, dir, formats)? {
        Found::Earlier(_) => formats.migrate(&env, tree),
        _ => Ok(()),
    };
    env.prepare_for_closing().wait();
    migrated
}

/// Opens the file when the pages that are nearest to its roots, `pages_max` of them, are what LMDB can read.
fn open_checked(dir: &Path, bytes_max: u64, pages_max: u64, access: Access) -> Result<(Env, Checked), Error> {
    let file = File::open(dir.join(DATA_FILE)).map_err(|error| refusal(dir, heed::Error::Io(error)))?;
    check::check_metas(&file).map_err(|fault| faulty(dir, fault))?;
    let env = open_env(dir, bytes_max, access)?;
    let mut seen = None;
    loop {
        let snapshot = env.read_txn().map_err(|error| unread(dir, error))?;
        let transaction = snapshot.id();
        if let Some(checked) = check::check_pages(&file, transaction as u64, pages_max).map_err(|fault| faulty(dir, fault))? {
            drop(snapshot);
            return Ok((env, checked));
        }
        // Others have committed meanwhile, if there is a later transaction now. Without one, the lock file tells of another file.
        if seen.replace(transaction) == Some(transaction) {
            return Err(Error::cannot_open(
                dir,
                "another process still has a former data.mdb open, which was removed or replaced; stop every process that uses the store",
            ));
        }
    }
}

/// Of the first reader of an opening, which LMDB marks as alive by a lock of the byte that has the number of its process.
fn unread(dir: &Path, error: heed::Error) -> Error {
    match error {
        heed::Error::Io(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::PermissionDenied) => {
            let id = std::process::id();
            let why = format!(
                "a process with the ID {id}, which is also this one's, has it open in another container; \
                 use it from within that container, or share its process IDs (docker run --pid container:NAME)"
            );
            Error::cannot_open(dir, why)
        }
        other => other.into(),
    }
}

pub(super) fn faulty(dir: &Path, fault: Fault) -> Error {
    match fault {
        Fault::Io(error) => refusal(dir, heed::Error::Io(error)),
        Fault::NotLmdb => refusal(dir, heed::Error::Mdb(MdbError::Invalid)),
        Fault::Damaged(why) => Error::damaged(dir, why),
    }
}

/// Makes the file of a new store beside its place and puts it there whole: whatever ends the process meanwhile, a file that is there has been
/// a store.
fn create(dir: &Path, bytes_max: u64, formats: Formats) -> Result<(), Error> {
    let cannot = |error| refusal(dir, heed::Error::Io(error));
    let draft = dir.join(format!("new.{}", std::process::id()));
    match fs::create_dir(&draft) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(error)),
        _ => {}
    }
    let created = open_env(&draft, bytes_max, Access::Write).and_then(|env| {
        let tree = open_tree(&env).map_err(|error| refusal(dir, error))?;
        formats.begin(&env, tree)?;
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
fn open_env(dir: &Path, bytes_max: u64, access: Access) -> Result<Env, Error> {
    // LMDB takes a write that this limit cuts short for a failure of the disk.
    let file_bytes_max = file_bytes_max() / MAP_STEP_BYTES * MAP_STEP_BYTES;
    let map_bytes = usize::try_from(bytes_max.next_multiple_of(MAP_STEP_BYTES).min(file_bytes_max))
        .map_err(|error| Error::cannot_open(dir, error))?;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(map_bytes).max_readers(READERS_MAX);
    match access {
        Access::Write => allocate_lock_file(dir).map_err(|error| refusal(dir, heed::Error::Io(error)))?,
        Access::Read => {
            // SAFETY: the flag lets nobody write.
            unsafe { options.flags(EnvFlags::READ_ONLY) };
        }
    }
    // SAFETY: the map is read only through LMDB, whose lock file keeps the processes apart; nothing else writes the file. On a read-only file
    // system, where LMDB has no lock file, the caller has locked the folder for itself.
    let env = unsafe { options.open(dir) }.map_err(|error| refusal(dir, error))?;
    // Where the system does not list them, programs have the file open, which harms none.
    let _ = close_on_exec(&dir.join(DATA_FILE));
    Ok(env)
}

/// Closes the descriptors of a file in the programs that this process starts, and when it starts itself anew. LMDB does it for its lock file alone.
#[allow(unsafe_code)]
fn close_on_exec(path: &Path) -> io::Result<()> {
    let file = fs::metadata(path)?;
    for entry in fs::read_dir("/dev/fd")?.flatten() {
        let is_its = fs::metadata(entry.path()).is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()));
        if let Some(descriptor) = entry.file_name().to_str().and_then(|name| name.parse().ok()).filter(|_| is_its) {
            // SAFETY: changes a flag of a descriptor; a wrong one is refused.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Whether nothing can be written to the file system of `dir`, not even LMDB's lock file.
fn is_read_only(dir: &Path) -> bool {
    let opened = File::options().write(true).open(dir.join(DATA_FILE));
    opened.is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// How large this process may make a file.
#[allow(unsafe_code)]
fn file_bytes_max() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to `limit`, which outlives it.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

/// LMDB makes its lock file sparse and maps it, so the first touch of a page on a full disk would kill the process.
/// A file of full length that lies on the disk already prevents that. It appears whole or not at all.
fn allocate_lock_file(dir: &Path) -> io::Result<()> {
    let path = dir.join(LOCK_FILE);
    if path.exists() {
        return Ok(());
    }
    let draft = dir.join(format!("{LOCK_FILE}.{}", std::process::id()));
    let mut file = File::create(&draft)?;
    // Root may be the first who opens a store of another user.
    if let Ok(data) = fs::metadata(dir.join(DATA_FILE)) {
        let _ = fchown(&file, Some(data.uid()), Some(data.gid()));
    }
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

/// What the file is to this version; a new one gets the current format, and one that cannot be read is an error.
fn found(env: &Env, tree: Tree, dir: &Path, formats: Formats) -> Result<Found, Error> {
    match formats.find(env, tree)? {
        Found::New => {
            formats.begin(env, tree)?;
            sync_names(dir).map_err(|error| Error::cannot_open(dir, error))?;
            Ok(Found::Current)
        }
        Found::Unreadable(why) => Err(Error::cannot_open(dir, why)),
        found => Ok(found),
    }
}

/// A file that is on the disk is lost all the same when the directory that names it is not.
fn sync_names(dir: &Path) -> io::Result<()> {
    let dir = dir.canonicalize()?;
    dir.ancestors().take(2).try_for_each(|dir| File::open(dir)?.sync_all())
}

pub(super) fn refusal(dir: &Path, error: heed::Error) -> Error {
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
