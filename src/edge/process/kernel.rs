//! The calls that have no safe wrapper: starting a child, and collecting it together with what it used.
#![expect(unsafe_code, reason = "clone, wait4 and signal dispositions have no safe wrapper")]

use std::ffi::{OsString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// The child's own stack until it becomes its program; it needs well under a tenth of it.
const STACK_BYTES: usize = 64 << 10;
/// Where the kernel cannot close all descriptors at once (before 5.9), this many are closed one by one.
const DESCRIPTORS_CLOSED: c_int = 1024;
/// Signals are numbered from 1 to this.
const LAST_SIGNAL: c_int = 64;

/// The kernel's `struct sigaction` of a signal at its default: all zero, and here longer than on any machine.
static DEFAULT_ACTION: [u64; 8] = [0; 8];
/// The size of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = 8;

/// How often this program has changed what a signal does to it.
static DISPOSITION_CHANGES: AtomicUsize = AtomicUsize::new(0);

/// Tells that this program now catches or ignores a signal that it did not, or the other way round.
pub(super) fn dispositions_changed() {
    DISPOSITION_CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// Another number after every change of what a signal does to this program.
pub(super) fn disposition_changes() -> usize {
    DISPOSITION_CHANGES.load(Ordering::Acquire)
}

/// Texts in the form the kernel takes: each with its end, one after the other.
#[derive(Clone, Debug, Default)]
struct Texts(Vec<u8>);

impl Texts {
    /// Where the new text begins; none where it holds a NUL byte.
    fn push(&mut self, parts: &[&[u8]]) -> Option<usize> {
        let at = self.0.len();
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
        self.0.push(0);
        let ends_here = memchr::memchr(0, &self.0[at..]) == Some(self.0.len() - 1 - at);
        ends_here.then_some(at)
    }

    fn pointer(&self, at: usize) -> *const c_char {
        self.0.as_ptr().wrapping_add(at).cast()
    }

    fn pointers(&self, texts: &[usize]) -> Vec<*const c_char> {
        texts.iter().map(|&at| self.pointer(at)).chain([ptr::null()]).collect()
    }
}

/// The whole environment of children, made once for all that are started with it.
#[derive(Clone, Debug)]
pub struct Environment {
    texts: Texts,
    /// Where each variable begins.
    variables: Vec<usize>,
    has_nul: bool,
}

impl Environment {
    /// The environment of these variables.
    pub fn of(variables: &[(OsString, OsString)]) -> Self {
        let mut made = Self {
            texts: Texts::default(),
            variables: Vec::with_capacity(variables.len()),
            has_nul: false,
        };
        for (name, value) in variables {
            match made.texts.push(&[name.as_bytes(), b"=", value.as_bytes()]) {
                Some(at) => made.variables.push(at),
                None => made.has_nul = true,
            }
        }
        made
    }

    /// Whether a variable holds a NUL byte, so that no program can be given it.
    pub(super) fn has_nul(&self) -> bool {
        self.has_nul
    }
}

/// A program with its arguments and its folder; the next child uses the memory again.
#[derive(Default)]
pub(super) struct Image {
    texts: Texts,
    program: usize,
    args: Vec<usize>,
    cwd: usize,
}

impl Image {
    /// Forgets the last program, which is replaced by one that starts in `cwd`. None where a path holds a NUL byte; so too below.
    pub fn begin(&mut self, program: &[u8], cwd: &[u8]) -> Option<()> {
        self.texts.0.clear();
        self.args.clear();
        self.program = self.texts.push(&[program])?;
        self.cwd = self.texts.push(&[cwd])?;
        Some(())
    }

    /// One more argument; the first is the program's name.
    pub fn arg(&mut self, arg: &[u8]) -> Option<()> {
        let at = self.texts.push(&[arg])?;
        self.args.push(at);
        Some(())
    }
}

/// A running child. The descriptor turns readable when it ends.
pub(super) struct Started {
    pub pid: i32,
    pub pidfd: OwnedFd,
}

/// The step at which a child could not become its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Clone = 0,
    Group = 1,
    Wiring = 2,
    Folder = 3,
    Exec = 4,
}

/// The stack of a child until it becomes its program; used again by the next.
pub(super) struct Stack(Vec<MaybeUninit<u8>>);

impl Stack {
    pub fn new() -> Self {
        Self(Vec::with_capacity(STACK_BYTES))
    }
}

/// What the child reads, and where it leaves the reason of a failure; it shares the memory of the parent until `execve`.
struct Plan {
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    cwd: *const c_char,
    stdio: [c_int; 3],
    parent: c_int,
    /// The signals that this process catches or ignores, the lowest bit for signal 1.
    not_default: u64,
    step: AtomicI32,
    errno: AtomicI32,
}

/// Starts a program in a process group of its own, with `stdio` as its only descriptors, every signal at its default and none
/// blocked; it is killed when the calling thread ends. `not_default` are the signals that this process catches or ignores: the others are
/// at their default already, and each reset would count as the child's time.
///
/// The child borrows the parent's memory and the parent stands still until the program is loaded. That costs the same whatever
/// the size of the parent, while a copy of its page tables would cost more for every measured process (1.0 ms instead of 0.5 ms
/// at 10 MiB); `posix_spawn`, which works this way, cannot tie the child's life to the parent's.
pub(super) fn start(
    image: &Image,
    env: &Environment,
    stdio: [BorrowedFd<'_>; 3],
    not_default: u64,
    stack: &mut Stack,
) -> Result<Started, (Step, io::Error)> {
    let argv = image.texts.pointers(&image.args);
    let envp = env.texts.pointers(&env.variables);
    let stdio = stdio.map(|fd| fd.as_raw_fd());
    if stdio.iter().any(|&fd| fd <= 2) {
        return Err((Step::Wiring, io::Error::other("descriptors 0, 1 and 2 must be open")));
    }
    let plan = Plan {
        program: image.texts.pointer(image.program),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        cwd: image.texts.pointer(image.cwd),
        stdio,
        parent: std::process::id().cast_signed(),
        not_default,
        step: AtomicI32::new(Step::Clone as i32),
        errno: AtomicI32::new(0),
    };
    let (pid, pidfd) = clone_blocked(&plan, stack).map_err(|error| (Step::Clone, error))?;
    match plan.errno.load(Ordering::Acquire) {
        0 => Ok(Started { pid, pidfd }),
        errno => {
            // The child has left; only its entry in the process table is still there.
            let _collected = reap(pid);
            Err((plan.failed_step(), io::Error::from_raw_os_error(errno)))
        }
    }
}

impl Plan {
    fn failed_step(&self) -> Step {
        let step = self.step.load(Ordering::Acquire);
        [Step::Group, Step::Wiring, Step::Folder, Step::Exec]
            .into_iter()
            .find(|&s| s as i32 == step)
            .unwrap_or(Step::Clone)
    }

    /// Runs in the child: no allocation, no lock, no panic, only system calls.
    fn follow(&self) -> Option<()> {
        // SAFETY: plain system calls; every pointer outlives the call because the parent stands still inside `clone` and keeps
        // `Image`, `Environment` and `Plan` alive. Dispositions, mask, descriptors and folder are the child's own copies (neither
        // CLONE_SIGHAND, CLONE_FILES nor CLONE_FS), so nothing changes in the parent. Handlers are reset before signals are let
        // through: none of the parent's can run here.
        unsafe {
            // Asked of the kernel directly: the C library keeps two signals to itself and would leave them as they are.
            for signal in (1..=LAST_SIGNAL).filter(|signal| self.not_default >> (signal - 1) & 1 == 1) {
                libc::syscall(
                    libc::SYS_rt_sigaction,
                    signal,
                    &raw const DEFAULT_ACTION,
                    ptr::null::<c_void>(),
                    SIGNAL_SET_BYTES,
                );
            }
            self.at(Step::Group, libc::setpgid(0, 0))?;
            self.at(Step::Group, libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() != self.parent {
                // The parent was killed before its end could be noticed.
                libc::_exit(127);
            }
            for (target, &source) in (0..).zip(&self.stdio) {
                self.at(Step::Wiring, libc::dup2(source, target))?;
            }
            if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) != 0 {
                for fd in 3..DESCRIPTORS_CLOSED {
                    libc::close(fd);
                }
            }
            self.at(Step::Folder, libc::chdir(self.cwd))?;
            let mut none: libc::sigset_t = MaybeUninit::zeroed().assume_init();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            self.at(Step::Exec, libc::execve(self.program, self.argv, self.envp))
        }
    }

    /// Notes the step and the reason where a call of the child failed.
    fn at(&self, step: Step, result: c_int) -> Option<()> {
        if result >= 0 {
            return Some(());
        }
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        self.step.store(step as i32, Ordering::Release);
        self.errno.store(errno, Ordering::Release);
        None
    }
}

/// The child's first function; what it returns is the exit code if the program could not be loaded.
extern "C" fn become_program(plan: *mut c_void) -> c_int {
    // SAFETY: `clone_blocked` passes a valid `Plan`, which is only read (its atomics apart) while the parent stands still.
    let _failed = unsafe { &*plan.cast::<Plan>() }.follow();
    127
}

/// Clones with every signal blocked, so that no handler of the parent runs in the child on the shared memory.
fn clone_blocked(plan: &Plan, stack: &mut Stack) -> io::Result<(c_int, OwnedFd)> {
    let top = stack.0.as_mut_ptr().wrapping_add(STACK_BYTES);
    let top = top.wrapping_sub(top.addr() % 16).cast::<c_void>();
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the sets are initialised by `sigfillset` and `pthread_sigmask`. The stack is 16-aligned, grows down inside `stack`
    // and stays alive: CLONE_VFORK returns only after the child has left it. `plan` outlives the call for the same reason.
    let (pid, error) = unsafe {
        let mut all: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        let mut before: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let plan = ptr::from_ref(plan).cast_mut().cast::<c_void>();
        let pid = libc::clone(become_program, top, flags, plan, &raw mut pidfd);
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        (pid, error)
    };
    if pid < 0 {
        return Err(error);
    }
    // SAFETY: CLONE_PIDFD stored a new descriptor that nothing else owns.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// How a child ended and what it used, together with those of its own children that it waited for.
pub(super) struct Collected {
    pub status: c_int,
    pub cpu_s: f64,
    pub peak_rss_bytes: u64,
}

/// Waits for one child and collects it.
pub(super) fn reap(pid: i32) -> io::Result<Collected> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which zero bytes are valid.
    let mut used: libc::rusage = unsafe { MaybeUninit::zeroed().assume_init() };
    loop {
        // SAFETY: both pointers are valid for writing during the call.
        let got = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut used) };
        if got == pid {
            let cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
            // Linux counts kibibytes.
            let peak_rss_bytes = u64::try_from(used.ru_maxrss).unwrap_or(0).saturating_mul(1024);
            return Ok(Collected {
                status,
                cpu_s,
                peak_rss_bytes,
            });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "CPU times stay far below 2^53 seconds")]
    let whole = time.tv_sec as f64;
    #[expect(clippy::cast_precision_loss, reason = "microseconds are below one million")]
    let part = time.tv_usec as f64;
    whole + part / 1e6
}

/// Sets SIGCHLD back to its default: inherited as ignored, it makes the kernel throw away how children ended.
pub(super) fn keep_ended_children() {
    // SAFETY: SIG_DFL installs no handler.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    dispositions_changed();
}
