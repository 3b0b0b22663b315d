//! One file of records that a stranger may have written.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 20;

/// The text of a file: a regular one, never through a link. None where there is no file.
///
/// # Errors
/// When it is anything else, is larger than [`MAX_BYTES`], or is not UTF-8.
pub fn read(path: &Path) -> Result<Option<String>> {
    let failed = || format!("cannot read {}", path.display());
    let mut options = OpenOptions::new();
    // A pipe would hang where it is opened.
    let opened = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => bail!("{}: is a symbolic link", path.display()),
        Err(error) => return Err(error).with_context(failed),
    };
    if !file.metadata().with_context(failed)?.is_file() {
        bail!("{}: is no regular file", path.display());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!(
            "{}: more than {MAX_BYTES} bytes, which is the most that is read of a stranger",
            path.display()
        );
    }
    String::from_utf8(bytes)
        .map(Some)
        .with_context(|| format!("{}: is not UTF-8 text", path.display()))
}
