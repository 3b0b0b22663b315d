//! One child process, run to its end: started, watched, measured, and its whole tree gone when it is over.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::iter;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

mod interrupts;
mod kernel;
mod output;
mod own;
mod resolve;
mod served;
mod tree;

use output::Stream;
use own::Own;

pub use interrupts::Interrupts;
pub use kernel::Environment;
pub use output::Output;
pub use resolve::resolve;
pub use served::{Served, run_served};

/// How long a process may take to go after TERM, before KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long a killed process may take to go; only one that hangs inside the kernel needs more.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// A time limit beyond this is none.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// How much of a pipe is read at once: as much as it holds.
const READ_BYTES: usize = 64 << 10;

/// What to run and within which limits.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The executable file; see [`resolve()`].
    pub program: &'a Path,
    /// The arguments after the program's own name.
    pub args: &'a [OsString],
    /// The whole environment: nothing is inherited.
    pub env: &'a Environment,
    /// The folder the child starts in.
    pub cwd: &'a Path,
    /// How long the child may run before it is told to stop.
    pub timeout: Duration,
    /// How much of each output stream is kept, in bytes.
    pub keep_bytes: usize,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal with this number that `gate` did not send.
    Signal(i32),
    /// Stopped because the time limit had passed.
    TimedOut,
    /// Stopped because `gate` itself got a signal with this number.
    Interrupted(i32),
}

/// A child that has ended, with all that was seen of it.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its process number.
    pub pid: u32,
    /// When it was started, by the wall clock.
    pub started: SystemTime,
    /// From just before the start to the end of the child itself, by the monotonic clock, in seconds.
    pub wall_s: f64,
    /// User and system time of the child and of the descendants it waited for, in seconds.
    pub cpu_s: f64,
    /// The largest resident memory of the child, or of a descendant it waited for, in bytes. See `peak_rss_floor_bytes`.
    pub peak_rss_bytes: u64,
    /// `gate`'s own peak, in bytes, as far as it had to be known. The kernel carries the peak of the memory that `execve` replaces over
    /// to the new program, so a child that needs less shows this.
    pub peak_rss_floor_bytes: u64,
    /// Whether the child's peak is beyond doubt its own, and not what was carried over.
    pub has_own_peak: bool,
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
    /// How many processes of its tree outlived it and had to be killed.
    pub left_over: u32,
}

/// Why a child gave no result at all.
#[derive(Debug)]
pub enum RunError {
    /// The program could not be loaded.
    Program(PathBuf, io::Error),
    /// The child's folder could not be entered.
    Folder(PathBuf, io::Error),
    /// A name, argument or variable holds a NUL byte.
    Nul(&'static str),
    /// Pipes, descriptors, the process itself or its collection: what was tried, and the reason.
    System(&'static str, io::Error),
    /// The process with this number is still there long after KILL.
    Unkillable(i32),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(path, error) => write!(f, "{} cannot be started: {}", path.display(), why_not_loaded(error)),
            Self::Folder(path, error) => write!(f, "the folder {} cannot be entered: {error}", path.display()),
            Self::Nul(part) => write!(f, "{part} holds a NUL byte, which no program can be given"),
            Self::System(what, error) => write!(f, "{what} failed: {error}"),
            Self::Unkillable(pid) => write!(f, "process {pid} did not go away after KILL; it hangs inside the kernel"),
        }
    }
}

impl std::error::Error for RunError {}

fn why_not_loaded(error: &io::Error) -> String {
    let why = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "the file, or the interpreter or loader that it names, does not exist",
        Some(Errno::ACCESS) => "it is not an executable file, or a folder on the way to it is closed to this user",
        Some(Errno::NOEXEC) => "it is no program for this machine; a script needs `#!` and an interpreter in its first line",
        Some(Errno::TOOBIG) => "arguments and environment together are longer than the kernel takes",
        Some(Errno::TXTBSY) => "it is being written",
        _ => return error.to_string(),
    };
    why.to_owned()
}

