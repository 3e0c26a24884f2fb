//! Direct I/O: opens files past the page cache where the system supports it.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use super::super::open_files::open_at_once;
    use rustix::fs::{AtFlags, OFlags, StatxFlags};
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// An alignment that suits every device in use.
    const SAFE_ALIGNMENT: usize = 4096;

    /// In-memory file systems: they accept the flag, but their reads never reach a device.
    const MEMORY_FILE_SYSTEMS: [u32; 2] = [0x0102_1994 /* tmpfs */, 0x8584_58f6 /* ramfs */];

    /// Opens a file and determines the alignment of its reads; `None` if direct reads are refused.
    pub(in crate::io) fn open(path: &Path, writes: bool) -> io::Result<Option<(File, usize)>> {
        let flags = OFlags::DIRECT.bits() as i32;
        let file = match open_at_once(path, writes, flags) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let in_memory =
            rustix::fs::fstatfs(&file).is_ok_and(|status| MEMORY_FILE_SYSTEMS.contains(&(status.f_type as u32)));
        let alignment = alignment(&file);
        Ok((!in_memory).then_some((file, alignment)))
    }

    /// Switches an open file to the page cache.
    pub(in crate::io) fn stop(file: &File) -> io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(file)?;
        Ok(rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT)?)
    }

    /// The alignment reported by the kernel (Linux 6.1 and later).
    fn alignment(file: &File) -> usize {
        let Ok(status) = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
            return SAFE_ALIGNMENT;
        };
        let needed = status.stx_dio_offset_align.max(status.stx_dio_mem_align) as usize;
        let known = status.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && needed.is_power_of_two();
        if known { needed.max(512) } else { SAFE_ALIGNMENT }
    }
}

/// On other systems every read goes through the page cache.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// Direct I/O is not supported.
    pub(in crate::io) fn open(_path: &Path, _writes: bool) -> io::Result<Option<(File, usize)>> {
        Ok(None)
    }

    /// No file is direct.
    pub(in crate::io) fn stop(_file: &File) -> io::Result<()> {
        Ok(())
    }
}

pub(in crate::io) use system::{open, stop};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::positional::ReadAt;
    use super::*;

    /// Some file systems accept the flag and then refuse reads: the same open file is then read through the page cache,
    /// even if its name now belongs to another file.
    #[test]
    fn a_direct_file_can_go_through_the_page_cache() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let Some((file, alignment)) = open(&path, false).unwrap() else { return };
        std::fs::remove_file(&path).unwrap();
        assert!(alignment >= 512);
        stop(&file).unwrap();
        let mut buffer = [0; 3];
        assert_eq!(file.read_at_once(&mut buffer, 4095).unwrap(), 3);
        assert_eq!(buffer, [7; 3]);
    }
}
