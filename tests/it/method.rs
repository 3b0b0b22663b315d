//! Every number of docs/method.md comes out of the engine: its tables row by row, its worked examples sentence by sentence.

use std::collections::BTreeSet;
use std::fs;

use gate::judge::crossover::{Block, Bounds, Decision, Design, Estimate, Pairs, decide, floor_log, margin, mde, worse};
use gate::judge::noise::{CARRIED, SessionNoise, alarm, pool};
use gate::judge::prediction::predict;
use gate::judge::ranks::survival_of_equal;
use gate::judge::search::Search;
use gate::judge::simulate::{claimed_engine, simulate};
use gate::model::metric::{Better, Scale};
use gate::model::plan::{Order, Orientation};
use gate::model::sample::Arm;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::readme::table;
use crate::sources::root;

const ORDERS: &str = "| order | no drift | 1 ms a run | 0.25 ms × t² | first run of four +3 ms |";
const ANSWERS: &str = "| slower is shown | a slowdown of the tolerance is ruled out | verdict |";
const LOOKS: &str = "| blocks | processes | to show slower | to rule the tolerance out |";
const RATES: &str = "| noise | false alarms | caught at +2 % | caught at +3 % | no answer at 0 / +2 % | processes at 0 / +1 / +2 / +5 % |";
const SEEN: &str = "| noise of a run | 2 blocks | 3 blocks | 5 blocks | 14 blocks | 28 blocks |";
const PLANNED: &str = "| `--max-blocks` | processes at most | noise / tolerance at most | tolerance at a noise of 1 % |";
const RETRIES: &str = "| tries | slips through, at most | simulated, sd 1 % |";

const SESSIONS: &str = "| accepted sessions | worse beyond chance from |";
const KNOWN: &str = "| sessions of 5 blocks | degrees of freedom | 95 % interval | planned with |";

const ALPHA: f64 = 0.01;
const BETA: f64 = 0.05;

fn method() -> String {
    fs::read_to_string(root().join("docs/method.md")).unwrap()
}

/// Compares a table with its rows as the engine gives them; the failure prints those.
fn is(head: &str, computed: &[Vec<String>]) {
    let rows: Vec<String> = computed.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
    assert!(
        table(&method(), head) == computed,
        "docs/method.md should say\n{head}\n{}",
        rows.join("\n")
    );
}

/// Whether the text holds a sentence, however its lines are broken.
fn says(sentence: &str) {
    let text = method().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(sentence), "docs/method.md should say: {sentence}");
}

#[test]
fn no_table_is_left_out() {
    let text = method();
    let lines: Vec<&str> = text.lines().collect();
    let heads = lines.windows(2).filter(|pair| pair[1].starts_with("|---")).map(|pair| pair[0]);
    let known = [ORDERS, ANSWERS, LOOKS, RATES, SEEN, PLANNED, RETRIES, SESSIONS, KNOWN];
    assert_eq!(
        heads.collect::<BTreeSet<_>>(),
        known.into_iter().collect(),
        "a table that no test computes"
    );
}

/// What the machine adds to run t, in ms.
type Drift = fn(usize) -> f64;

/// Values in ms of runs in some order: a base of 100, a candidate of 102, and what the machine adds to run t.
fn values(arms: &[Arm], drift: Drift) -> Vec<f64> {
    let value = |(t, arm): (usize, &Arm)| if *arm == Arm::B { 102.0 } else { 100.0 } + drift(t);
    arms.iter().enumerate().map(value).collect()
}

/// The difference of the arms' means.
fn by_means(arms: &[Arm], values: &[f64]) -> f64 {
    let mean = |wanted: Arm| {
        let of_arm: Vec<f64> = arms
            .iter()
            .zip(values)
            .filter(|(arm, _)| **arm == wanted)
            .map(|(_, value)| *value)
            .collect();
        of_arm.iter().sum::<f64>() / of_arm.len() as f64
    };
    mean(Arm::B) - mean(Arm::A)
}

/// The engine's estimate.
fn by_engine(order: &[Orientation], values: &[f64]) -> Estimate {
    let block = |(orientation, y): (&Orientation, &[f64])| Block {
        orientation: *orientation,
        y: y.try_into().unwrap(),
    };
    let blocks: Vec<Block> = order.iter().zip(values.chunks(4)).map(block).collect();
    let pairs = Pairs::of(&blocks);
    Estimate::of(&pairs.x, &pairs.z, 0.0).unwrap()
}

