//! Markdown, for job summaries and pull requests.

use super::words::{COLUMNS, by_gravity, columns, headline, kind, measured, provenance, row, watched};
use super::{Canvas, Format};
use crate::model::record::{Record, short};
use crate::model::text::plain_line;

/// Markdown.
pub const FORMAT: Format = Format {
    name: "markdown",
    about: "Markdown with every foreign character inert",
    render,
};

/// Longest line of foreign text.
const LINE_MAX: usize = 2000;

fn render(record: &Record, _: Canvas) -> serde_json::Result<String> {
    let judgement = &record.judgement;
    let mut out = format!("**gate {}: {}**\n\n", escape(&kind(record)), escape(&headline(record)));
    let rulings = by_gravity(record);
    if !rulings.is_empty() {
        out.push_str(&line(columns(record).map(str::to_owned)));
        out.push_str(&line(columns(record).map(|_| "---".to_owned())));
        for ruling in &rulings {
            out.push_str(&line(row(record, ruling).map(|cell| escape(&cell))));
        }
        out.push('\n');
    }
    // Foreign text never begins a line: there it could be a command to a bot, or a list, or a heading.
    let mut item = |label: &str, text: &str| out.push_str(&format!("- {label}: {}\n", escape(text)));
    for ruling in rulings {
        item("why", &ruling.because);
        item("next", &ruling.next);
        ruling.warnings.iter().for_each(|warning| item("warning", warning));
    }
    record.context.banners.iter().for_each(|banner| item("banner", banner));
    judgement.warnings.iter().for_each(|warning| item("warning", warning));
    provenance(record).iter().for_each(|(label, text)| item(label, text));
    item("measured", &measured(record));
    watched(record).iter().for_each(|text| item("watched", text));
    let facts = judgement.disposition_because.join("; ");
    item("worth", &format!("{}, because {facts}", judgement.disposition));
    item("record", &format!("{}, plan {}", short(&record.seal), short(&record.plan.digest)));
    out.push_str(&format!("\nAgain: {}\n", code(&record.context.command)));
    Ok(out)
}

fn line(cells: [String; COLUMNS]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Keeps what stands before it from joining what stands behind it, and is not seen.
const JOINER: &str = "&#8288;";

/// Foreign text as inert text: no control characters, no markup, no link, no mention, no reference.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in plain_line(text, LINE_MAX).chars() {
        let after = |word: &str| {
            out.len() >= word.len()
                && out.is_char_boundary(out.len() - word.len())
                && out[out.len() - word.len()..].eq_ignore_ascii_case(word)
        };
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Mentions and references are found in the finished page, where an entity is its character again.
            '@' => out.push_str(&format!("&#64;{JOINER}")),
            '#' => out.push_str(&format!("&#35;{JOINER}")),
            '-' if after("gh") => out.push_str(&format!("{JOINER}-")),
            // Bare links are found in the text as it stands here.
            ':' => out.push_str("&#58;"),
            '.' if after("www") => out.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// Foreign text as a code span: the fence is longer than any run of backticks inside.
fn code(text: &str) -> String {
    let text = plain_line(text, 100_000);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}
