//! Looks at the pages of a store's file as they lie on the disk, without LMDB, which trusts them: a damaged page may lead it out of its map,
//! which ends the process.
//!
//! The file is pages of one size, the first two of which are *metas*: the newer one, by its transaction's number, names the roots of two
//! trees, that of the free pages and that of the entries. All numbers are little endian.
//!
//! | a page's bytes | |
//! |---|---|
//! | 0..8, 10..12 | its number; what it is: 1 branch, 2 leaf, 4 the first of some that hold one value |
//! | 12..14, 14..16 | where the list of its nodes ends; where the nodes begin. In the first of some: 12..16, how many there are |
//! | 16.. | for each node where it lies, 2 bytes each, in the order of the keys |
//!
//! | a node's bytes | |
//! |---|---|
//! | 0..2, 2..4, 4..6, 6..8 | bytes of the value, low and high half; flags; bytes of the key. In a branch the first three are a page's number |
//! | 8.. | the key, then the value or, with the flag 1, the number of the first of the pages that hold it |

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const HEADER_BYTES: usize = 16;
const NODE_BYTES: usize = 8;
const META_BYTES: usize = HEADER_BYTES + 136;
const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
const PAGE_BYTES: [usize; 2] = [512, 65_536];
const DEPTH_MAX: u16 = 32;

const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
const META: u16 = 8;
const IN_OTHER_PAGES: u16 = 1;
/// The root of an empty tree.
const NO_PAGE: u64 = u64::MAX;
/// The map is at an address that the file names.
const FIXED_MAP: u16 = 1;
/// The keys of the tree of free pages are whole numbers.
const WHOLE_NUMBERS: u16 = 8;

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// It cannot be read.
    Io(io::Error),
    /// It is not an LMDB file.
    NotLmdb,
    /// It is an LMDB file that was changed by something else.
    Damaged(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

fn damaged<T>(why: String) -> Result<T, Fault> {
    Err(Fault::Damaged(why))
}

/// The result of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Pages of the two trees and of long values.
    pub pages: u64,
    /// Entries of all tables, including the store's own.
    pub entries: u64,
    /// Pages of the file that the next commits can use.
    pub free_pages: u64,
}

#[derive(Clone, Copy)]
struct Tree {
    flags: u16,
    depth: u16,
    entries: u64,
    root: u64,
}

struct Meta {
    page_bytes: usize,
    free: Tree,
    main: Tree,
    last_page: u64,
    transaction: u64,
    bytes: [u8; META_BYTES],
}

/// What a copy of the file as of one transaction consists of.
pub(super) struct Extent {
    /// The first two pages, which name the roots as of that transaction.
    pub(super) head: Vec<u8>,
    /// The length of the file, if it ends with its last page.
    pub(super) bytes: u64,
}

/// Checks the two metas, which LMDB reads when it opens the file, and the file's length.
pub(super) fn check_metas(file: &File) -> Result<(), Fault> {
    loop {
        let meta = newest(file)?;
        match check_length(file, &meta) {
            // Others have committed meanwhile, and may have used the pages that tell.
            Err(_) if newest(file)?.transaction != meta.transaction => {}
            checked => return checked,
        }
    }
}

/// Checks up to `pages_max` pages, those nearest to the roots first, as of the transaction with this number. A reader must hold
/// that transaction, so that its pages stay unchanged. `None` if others have committed meanwhile and its meta is gone.
pub(super) fn check_pages(file: &File, transaction: u64, pages_max: u64) -> Result<Option<Checked>, Fault> {
    let Some(meta) = metas(file)?.into_iter().find(|meta| meta.transaction == transaction) else { return Ok(None) };
    let mut walk = Walk::new(file, &meta, pages_max);
    walk.tree(meta.main, false)?;
    walk.tree(meta.free, true)?;
    Ok(Some(walk.checked))
}

