//! The plan in words, told before anything is measured.

use crate::edge::session::Header;
use crate::model::metric::Better;
use crate::model::number::{chance, count, duration, size};
use crate::model::plan::Plan;
use crate::model::record::short;
use crate::model::sample::Arm;
use crate::model::text::plain_line;

/// The plan in words, a line each.
pub fn plan_lines(header: &Header) -> Vec<String> {
    let Header {
        id,
        gate,
        plan,
        identity,
        context,
        ..
    } = header;
    let mut lines = vec![format!("plan: session {id}")];
    if gate.name != super::declare::COMMAND_LINE {
        let [name, from, why] = [&gate.name, &gate.from, &context.base.why].map(|text| plain_line(text, 300));
        let commit = context.base.commit.as_deref().map(|commit| short(commit) + ", ");
        lines.push(format!("  gate {name}, from the {from}; base: {}{why}", commit.unwrap_or_default()));
    }
    for side in plan.sides() {
        let name = match side {
            Arm::A => "A (base)",
            Arm::B => "B (candidate)",
        };
        let (arm, command) = (identity.arms.of(*side), plan.commands.of(*side));
        let md5s: Vec<String> = arm
            .artifacts
            .iter()
            .filter_map(|artifact| Some(format!("{} md5 {}", artifact.role, artifact.md5.as_ref()?)))
            .collect();
        lines.push(format!(
            "  {name}: {} ({})",
            plain_line(&shell_words::join(command), 500),
            md5s.join(", ")
        ));
    }
    for metric in &gate.metrics {
        let better = if metric.better == Better::Higher { "higher" } else { "lower" };
        let tolerance = size(metric.tolerance, metric.scale, metric.unit.canonical());
        lines.push(format!(
            "  {} in {}: {better} is better, tolerance {tolerance}",
            plain_line(&metric.name, 100),
            metric.unit
        ));
    }
    lines.push(format!("  {}", length(plan)));
    let removed = identity
        .config
        .get("removed_env")
        .and_then(|names| names.as_array())
        .map_or(0, Vec::len);
    lines.push(format!(
        "  {} an arm; limits: {} a process, {} in all; {} withheld from the processes",
        count(plan.warmup_runs, "warm-up run"),
        duration(plan.timeout_s),
        duration(plan.max_session_s),
        count(removed as u64, "variable")
    ));
    lines
}

/// How much is measured, and when it is looked at.
fn length(plan: &Plan) -> String {
    let blocks = plan.blocks.len();
    if plan.sides() == [Arm::B] {
        return format!("{} of the candidate alone, each in a fresh process", count(blocks as u64, "run"));
    }
    let looks: Vec<String> = plan.looks.iter().map(u32::to_string).collect();
    let at_most = if plan.fixed { "exactly" } else { "at most" };
    format!(
        "{at_most} {blocks} blocks of 4 fresh processes, looks after {}; alpha {} where nothing got slower, beta {}",
        looks.join(", "),
        chance(plan.alpha),
        chance(plan.beta)
    )
}