#[test]
fn orders_cancel_what_they_say() {
    use Arm::{A, B};
    use Orientation::{Abba, Baab};
    let drifts: [Drift; 4] = [
        |_| 0.0,
        |t| t as f64,
        |t| 0.25 * (t * t) as f64,
        |t| if t % 4 == 0 { 3.0 } else { 0.0 },
    ];
    let row = |name: &str, estimate: &dyn Fn(Drift) -> f64| {
        let found = drifts.iter().map(|drift| format!("{:.2} ms", estimate(*drift)));
        [name.to_owned()].into_iter().chain(found).collect::<Vec<String>>()
    };
    let plain = |arms: [Arm; 4]| move |drift: Drift| by_means(&arms, &values(&arms, drift));
    let blocks = |order: &'static [Orientation]| {
        move |drift: Drift| {
            let arms: Vec<Arm> = order.iter().flat_map(|orientation| orientation.arms()).copied().collect();
            by_engine(order, &values(&arms, drift)).est
        }
    };
    is(
        ORDERS,
        &[
            row("A A B B", &plain([A, A, B, B])),
            row("A B A B", &plain([A, B, A, B])),
            row("A B B A", &blocks(&[Abba])),
            row("A B B A, A B B A", &blocks(&[Abba, Abba])),
            row("A B B A, B A A B", &blocks(&[Abba, Baab])),
        ],
    );
}

#[test]
fn the_small_example_is_right() {
    let values = values(Orientation::Abba.arms(), |t| t as f64);
    let found = by_engine(&[Orientation::Abba], &values);
    says(&format!(
        "the runs take {}, {}, {} and {} ms",
        values[0], values[1], values[2], values[3]
    ));
    let (x, z) = (values[1] - values[0], values[3] - values[2]);
    says(&format!("{x:+} ms in the pair A B and {z:+} ms in the pair B A"));
    says(&format!("Half their difference is the effect, {:+} ms", found.est));
    says(&format!("half their sum the drift, {:+} ms a run", found.gamma));
    let order: Vec<String> = (0..8)
        .map(|block| format!("{:?}", Order::ThueMorse.orientation(block)).to_uppercase())
        .collect();
    says(&order.join(" "));
}

#[test]
fn answers_follow_from_what_is_shown() {
    let (design, bounds) = claimed_engine().unwrap();
    let row = |effect: f64, noise: f64| {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut run = |arm| noise * random.sample::<f64, _>(StandardNormal) + if arm == Arm::B { effect } else { 0.0 };
        let mut block = |number| {
            let orientation = Order::ThueMorse.orientation(number);
            let arms = orientation.arms();
            let y = std::array::from_fn(|slot| run(arms[slot]));
            Block { orientation, y }
        };
        let blocks: Vec<Block> = (0..design.cap() as u32).map(&mut block).collect();
        let replay = decide(&design, bounds, &blocks);
        let look = replay.looks.last().unwrap();
        let yes = |shown: bool| if shown { "yes" } else { "no" };
        let word = match replay.stop.unwrap().decision {
            Decision::Regression => "`regression`",
            Decision::SmallSlowdown => "`small_slowdown`",
            Decision::NoRegression => "`no_regression`",
            Decision::Improvement => "`improvement`",
            Decision::Inconclusive => "none: the next look; at the cap `inconclusive`",
        };
        let slower = if look.faster { "no, but faster is" } else { yes(look.slower) };
        [slower, yes(look.within), word].map(str::to_owned).to_vec()
    };
    is(
        ANSWERS,
        &[
            row(0.08, 0.005),
            row(0.015, 0.0005),
            row(0.0, 0.005),
            row(-0.08, 0.002),
            row(0.01, 0.2),
        ],
    );
}

