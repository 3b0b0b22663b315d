//! Progress on a terminal; nothing in continuous integration, and never a verdict.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::edge::environment;
use crate::model::evidence::Evidence;
use crate::model::number::duration;
use crate::model::plan::Plan;
use crate::model::sample::Slot;

/// One line at the bottom of the terminal.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A line where standard error is a terminal outside continuous integration, else nothing.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() || environment::is_set("CI") {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner()
            .with_style(ProgressStyle::with_template("{elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        Self(Some(bar))
    }

    /// Tells which slot comes, and how much longer it can take.
    pub fn tell(&self, plan: &Plan, evidence: &Evidence, slot: &Slot, left_s: f64) {
        let Some(bar) = &self.0 else { return };
        if slot.warmup {
            bar.set_message(format!("warm-up {}", slot.position + 1));
            return;
        }
        let walls: Vec<f64> = evidence
            .samples
            .iter()
            .filter_map(|sample| sample.values.get("wall_s").copied())
            .collect();
        let run_s = walls.iter().sum::<f64>() / walls.len().max(1) as f64;
        let runs = (plan.blocks.len() as u32).saturating_sub(slot.block) * 4 - slot.position.min(4);
        let look = plan
            .looks
            .iter()
            .find(|look| **look > slot.block)
            .copied()
            .unwrap_or(plan.blocks.len() as u32);
        let longest = duration((run_s * f64::from(runs)).min(left_s.max(0.0)));
        bar.set_message(format!(
            "block {} of at most {}, next look after {look}, at most {longest} longer",
            slot.block + 1,
            plan.blocks.len()
        ));
        bar.tick();
    }

    /// Takes the line away.
    pub fn done(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done();
    }
}
