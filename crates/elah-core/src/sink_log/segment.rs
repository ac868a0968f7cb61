//! One file of a journal: a header and then records. Its bytes lie on the disk before it is mapped, so that no append meets a disk that is
//! full, which would end the process with SIGBUS.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::{Advice, MmapMut, MmapOptions};

use super::record::{self, Parsed, Record};

pub(super) const HEADER_BYTES: u32 = 16;
const MAGIC: &[u8; 8] = b"ELAHSNK1";
const SUFFIX: &str = "log";
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    file: File,
}

/// Where a walk over records ended.
pub(super) struct Walked {
    pub(super) end: u32,
    /// Whether there is something after the end that was not written so.
    pub(super) is_damaged: bool,
}

impl Segment {
    /// A new file of so many bytes, and the map to write to it.
    pub(super) fn create(dir: &Path, number: u64, bytes: u32) -> io::Result<(Self, MmapMut)> {
        let path = path(dir, number);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let mapped = allocate(&file, bytes).and_then(|()| map(&file, bytes));
        let mut map = mapped.inspect_err(|_| drop(fs::remove_file(&path)))?;
        map[8..16].copy_from_slice(&number.to_le_bytes());
        map[..8].copy_from_slice(MAGIC);
        Ok((Segment { number, file }, map))
    }

    /// The numbers of the segments in `dir`, in their order.
    pub(super) fn list(dir: &Path) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(dir)? {
            let path = PathBuf::from(entry?.file_name());
            let stem =
                path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path.extension().is_some_and(|it| it == SUFFIX));
            numbers.extend(stem.and_then(|stem| u64::from_str_radix(stem, 16).ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// A file that is there.
    pub(super) fn open(dir: &Path, number: u64) -> io::Result<Self> {
        Ok(Segment { number, file: File::open(path(dir, number))? })
    }

    /// Hands over each record between `from` and `to` with the offset after it, until `each` says no.
    pub(super) fn walk(&self, from: u32, to: Option<u32>, mut each: impl FnMut(u32, Record<'_>) -> bool) -> io::Result<Walked> {
        let to = match to {
            Some(to) => to,
            None => self.file.metadata()?.len().min(u64::from(u32::MAX)) as u32,
        };
        let mut end = from.max(HEADER_BYTES);
        let mut chunk = vec![0; CHUNK_BYTES];
        while end < to {
            let wanted = chunk.len().min((to - end) as usize);
            self.file.read_exact_at(&mut chunk[..wanted], u64::from(end))?;
            let mut at = 0;
            loop {
                match record::parse(&chunk[at..wanted]) {
                    Parsed::Record(record, size) => {
                        at += size;
                        end += size as u32;
                        if !each(end, record) {
                            return Ok(Walked { end, is_damaged: false });
                        }
                    }
                    Parsed::Longer(size) if at == 0 && size > (to - end) as usize => {
                        return Ok(Walked { end, is_damaged: to - end >= record::WORD_BYTES as u32 });
                    }
                    Parsed::Longer(size) => {
                        if at == 0 {
                            chunk.resize(size.max(chunk.len()), 0);
                        }
                        break;
                    }
                    Parsed::End => return Ok(Walked { end, is_damaged: false }),
                    Parsed::Damaged => return Ok(Walked { end, is_damaged: true }),
                }
            }
        }
        Ok(Walked { end, is_damaged: false })
    }

    /// Whether the file begins as a segment of its number does.
    pub(super) fn has_header(&self) -> io::Result<bool> {
        let mut header = [0; HEADER_BYTES as usize];
        match self.file.read_exact_at(&mut header, 0) {
            Ok(()) => Ok(header[..8] == *MAGIC && header[8..] == self.number.to_le_bytes()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn delete(dir: &Path, number: u64) -> io::Result<()> {
        fs::remove_file(path(dir, number))
    }

    /// Gives the file a second name, under which it stays when it is deleted.
    pub(super) fn keep_damaged(dir: &Path, number: u64) -> io::Result<()> {
        let path = path(dir, number);
        match fs::hard_link(&path, path.with_extension("damaged")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            kept => kept,
        }
    }
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016x}.{SUFFIX}"))
}

#[allow(unsafe_code)]
fn allocate(file: &File, bytes: u32) -> io::Result<()> {
    // SAFETY: a call on an open descriptor of our own, without pointers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes.into()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[allow(unsafe_code)]
fn map(file: &File, bytes: u32) -> io::Result<MmapMut> {
    // SAFETY: the journal's lock keeps other processes from writing, and this one writes through this map alone; nobody truncates it.
    let map = unsafe { MmapOptions::new().len(bytes as usize).map_mut(file) }?;
    // Else the first append may bring in as much as the system reads ahead, which can be the whole segment: 2 ms, and no request meanwhile.
    map.advise(Advice::Random)?;
    Ok(map)
}
