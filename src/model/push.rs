//! What a push is about to send, as git tells its `pre-push` hook on standard input.

/// Most bytes of standard input that are read: a few hundred thousand references.
pub const MAX_BYTES: usize = 32 << 20;

/// One reference of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// What is sent, as the user named it: `refs/heads/main`, `HEAD~1`, a bare id.
    pub local_ref: String,
    /// The object that is sent; none where the reference is deleted.
    pub local: Option<String>,
    /// Where it goes.
    pub remote_ref: String,
    /// What the other side has there; none where the reference is new.
    pub remote: Option<String>,
}

impl Update {
    /// Whether it carries code that can be checked: neither a deletion nor a tag.
    pub fn is_code(&self) -> bool {
        self.local.is_some() && !self.remote_ref.starts_with("refs/tags/")
    }
}

/// Reads the lines `LOCAL_REF SP LOCAL_ID SP REMOTE_REF SP REMOTE_ID`. An id of zeros, of whatever length, stands for none. The
/// local reference is what was typed and may hold blanks (`HEAD@{1 day ago}`).
///
/// # Errors
/// Names the line that is none.
pub fn parse(text: &str) -> Result<Vec<Update>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            update(line).ok_or_else(|| format!("line {}: not LOCAL_REF LOCAL_ID REMOTE_REF REMOTE_ID, which git sends", at + 1))
        })
        .collect()
}

fn update(line: &str) -> Option<Update> {
    let mut parts = line.rsplitn(4, ' ');
    let (remote, remote_ref, local, local_ref) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if local_ref.is_empty() || remote_ref.is_empty() {
        return None;
    }
    Some(Update {
        local_ref: local_ref.to_owned(),
        local: object(local)?,
        remote_ref: remote_ref.to_owned(),
        remote: object(remote)?,
    })
}

/// An object's id, none where it is all zeros; nothing at all where it is no id of SHA-1 or SHA-256.
#[expect(clippy::option_option, reason = "no id, and no object, are two answers")]
fn object(text: &str) -> Option<Option<String>> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.bytes().any(|byte| byte != b'0').then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_is_read() {
        let (one, zero, long, long_zero) = ("1".repeat(40), "0".repeat(40), "a".repeat(64), "0".repeat(64));
        let text = format!(
            "refs/heads/a {one} refs/heads/b {zero}\n\
             (delete) {zero} refs/heads/c {one}\n\
             HEAD@{{1 day ago}} {long} refs/heads/d {long_zero}\n\
             refs/tags/v1 {one} refs/tags/v1 {zero}\n"
        );
        let all = parse(&text).expect("git's own lines");
        let facts: Vec<_> = all
            .iter()
            .map(|update| {
                (
                    update.local_ref.as_str(),
                    update.local.is_some(),
                    update.remote.is_some(),
                    update.is_code(),
                )
            })
            .collect();
        assert_eq!(
            facts,
            [
                ("refs/heads/a", true, false, true),
                ("(delete)", false, true, false),
                ("HEAD@{1 day ago}", true, false, true),
                ("refs/tags/v1", true, false, false),
            ]
        );
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_line_is_named() {
        let id = "1".repeat(40);
        for line in [
            "x",
            "a b c d",
            &format!("a {id} b"),
            &format!("a {id} b {id}0"),
            &format!(" {id} b {id}"),
        ] {
            let text = format!("a {id} b {id}\n{line}\n");
            assert!(parse(&text).is_err_and(|why| why.starts_with("line 2:")), "{line}");
        }
    }
}