/// Makes this process the one that inherits orphans of its tree, so that none can leave it; once, before the first [`run`].
///
/// # Errors
///
/// Where `/proc` is absent or the one of another namespace of process numbers: what is left of a tree could not be found.
pub fn become_subreaper() -> io::Result<()> {
    if !tree::is_visible() {
        return Err(io::Error::other(
            "/proc does not show this process under its own number, so what its commands leave running could not be found; \
             mount a /proc of this PID namespace (for `unshare --pid`: also --fork --mount-proc)",
        ));
    }
    kernel::keep_ended_children();
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Runs one child to its end and returns what was seen; when it returns, nothing of the child's tree is running.
///
/// Standard input is empty, both outputs are read as they come, and nothing is inherited but limits and user. On a time limit or
/// an interrupt the group gets TERM, two seconds later KILL. When the child has ended, what is left of its tree is killed and
/// counted, also after a normal end.
///
/// Only one child runs at a time in a process: others wait. A child that other code of this process starts while one runs
/// cannot be told from an orphan and is killed with them. The calling thread must outlive the child, which dies with it.
pub fn run(launch: &Launch<'_>, interrupts: Option<&Interrupts>) -> Result<Ended, RunError> {
    let mut turn = turn();
    run_one(launch, interrupts, tools(&mut turn)?)
}

/// Waits until no other child runs: the sweep of one would take another for an orphan.
fn turn() -> MutexGuard<'static, Option<Tools>> {
    static ONE_AT_A_TIME: Mutex<Option<Tools>> = Mutex::new(None);
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What every run uses, made by the first: the gap between two processes stays short.
struct Tools {
    nothing: OwnedFd,
    own: Own,
    image: kernel::Image,
    buffer: Vec<u8>,
    stack: kernel::Stack,
}

fn tools(made: &mut Option<Tools>) -> Result<&mut Tools, RunError> {
    let tools = match made.take() {
        Some(tools) => tools,
        None => {
            let opened = |path| {
                let opened = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
                opened.map_err(|error| RunError::System("opening /dev/null and /proc/self/status", error.into()))
            };
            let mut buffer = vec![0; READ_BYTES];
            let own = Own::read(opened("/proc/self/status")?.into(), &mut buffer).map_err(unread)?;
            Tools {
                nothing: opened("/dev/null")?,
                own,
                image: kernel::Image::default(),
                buffer,
                stack: kernel::Stack::new(),
            }
        }
    };
    Ok(made.insert(tools))
}

fn unread(error: io::Error) -> RunError {
    RunError::System("reading /proc/self/status", error)
}

/// A child that was started, and the reading ends of its outputs.
struct Begun {
    child: kernel::Started,
    out: OwnedFd,
    err: OwnedFd,
    /// The writing ends. While they are open here, the reading ends tell of output only and not of their closing, which would wake this
    /// process just as the child ends.
    written: [OwnedFd; 2],
    started: SystemTime,
    clock: Instant,
}

fn begin(launch: &Launch<'_>, tools: &mut Tools) -> Result<Begun, RunError> {
    let Tools {
        nothing,
        own,
        image,
        buffer,
        stack,
    } = tools;
    fill(image, launch)?;
    let system = |what| move |error: Errno| RunError::System(what, error.into());
    let (out, out_write) = pipe().map_err(system("making a pipe"))?;
    let (err, err_write) = pipe().map_err(system("making a pipe"))?;
    let not_default = own.not_default(buffer).map_err(unread)?;
    let started = SystemTime::now();
    let clock = Instant::now();
    let stdio = [nothing.as_fd(), out_write.as_fd(), err_write.as_fd()];
    let child = kernel::start(image, launch.env, stdio, not_default, stack).map_err(|(step, error)| not_started(launch, step, error))?;
    Ok(Begun {
        child,
        out,
        err,
        written: [out_write, err_write],
        started,
        clock,
    })
}

/// Runs one child to its end, beside the children that are there already.
fn run_one(launch: &Launch<'_>, interrupts: Option<&Interrupts>, tools: &mut Tools) -> Result<Ended, RunError> {
    let others = tree::children();
    let begun = begin(launch, tools)?;
    let buffer = &mut tools.buffer;
    let child = &begun.child;
    let mut watch = Watch {
        child,
        out: Stream::new(begun.out, launch.keep_bytes),
        err: Stream::new(begun.err, launch.keep_bytes),
        interrupts,
        clock: begun.clock,
    };
    let (stopped, wall_s) = watch.until_its_end(launch.timeout, buffer)?;

    drop(begun.written);
    // The number of the group stays taken until its leader is collected.
    watch.signal_group(Signal::KILL);
    let Watch { out, err, .. } = watch;
    let ended = kernel::reap(child.pid).map_err(|error| RunError::System("collecting the child", error))?;
    let left_over = tree::sweep(&others);
    let (own_peak_rss_bytes, has_own_peak) = tools.own.peak_below(ended.peak_rss_bytes, buffer).map_err(unread)?;
    Ok(Ended {
        pid: child.pid.unsigned_abs(),
        started: begun.started,
        wall_s,
        cpu_s: ended.cpu_s,
        peak_rss_bytes: ended.peak_rss_bytes,
        peak_rss_floor_bytes: own_peak_rss_bytes,
        has_own_peak,
        exit: stopped.unwrap_or_else(|| exit(ended.status)),
        stdout: out.finish(buffer),
        stderr: err.finish(buffer),
        left_over,
    })
}

fn fill(image: &mut kernel::Image, launch: &Launch<'_>) -> Result<(), RunError> {
    let (program, nul) = (launch.program.as_os_str().as_bytes(), |part| move || RunError::Nul(part));
    let begun = image.begin(program, launch.cwd.as_os_str().as_bytes());
    begun.ok_or_else(nul("the program's or the folder's name"))?;
    for arg in iter::once(program).chain(launch.args.iter().map(|arg| arg.as_bytes())) {
        image.arg(arg).ok_or_else(nul("an argument"))?;
    }
    if launch.env.has_nul() {
        return Err(RunError::Nul("a variable of the environment"));
    }
    Ok(())
}

fn not_started(launch: &Launch<'_>, step: kernel::Step, error: io::Error) -> RunError {
    match step {
        kernel::Step::Exec => RunError::Program(launch.program.to_owned(), error),
        kernel::Step::Folder => RunError::Folder(launch.cwd.to_owned(), error),
        kernel::Step::Clone => RunError::System("making a process", error),
        kernel::Step::Group => RunError::System("setting up the process group", error),
        kernel::Step::Wiring => RunError::System("connecting the standard streams", error),
    }
}

/// A pipe whose reading end, the first, never blocks.
fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&read, OFlags::NONBLOCK)?;
    Ok((read, write))
}

