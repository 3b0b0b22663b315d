//! The engine against numbers that another program found: our own (`tests/data/stats`), and the design's where it is at hand.

mod case;
mod eval;

use std::{env, fs, path::PathBuf};

use gate::judge::crossover::{Block, Bounds, Design, Estimate, Pairs, decide, margin, mde};
use gate::judge::{distribution, noise, prediction, ranks, summary};
use gate::model::metric::Scale;
use gate::model::plan::{Order, Orientation};
use gate::model::sample::Arm;
use serde_json::Value;

use case::Case;

/// A check of one case of a group.
type Check = fn(&Case);

const GROUPS: [(&str, Check); 19] = [
    ("crossover", crossover),
    ("design", design),
    ("verdict", verdict),
    ("verdict_more", verdict_more),
    ("mw_sf", |c| c.same("sf", ranks::sf(c.size("n"), c.size("m"), c.size("u")))),
    ("student_t", |c| {
        c.same("t", distribution::t_upper(c.number("p_upper"), c.number("df")))
    }),
    ("t_sf", |c| c.same("sf", distribution::t_sf(c.number("t"), c.number("df")))),
    ("chi2_inv", |c| {
        c.within("x", distribution::chi2_quantile(c.number("p"), c.number("df")), 1e-8)
    }),
    ("f_sf", |c| {
        c.same("sf", distribution::f_sf(c.number("f"), c.number("d1"), c.number("d2")))
    }),
    ("baseline_prediction", baseline_prediction),
    ("noise_band", noise_band),
    ("mde_fixed_k", mde_fixed_k),
    ("holm_bh", holm_bh),
    ("summary", summaries),
    ("order", order),
    ("order_bias", order_bias),
    ("paired_eval", eval::paired_eval),
    ("unpaired_eval", eval::unpaired_eval),
    ("paired_nll", eval::paired_nll),
];

#[test]
fn our_own_vectors_are_reproduced() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stats/vectors.json");
    check(&fs::read_to_string(file).unwrap());
}

#[test]
fn the_designs_vectors_are_reproduced() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = env::var_os("GATE_SHARED").map_or_else(beside, PathBuf::from);
    let file = shared.join("design/stats_vectors.json");
    match fs::read_to_string(&file) {
        Ok(text) => check(&text),
        Err(missing) => println!("skipped: {}: {missing}", file.display()),
    }
}

fn check(text: &str) {
    let vectors: Value = serde_json::from_str(text).unwrap();
    for (group, check) in GROUPS {
        let cases = vectors[group].as_array().unwrap_or_else(|| panic!("no group {group}"));
        assert!(cases.len() >= 8, "group {group} has only {} cases", cases.len());
        for (index, value) in cases.iter().enumerate() {
            let name = format!("{group}[{index}] {}", value["name"].as_str().unwrap_or_default());
            check(&Case { name, value });
        }
    }
}

/// Checks the estimate, and, where a look is possible, a fixed design's one look at all blocks.
fn crossover(case: &Case) {
    let (blocks, expected) = (case.blocks(), case.expected());
    let (m0, m1) = (case.number("m0"), case.number("m1"));
    let floor = case.value["floor"].as_f64().unwrap_or(0.0);
    let pairs = Pairs::of(&blocks);
    expected.same_list("x", &pairs.x);
    expected.same_list("z", &pairs.z);
    let estimate = Estimate::of(&pairs.x, &pairs.z, floor).unwrap();
    expected.same("est", Some(estimate.est));
    expected.same("gamma", Some(estimate.gamma));
    expected.same("sp", estimate.noise.map(|noise| noise.sp_raw));
    expected.same("se", estimate.noise.map(|noise| noise.se));
    expected.same("hl", ranks::hodges_lehmann(&pairs.x, &pairs.z));
    let k = blocks.len();
    expected.same("rank_p_regression", ranks::sf(k, k, ranks::wins(&pairs.x, &pairs.z, 2.0 * m0)));
    expected.same("rank_p_pass", ranks::sf(k, k, ranks::wins(&pairs.z, &pairs.x, -2.0 * m1)));
    let Some(noise) = estimate.noise else { return };
    let design = Design::fixed(k, 0.01, 0.05, 0.25).unwrap();
    let replay = decide(&design, Bounds { m0, m1, floor }, &blocks);
    let look = &replay.looks[0];
    assert_eq!(look.df, expected.size("df"), "{}", case.name);
    assert_eq!(look.floored, noise.sp_raw < floor, "{}", case.name);
    if noise.se > 0.0 {
        expected.same("sigma_run", Some(noise.sigma_run()));
        expected.same("t_vs_m0", look.t_r);
        expected.same("p_regression", look.p_r);
        expected.same("t_vs_m1", look.t_p);
        expected.same("p_pass", look.p_p);
        expected.same_list("ci95", &look.ci95);
    }
}

fn design(case: &Case) {
    let input = Case {
        name: case.name.clone(),
        value: &case.value["input"],
    };
    let (alpha, beta, share) = (input.number("alpha_r"), input.number("alpha_n"), input.number("rank_share"));
    let design = Design::sequential(input.size("kmax"), alpha, beta, share).unwrap();
    let looks: Vec<f64> = design.looks.iter().map(|&k| k as f64).collect();
    case.same_list("looks", &looks);
    case.same_list("c", &design.c);
    case.same_list("f", &design.f);
    let rank = design.rank.as_ref();
    case.same("rank_r", Some(rank.and_then(|rank| rank.alpha).unwrap_or(0.0)));
    case.same("rank_n", Some(rank.and_then(|rank| rank.beta).unwrap_or(0.0)));
}