#[test]
fn critical_values_are_the_designs() {
    let (design, _) = claimed_engine().unwrap();
    let rows: Vec<Vec<String>> = (0..design.looks.len())
        .map(|at| {
            let (k, c, f) = (design.looks[at], design.c[at], design.f[at]);
            vec![k.to_string(), (4 * k).to_string(), format!("{c:.2}"), format!("{f:.2}")]
        })
        .collect();
    is(LOOKS, &rows);
    says(&format!(
        "{:.3} % for \"slower\" and {:.3} % for \"ruled out\" at each of the {} looks",
        100.0 * design.level_r,
        100.0 * design.level_p,
        design.looks.len()
    ));
    let rank = design.rank.unwrap();
    let survival = survival_of_equal(rank.blocks).unwrap();
    let least = |share: Option<f64>| survival.iter().position(|p| *p <= share.unwrap()).unwrap();
    says(&format!(
        "at least {} of the {} comparisons for \"slower\", {} for \"ruled out\"",
        least(rank.alpha),
        survival.len() - 1,
        least(rank.beta)
    ));
    // The worked look: five blocks, and a noise of 0.7 % a run.
    let se_pct = |k: usize| 0.7 / (k as f64).sqrt();
    let at = design.looks.iter().position(|k| *k == 5).unwrap();
    says(&format!(
        "0.7 %/√5 = {:.2} %: slower is shown from {:.2} % on, and a slowdown of 2 % ruled out up to {:.2} %",
        se_pct(5),
        design.c[at] * se_pct(5),
        2.0 - design.f[at] * se_pct(5)
    ));
}

#[test]
fn rates_are_the_simulated_ones() {
    let rows: Vec<Vec<String>> = simulate(50, 1)
        .unwrap()
        .into_iter()
        .map(|model| {
            let rates = model.claimed;
            let [still, slower] = rates.inconclusive_pct;
            let [none, one, two, five] = rates.mean_runs;
            vec![
                model.name,
                format!("{:.2} %", rates.false_alarm_pct),
                format!("{:.1} %", rates.power_pct),
                format!("{:.1} %", rates.power_at_3_pct),
                format!("{still:.1} / {slower:.1} %"),
                format!("{none:.1} / {one:.1} / {two:.1} / {five:.1}"),
            ]
        })
        .collect();
    is(RATES, &rows);
}

/// A difference in response units as a slowdown in percent.
fn pct(delta: f64) -> f64 {
    100.0 * delta.exp_m1()
}

#[test]
fn what_blocks_see_is_what_the_column_says() {
    let row = |noise_pct: f64| {
        let sigma = noise_pct / 100.0;
        let seen = [2, 3, 5, 14, 28].map(|blocks| format!("{:.2} %", pct(mde(sigma, blocks, ALPHA, BETA).unwrap())));
        [format!("{noise_pct} %")].into_iter().chain(seen).collect::<Vec<String>>()
    };
    is(SEEN, &[row(0.3), row(0.7), row(1.0), row(2.0)]);
    let rows: Vec<Vec<String>> = CARRIED
        .iter()
        .map(|(blocks, carried)| {
            vec![
                blocks.to_string(),
                (4 * blocks).to_string(),
                carried.to_string(),
                format!("{:.1} %", pct(0.01 / carried)),
            ]
        })
        .collect();
    is(PLANNED, &rows);
}

#[test]
fn retries_add_up() {
    let models = simulate(50, 1).unwrap();
    let rates = models.iter().find(|model| model.name == "independent, sd 1 %").unwrap().claimed;
    let missed = (100.0 - rates.power_pct - rates.inconclusive_pct[1]) / 100.0;
    let slips = |missed: f64, tries: i32| format!("{:.1} %", 100.0 * (1.0 - (1.0 - missed).powi(tries)));
    let rows: Vec<Vec<String>> = [1, 2, 3, 5]
        .map(|tries| vec![tries.to_string(), slips(BETA, tries), slips(missed, tries)])
        .to_vec();
    is(RETRIES, &rows);
}

