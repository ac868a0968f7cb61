//! A mark by which a process detects that it is a fork of the one that opened the store, by reading one byte.

use std::io;

/// A page that the kernel fills with zeros in a forked child.
#[derive(Debug)]
pub(super) struct ForkMark {
    #[cfg(target_os = "linux")]
    page: memmap2::MmapMut,
    #[cfg(not(target_os = "linux"))]
    pid: u32,
}

#[cfg(target_os = "linux")]
impl ForkMark {
    pub(super) fn new() -> io::Result<Self> {
        let mut page = memmap2::MmapMut::map_anon(1)?;
        wipe_on_fork(&mut page)?;
        page[0] = 1;
        Ok(ForkMark { page })
    }

    /// True in the process that made the mark, false in its forks.
    pub(super) fn is_same_process(&self) -> bool {
        self.page[0] == 1
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn wipe_on_fork(page: &mut memmap2::MmapMut) -> io::Result<()> {
    // SAFETY: the page is a private anonymous map of our own, and the advice changes nothing of it in this process.
    let result = unsafe { libc::madvise(page.as_mut_ptr().cast(), page.len(), libc::MADV_WIPEONFORK) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
impl ForkMark {
    pub(super) fn new() -> io::Result<Self> {
        Ok(ForkMark { pid: std::process::id() })
    }

    /// True in the process that made the mark, false in its forks.
    pub(super) fn is_same_process(&self) -> bool {
        std::process::id() == self.pid
    }
}
