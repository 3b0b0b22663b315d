//! A value as the machine gave it, or why it did not.

use std::fmt;

/// A value, or why it is not known.
pub type Seen<T> = Result<T, Unseen>;

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The kind of reason.
    pub why: Why,
    /// What the system answered, `ENOENT`; none where it answered, but not with something readable.
    pub errno: Option<String>,
    /// The file, below the root: `sys/module/amdgpu/version`.
    pub at: String,
}

/// The kinds of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// There is no such file: the kernel or the device does not have it.
    Absent,
    /// This user may not read it.
    Permission,
    /// The device does not answer now.
    Busy,
    /// The device sleeps.
    Suspended,
    /// The device is being reset; the driver refuses every read until it is done.
    InReset,
    /// It was read, but says nothing that is understood.
    Malformed,
    /// Any other failure.
    Unreadable,
    /// Nobody asked for it.
    NotRead,
}

impl Unseen {
    /// A file that was read and says nothing that is understood.
    pub fn malformed(at: &str) -> Self {
        Self {
            why: Why::Malformed,
            errno: None,
            at: at.to_owned(),
        }
    }

    /// A file that does not exist.
    pub fn absent(at: &str) -> Self {
        Self::of_errno("ENOENT", at)
    }

    /// A failure by the name of its number.
    pub fn of_errno(errno: &str, at: &str) -> Self {
        let why = match errno {
            "ENOENT" | "ENOTDIR" | "ENODEV" | "ENODATA" | "EOPNOTSUPP" => Why::Absent,
            "EACCES" | "EPERM" => Why::Permission,
            "EBUSY" | "EAGAIN" => Why::Busy,
            _ => Why::Unreadable,
        };
        Self {
            why,
            errno: Some(errno.to_owned()),
            at: at.to_owned(),
        }
    }

    /// The same of a file of a GPU, whose driver refuses with EPERM while it resets the device, and with EBUSY while the device sleeps.
    #[must_use]
    pub fn of_device(mut self, suspended: bool) -> Self {
        match (self.errno.as_deref(), self.why) {
            (Some("EPERM"), _) => self.why = Why::InReset,
            (_, Why::Busy) if suspended => self.why = Why::Suspended,
            _ => {}
        }
        self
    }
}

impl Why {
    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Permission => "permission denied",
            Self::Busy => "busy",
            Self::Suspended => "the device is suspended",
            Self::InReset => "the device is in reset",
            Self::Malformed => "not understood",
            Self::Unreadable => "not readable",
            Self::NotRead => "not read",
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "/{}: {}", self.at, self.why.word())?;
        self.errno.as_ref().map_or(Ok(()), |errno| write!(out, " ({errno})"))
    }
}
