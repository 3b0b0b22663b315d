//! Text as complete lines: a number at the end of a line that was cut is another number.

/// The complete lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines<'t> {
    /// Those with an end.
    pub complete: Vec<&'t str>,
    /// What stands after the last line end; empty where nothing does.
    pub cut: &'t str,
}

impl<'t> Lines<'t> {
    /// The lines of a text.
    pub fn of(text: &'t str) -> Self {
        let (complete, cut) = text.rsplit_once('\n').unwrap_or(("", text));
        Self {
            complete: complete.lines().collect(),
            cut,
        }
    }

    /// What a report says of a cut line; nothing where the text ends with its last line.
    pub fn note(&self) -> Option<String> {
        (!self.cut.trim().is_empty()).then(|| "the last line has no end and was left out".to_owned())
    }
}
