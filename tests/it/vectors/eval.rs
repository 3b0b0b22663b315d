//! Scores of two models: paired by item, unpaired, and by likelihood.

use gate::judge::paired::{Document, Flips, Likelihood, Margin};
use gate::judge::unpaired::{Unpaired, false_alarm};

use super::case::Case;

/// One percentage point, as a share.
const POINT: f64 = 0.01;

pub fn paired_eval(case: &Case) {
    let count = |key: &str| case.size(key) as u64;
    let flips = Flips::new(count("b_old_right_new_wrong"), count("c_old_wrong_new_right"), count("n")).unwrap();
    case.same("delta", Some(flips.gain()));
    case.same("wald_se", Some(flips.standard_error()));
    let exact = flips.mcnemar().unwrap();
    case.same("mcnemar_exact_two_sided", Some(exact.different));
    case.same("mcnemar_exact_worse", Some(exact.worse));
    let margin = Margin::paired(flips, POINT).unwrap();
    case.same("tango_z_vs_minus_1pp", Some(margin.z));
    case.same("p_noninferior_1pp", Some(margin.not_worse));
    case.same("p_loss_gt_1pp", Some(margin.beyond));
    case.same_list("tango_ci95", &flips.interval(0.95).unwrap());
}

pub fn unpaired_eval(case: &Case) {
    let errors = ["stderr_old", "stderr_new"].map(|key| case.number(key));
    let found = Unpaired::of(case.number("acc_new") - case.number("acc_old"), errors, POINT).unwrap();
    case.same("delta", Some(found.gain));
    case.same("se_unpaired", Some(found.se));
    case.same("z_vs_0", found.z);
    case.same("p_worse", found.p_worse);
    case.same("p_loss_gt_1pp", found.margin.map(|margin| margin.beyond));
    case.same("p_noninferior_1pp", found.margin.map(|margin| margin.not_worse));
    if !case.value["false_alarm_1pp"].is_null() {
        case.same("false_alarm_1pp", false_alarm(POINT, found.se));
    }
}

pub fn paired_nll(case: &Case) {
    let differences = case.numbers("nll_diff_new_minus_old_per_doc");
    let found = if case.value["weights"].is_null() {
        Likelihood::of(&differences)
    } else {
        let weights = case.numbers("weights");
        let document = |(&difference, weight)| Document { difference, weight };
        Likelihood::weighted(&differences.iter().zip(weights).map(document).collect::<Vec<_>>())
    };
    let found = found.unwrap();
    assert_eq!(found.df, case.size("df"), "{}", case.name);
    case.same("mean", Some(found.mean));
    case.same("se", Some(found.se));
    case.same("t", found.t);
    case.same("p_worse", found.p_worse);
    case.same("ppl_ratio", Some(found.ppl_ratio));
    case.same_list("ppl_ratio_ci95", &found.ppl_ratio_ci95);
}
