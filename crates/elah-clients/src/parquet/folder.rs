//! A folder of Parquet files in partitions, to which several processes may write.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;
use super::encoding::{Column, Id, encode, read_ids};

/// The folder of incomplete files. Queries of `**/*.parquet` do not see it.
const UNFINISHED: &str = ".unfinished";

/// Locked while a file gets its final name, so that two processes do not choose the same one.
const LOCK: &str = ".lock";

#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// An incomplete file. It is locked while its writer lives, and removed unless it was renamed into place.
struct Unfinished {
    file: File,
    path: PathBuf,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // after its rename there is none
    }
}

impl Folder {
    pub fn new(path: PathBuf) -> Self {
        Folder { path }
    }

    /// Removes the leftovers of dead writers.
    pub fn clean(&self) -> io::Result<usize> {
        let entries = match fs::read_dir(self.path.join(UNFINISHED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut removed = 0;
        for entry in entries {
            let path = entry?.path();
            // A file that has disappeared meanwhile was renamed into place.
            let Ok(file) = File::open(&path) else { continue };
            if file.try_lock().is_ok() && fs::remove_file(&path).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Writes one file with these rows to `partition`, a path below the folder, and returns its path. Replaces rows with the same
    /// IDs that were written earlier. The file is synced when this returns.
    ///
    /// # Panics
    ///
    /// Panics if there are no IDs.
    pub fn put(&self, partition: &str, ids: &[Id], columns: Vec<Column>) -> Result<PathBuf, Error> {
        let bytes = encode(ids, columns)?;
        let mut unfinished = self.unfinished()?;
        unfinished.file.write_all(&bytes)?;
        unfinished.file.sync_all()?;
        let target = self.path.join(partition);
        fs::create_dir_all(&target)?;
        let lock = OpenOptions::new().create(true).append(true).open(self.path.join(LOCK))?;
        lock.lock()?;
        let renamed = place(&target, ids).and_then(|place| fs::rename(&unfinished.path, &place).map(|()| place));
        lock.unlock()?; // also for a fork that was made meanwhile, which shares it
        let place = renamed?;
        // A new name is durable when its folder is synced, and a new folder when its parent is.
        for folder in target.ancestors().take_while(|folder| folder.starts_with(&self.path)) {
            File::open(folder)?.sync_all()?;
        }
        Ok(place)
    }

    fn unfinished(&self) -> io::Result<Unfinished> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = self.path.join(UNFINISHED);
        fs::create_dir_all(&folder)?;
        loop {
            let path = folder.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // The file of a dead process with the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => {
                    let unfinished = Unfinished { file: file?, path };
                    unfinished.file.lock()?;
                    return Ok(unfinished);
                }
            }
        }
    }
}

/// The path of the rows. The file is named after the first ID. A batch repeated after a crash begins with the same event. So a
/// file that holds only these rows is an earlier attempt and is replaced; one that holds others stays.
fn place(folder: &Path, ids: &[Id]) -> io::Result<PathBuf> {
    let name = uuid(&ids[0]);
    let ours: HashSet<&Id> = ids.iter().collect();
    let mut number = 1_u32;
    loop {
        let path = folder.join(if number == 1 { format!("{name}.parquet") } else { format!("{name}-{number}.parquet") });
        if !path.try_exists()? {
            return Ok(path);
        }
        // A file that cannot be read is foreign, and stays too.
        if read_ids(&path).is_ok_and(|found| found.iter().all(|id| ours.contains(id))) {
            return Ok(path);
        }
        number += 1;
    }
}

fn uuid(id: &Id) -> String {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::encoding::Values;
    use super::*;

    fn id(number: u8) -> Id {
        [number; 16]
    }

    fn columns(ids: &[Id]) -> Vec<Column> {
        let json = ids.iter().map(|id| Some(Bytes::from(format!("{{\"n\":{}}}", id[0])))).collect();
        vec![
            Column { name: "data".to_owned(), values: Values::Json(json) },
            Column { name: "n".to_owned(), values: Values::Integers(ids.iter().map(|id| (id[0] > 1).then_some(7)).collect()) },
        ]
    }

    /// A folder that is removed with the test.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new() -> Self {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let name = format!("elah-parquet-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            Temporary(std::env::temp_dir().join(name))
        }

        fn folder(&self) -> Folder {
            Folder::new(self.0.clone())
        }

        fn put(&self, ids: &[Id]) -> PathBuf {
            self.folder().put("hour=1", ids, columns(ids)).unwrap()
        }

        /// The numbers of all rows, over all files.
        fn rows(&self) -> Vec<u8> {
            let files = fs::read_dir(self.0.join("hour=1")).unwrap();
            let mut rows: Vec<u8> = files.flat_map(|file| read_ids(&file.unwrap().path()).unwrap()).map(|id| id[0]).collect();
            rows.sort_unstable();
            rows
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_batch_that_comes_again_longer_or_shorter_is_there_once() {
        let temporary = Temporary::new();
        temporary.put(&[id(1), id(2)]);
        temporary.put(&[id(1), id(2), id(3)]);
        temporary.put(&[id(1), id(2), id(3)]);
        assert_eq!(temporary.rows(), [1, 2, 3]);
        assert_eq!(fs::read_dir(temporary.0.join(UNFINISHED)).unwrap().count(), 0);
    }

    #[test]
    fn an_event_that_is_sent_again_takes_no_other_with_it() {
        let temporary = Temporary::new();
        let first = temporary.put(&[id(1), id(2)]);
        let second = temporary.put(&[id(1), id(3)]);
        assert_ne!(first, second);
        assert_eq!(temporary.put(&[id(1), id(3), id(4)]), second, "an attempt at the second batch is known too");
        assert_eq!(temporary.rows(), [1, 1, 2, 3, 4]);
    }

    #[test]
    fn a_file_that_is_none_of_ours_stays() {
        let temporary = Temporary::new();
        let path = temporary.put(&[id(1)]);
        fs::write(&path, "notes").unwrap();
        assert_ne!(temporary.put(&[id(1)]), path);
        assert_eq!(fs::read(&path).unwrap(), b"notes");
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_write_is_not() {
        let temporary = Temporary::new();
        assert_eq!(temporary.folder().clean().unwrap(), 0);
        let living = temporary.folder().unfinished().unwrap();
        fs::write(temporary.0.join(UNFINISHED).join("1-1"), "PAR1").unwrap();
        assert_eq!(temporary.folder().clean().unwrap(), 1);
        assert!(living.path.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_an_error_of_the_system() {
        let temporary = Temporary::new();
        fs::write(&temporary.0, "").unwrap();
        assert!(matches!(temporary.folder().put("hour=1", &[id(1)], vec![]), Err(Error::Io(_))));
        fs::remove_file(&temporary.0).unwrap();
    }
}
