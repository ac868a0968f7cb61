//! Recovery of the journals of dead processes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::segment::{SEGMENT_BYTES, generation, is_of, sums};
use super::{ASIDE_SUFFIX, DRAFT_SUFFIX, SUFFIX, Sum};
use crate::env::{Env, Tree};
use crate::error::Error;
use crate::layout::JOURNALS;
use crate::session::{Session, file_identity};

/// A dead process's journal, locked by this process.
pub(crate) struct Orphan {
    path: PathBuf,
    name: String,
    _lock: File,
    content: Vec<u8>,
}

/// The names of the journals in `dir`, of living and dead processes.
pub(crate) fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(SUFFIX)));
    }
    Ok(names)
}

/// The sums of a journal that a store lacks whose file has this identity, and that has folded it up to the generation `folded`.
pub(crate) fn sums_beyond(content: &[u8], data_file: u64, folded: u64) -> impl Iterator<Item = Sum<'_>> {
    let segments = content.chunks_exact(SEGMENT_BYTES).filter(move |segment| is_of(segment, data_file));
    segments.filter(move |segment| generation(segment).is_some_and(|number| number > folded)).flat_map(sums)
}

/// Whether a journal has sums that such a store lacks.
pub(crate) fn reaches_beyond(content: &[u8], data_file: u64, folded: u64) -> bool {
    sums_beyond(content, data_file, folded).next().is_some()
}

/// The journals in `dir` whose owner is dead and that no other process is recovering.
pub(crate) fn orphans(dir: &Path) -> io::Result<Vec<Orphan>> {
    let mut orphans = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if !name.ends_with(SUFFIX) && !name.ends_with(DRAFT_SUFFIX) {
            continue;
        }
        let Ok(lock) = File::open(&path) else { continue };
        if lock.try_lock().is_err() || !is_still_there(&path, &lock) {
            continue;
        }
        if name.ends_with(SUFFIX) {
            let content = fs::read(&path)?;
            orphans.push(Orphan { path, name, _lock: lock, content });
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(orphans)
}

/// Between listing the directory and locking, another process may have recovered the journal and removed it.
fn is_still_there(path: &Path, file: &File) -> bool {
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => (there.dev(), there.ino()) == (ours.dev(), ours.ino()),
        _ => false,
    }
}

/// Adds the sums of `orphans` that the counters lack, in one durable transaction, then removes their files. If it is killed in
/// between, a repetition adds nothing twice. Journals of a file that was here before are set aside.
pub(crate) fn recover(env: &Env, tree: Tree, orphans: Vec<Orphan>, now_ms: u64) -> Result<(), Error> {
    if orphans.is_empty() {
        return Ok(());
    }
    let data_file = file_identity(tree, &*env.read_txn()?)?;
    let is_other = |segment: &[u8]| generation(segment).is_some() && !is_of(segment, data_file);
    let (others, orphans): (Vec<_>, Vec<_>) =
        orphans.into_iter().partition(|orphan| orphan.content.chunks_exact(SEGMENT_BYTES).any(is_other));
    for other in others {
        let _ = fs::rename(&other.path, other.path.with_extension(&ASIDE_SUFFIX[1..]));
    }
    if orphans.is_empty() {
        return Ok(());
    }
    let mut session = Session::begin(env, tree, now_ms)?;
    for orphan in &orphans {
        let folded = session.folded_generation(&orphan.name)?;
        let mut last = folded;
        for segment in orphan.content.chunks_exact(SEGMENT_BYTES) {
            let Some(generation) = generation(segment).filter(|generation| *generation > folded) else { continue };
            last = last.max(generation);
            for Sum { table, key, total } in sums(segment) {
                // An older copy in the place of the file may lack the counter.
                if session.has_counter(table) {
                    session.add(table, key, total)?;
                }
            }
        }
        session.set_folded_generation(&orphan.name, last)?;
    }
    session.commit()?;
    for orphan in orphans {
        // A file that remains is found again, with nothing new in it.
        let _ = fs::remove_file(&orphan.path);
    }
    Ok(())
}

/// Removes the folded generations of journals whose files no longer exist.
pub(crate) fn forget_finished(env: &Env, tree: Tree, dir: &Path) -> Result<(), Error> {
    let mut noted = HashSet::new();
    let snapshot = env.read_txn()?;
    for entry in tree.prefix_iter(&snapshot, &JOURNALS)? {
        let (key, _) = entry?;
        noted.insert(String::from_utf8_lossy(&key[JOURNALS.len()..]).into_owned());
    }
    drop(snapshot);
    noted.retain(|name| !dir.join(name).exists());
    if noted.is_empty() {
        return Ok(());
    }
    // Otherwise a file could come back after a power failure, and its sums would be added again.
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| Error::cannot_open(dir, error))?;
    let mut session = Session::begin(env, tree, 0)?;
    for name in &noted {
        session.forget_journal(name)?;
    }
    session.commit()
}
