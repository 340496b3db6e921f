//! The files of a request: opened safely, read in blocks, and held to what was checked.

use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::desired::{Attachment, Digest, Hasher};

/// Raw bytes of a file that are encoded at a time: a multiple of three, so that padding appears only at the end.
pub(in crate::client) const BLOCK: usize = 48 * 1024;

/// Size and digest of what has been read of a file.
#[derive(Default)]
pub(in crate::client) struct Seen {
    bytes: u64,
    hasher: Hasher,
}

impl Seen {
    pub(in crate::client) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hasher.piece(piece);
    }

    pub(in crate::client) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is the file that was checked.
    pub(in crate::client) fn is(&self, file: &Attachment) -> bool {
        self.bytes == file.bytes && Digest::eq(&self.hasher.digest(), &file.digest)
    }
}

/// A block as base64.
pub(in crate::client) fn encode(block: &[u8]) -> Vec<u8> {
    STANDARD.encode(block).into_bytes()
}

/// Says that a file is another one than was checked.
pub(in crate::client) fn changed(file: &Attachment) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} changed on disk since it was checked", file.file.display()))
}

/// Opens a file for sending: not through a symlink, and only a regular file (safety P6).
pub(in crate::client) fn open(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without NONBLOCK, opening a FIFO would wait for its writer.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let located = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = options.open(path).map_err(located)?;
    if file.metadata().map_err(located)?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a regular file", path.display())))
    }
}

/// Reads until the block is full or the file ends.
pub(in crate::client) fn fill(source: &mut std::fs::File, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Bytes of a file of so many as base64.
pub(super) fn base64_bytes(raw: u64) -> u64 {
    raw.div_ceil(3) * 4
}
