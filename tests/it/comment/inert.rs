//! Hostile names on the page, read by a real parser of Markdown: nothing in it came from data but text.

use gate::model::record::Record;
use gate::render::comment::page;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::about;
use crate::views::hostile::{HOSTILE, hostile};

/// What a parser finds on a page.
#[derive(Default)]
struct Found {
    html: Vec<String>,
    links: Vec<String>,
    headings: Vec<String>,
    other: Vec<String>,
    /// Everything that is text and not code, in order.
    text: String,
}

fn found(page: &str) -> Found {
    let mut found = Found::default();
    let mut heading = None;
    for event in Parser::new_ext(page, Options::all()) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                found.html.extend(html.lines().map(|line| line.trim().to_owned()));
                found.text.push('\n');
            }
            Event::Start(Tag::Link { dest_url, .. }) => found.links.push(dest_url.into_string()),
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => found.headings.extend(heading.take()),
            Event::Start(
                Tag::Paragraph
                | Tag::Table(_)
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell
                | Tag::List(None)
                | Tag::Item
                | Tag::Strong
                | Tag::HtmlBlock,
            ) => {}
            Event::Start(other) => found.other.push(format!("{other:?}")),
            Event::Text(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
                found.text.push_str(&text);
            }
            // Nothing is found inside code.
            Event::Code(_) => found.text.push('\u{fffc}'),
            Event::SoftBreak | Event::HardBreak => found.text.push('\n'),
            Event::End(TagEnd::TableCell | TagEnd::Paragraph | TagEnd::Item) => found.text.push('\n'),
            Event::End(_) => {}
            other => found.other.push(format!("{other:?}")),
        }
    }
    found
}

/// What GitHub would make a mention, a reference or a link of, in text that is parsed already.
fn lively(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let characters: Vec<char> = lower.chars().collect();
    let starts = |at: usize, word: &str| word.chars().enumerate().all(|(off, c)| characters.get(at + off) == Some(&c));
    let lively = |at: usize| {
        let next = characters.get(at + 1).copied().unwrap_or(' ');
        let after_gh = characters.get(at + 3).copied().unwrap_or(' ');
        (characters[at] == '@' && next.is_alphanumeric())
            || (characters[at] == '#' && next.is_ascii_digit())
            || (starts(at, "gh-") && after_gh.is_ascii_digit())
    };
    let at = (0..characters.len()).find(|&at| lively(at))?;
    Some(characters[at..].iter().take(20).collect())
}

/// The page without its own code spans: what a search for bare links reads.
fn outside_code(page: &str) -> String {
    page.split('`').step_by(2).collect()
}

fn check(records: &[Record]) {
    let about = about();
    let page = page(records, &about);
    let found = found(&page);
    for html in &found.html {
        let own = ["<details>", "</details>", "<br>", ""].contains(&html.as_str());
        let summary = html
            .strip_prefix("<details><summary>")
            .and_then(|rest| rest.strip_suffix("</summary>"))
            .is_some_and(|title| title.chars().all(|c| c.is_ascii_alphanumeric() || " ,:".contains(c)));
        assert!(own || summary, "{html:?} in\n{page}");
    }
    let count = |html: &str| page.matches(html).count();
    assert_eq!(count("<details>"), count("</details>"));
    let url = about.run_url.unwrap();
    assert!(found.links.iter().all(|link| *link == url), "{:?}", found.links);
    assert_eq!(found.headings.len(), 1, "{:?}", found.headings);
    assert!(found.headings[0].starts_with("gate"), "{:?}", found.headings);
    assert_eq!(found.other, Vec::<String>::new(), "in\n{page}");
    assert_eq!(lively(&found.text), None);
    let bare = outside_code(&page.replace(&format!("]({url})"), "]"));
    for link in ["://", "www."] {
        assert!(!bare.contains(link), "{link} in\n{page}");
    }
    for line in page.lines() {
        let first = line.chars().next().unwrap_or('|');
        assert!("|-*#<".contains(first) || first.is_ascii_alphanumeric(), "begins with data: {line}");
        for item in ["- [ ]", "/lgtm"] {
            assert!(!line.starts_with(item), "{line}");
        }
    }
}

#[test]
fn row_31_a_hostile_name_is_inert_text() {
    let records = hostile();
    assert!(records.len() > 5);
    for record in &records {
        check(std::slice::from_ref(record));
    }
    check(&records);
    let shown = page(&records, &about());
    assert!(shown.contains("&lt;img src=x&gt;&#64;&#8288;org/team"), "the name is still shown");
}

#[test]
fn hostile_places_of_a_declaration_are_inert_too() {
    for mut record in hostile() {
        record.gate.name = HOSTILE.to_owned();
        record.gate.from = HOSTILE.to_owned();
        record.gate.rules.iter_mut().for_each(|rule| rule.at = HOSTILE.to_owned());
        record.context.base.commit = Some(HOSTILE.to_owned());
        record.context.base.why = HOSTILE.to_owned();
        record.context.unaffected = Some(HOSTILE.to_owned());
        record.identity.machine.insert("arch".to_owned(), HOSTILE.into());
        record.identity.gpu.insert("product".to_owned(), HOSTILE.into());
        record.judgement.disposition_because = vec![HOSTILE.to_owned()];
        record.host.findings.push(gate::model::host::Finding {
            check: HOSTILE.to_owned(),
            level: gate::model::host::Level::Warn,
            saw: HOSTILE.to_owned(),
            wants: HOSTILE.to_owned(),
            hint: HOSTILE.to_owned(),
        });
        check(&[record.clone()]);
        record.judgement.verdicts.clear();
        check(&[record.clone(), record]);
    }
}

#[test]
fn the_check_itself_can_object() {
    for text in ["@org/team", "x@b", "#12", "GH-7", "gh-7"] {
        assert!(lively(text).is_some(), "{text}");
    }
    assert_eq!(lively("@\u{2060}org, #\u{2060}12, GH\u{2060}-7, 3 @ 4"), None);
    let marked = found("<b>x</b> [a](b) ![i](j)\n\n# h\n\n> q\n");
    assert_eq!(
        (marked.html.len(), marked.links.len(), marked.headings.len(), marked.other.len()),
        (2, 1, 1, 2)
    );
}