fn verdict(case: &Case) {
    let design = Design::sequential(case.size("kmax"), 0.01, 0.05, 0.25).unwrap();
    let bounds = Bounds {
        m0: case.number("m0"),
        m1: case.number("m1"),
        floor: case.number("floor_pair_sd"),
    };
    stops_as_expected(case, &design, bounds);
}

fn verdict_more(case: &Case) {
    let design = Design::sequential(case.size("max_blocks"), case.number("alpha"), case.number("beta"), 0.25).unwrap();
    let m1 = margin(case.number("tolerance"), Scale::Pct, case.better()).unwrap();
    let bounds = Bounds {
        m0: 0.0,
        m1,
        floor: case.number("floor_pair_sd"),
    };
    stops_as_expected(case, &design, bounds);
    let (expected, replay) = (case.expected(), decide(&design, bounds, &case.blocks()));
    let (last, stop) = (replay.looks.last().unwrap(), replay.stop.unwrap());
    expected.same("estimate", Some(last.est));
    assert_eq!(stop.by_rank, expected.value["decided_by_rank"], "{}", case.name);
    assert_eq!(last.floored, expected.value["variance_floored"], "{}", case.name);
    let kind = if case.text("order_kind") == "abba" {
        Order::Abba
    } else {
        Order::ThueMorse
    };
    for (index, block) in case.blocks().iter().enumerate() {
        assert_eq!(block.orientation, kind.orientation(index as u32), "{}: block {index}", case.name);
    }
}

fn stops_as_expected(case: &Case, design: &Design, bounds: Bounds) {
    let (expected, blocks) = (case.expected(), case.blocks());
    let stop = decide(design, bounds, &blocks).stop.expect("as many blocks as the cap");
    let name = serde_json::to_value(stop.decision).unwrap();
    let name = name.as_str().unwrap().to_uppercase();
    assert_eq!(name, expected.text("verdict"), "{}", case.name);
    assert_eq!(stop.k, expected.size("k_stop"), "{}", case.name);
    assert_eq!(4 * stop.k, expected.size("runs"), "{}", case.name);
}

fn baseline_prediction(case: &Case) {
    let expected = case.expected();
    let medians = case.numbers("session_log_medians");
    let found = prediction::predict(&medians, case.number("new_log_median"), case.number("alpha")).unwrap();
    assert_eq!(found.sessions, expected.size("S"));
    expected.same("mean", Some(found.mean));
    expected.same("sd", Some(found.sd));
    expected.same("t", found.t);
    expected.same("p_one_sided", found.p_worse);
    expected.same("limit", Some(found.limit));
    assert_eq!(found.exceeds, expected.value["exceeds"], "{}", case.name);
}

fn noise_band(case: &Case) {
    let expected = case.expected();
    let session = |(sp, df): (f64, f64)| noise::SessionNoise { sp, df: df as usize };
    let sessions: Vec<_> = case.numbers("pair_sds").into_iter().zip(case.numbers("dfs")).map(session).collect();
    let band = noise::pool(&sessions).unwrap();
    assert_eq!(band.nu, expected.size("nu"));
    expected.same("sp_pooled", Some(band.sp_pooled));
    expected.same("sigma_run", Some(band.sigma_run));
    // These rest on chi-square quantiles, which are good to 1e-8 only.
    expected.within("sp_upper80", Some(band.sp_upper80), 1e-8);
    expected.within("recommended_sigma_run", Some(band.recommended_sigma_run), 1e-8);
    for (found, limit) in band.sp_ci95.iter().zip(expected.numbers("sp_ci95")) {
        assert!((found / limit - 1.0).abs() < 1e-8, "{}: {found} found, {limit} expected", case.name);
    }
}

fn mde_fixed_k(case: &Case) {
    let found = mde(case.number("sigma_run"), case.size("k"), case.number("alpha"), case.number("beta"));
    case.same("mde_log", found);
}

fn holm_bh(case: &Case) {
    let p = case.numbers("p");
    case.same_list("holm", &ranks::holm(&p));
    case.same_list("bh", &ranks::benjamini_hochberg(&p));
}

fn summaries(case: &Case) {
    let expected = case.expected();
    let found = summary::summarise(&case.numbers("samples")).unwrap();
    assert_eq!(found.n, expected.size("n"));
    expected.same("min", Some(found.min));
    expected.same("median", Some(found.median));
    expected.same("max", Some(found.max));
    expected.same("spread", Some(found.spread));
    expected.same("spread_rel", found.spread_rel);
    expected.same("mad", Some(found.mad));
    assert_eq!(
        serde_json::to_value(&found.flags).unwrap(),
        expected.value["flags"],
        "{}",
        case.name
    );
}

fn ordered(case: &Case) -> Vec<Orientation> {
    let kind: Order = serde_json::from_value(case.value["kind"].clone()).unwrap();
    (0..case.size("K")).map(|block| kind.orientation(block as u32)).collect()
}

fn order(case: &Case) {
    let letters: String = ordered(case)
        .iter()
        .flat_map(|orientation| orientation.arms().iter().map(|arm| *arm == Arm::B))
        .map(|candidate| if candidate { 'B' } else { 'A' })
        .collect();
    assert_eq!(letters, case.text("order"), "{}", case.name);
}

fn order_bias(case: &Case) {
    let power = match case.text("drift") {
        "t" => 1,
        "t^2" => 2,
        "t^3" => 3,
        other => panic!("{}: unknown drift {other}", case.name),
    };
    let drift = |block: usize, slot: usize| ((4 * block + slot) as f64).powi(power);
    let block = |(index, orientation)| Block {
        orientation,
        y: std::array::from_fn(|slot| drift(index, slot)),
    };
    let pairs = Pairs::of(&ordered(case).into_iter().enumerate().map(block).collect::<Vec<_>>());
    case.same("est", Estimate::of(&pairs.x, &pairs.z, 0.0).map(|estimate| estimate.est));
}
