//! A client measured against a server of its own: the server is started for it, and gone when it is over.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

use super::output::Stream;
use super::{Begun, Ended, GRACE, Interrupts, KILL_LIMIT, Launch, Output, READ_BYTES, RunError, begin, kernel, run_one, tools, tree, turn};

/// The pause between two questions whether the server is ready.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// How long the drain waits for output before it looks whether the server has gone.
const DRAIN_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What came of a client and its server.
#[derive(Debug)]
pub struct Served {
    /// The client's end; without it, why the server was not ready to serve it.
    pub client: Result<Ended, String>,
    /// The server's standard output.
    pub stdout: Output,
    /// The server's standard error.
    pub stderr: Output,
    /// How many processes outlived the server and had to be killed.
    pub left_over: u32,
}

/// Starts a server, waits until it is ready, runs a client against it, stops the server: TERM, two seconds later KILL, and its tree swept.
///
/// The client's figures are its own; the time until the server was ready is not in them. `server.timeout` limits that time.
///
/// # Errors
/// As [`super::run`]; then nothing of either runs any more.
pub fn run_served(
    server: &Launch<'_>,
    ready: &(dyn Fn() -> bool + Sync),
    client: &Launch<'_>,
    interrupts: Option<&Interrupts>,
) -> Result<Served, RunError> {
    let mut turn = turn();
    let tools = tools(&mut turn)?;
    let others = tree::children();
    let Begun {
        child,
        out,
        err,
        written,
        clock,
        ..
    } = begin(server, tools)?;
    // Its outputs end when the last process that holds them has gone.
    drop(written);
    let keep_bytes = server.keep_bytes;
    let over = AtomicBool::new(false);
    scope(|threads| {
        let drained = threads.spawn(|| drain(out, err, keep_bytes, &over));
        let waited = wait_until_ready(&child, ready, clock, server.timeout, interrupts);
        let client = waited.map(|()| run_one(client, interrupts, tools));
        let collected = if stop(&child) {
            kernel::reap(child.pid)
                .map_err(|error| RunError::System("collecting the server", error))
                .map(drop)
        } else {
            Err(RunError::Unkillable(child.pid))
        };
        let left_over = tree::sweep(&others);
        over.store(true, Ordering::Release);
        let (stdout, stderr) = drained
            .join()
            .map_err(|_panic| RunError::System("reading the server's output", std::io::Error::other("thread")))?;
        collected?;
        let client = match client {
            Ok(ended) => Ok(ended?),
            Err(why) => Err(why),
        };
        Ok(Served {
            client,
            stdout,
            stderr,
            left_over,
        })
    })
}

fn wait_until_ready(
    child: &kernel::Started,
    ready: &(dyn Fn() -> bool + Sync),
    clock: Instant,
    limit: Duration,
    interrupts: Option<&Interrupts>,
) -> Result<(), String> {
    loop {
        if has_ended(child, Duration::ZERO) {
            return Err("the server ended before it was ready".to_owned());
        }
        if interrupts.and_then(Interrupts::pending).is_some() || ready() {
            // An interrupted client is started and stopped at once, so that one place tells of the interrupt.
            return Ok(());
        }
        if clock.elapsed() >= limit {
            return Err(format!("the server was not ready after {:.0} s", limit.as_secs_f64()));
        }
        sleep(ASK_EVERY);
    }
}

/// Asks the server's group to end, then makes it. False where it hangs inside the kernel.
fn stop(child: &kernel::Started) -> bool {
    let mut ended = false;
    for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILL_LIMIT)] {
        if let Some(group) = Pid::from_raw(child.pid) {
            let _gone = kill_process_group(group, signal);
        }
        let _gone = pidfd_send_signal(&child.pidfd, signal);
        ended = has_ended(child, patience);
    }
    ended
}

fn has_ended(child: &kernel::Started, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap_or(DRAIN_WAIT);
        match poll(&mut [PollFd::from_borrowed_fd(child.pidfd.as_fd(), PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(_interrupted) if Instant::now() >= until => return false,
            Err(_interrupted) => {}
        }
    }
}

/// Reads both outputs to their end, which comes when the last process that holds them has gone, or when all is `over`.
fn drain(out: OwnedFd, err: OwnedFd, keep_bytes: usize, over: &AtomicBool) -> (Output, Output) {
    let mut streams = [Stream::new(out, keep_bytes), Stream::new(err, keep_bytes)];
    let mut buffer = vec![0; READ_BYTES];
    while streams.iter().any(|stream| stream.pipe.is_some()) && !over.load(Ordering::Acquire) {
        let mut watched: Vec<PollFd<'_>> = streams
            .iter()
            .filter_map(|stream| stream.pipe.as_ref())
            .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
            .collect();
        // A signal or a time-out only means another look.
        let _woken = poll(&mut watched, Some(&DRAIN_WAIT));
        for stream in &mut streams {
            stream.read(&mut buffer);
        }
    }
    let [out, err] = streams;
    (out.finish(&mut buffer), err.finish(&mut buffer))
}