fn exit(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

/// Why and until when a child is being stopped.
struct Stop {
    why: Exit,
    until: Instant,
    killed: bool,
}

/// A running child with everything that can happen to it.
struct Watch<'a> {
    child: &'a kernel::Started,
    out: Stream,
    err: Stream,
    interrupts: Option<&'a Interrupts>,
    clock: Instant,
}

impl Watch<'_> {
    /// Waits for the end of the child and stops it where it must be stopped. Returns why it was stopped, if it was, and how long
    /// it ran, in seconds.
    fn until_its_end(&mut self, timeout: Duration, buffer: &mut [u8]) -> Result<(Option<Exit>, f64), RunError> {
        let end = self.clock + timeout.min(FOREVER);
        let mut stop: Option<Stop> = None;
        loop {
            let until = stop.as_ref().map_or(end, |stop| stop.until);
            let ended = self
                .wait(until, stop.is_none())
                .map_err(|error| RunError::System("waiting for the child", error.into()))?;
            if ended {
                return Ok((stop.map(|stop| stop.why), self.clock.elapsed().as_secs_f64()));
            }
            self.out.read(buffer);
            self.err.read(buffer);
            let now = Instant::now();
            stop = match stop {
                None => self.reason_to_stop(now, end).map(|why| {
                    self.signal(Signal::TERM);
                    Stop {
                        why,
                        until: now + GRACE,
                        killed: false,
                    }
                }),
                Some(stop) if now < stop.until => Some(stop),
                Some(stop) if stop.killed => return Err(RunError::Unkillable(self.child.pid)),
                Some(stop) => {
                    self.signal(Signal::KILL);
                    Some(Stop {
                        until: now + KILL_LIMIT,
                        killed: true,
                        ..stop
                    })
                }
            };
        }
    }

    fn reason_to_stop(&self, now: Instant, end: Instant) -> Option<Exit> {
        let interrupted = self.interrupts.and_then(Interrupts::pending).map(Exit::Interrupted);
        interrupted.or_else(|| (now >= end).then_some(Exit::TimedOut))
    }

    /// Waits until something happens or the time comes; true when the child has ended.
    fn wait(&self, until: Instant, interruptible: bool) -> Result<bool, Errno> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_range| Errno::INVAL)?;
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut watched = vec![readable(self.child.pidfd.as_fd())];
        watched.extend(
            [&self.out, &self.err]
                .into_iter()
                .filter_map(|s| s.pipe.as_ref())
                .map(|pipe| readable(pipe.as_fd())),
        );
        // It stays readable, so it is watched only until it has been acted upon.
        let interrupt: Option<BorrowedFd<'_>> = self.interrupts.filter(|_| interruptible).map(Interrupts::fd);
        watched.extend(interrupt.map(readable));
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) => Ok(watched.first().is_some_and(|child| !child.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends a signal to the child's group, and to the child itself, which may have moved to another.
    fn signal(&self, signal: Signal) {
        self.signal_group(signal);
        let _gone = pidfd_send_signal(&self.child.pidfd, signal);
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.child.pid) {
            let _gone = kill_process_group(group, signal);
        }
    }
}
