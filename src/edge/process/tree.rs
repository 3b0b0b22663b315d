//! What is left of a tree of processes after its leader has ended.
//!
//! The kernel hands orphans to the nearest subreaper above them. As soon as the leader is gone, its living descendants hang below
//! `gate`, also those that left group and session. Only own children are killed: their numbers cannot have passed to a stranger
//! before they are collected. Their children come up in the next round.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group, waitid, waitpid};

/// How long killed processes may take to go; only one that hangs inside the kernel needs more.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);
/// The pause between two looks at processes that are going.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A child of this process.
struct Child {
    pid: Pid,
    group: Option<Pid>,
    session: Option<Pid>,
}

/// The process numbers of all present children of this process, the ended but uncollected ones among them.
pub(super) fn children() -> Vec<Pid> {
    list().into_iter().map(|child| child.pid).collect()
}

/// Kills and collects every child of this process except `others`, then what comes up from below them, until none is left.
/// Returns how many had to be killed (and, should some not go in time, how many stay).
pub(super) fn sweep(others: &[Pid]) -> u32 {
    let limit = Instant::now() + SWEEP_LIMIT;
    let mut killed = 0;
    loop {
        let left: Vec<Child> = list().into_iter().filter(|child| !others.contains(&child.pid)).collect();
        if left.is_empty() {
            return killed;
        }
        let own_session = own_session();
        for child in &left {
            kill(child, own_session);
        }
        let mut collected = 0;
        for child in &left {
            if let Ok(Some((_, status))) = waitpid(Some(child.pid), WaitOptions::NOHANG) {
                collected += 1;
                killed += u32::from(status.terminating_signal() == Some(Signal::KILL.as_raw()));
            }
        }
        if Instant::now() >= limit {
            return killed + u32::try_from(left.len() - collected).unwrap_or(u32::MAX);
        }
        if collected == 0 {
            sleep(LOOK_EVERY);
        }
    }
}

/// Kills a child; in a session other than the own one its whole group, which can hold only its like.
fn kill(child: &Child, own_session: Option<Pid>) {
    if child.session.is_some()
        && child.session != own_session
        && let Some(group) = child.group
    {
        let _gone = kill_process_group(group, Signal::KILL);
    }
    let _gone = kill_process(child.pid, Signal::KILL);
}

/// The session of this process; none where its leader lives outside this namespace of process numbers, as in a container that
/// somebody entered: the kernel then says 0, which is no process.
fn own_session() -> Option<Pid> {
    let (_, _, session) = relations(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Pid::from_raw(session)
}

/// Whether `/proc` counts processes as this process does. In a namespace of process numbers whose `/proc` is the one of
/// another, no child could be told from a stranger.
pub(super) fn is_visible() -> bool {
    fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == getpid().as_raw_nonzero().to_string().as_str())
}

fn list() -> Vec<Child> {
    // The usual case, answered by one call: there is none.
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, peek), Err(Errno::CHILD)) {
        return Vec::new();
    }
    let own = getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (parent, group, session) = relations(&stat)?;
            (parent == own.as_raw_nonzero().get()).then(|| {
                Some(Child {
                    pid: Pid::from_raw(pid)?,
                    group: Pid::from_raw(group),
                    session: Pid::from_raw(session),
                })
            })?
        })
        .collect()
}

/// Parent, group and session in the text of `/proc/PID/stat`. The name before them is in brackets and may hold any character.
fn relations(stat: &str) -> Option<(i32, i32, i32)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(1).map(str::parse::<i32>);
    Some((fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::relations;

    #[test]
    fn a_name_with_brackets_and_blanks_hides_nothing() {
        assert_eq!(relations("42 (a) R 1 (b) S 7 8 9 0 -1 4194560"), Some((7, 8, 9)));
        assert_eq!(relations("42 (a) S 7 x 9"), None);
        assert_eq!(relations(""), None);
    }
}
