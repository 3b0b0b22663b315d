//! Markdown, for job summaries and pull requests.

use super::words::{COLUMNS, by_gravity, headline, measured, row, short};
use super::{Canvas, Format};
use crate::model::record::Record;
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
    let mut out = format!("**gate {}: {}**\n\n", record.kind, escape(&headline(record)));
    out.push_str(&line(COLUMNS.map(str::to_owned)));
    out.push_str(&line(COLUMNS.map(|_| "---".to_owned())));
    for ruling in by_gravity(record) {
        out.push_str(&line(row(ruling).map(|cell| escape(&cell))));
    }
    for ruling in by_gravity(record) {
        out.push_str(&format!("\n{}\nNext: {}\n", escape(&ruling.because), escape(&ruling.next)));
        for warning in &ruling.warnings {
            out.push_str(&format!("\n- warning: {}\n", escape(warning)));
        }
    }
    for (label, texts) in [("banner", &record.context.banners), ("warning", &judgement.warnings)] {
        for text in texts {
            out.push_str(&format!("\n- {label}: {}\n", escape(text)));
        }
    }
    let worth = escape(&judgement.disposition_because.join("; "));
    out.push_str(&format!(
        "\n- measured: {}\n- worth: {}, because {worth}\n",
        measured(record),
        escape(judgement.disposition.word())
    ));
    out.push_str(&format!(
        "- record: {}, plan {}\n\n",
        short(&record.seal),
        short(&record.plan.digest)
    ));
    out.push_str(&format!("Again: {}\n", code(&record.context.command)));
    Ok(out)
}

fn line(cells: [String; 8]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Foreign text as inert text: no control characters, no markup, no link, no mention.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in plain_line(text, LINE_MAX).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // An entity keeps a mention, an issue reference or a bare link from forming, where a backslash would not.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            ':' => out.push_str("&#58;"),
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
