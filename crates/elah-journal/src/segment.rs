//! One file of a journal: a header and then records. Its space is allocated on the disk before it is mapped. Otherwise an append
//! on a full disk would end the process with SIGBUS. The file gets its name when its header is written, so a named file without a
//! header is damaged.
//!
//! The header has 32 bytes: `ELAHSNK` and the digit of the format, the segment's number, the ID of the machine's boot in which it
//! was created, the length of the file, and a CRC-32 of all that. Later formats must keep it, so that each version can tell which
//! files it can read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::{Advice, MmapMut, MmapOptions};

use super::record::{self, Parsed, Record};

pub(super) const HEADER_BYTES: u32 = 32;
const MAGIC: &[u8; 7] = b"ELAHSNK";
/// The digit of this format.
const FORMAT: u8 = b'2';
const CHECKED_BYTES: usize = 28;
const SUFFIX: &str = "segment";
/// The suffix of an unfinished new file.
const NEW_SUFFIX: &str = "new";
const DAMAGED_SUFFIX: &str = "damaged";
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    file: File,
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    number: u64,
    /// The machine's boot in which it was written.
    pub(super) boot: u64,
    /// The length of the file.
    pub(super) bytes: u32,
}

/// Why a walk over records ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is nothing more, or the caller wanted no more.
    End,
    /// At a record that a killed process has not finished.
    Unfinished,
    /// At damaged bytes.
    Damaged,
}

/// Where a walk over records ended, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walked {
    pub(super) end: u32,
    pub(super) stop: Stop,
}

/// The files in the folder of a journal.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The numbers of the segments, in their order.
    pub(super) segments: Vec<u64>,
    /// The numbers of the segments set aside.
    pub(super) damaged: Vec<u64>,
    /// Unfinished files of a killed process.
    pub(super) new: Vec<PathBuf>,
}

impl Files {
    pub(super) fn list(dir: &Path) -> io::Result<Self> {
        let mut files = Files::default();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let number = stem.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
            match (path.extension().and_then(|suffix| suffix.to_str()), number) {
                (Some(SUFFIX), Some(number)) if stem.len() == 16 => files.segments.push(number),
                (Some(DAMAGED_SUFFIX), Some(number)) => files.damaged.push(number),
                (Some(NEW_SUFFIX), _) => files.new.push(path),
                _ => {}
            }
        }
        files.segments.sort_unstable();
        Ok(files)
    }
}

