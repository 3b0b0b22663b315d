//! Foreign text in every field that is shown.
//!
//! No markdown parser is at hand here, so the page is checked character by character: every character that could begin markup, a link, a
//! mention or a reference must stand escaped wherever it came from data, and foreign text must never begin a line.

use gate::model::evidence::Ended;
use gate::model::record::Record;
use gate::model::text::is_unseen;
use gate::render::{Canvas, find};

use crate::synthetic::{Reports, Session, metric, noisy, rule};

pub const HOSTILE: &str = "</details><img src=x>@org/team | #12 <!-- gate:v1 --> https://x.y www.x.y GH-7 `code` ``` $math$ ~~no~~ *b* _i_ \\ ![a](b) \
                       \u{1b}[31m\u{1b}]8;;http://x\u{7}\u{202e}\u{200b}\u{9b}31m\r\n# title\n- item\n/lgtm\n";

const WIDE: Canvas = Canvas {
    colour: false,
    width: None,
};

/// A record in which every foreign text is hostile.
pub fn hostile() -> Vec<Record> {
    let named = |session: Session| {
        let mut session = session;
        session.0.gate.metrics[0].name = HOSTILE.to_owned();
        session
    };
    let of = || named(Session::of(vec![metric("t:lower:ms", "2%")], vec![rule("hold")])).fixtures(&[HOSTILE]);
    let mut steady = noisy(3.0, 0.3, 1);
    let judged = of().whole(|slot, sample| {
        steady(slot, sample);
        let value = sample.values["t"] * if sample.seq == 9 { 3.0 } else { 1.0 };
        sample.prints(HOSTILE, value);
    });
    let failed = of().whole(|_, sample| sample.failed = Some(HOSTILE.to_owned()));
    let absent = of().whole(|_, sample| {
        sample.lacks(HOSTILE);
        sample.missing.get_mut(HOSTILE).unwrap().why = HOSTILE.to_owned();
    });
    let profiled = of().whole(|_, sample| {
        sample.prints(HOSTILE, 1.0);
        sample.profiled = true;
        sample.detail.insert("profiler".to_owned(), HOSTILE.into());
    });
    let void = of().whole(|slot, sample| {
        sample.prints(HOSTILE, 1.0);
        if !slot.warmup {
            sample.voided(false);
            sample.void.as_mut().unwrap().why = HOSTILE.to_owned();
        }
    });
    let broken = of()
        .run(3, |_, sample| sample.prints(HOSTILE, 1.0))
        .ended(Ended::Error { what: HOSTILE.to_owned() });
    let unknown = named(Session::of(vec![metric("t:lower:ms", "2%")], vec![rule(HOSTILE)]));
    let mut records = Vec::new();
    for mut session in [judged, failed, absent, profiled, void, broken, unknown] {
        session.0.kind = HOSTILE.to_owned();
        session.0.cancelled = Some(HOSTILE.to_owned());
        session.0.context.banners = vec![HOSTILE.to_owned()];
        session.0.context.command = HOSTILE.to_owned();
        session.0.identity.missing.push(gate::model::identity::Unknown {
            field: "source".to_owned(),
            why: HOSTILE.to_owned(),
        });
        let mut record = session.record();
        record.judgement.warnings.push(HOSTILE.to_owned());
        record.judgement.verdicts[0].unit = HOSTILE.to_owned();
        record.judgement.verdicts[0].because.push_str(HOSTILE);
        record.judgement.verdicts[0].next.push_str(HOSTILE);
        record.seal = HOSTILE.to_owned();
        record.plan.digest = HOSTILE.to_owned();
        records.push(record);
    }
    records
}

#[test]
fn a_terminal_is_not_commanded() {
    for record in hostile() {
        for canvas in [
            WIDE,
            Canvas {
                colour: false,
                width: Some(100),
            },
        ] {
            let text = (find("terminal").unwrap().render)(&record, canvas).unwrap();
            let command = text.chars().find(|c| (c.is_control() && *c != '\n') || is_unseen(*c));
            assert_eq!(command, None, "{text:?}");
            for line in text.lines() {
                assert!(
                    !line.starts_with("- item") && !line.starts_with("/lgtm") && !line.starts_with("# title"),
                    "{line}"
                );
            }
        }
        let coloured = (find("terminal").unwrap().render)(&record, Canvas { colour: true, width: None }).unwrap();
        assert_eq!(
            coloured.matches('\u{1b}').count(),
            2,
            "only the headline's own colour: {coloured:?}"
        );
    }
}

