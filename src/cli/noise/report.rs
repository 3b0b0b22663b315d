//! What A/A sessions say, for people and for programs.

use anyhow::Result;
use serde_json::json;

use crate::judge::calibration::{Calibration, Reach};
use crate::model::metric::Scale;
use crate::model::number::{chance, count, difference, figure, size};
use crate::model::record::short;
use crate::model::text::{no_commands, plain_line};
use crate::render::markdown::escape;

type Found<'a> = &'a Result<Calibration, String>;

/// One object a line: a calibration, or why there is none.
pub fn json(found: &[Found<'_>]) -> Result<String> {
    let mut out = String::new();
    for found in found {
        let value = match found {
            Ok(found) => serde_json::to_value(found)?,
            Err(why) => json!({ "not_characterised": why }),
        };
        out.push_str(&format!("{value}\n"));
    }
    Ok(out)
}

/// Plain text.
pub fn terminal(found: &[Found<'_>]) -> String {
    let mut out = String::new();
    for found in found {
        out.push_str(&format!("gate noise: {}\n", head(found)));
        for (label, text) in lines(found) {
            out.push_str(&format!("  {label}: {text}\n"));
        }
        out.push('\n');
    }
    no_commands(&out)
}

/// Markdown with every foreign character inert.
pub fn markdown(found: &[Found<'_>]) -> String {
    let mut out = String::new();
    for found in found {
        out.push_str(&format!("**gate noise: {}**\n\n", escape(&head(found))));
        for (label, text) in lines(found) {
            out.push_str(&format!("- {label}: {}\n", escape(&text)));
        }
        out.push('\n');
    }
    out
}

fn head(found: Found<'_>) -> String {
    match found {
        Err(_) => "not characterised".to_owned(),
        Ok(found) => {
            let [gate, fixture, metric] = [&found.gate, &found.fixture, &found.metric].map(|name| plain_line(name, 100));
            let fixture = if fixture.is_empty() {
                String::new()
            } else {
                format!("{fixture} / ")
            };
            format!("{fixture}{metric} ({gate})")
        }
    }
}

/// Every line with its label.
fn lines(found: Found<'_>) -> Vec<(&'static str, String)> {
    let found = match found {
        Ok(found) => found,
        Err(why) => return vec![("why", why.clone())],
    };
    let sized = |value: f64| size(value, found.scale, &found.unit);
    let mut lines = vec![measured(found), runs(found), noise(found)];
    match &found.two_states {
        None => lines.push(("states", "one".to_owned())),
        Some(states) => lines.push((
            "warning",
            format!(
                "processes fall into two states {} apart, {} of them in the worse one: find out what decides it, or few runs may all land in one",
                sized(states.apart),
                chance(states.worse_share)
            ),
        )),
    }
    lines.push(order(found));
    lines.push(equal_arms(found));
    if let Some(smallest) = found.reach.smallest_detectable {
        let cap = count(found.max_blocks, "block");
        lines.push(("could see", format!("a slowdown of {}, in one look after {cap}", sized(smallest))));
    }
    if found.tolerance > 0.0 {
        lines.push(tolerance(found));
    }
    lines
}

fn measured(found: &Calibration) -> (&'static str, String) {
    let sessions = count(found.records.len() as u64, "session");
    let records: Vec<String> = found.records.iter().map(|seal| short(seal)).collect();
    let text = format!(
        "{sessions}, {}, {} processes; records {}",
        count(found.blocks as u64, "block"),
        found.values.n,
        records.join(", ")
    );
    ("measured", text)
}

fn runs(found: &Calibration) -> (&'static str, String) {
    let (values, unit) = (found.values, plain_line(&found.unit, 20));
    let mut text = format!(
        "{} / {} / {} {unit} (min / median / max)",
        figure(values.min),
        figure(values.median),
        figure(values.max)
    );
    let spread_pct = 100.0 * (values.max - values.min) / values.median.abs();
    if spread_pct.is_finite() {
        text.push_str(&format!(", a spread of {}", size(spread_pct, Scale::Pct, "")));
    }
    ("runs", text)
}

fn noise(found: &Calibration) -> (&'static str, String) {
    let [sd, low, high, planned] =
        [found.noise.sd, found.noise.low, found.noise.high, found.noise.planned].map(|value| size(value, found.scale, &found.unit));
    let text = format!("{sd} a run (standard deviation), 95 % interval {low} to {high}; plans are made with {planned}");
    ("noise", text)
}

fn order(found: &Calibration) -> (&'static str, String) {
    let drift = difference(found.drift.gain, found.scale, &found.unit);
    if !found.drift.shown {
        return ("order", format!("no drift beyond chance ({drift} a run)"));
    }
    let direction = if found.drift.gain < 0.0 { "worse" } else { "better" };
    let text = format!(
        "each run is {direction} than the one before it ({drift} a run; {} of such sessions would show it by chance): a steady drift cancels, look for \
         its cause",
        chance(found.drift.p)
    );
    ("warning", text)
}

fn equal_arms(found: &Calibration) -> (&'static str, String) {
    let sized = |value: f64| size(value, found.scale, &found.unit);
    if !found.bias.shown {
        return ("equal arms", format!("no difference beyond chance (p {})", chance(found.bias.p)));
    }
    let cover = match found.bias.null_margin {
        Some(margin) if margin < found.tolerance / 2.0 => format!("a null margin of {} would cover it", sized(margin)),
        Some(margin) => format!(
            "a null margin of {} would cover it, which is more than half the tolerance: mend the fixture",
            sized(margin)
        ),
        None => "at least 3 sessions are needed to say how large it is".to_owned(),
    };
    let text = format!(
        "equal arms differ beyond chance ({} of such sessions would): the fixture is biased; {cover}",
        chance(found.bias.p)
    );
    ("warning", text)
}

fn tolerance(found: &Calibration) -> (&'static str, String) {
    let Reach {
        blocks_needed,
        carried,
        carried_at_most,
        ..
    } = found.reach;
    let (sized, cap) = (|value: f64| size(value, found.scale, &found.unit), found.max_blocks as usize);
    let (tolerance, blocks) = (sized(found.tolerance), |number: usize| count(number as u64, "block"));
    let at_cap = carried.map(|carried| format!("{} carry {}", blocks(cap), sized(carried)));
    match blocks_needed {
        Some(needed) if needed <= cap => (
            "tolerance",
            format!("{tolerance} needs a cap of {}, and {} are declared", blocks(needed), cap),
        ),
        Some(needed) => {
            let at_cap = at_cap.map(|at_cap| format!("; {at_cap}")).unwrap_or_default();
            let text = format!("{tolerance} needs a cap of {}, and only {cap} are declared{at_cap}", blocks(needed));
            ("warning", text)
        }
        None => {
            let most = carried_at_most.map(|carried| format!("28 blocks carry {}", sized(carried)));
            let carried: Vec<String> = [at_cap.filter(|_| cap < 28), most].into_iter().flatten().collect();
            let carried = if carried.is_empty() {
                "no cap carries any".to_owned()
            } else {
                carried.join(", ")
            };
            ("tolerance", format!("this fixture cannot carry {tolerance}: {carried}"))
        }
    }
}
