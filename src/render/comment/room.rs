//! Room on a page: what fits is taken in order, the rest is counted.

/// The bytes that are left on a page.
pub(super) struct Room {
    bytes: usize,
}

/// What of a list fits.
#[derive(Default)]
pub(super) struct Fit {
    /// The lines that fit, in order.
    pub(super) lines: Vec<String>,
    /// How many did not.
    pub(super) left_out: usize,
}

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes }
    }

    /// Takes lines in order as long as they fit beside a frame of `frame` bytes, which is taken with the first of them. What does not fit is
    /// not even written.
    pub(super) fn fit(&mut self, frame: usize, mut lines: impl ExactSizeIterator<Item = String>) -> Fit {
        let mut fit = Fit::default();
        while let Some(line) = lines.next() {
            let needed = line.len() + if fit.lines.is_empty() { frame } else { 0 };
            if needed > self.bytes {
                fit.left_out = 1 + lines.len();
                return fit;
            }
            self.bytes -= needed;
            fit.lines.push(line);
        }
        fit
    }

    /// The first of some long lines: as many as can be kept so that all the others still fit as brief ones; none at all where even all
    /// brief ones do not fit.
    pub(super) fn split(&self, frame: usize, long: impl Iterator<Item = String>, brief: &[String]) -> Vec<String> {
        let mut needed = frame + brief.iter().map(String::len).sum::<usize>();
        let mut kept = Vec::new();
        for (long, brief) in long.zip(brief) {
            needed = needed + long.len() - brief.len().min(long.len());
            if needed > self.bytes {
                break;
            }
            kept.push(long);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize, bytes: usize) -> Vec<String> {
        vec!["x".repeat(bytes); count]
    }

    #[test]
    fn what_fits_is_taken_and_the_rest_is_counted() {
        let mut room = Room::new(100);
        let fit = room.fit(10, lines(5, 40).into_iter());
        assert_eq!((fit.lines.len(), fit.left_out), (2, 3));
        let fit = room.fit(0, lines(2, 10).into_iter());
        assert_eq!((fit.lines.len(), fit.left_out), (1, 1));
        let fit = room.fit(50, lines(0, 10).into_iter());
        assert_eq!((fit.lines.len(), fit.left_out), (0, 0));
    }

    #[test]
    fn long_lines_give_way_to_brief_ones() {
        let (long, brief) = (lines(10, 20), lines(10, 5));
        for (bytes, kept) in [(49, 0), (50, 0), (64, 0), (65, 1), (199, 9), (200, 10), (1000, 10)] {
            let split = Room::new(bytes).split(0, long.iter().cloned(), &brief);
            assert_eq!(split.len(), kept, "{bytes}");
        }
    }
}
