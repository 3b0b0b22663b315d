//! What everybody sees: the verdict in a word, whether it blocks, the row that decided, what to do, and the counts.

use super::About;
use super::inert::{name, prose};
use super::rows::{Group, Row, decisive, is_of_scores};
use crate::model::evidence::Ended;
use crate::model::gate::Against;
use crate::model::judgement::{Disposition, Outcome, Verdict};
use crate::model::number::count;
use crate::model::record::{Record, short};
use crate::model::summary::Summary;
use crate::render::policy::Policy;

/// Most verdicts that the headline names.
const WORDS_MAX: usize = 3;
/// Most banners that stand where everybody sees them.
const BANNERS_MAX: usize = 2;

/// The answer in one line, without markup: `fail: regression`.
pub(in crate::render) fn headline(records: &[Record], rows: &[Row<'_>]) -> String {
    let outcome = Summary::of(records).outcome;
    let mut words: Vec<&str> = Vec::new();
    if records.is_empty() {
        return "no report".to_owned();
    }
    let deciding = rows.iter().filter(|row| row.ruling.required && row.ruling.outcome == outcome);
    for word in deciding.filter(|row| row.needs_eyes()).map(|row| row.ruling.verdict.word()) {
        // What is waived is told as the policy that it is.
        let told = [outcome.word(), Verdict::Waived.word()].contains(&word);
        if !told && !words.contains(&word) && words.len() < WORDS_MAX {
            words.push(word);
        }
    }
    let said = words.join(", ").replace('_', " ");
    if said.is_empty() {
        outcome.word().to_owned()
    } else {
        format!("{}: {said}", outcome.word())
    }
}

/// What stands before the reason why there is no verdict.
pub(super) fn refused_heading(key: &str) -> String {
    format!("### gate{key}: error (blocks)\n\n**No verdict:** ")
}

/// The lines above the table.
pub(super) fn top(records: &[Record], rows: &[Row<'_>], about: &About<'_>) -> String {
    let policy = Policy::of(records);
    let key = about.key.map_or_else(String::new, |key| format!(" {key}"));
    let blocks = if policy.blocks() { "blocks" } else { "does not block" };
    let why = policy.why.map_or_else(String::new, |why| format!(": {why}"));
    let mut out = match about.refused {
        Some(why) => format!("{}{}\n\n", refused_heading(&key), prose(why)),
        None => format!("### gate{key}: {} ({blocks}{why})\n\n", headline(records, rows)),
    };
    out.push_str(&format!("{}\n", decided(records, rows, about)));
    if let Some(next) = next(records, rows, about) {
        out.push_str(&format!("\n**Next:** {next}\n"));
    }
    if !records.is_empty() {
        out.push_str(&format!("\n{}\n", counts(records, rows, about)));
    }
    let banners: Vec<&String> = records.iter().flat_map(|record| &record.context.banners).collect();
    if !banners.is_empty() {
        let shown: Vec<String> = banners.iter().take(BANNERS_MAX).map(|banner| prose(banner)).collect();
        let more = match banners.len().saturating_sub(BANNERS_MAX) {
            0 => String::new(),
            more => format!("; and {more} more, below"),
        };
        out.push_str(&format!("\n**Note:** {}{more}\n", shown.join("; ")));
    }
    out + "\n"
}

/// The single row that decided, in its own sentence.
fn decided(records: &[Record], rows: &[Row<'_>], about: &About<'_>) -> String {
    let outcome = Summary::of(records).outcome;
    if records.is_empty() {
        let run = about
            .run_url
            .as_deref()
            .map_or_else(String::new, |url| format!(" [The run]({url}) says more."));
        return match about.refused {
            Some(_) => format!("Nothing is known of this change.{run}"),
            None => format!("The measuring job left no report, so nothing is known of this change.{run}"),
        };
    }
    if outcome == Outcome::Pass {
        return held(records, rows);
    }
    if let Some(row) = decisive(rows, outcome) {
        return format!(
            "Decided by the rule {} at {}{}: {}",
            name(&row.ruling.rule),
            name(row.declared_at()),
            row.of_record(),
            prose(&row.ruling.because)
        );
    }
    let concerned = records.iter().find(|record| record.judgement.outcome == outcome);
    let judgement = concerned.map(|record| &record.judgement);
    let ended = concerned.and_then(|record| match &record.evidence.ended {
        Some(Ended::Error { what }) => Some(what.clone()),
        Some(Ended::Cancelled { signal }) => Some(format!("Cancelled by {signal}.")),
        _ => None,
    });
    let warning = judgement.and_then(|judgement| judgement.warnings.first().cloned());
    let worth = judgement.map(|judgement| judgement.disposition_because.join("; "));
    format!("Why: {}", prose(&ended.or(warning).or(worth).unwrap_or_default()))
}

/// What a pass says.
fn held(records: &[Record], rows: &[Row<'_>]) -> String {
    if let Some(why) = records
        .iter()
        .find_map(|record| record.context.unaffected.as_ref())
        .filter(|_| rows.is_empty())
    {
        return format!("Not affected by this change, and not measured: {}.", prose(why));
    }
    if records
        .iter()
        .all(|record| record.judgement.disposition == Disposition::Exploratory)
    {
        let why = records
            .first()
            .map(|record| record.judgement.disposition_because.join("; "))
            .unwrap_or_default();
        return format!("Every required rule held, but the evidence is exploratory: {}.", prose(&why));
    }
    let required = rows.iter().filter(|row| row.ruling.required).count();
    format!("Every required rule held ({}).", count(required as u64, "row"))
}

/// What to do: fix, accept, or measure again, and who may.
fn next(records: &[Record], rows: &[Row<'_>], about: &About<'_>) -> Option<String> {
    const REPAIR: &str = "Put right what is said above, then start the job again.";
    if records.is_empty() && about.refused.is_some() {
        return Some(REPAIR.to_owned());
    }
    if records.is_empty() {
        return Some("Look at the run that should have measured, and start it again.".to_owned());
    }
    let outcome = Summary::of(records).outcome;
    if outcome == Outcome::Pass {
        return rows
            .iter()
            .find(|row| row.group == Group::Slower)
            .map(|row| prose(&row.ruling.next));
    }
    let Some(row) = decisive(rows, outcome) else {
        return Some(REPAIR.to_owned());
    };
    let again = again(row.record);
    let accept = accept(row);
    Some(format!("{}{accept}{again}", prose(&row.ruling.next)))
}

/// How a meant change is accepted, where a command does it.
fn accept(row: &Row<'_>) -> String {
    let seal = hex(&row.record.seal);
    let is_declared = row.record.gate.from != "command line";
    match (row.ruling.verdict, row.ruling.against) {
        // The base of a score is another model: the candidate's scores are no baseline of it.
        (Verdict::Regression | Verdict::StaleBaseline, Against::Baseline) if !is_of_scores(row.ruling) => {
            format!(" To accept it: `gate baseline accept {seal} --because TEXT`, and commit what it writes.")
        }
        (Verdict::Regression, _) if is_declared => {
            format!(" To accept it for a while: `gate waive {seal} --because TEXT --until DAY`, and have the file that it writes reviewed.")
        }
        _ => String::new(),
    }
}

/// Whether it may be measured again, and by whom.
fn again(record: &Record) -> String {
    let (attempt, most) = (record.context.attempt, record.plan.max_attempts);
    match most {
        0 => " Whoever may re-run the job may measure again.".to_owned(),
        most if attempt < most => format!(" Whoever may re-run the job may measure again: this is attempt {attempt} of {most}."),
        most => format!(" Measuring the same again decides nothing more: this was attempt {attempt} of {most}."),
    }
}

/// How many rows are of which kind, and which commit is spoken of.
fn counts(records: &[Record], rows: &[Row<'_>], about: &About<'_>) -> String {
    let mut parts = Vec::new();
    for group in Group::ALL {
        let of_group = rows.iter().filter(|row| row.group == group);
        let (all, advisory) = of_group.fold((0_usize, 0_usize), |(all, advisory), row| {
            (all + 1, advisory + usize::from(!row.ruling.required))
        });
        let advisory = match advisory {
            0 => String::new(),
            some if some == all => " (advisory)".to_owned(),
            some => format!(" ({some} advisory)"),
        };
        if all > 0 {
            parts.push(format!("{all} {}{advisory}", group.word()));
        }
    }
    if parts.is_empty() {
        parts.push("nothing was judged".to_owned());
    }
    let head = about.head.map(|head| format!("commit `{}`", hex(head)));
    parts.push(head.unwrap_or_else(|| "the commit is not recorded".to_owned()));
    if records.len() > 1 {
        parts.push(format!("{} records", records.len()));
    }
    parts.join(" · ")
}

/// The first digits of a seal, digest or commit. What is none is shown as a question mark: it stands in code, where nothing is escaped.
pub(super) fn hex(text: &str) -> String {
    let digits = short(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        digits
    } else {
        "?".to_owned()
    }
}