/// The extent of the file as of the transaction with this number, which a reader must hold. `None` if others have committed meanwhile and its meta
/// is gone.
pub(super) fn extent(file: &File, transaction: u64) -> Result<Option<Extent>, Fault> {
    let find = || Ok::<_, Fault>(metas(file)?.into_iter().find(|meta| meta.transaction == transaction));
    // Twice, because a commit may overwrite a meta while it is read.
    let (Some(meta), Some(again)) = (find()?, find()?) else { return Ok(None) };
    if meta.bytes != again.bytes {
        return Ok(None);
    }
    let mut head = vec![0; 2 * meta.page_bytes];
    for (number, page) in head.chunks_exact_mut(meta.page_bytes).enumerate() {
        page[..META_BYTES].copy_from_slice(&meta.bytes);
        page[..8].copy_from_slice(&(number as u64).to_le_bytes());
    }
    Ok(Some(Extent { head, bytes: (meta.last_page + 1) * meta.page_bytes as u64 }))
}

/// Checks every page of a file that nobody else has open.
pub(super) fn check_unused(file: &File) -> Result<Checked, Fault> {
    check_metas(file)?;
    check_pages(file, newest(file)?.transaction, u64::MAX).map(Option::unwrap_or_default)
}

fn newest(file: &File) -> Result<Meta, Fault> {
    let [first, second] = metas(file)?;
    Ok(if second.transaction > first.transaction { second } else { first })
}