#[test]
fn relative_differences_are_logarithms() {
    let change = |better| worse(98.0, Scale::Pct, better).unwrap() - worse(100.0, Scale::Pct, better).unwrap();
    let m1 = |better| margin(0.02, Scale::Pct, better).unwrap();
    says(&format!(
        "for a rate that falls by 2 % it is {:+.4}, for a time that rises by 2 % {:+.4}",
        m1(Better::Higher),
        m1(Better::Lower)
    ));
    assert!((change(Better::Higher) - m1(Better::Higher)).abs() < 1e-12);
    let floor = floor_log(0.0005, 0.0, &[]) / std::f64::consts::SQRT_2;
    says(&format!("Less than {} % from run to run is believed of no machine", 100.0 * floor));
    let bounds = Bounds {
        m0: 0.0,
        m1: m1(Better::Lower),
        floor: 0.0,
    };
    let (_, claimed) = claimed_engine().unwrap();
    assert_eq!(claimed.m1, bounds.m1, "the rates are those of the default tolerance");
    assert_eq!(
        Design::sequential(14, ALPHA, BETA, 0.25).unwrap(),
        claimed_engine().unwrap().0,
        "and of the default plan"
    );
}

/// Session medians on the logarithmic scale around 0 with a standard deviation of 1 %.
fn sessions_varying(count: usize) -> Vec<f64> {
    let pairs = count / 2;
    let half = if count.is_multiple_of(2) {
        0.01 * ((count - 1) as f64 / count as f64).sqrt()
    } else {
        0.01
    };
    let ends = (0..2 * pairs).map(|at| if at % 2 == 0 { half } else { -half });
    ends.chain((!count.is_multiple_of(2)).then_some(0.0)).collect()
}

#[test]
fn sessions_predict_sessions() {
    let rows: Vec<Vec<String>> = [2, 3, 5, 8, 12, 20]
        .map(|count| {
            let found = predict(&sessions_varying(count), 0.0, ALPHA).unwrap();
            assert!((found.sd - 0.01).abs() < 1e-12 && found.mean.abs() < 1e-12, "{found:?}");
            vec![count.to_string(), format!("{:.2} %", pct(found.limit))]
        })
        .to_vec();
    is(SESSIONS, &rows);
    let response = |ms: f64| worse(ms, Scale::Pct, Better::Lower).unwrap();
    let found = predict(&[100.0, 101.0, 99.0].map(response), response(106.0), ALPHA).unwrap();
    let still = predict(&[0.0, 0.01, 0.02], 0.0, ALPHA).unwrap();
    let limit_t = (still.limit - still.mean) / (still.sd * (1.0 + 1.0 / 3.0_f64).sqrt());
    says(&format!(
        "the mean is {:.2} ms, the standard deviation {:.2} %, and t = {:.2} where {limit_t:.2} is the limit, which stands at {:.1} ms",
        found.mean.exp(),
        100.0 * found.sd,
        found.t.unwrap(),
        found.limit.exp()
    ));
    assert!(!found.exceeds, "the page says that it passes");
}

#[test]
fn noise_is_known_as_well_as_it_says() {
    // Five blocks have 8 degrees of freedom; a run of 1 % is a pair difference of √2 %.
    let session = |times: f64| SessionNoise {
        sp: times * 0.01 * std::f64::consts::SQRT_2,
        df: 8,
    };
    let band = |sessions: usize| pool(&vec![session(1.0); sessions]).unwrap();
    let of_run = |sp: f64| format!("{:.2} %", 100.0 * sp / std::f64::consts::SQRT_2);
    let rows: Vec<Vec<String>> = [1, 2, 4, 8]
        .map(|sessions| {
            let band = band(sessions);
            let [low, high] = band.sp_ci95.map(of_run);
            let planned = of_run(band.sp_upper80);
            vec![sessions.to_string(), band.nu.to_string(), format!("{low} to {high}"), planned]
        })
        .to_vec();
    is(KNOWN, &rows);
    let noisier = |times: f64| alarm(session(times), &band(4)).unwrap().noisier;
    let least = (10..100)
        .map(|tenths| f64::from(tenths) / 10.0)
        .find(|times| noisier(*times))
        .unwrap();
    says(&format!(
        "Five blocks against a band of four sessions must vary {least} times as much for that"
    ));
}

#[test]
fn a_search_shares_its_rates_among_its_comparisons() {
    let most = Search::most_comparisons(32);
    let share = |rate: f64| format!("{:.3} %", 100.0 * rate / f64::from(most));
    says(&format!(
        "in a range of 32 commits at most {most} comparisons, each with alpha {} and beta {}",
        share(ALPHA),
        share(BETA)
    ));
}