impl Segment {
    /// A new file of this size, and the map for writing to it.
    pub(super) fn create(dir: &Path, number: u64, boot: u64, bytes: u32) -> io::Result<(Self, MmapMut)> {
        let path = Segment::path(dir, number);
        let new = path.with_extension(NEW_SUFFIX);
        let made = allocated(&new, bytes).and_then(|file| {
            let mut map = map(&file, bytes)?;
            map[..HEADER_BYTES as usize].copy_from_slice(&Header { number, boot, bytes }.written());
            fs::rename(&new, &path)?;
            Ok((Segment { number, file }, map))
        });
        made.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// An existing file.
    pub(super) fn open(dir: &Path, number: u64) -> io::Result<Self> {
        Ok(Segment { number, file: File::open(Segment::path(dir, number))? })
    }

    /// A file whose name may be gone.
    pub(super) fn of(file: File) -> Self {
        Segment { number: 0, file }
    }

    /// Passes on each record between `from` and `to` with the offset after it, until `each` returns false.
    pub(super) fn walk(&self, from: u32, to: Option<u32>, mut each: impl FnMut(u32, Record<'_>) -> bool) -> io::Result<Walked> {
        let to = match to {
            Some(to) => to,
            None => self.len()?,
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
                            return Ok(Walked { end, stop: Stop::End });
                        }
                    }
                    Parsed::Longer(size) if at == 0 && size > (to - end) as usize => {
                        return Ok(Walked { end, stop: Stop::Damaged });
                    }
                    Parsed::Longer(size) => {
                        if at == 0 {
                            chunk.resize(size.max(chunk.len()), 0);
                        }
                        break;
                    }
                    Parsed::End => return Ok(Walked { end, stop: Stop::End }),
                    Parsed::Unfinished => return Ok(Walked { end, stop: Stop::Unfinished }),
                    Parsed::Damaged(_) => return Ok(Walked { end, stop: Stop::Damaged }),
                }
            }
        }
        Ok(Walked { end, stop: Stop::End })
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    pub(super) fn len(&self) -> io::Result<u32> {
        Ok(self.metadata()?.len().min(u64::from(u32::MAX)) as u32)
    }

    /// `None` if it is damaged.
    ///
    /// # Errors
    /// Also `Unsupported` if another version wrote the file in a format that this one cannot read.
    pub(super) fn header(&self) -> io::Result<Option<Header>> {
        Ok(self.any_header()?.filter(|header| header.number == self.number))
    }

    /// Whether somebody has given another segment this name.
    pub(super) fn is_another(&self) -> io::Result<bool> {
        Ok(self.any_header()?.is_some_and(|header| header.number != self.number))
    }

    fn any_header(&self) -> io::Result<Option<Header>> {
        let mut bytes = [0; HEADER_BYTES as usize];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Header::read(&bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All bytes from `from` on.
    pub(super) fn rest(&self, from: u32) -> io::Result<Vec<u8>> {
        let mut rest = vec![0; self.len()?.saturating_sub(from) as usize];
        self.file.read_exact_at(&mut rest, u64::from(from))?;
        Ok(rest)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn path(dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{number:016x}.{SUFFIX}"))
    }

    pub(super) fn delete(dir: &Path, number: u64) -> io::Result<()> {
        fs::remove_file(Segment::path(dir, number))
    }

    /// Gives the file a second name, under which it is kept. The name has the offset of the damage.
    pub(super) fn keep_damaged(dir: &Path, number: u64, offset: u32) -> io::Result<PathBuf> {
        let kept = dir.join(format!("{number:016x}-{offset:08x}.{DAMAGED_SUFFIX}"));
        match fs::hard_link(Segment::path(dir, number), &kept) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(kept),
        }
    }

    /// Replaces the file by one that ends at `end`.
    pub(super) fn replace(&self, dir: &Path, boot: u64, end: u32) -> io::Result<()> {
        let path = Segment::path(dir, self.number);
        let new = path.with_extension(NEW_SUFFIX);
        let mut kept = vec![0; end as usize];
        self.file.read_exact_at(&mut kept, 0)?;
        let replaced = allocated(&new, end).and_then(|file| {
            kept[..HEADER_BYTES as usize].copy_from_slice(&Header { number: self.number, boot, bytes: end }.written());
            file.write_all_at(&kept, 0)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        });
        replaced.inspect_err(|_| drop(fs::remove_file(&new)))
    }
}

/// The offset of the damage in the name of a segment set aside.
pub(super) fn damaged_from(path: &Path) -> Option<u32> {
    let digits = path.file_stem()?.to_str()?.split_once('-')?.1;
    u32::from_str_radix(digits, 16).ok()
}

impl Header {
    fn written(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = FORMAT;
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.boot.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.bytes.to_le_bytes());
        let check = crc32fast::hash(&bytes[..CHECKED_BYTES]);
        bytes[28..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Parses the start of a file; see [`Segment::header`].
    pub(super) fn read(bytes: &[u8]) -> io::Result<Option<Self>> {
        let Some((checked, rest)) = bytes.split_at_checked(CHECKED_BYTES) else { return Ok(None) };
        let number = |at| checked[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let length = checked[24..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if !checked.starts_with(MAGIC) || rest.first_chunk() != Some(&crc32fast::hash(checked).to_le_bytes()) {
            return Ok(None);
        }
        if checked[7] != FORMAT {
            return Err(io::Error::new(io::ErrorKind::Unsupported, other_format(number(8), checked[7])));
        }
        Ok(Some(Header { number: number(8), boot: number(16), bytes: length }))
    }
}

fn other_format(number: u64, format: u8) -> String {
    format!(
        "its file {number:016x}.{SUFFIX} has the format {}, and this version of Elah reads the format {}; start the version that wrote the file \
         to deliver its events, or move the file away",
        char::from(format),
        char::from(FORMAT)
    )
}

/// A new file of this size, allocated on the disk.
fn allocated(path: &Path, bytes: u32) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    allocate(&file, bytes).map(|()| file)
}

#[allow(unsafe_code)]
fn allocate(file: &File, bytes: u32) -> io::Result<()> {
    // SAFETY: a call on our own open descriptor, without pointers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes.into()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[allow(unsafe_code)]
fn map(file: &File, bytes: u32) -> io::Result<MmapMut> {
    // SAFETY: the journal's lock keeps other processes from writing, and this one writes through this map only; nobody truncates
    // the file.
    let map = unsafe { MmapOptions::new().len(bytes as usize).map_mut(file) }?;
    // Otherwise the first append may load as much as the system reads ahead, up to the whole segment. That takes 2 ms without any
    // request.
    map.advise(Advice::Random)?;
    Ok(map)
}
