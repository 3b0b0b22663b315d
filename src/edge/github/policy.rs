//! When a request is made again, and when it is not: pure.

use std::time::Duration;

/// Most times that one request is made.
pub(super) const TRIES_MAX: u32 = 4;
/// Wait where GitHub limits and does not say for how long.
const LIMITED: Duration = Duration::from_secs(60);

/// What came of one request, as far as another try depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// No answer came, or not all of it.
    Unanswered,
    /// No answer came, nor will one: whoever answers cannot show that it is the server, or the way there is barred.
    Barred,
    /// An answer.
    Answered {
        /// Its status.
        status: u16,
        /// GitHub limits how much may be asked.
        limited: bool,
        /// How long it wants to be left alone, where it says so.
        wait: Option<Duration>,
    },
}

/// What to do then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// This is the answer.
    Take,
    /// Ask again after a while.
    Again(Duration),
    /// Ask no more: the tries are used up.
    Enough,
    /// Ask no more: GitHub wants to be left alone for longer than there is time.
    Later(Duration),
}

/// Decides after the `tries`-th try of a request, with `left` of the time that all requests have together.
///
/// Refusals are answers: 401, 403 for a missing permission, 404, 410 and 422 are never asked again.
pub(super) fn next(ended: Ended, tries: u32, left: Duration, backoff: Duration) -> Next {
    let doubled = backoff.saturating_mul(1 << tries.saturating_sub(1).min(10));
    let (wait, limited) = match ended {
        Ended::Answered { limited: true, wait, .. } => {
            let unsaid = LIMITED.saturating_mul(1 << tries.saturating_sub(1).min(10));
            (wait.unwrap_or(unsaid), true)
        }
        Ended::Answered {
            status: 502..=504, wait, ..
        } => (wait.unwrap_or(doubled), false),
        Ended::Answered { .. } => return Next::Take,
        Ended::Barred => return Next::Enough,
        Ended::Unanswered => (doubled, false),
    };
    if tries >= TRIES_MAX {
        return Next::Enough;
    }
    match (wait <= left, limited) {
        (true, _) => Next::Again(wait),
        (false, true) => Next::Later(wait),
        (false, false) => Next::Enough,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn answered(status: u16) -> Ended {
        Ended::Answered {
            status,
            limited: false,
            wait: None,
        }
    }

    const fn limited(status: u16, wait: Option<Duration>) -> Ended {
        Ended::Answered {
            status,
            limited: true,
            wait,
        }
    }

    #[test]
    fn refusals_are_answers_and_hiccups_are_not() {
        for status in [200, 201, 204, 301, 307, 400, 401, 403, 404, 410, 422, 429, 500, 501] {
            assert_eq!(next(answered(status), 1, s(120), s(1)), Next::Take, "{status}");
        }
        for (tries, wait) in [(1, 1), (2, 2), (3, 4)] {
            assert_eq!(next(answered(502), tries, s(120), s(1)), Next::Again(s(wait)));
            assert_eq!(next(Ended::Unanswered, tries, s(120), s(1)), Next::Again(s(wait)));
        }
        assert_eq!(next(Ended::Barred, 1, s(120), s(1)), Next::Enough, "it would be the same again");
        assert_eq!(next(answered(503), 4, s(120), s(1)), Next::Enough);
        assert_eq!(next(answered(504), 3, s(3), s(1)), Next::Enough, "no time is left for it");
    }

    #[test]
    fn a_limit_is_waited_for_within_the_budget_only() {
        assert_eq!(next(limited(403, Some(s(30))), 1, s(120), s(1)), Next::Again(s(30)));
        assert_eq!(next(limited(429, Some(s(3600))), 1, s(120), s(1)), Next::Later(s(3600)));
        assert_eq!(next(limited(403, None), 1, s(120), s(1)), Next::Again(s(60)));
        assert_eq!(next(limited(403, None), 2, s(100), s(1)), Next::Later(s(120)));
        assert_eq!(next(limited(429, Some(s(1))), 4, s(120), s(1)), Next::Enough);
    }
}
