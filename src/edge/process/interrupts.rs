//! SIGINT and SIGTERM, seen where `gate` waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use super::kernel;

/// Turns SIGINT and SIGTERM into a readable descriptor; registered once, early, and kept to the end of the process.
///
/// An interrupt is final: the descriptor stays readable and [`Interrupts::pending`] stays set.
#[derive(Debug)]
pub struct Interrupts {
    wake: UnixStream,
    signal: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Installs the handlers of both signals.
    pub fn register() -> io::Result<Self> {
        let (wake, written) = UnixStream::pair()?;
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            let stored = usize::try_from(number).map_err(io::Error::other)?;
            // The number is stored before the descriptor turns readable: whoever wakes finds it.
            flag::register_usize(number, Arc::clone(&signal), stored)?;
            pipe::register(number, written.try_clone()?)?;
        }
        kernel::dispositions_changed();
        Ok(Self { wake, signal })
    }

    /// The descriptor that turns readable on the first signal.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// The number of the last signal that came, if one did.
    pub fn pending(&self) -> Option<i32> {
        i32::try_from(self.signal.load(Ordering::Acquire))
            .ok()
            .filter(|&signal| signal != 0)
    }
}