/// The file may lack pages at its end only if they are free: LMDB does not write those that it has freed in the transaction that took them.
fn check_length(file: &File, meta: &Meta) -> Result<(), Fault> {
    let length = file.metadata()?.len();
    let (written, pages) = (length / meta.page_bytes as u64, meta.last_page.saturating_add(1));
    if written >= pages {
        return Ok(());
    }
    let mut walk = Walk { written, ..Walk::new(file, meta, u64::MAX) };
    match walk.tree(meta.free, true) {
        Ok(()) if walk.free_unwritten == pages - written => Ok(()),
        Err(Fault::Io(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(Fault::Io(error)),
        _ => damaged(format!(
            "it has {length} bytes and should have at least {}; it was cut off",
            pages.saturating_mul(meta.page_bytes as u64)
        )),
    }
}

fn metas(file: &File) -> Result<[Meta; 2], Fault> {
    let length = file.metadata()?.len();
    if length == 0 {
        return damaged("it is empty".to_owned());
    }
    let first = meta(file, 0, length)?;
    let second = meta(file, first.page_bytes as u64, length)?;
    if first.page_bytes != second.page_bytes {
        return damaged("its two headers contradict each other".to_owned());
    }
    let newest = if second.transaction > first.transaction { &second } else { &first };
    newest.check()?;
    Ok([first, second])
}

fn meta(file: &File, at: u64, length: u64) -> Result<Meta, Fault> {
    if length < at + META_BYTES as u64 {
        return damaged(format!("it has {length} bytes; it was cut off"));
    }
    let mut bytes = [0; META_BYTES];
    file.read_exact_at(&mut bytes, at)?;
    if u32_at(&bytes, 16) != MAGIC || u32_at(&bytes, 20) != VERSION || u16_at(&bytes, 10) & META == 0 {
        return Err(Fault::NotLmdb);
    }
    let tree = |at: usize| Tree {
        flags: u16_at(&bytes, at + 4),
        depth: u16_at(&bytes, at + 6),
        entries: u64_at(&bytes, at + 32),
        root: u64_at(&bytes, at + 40),
    };
    let meta = Meta {
        page_bytes: u32_at(&bytes, 40) as usize,
        free: tree(40),
        main: tree(88),
        last_page: u64_at(&bytes, 136),
        transaction: u64_at(&bytes, 144),
        bytes,
    };
    let is_size = meta.page_bytes.is_power_of_two() && (PAGE_BYTES[0]..=PAGE_BYTES[1]).contains(&meta.page_bytes);
    if is_size && meta.free.flags & FIXED_MAP == 0 { Ok(meta) } else { impossible_header() }
}

fn impossible_header<T>() -> Result<T, Fault> {
    damaged("a header has impossible values".to_owned())
}

impl Meta {
    /// The older meta need not be valid: LMDB partly restores it after a failed write.
    fn check(&self) -> Result<(), Fault> {
        let is_sound = |tree: Tree| {
            let is_empty = tree.root == NO_PAGE;
            tree.depth <= DEPTH_MAX && is_empty == (tree.depth == 0) && (is_empty || (2..=self.last_page).contains(&tree.root))
        };
        let has_flags = self.free.flags & WHOLE_NUMBERS != 0;
        if has_flags && is_sound(self.free) && is_sound(self.main) { Ok(()) } else { impossible_header() }
    }
}

/// A page to check.
struct Due {
    number: u64,
    /// Number of levels between it and the entries.
    height: u16,
    /// The range of its keys; `None` is unbounded.
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

struct Walk<'f> {
    file: &'f File,
    meta: &'f Meta,
    seen: HashSet<u64>,
    checked: Checked,
    pages_max: u64,
    /// The number of pages in the file.
    written: u64,
    /// Free pages that the file lacks.
    free_unwritten: u64,
}

impl<'f> Walk<'f> {
    fn new(file: &'f File, meta: &'f Meta, pages_max: u64) -> Self {
        Walk { file, meta, seen: HashSet::new(), checked: Checked::default(), pages_max, written: u64::MAX, free_unwritten: 0 }
    }

    fn tree(&mut self, tree: Tree, is_free: bool) -> Result<(), Fault> {
        let entries_before = self.checked.entries;
        let mut due = VecDeque::new();
        if tree.root != NO_PAGE {
            due.push_back(Due { number: tree.root, height: tree.depth - 1, from: None, to: None });
        }
        while let Some(page) = due.pop_front() {
            if self.checked.pages >= self.pages_max {
                return Ok(());
            }
            self.page(&page, is_free, &mut due)?;
        }
        let found = self.checked.entries - entries_before;
        if is_free {
            self.checked.entries = entries_before;
        }
        if found == tree.entries { Ok(()) } else { damaged(format!("it has {found} entries and should have {}", tree.entries)) }
    }

    fn page(&mut self, due: &Due, is_free: bool, children: &mut VecDeque<Due>) -> Result<(), Fault> {
        let bytes = self.read(due.number, 1)?;
        let number = due.number;
        let kind = if due.height == 0 { LEAF } else { BRANCH };
        let (lower, upper) = (usize::from(u16_at(&bytes, 12)), usize::from(u16_at(&bytes, 14)));
        if u16_at(&bytes, 10) != kind || lower <= HEADER_BYTES || lower % 2 != 0 || upper < lower || upper > bytes.len() {
            return damaged(format!("page {number} has an impossible header"));
        }
        let count = (lower - HEADER_BYTES) / 2;
        let mut last = due.from.clone();
        for index in 0..count {
            let at = usize::from(u16_at(&bytes, HEADER_BYTES + 2 * index));
            let key_at = at + NODE_BYTES;
            let Some(key) = (at >= upper && key_at <= bytes.len())
                .then(|| bytes.get(key_at..key_at + usize::from(u16_at(&bytes, at + 6))))
                .flatten()
            else {
                return damaged(format!("an entry of page {number} lies outside of it"));
            };
            let is_first_of_branch = kind == BRANCH && index == 0; // its key says nothing
            if !is_first_of_branch {
                let is_after = last
                    .as_deref()
                    .is_none_or(|last| if index == 0 { last <= key || is_free } else { follows(last, key, is_free) });
                let is_before = is_free || due.to.as_deref().is_none_or(|to| key < to);
                if !is_after || !is_before {
                    return damaged(format!("the keys of page {number} are not in their order"));
                }
                last = Some(key.to_vec());
            }
            if kind == BRANCH {
                let child = u64::from(u32_at(&bytes, at)) | u64::from(u16_at(&bytes, at + 4)) << 32;
                if let Some(previous) = children.back_mut().filter(|_| index > 0) {
                    previous.to = Some(key.to_vec());
                }
                let from = if is_first_of_branch { due.from.clone() } else { Some(key.to_vec()) };
                children.push_back(Due { number: child, height: due.height - 1, from, to: due.to.clone() });
            } else {
                self.value(number, &bytes, at, key_at + key.len(), is_free)?;
            }
        }
        Ok(())
    }

    /// Checks the value of an entry.
    fn value(&mut self, number: u64, page: &[u8], at: usize, value_at: usize, is_free: bool) -> Result<(), Fault> {
        self.checked.entries += 1;
        let (length, flags) = (u32_at(page, at) as usize, u16_at(page, at + 4));
        let outside = || Fault::Damaged(format!("a value of page {number} lies outside of it"));
        let mut long = Vec::new();
        let value = if flags & IN_OTHER_PAGES == 0 {
            page.get(value_at..value_at + length).ok_or_else(outside)?
        } else {
            let first = page.get(value_at..value_at + 8).map(|bytes| u64_at(bytes, 0)).ok_or_else(outside)?;
            let pages = (HEADER_BYTES + length).div_ceil(self.meta.page_bytes) as u64;
            let read = if is_free { pages } else { 1 };
            if first.checked_add(pages).is_none_or(|end| end > self.meta.last_page + 1) {
                return Err(outside());
            }
            long = self.read(first, read)?;
            if u16_at(&long, 10) != OVERFLOW || u64::from(u32_at(&long, 12)) != pages {
                return damaged(format!("page {first} has an impossible header"));
            }
            self.checked.pages += pages - 1;
            long.get(HEADER_BYTES..HEADER_BYTES + length).unwrap_or_default()
        };
        if is_free {
            let Some(pages) = self.listed_pages(value) else {
                return damaged(format!("page {number} lists impossible free pages"));
            };
            self.checked.free_pages += pages.len() as u64;
            self.free_unwritten += pages.iter().filter(|page| **page >= self.written).count() as u64;
        }
        drop(long);
        Ok(())
    }

    /// The pages in a value of the free tree: how many, then their numbers in descending order. `None` if it is invalid.
    fn listed_pages(&self, value: &[u8]) -> Option<Vec<u64>> {
        let (words, rest) = value.as_chunks::<8>();
        let (count, pages) = words.split_first().map(|(count, pages)| (u64::from_le_bytes(*count), pages))?;
        let pages = pages.get(..usize::try_from(count).ok()?)?;
        let pages: Vec<u64> = pages.iter().map(|page| u64::from_le_bytes(*page)).collect();
        let is_valid = rest.is_empty()
            && pages.iter().all(|page| (2..=self.meta.last_page).contains(page))
            && pages.is_sorted_by(|page, next| page > next);
        is_valid.then_some(pages)
    }

    /// The bytes of some pages. The first must have its own number and must not have been seen before.
    fn read(&mut self, number: u64, pages: u64) -> Result<Vec<u8>, Fault> {
        if !(2..=self.meta.last_page).contains(&number) {
            return damaged(format!("there is no page {number}"));
        }
        if !self.seen.insert(number) {
            return damaged(format!("page {number} is used twice"));
        }
        self.checked.pages += 1;
        let mut bytes = vec![0; self.meta.page_bytes * pages as usize];
        self.file.read_exact_at(&mut bytes, number * self.meta.page_bytes as u64)?;
        if u64_at(&bytes, 0) != number { damaged(format!("page {number} has another number")) } else { Ok(bytes) }
    }
}

/// Whether a key follows another one in its tree.
fn follows(last: &[u8], key: &[u8], is_free: bool) -> bool {
    if !is_free {
        return last < key;
    }
    match (last.first_chunk::<8>(), key.first_chunk::<8>()) {
        (Some(last), Some(key)) => u64::from_le_bytes(*last) < u64::from_le_bytes(*key),
        _ => false,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