/// The page's own beginnings of lines, and nothing else.
const BEGINNINGS: [&str; 10] = [
    "",
    "**gate ",
    "| ",
    "- why: ",
    "- next: ",
    "- warning: ",
    "- banner: ",
    "- measured: ",
    "- worth: ",
    "- record: ",
];

/// Takes the page's own markup off a line and gives what came from data.
fn data_of(line: &str) -> String {
    let own = BEGINNINGS
        .iter()
        .filter(|own| line.starts_with(**own))
        .max_by_key(|own| own.len())
        .unwrap();
    let rest = &line[own.len()..];
    match *own {
        "**gate " => rest.strip_suffix("**").unwrap_or(rest).replacen(": ", "", 1),
        "| " => rest.strip_suffix(" |").unwrap_or(rest).split(" | ").collect(),
        _ => rest.to_owned(),
    }
}

/// What is dangerous in a piece of markdown, if anything is.
fn danger(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (skip, wrong) = match c {
            '\\' => (
                2,
                !rest[1..].starts_with(['\\', '`', '*', '_', '{', '}', '[', ']', '(', ')', '!', '|', '~', '$']),
            ),
            '&' => {
                let entity = ["&amp;", "&lt;", "&gt;", "&#64;&#8288;", "&#35;&#8288;", "&#58;", "&#46;", "&#8288;"];
                let found = entity.iter().find(|entity| rest.starts_with(**entity));
                (found.map_or(1, |entity| entity.len()), found.is_none())
            }
            '<' | '>' | '@' | '#' | ':' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => (1, true),
            _ => (c.len_utf8(), c.is_control() || is_unseen(c)),
        };
        let lower = rest.to_ascii_lowercase();
        if wrong || lower.starts_with("www.") || lower.starts_with("gh-") {
            return Some(rest.chars().take(20).collect());
        }
        rest = &rest[skip..];
    }
    None
}

#[test]
fn a_page_is_not_marked_up_by_data() {
    for record in hostile() {
        let page = (find("markdown").unwrap().render)(&record, WIDE).unwrap();
        let (body, command) = page.rsplit_once("\nAgain: ").expect("the command comes last");
        for line in body.lines() {
            assert!(
                BEGINNINGS.iter().any(|own| !own.is_empty() && line.starts_with(own)) || line.is_empty(),
                "foreign text begins a line: {line}"
            );
            if line == "| --- | --- | --- | --- | --- | --- | --- | --- |" {
                continue;
            }
            if line.starts_with("| ") {
                let bars = line.replace("\\|", "").matches('|').count();
                assert_eq!(bars, 9, "a row of another width: {line}");
            }
            assert_eq!(danger(&data_of(line)), None, "{line}");
        }
        // A code span: its fence is longer than any run of backticks inside, and nothing inside ends the line.
        let command = command.strip_suffix('\n').unwrap();
        let fence: String = command.chars().take_while(|c| *c == '`').collect();
        assert_eq!(fence, "````", "{command}");
        assert!(
            command.ends_with(" ````") && command.matches("````").count() == 2 && !command.contains('\n'),
            "{command}"
        );
    }
}

#[test]
fn a_runner_is_not_commanded() {
    let name = "::add-mask::x";
    let mut session = Session::of(vec![metric("t:lower:ms", "2%")], vec![rule("hold")]);
    session.0.gate.metrics[0].name = name.to_owned();
    let record = session.whole(|_, sample| sample.prints(name, 100.0)).record();
    for canvas in [
        WIDE,
        Canvas {
            colour: false,
            width: Some(60),
        },
    ] {
        let text = (find("terminal").unwrap().render)(&record, canvas).unwrap();
        assert!(text.contains("add-mask"), "{text}");
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{text}");
    }
}

#[test]
fn the_check_itself_can_object() {
    for text in [
        "<b",
        "a@b",
        "a|b",
        "`x`",
        "#1",
        "https://x",
        "www.x",
        "GH-1",
        "&copy;",
        "\\x",
        "a\u{202e}b",
        "$x$",
        "&#64;b",
    ] {
        assert!(danger(text).is_some(), "{text}");
    }
    for text in ["plain text, 100 % -1.20", "\\[-1, +2\\] %", "a &lt; b", "&#64;&#8288;org", "c/d.e"] {
        assert_eq!(danger(text), None, "{text}");
    }
}
