//! The plan in words, told before anything is measured.

use crate::edge::session::Header;
use crate::model::metric::Better;
use crate::model::number::{chance, count, duration, size};
use crate::model::record::short;
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
    for (name, arm, command) in [
        ("A (base)", &identity.arms.a, &plan.commands.a),
        ("B (candidate)", &identity.arms.b, &plan.commands.b),
    ] {
        let md5s: Vec<String> = arm
            .artifacts
            .iter()
            .map(|artifact| format!("{} md5 {}", artifact.role, artifact.md5))
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
    let looks: Vec<String> = plan.looks.iter().map(u32::to_string).collect();
    let at_most = if plan.fixed { "exactly" } else { "at most" };
    lines.push(format!(
        "  {at_most} {} blocks of 4 fresh processes, looks after {}; alpha {} where nothing got slower, beta {}",
        plan.blocks.len(),
        looks.join(", "),
        chance(plan.alpha),
        chance(plan.beta)
    ));
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
