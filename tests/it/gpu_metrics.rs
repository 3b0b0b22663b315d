//! `gpu_metrics` blobs: every revision that is read, every way a blob can be broken, and no bytes that make it panic.

use std::fs;
use std::path::PathBuf;

use gate::model::gpu_metrics::{Fault, Limit, Metrics, decode};
use proptest::prelude::*;

use crate::sources::root;

fn blob(name: &str) -> Vec<u8> {
    let path = root().join("tests/data/host/metrics").join(format!("{name}.bin"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: tests/data/host/generate.py writes it", path.display()))
}

fn read(name: &str) -> Metrics {
    decode(&blob(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

#[test]
fn the_discrete_revision_has_one_clock_and_no_energy_at_zero() {
    let metrics = read("v1_3");
    assert_eq!(
        (metrics.hotspot_c, metrics.mem_c, metrics.power_w),
        (Some(34.0), Some(37.0), Some(11.0))
    );
    assert_eq!((metrics.gfx_activity_pct, metrics.umc_activity_pct), (Some(3.0), Some(2.0)));
    assert_eq!(
        (metrics.energy_steps, metrics.clock_ns),
        (None, Some(1_000_000)),
        "a counter at 0 is none"
    );
    assert_eq!((&metrics.gfxclk_mhz[..], metrics.uclk_mhz), (&[5][..], Some(96)));
    assert_eq!((metrics.throttle_bits, metrics.accumulation), (Some(1 << 36), None));
    let page = read("v1_3_page");
    assert_eq!(
        (page.energy_steps, page.power_w, page.gfx_activity_pct),
        (Some(9), None, None),
        "all ones are not available"
    );
}

#[test]
fn the_mi300_revisions_say_the_same_from_their_own_places() {
    for name in ["v1_4", "v1_5", "v1_6", "v1_7", "v1_8"] {
        let metrics = read(name);
        assert_eq!(
            (metrics.hotspot_c, metrics.mem_c, metrics.power_w),
            (Some(43.0), Some(39.0), Some(128.0)),
            "{name}"
        );
        assert_eq!(
            (metrics.gfx_activity_pct, metrics.umc_activity_pct),
            (Some(2.0), Some(1.0)),
            "{name}"
        );
        assert_eq!(
            (metrics.energy_steps, metrics.clock_ns),
            (Some(7_000_000), Some(8_000_000_000)),
            "{name}"
        );
        assert_eq!(
            (&metrics.gfxclk_mhz[..], metrics.uclk_mhz),
            (&[150, 151, 152, 153, 154, 155, 156, 157][..], Some(900)),
            "{name}"
        );
        let counters: Vec<u32> = metrics.residency.values().copied().collect();
        match name {
            "v1_4" | "v1_5" => assert_eq!((metrics.accumulation, counters), (None, vec![]), "{name}"),
            _ => assert_eq!((metrics.accumulation, counters), (Some(5000), vec![1, 2, 3, 4, 5]), "{name}"),
        }
    }
}

#[test]
fn the_table_of_attributes_is_read_by_number() {
    let metrics = read("v1_9_idle");
    assert_eq!(
        (metrics.hotspot_c, metrics.mem_c, metrics.power_w),
        (Some(41.0), Some(36.0), Some(131.0))
    );
    assert_eq!(
        (metrics.energy_steps, metrics.clock_ns),
        (Some(5_000_000_000), Some(90_000_000_000_000))
    );
    assert_eq!(
        (metrics.gfxclk_mhz.len(), metrics.uclk_mhz, metrics.xgmi_link_status.len()),
        (8, Some(900), 8)
    );
    let load = read("v1_9_load");
    let delta = |limit: Limit| load.residency[&limit] - metrics.residency[&limit];
    assert_eq!(load.accumulation.unwrap() - metrics.accumulation.unwrap(), 100_000);
    assert_eq!(
        (delta(Limit::Ppt), delta(Limit::SocketThermal)),
        (90_000, 0),
        "power holds the clock, not heat"
    );
    assert_eq!(read("v1_9_hot").residency[&Limit::HbmThermal], 900);
    assert_eq!(
        read("v1_9_unknown_attribute").other[&900],
        [7, 8],
        "an unknown attribute is kept by its number"
    );
}

#[test]
fn the_mobile_revision_has_units_of_its_own() {
    let metrics = read("v3_0");
    assert_eq!((metrics.hotspot_c, metrics.power_w), (Some(53.12), Some(15.25)));
    assert_eq!(
        (metrics.gfx_activity_pct, &metrics.gfxclk_mhz[..], metrics.energy_steps),
        (Some(7.0), &[848][..], None)
    );
    assert_eq!(
        (
            metrics.residency[&Limit::Prochot],
            metrics.residency[&Limit::SocThermal],
            metrics.residency.len()
        ),
        (1, 7, 7)
    );
}

#[test]
fn a_broken_blob_gives_its_reason() {
    let fault = |name: &str| decode(&blob(name)).unwrap_err();
    assert_eq!(fault("bad_header"), Fault::Short { have: 2, need: 4 });
    assert_eq!(fault("bad_revision"), Fault::Revision((9, 9)));
    assert_eq!(fault("bad_short"), Fault::Short { have: 119, need: 120 });
    assert_eq!(fault("bad_count"), Fault::Entries(100_000));
    assert_eq!(fault("v2_1"), Fault::Integrated((2, 1)));
    let truncated = read("bad_truncated");
    assert_eq!(
        (truncated.stopped, truncated.hotspot_c, truncated.power_w),
        (Some(Fault::Truncated(3)), Some(41.0), None)
    );
    let kind = read("bad_type");
    assert_eq!(kind.stopped, Some(Fault::Type { entry: 18, code: 9 }));
    assert_eq!(kind.power_w, Some(131.0), "what stands before the fault is kept");
}

/// The folder of captured and reconstructed hosts that stands beside a checkout, where there is one.
pub fn shared_hosts() -> Option<PathBuf> {
    let named = std::env::var_os("GATE_SHARED").map(PathBuf::from);
    let hosts = named.unwrap_or_else(|| root().join("../shared")).join("hosts");
    if hosts.is_dir() {
        return Some(hosts);
    }
    println!("skipped: no folder of captured hosts; GATE_SHARED names the folder that holds it");
    None
}

#[test]
fn captured_and_reconstructed_blobs_are_read_or_refused_with_a_reason() {
    let Some(hosts) = shared_hosts() else { return };
    let of = |path: &str| decode(&fs::read(hosts.join(path)).unwrap());
    let load = |name: &str| of(&format!("gpu_metrics/mi300x_v1_9_{name}.bin")).unwrap();
    let (a, b) = (load("load_a"), load("load_b"));
    let ticks = b.accumulation.unwrap() - a.accumulation.unwrap();
    assert_eq!((ticks, b.residency[&Limit::Ppt] - a.residency[&Limit::Ppt]), (5008, 4342));
    assert_eq!(a.gfxclk_mhz, [1304, 1275, 1317, 1283, 1298, 1281, 1309, 1287]);
    assert_eq!((a.stopped, a.other.len(), a.power_w), (None, 0, Some(705.0)));
    let old = of("gpu_metrics/mi300x_v1_6_dkms_idle.bin").unwrap();
    assert_eq!(
        (old.accumulation, old.residency[&Limit::Ppt], old.power_w),
        (Some(10_657_785), 10_657_785, Some(120.0))
    );
    assert_eq!(of("gpu_metrics/w7900_v1_3_idle.bin").unwrap().energy_steps, None);
    assert_eq!(of("gpu_metrics/bad_short_header.bin"), Err(Fault::Short { have: 2, need: 4 }));
    assert_eq!(of("gpu_metrics/bad_unknown_rev_9_9.bin"), Err(Fault::Revision((9, 9))));
    assert!(matches!(
        of("gpu_metrics/bad_truncated_mid_table.bin").unwrap().stopped,
        Some(Fault::Truncated(_))
    ));
    assert!(matches!(
        of("gpu_metrics/bad_unknown_type.bin").unwrap().stopped,
        Some(Fault::Type { entry: 0, .. })
    ));
    for part in ["rx7600s/card1", "rx7800xt/card1", "rx9070/card1", "rx6900xt/card0"] {
        let metrics = of(&format!("real/lact/{part}/device/gpu_metrics")).unwrap();
        assert!(
            metrics.hotspot_c.is_some_and(|hot| (10.0..100.0).contains(&hot)),
            "{part}: {metrics:?}"
        );
    }
    let mobile = of("real/lact/strixpoint/card1/device/gpu_metrics").unwrap();
    assert!(mobile.hotspot_c.is_some_and(|hot| (10.0..100.0).contains(&hot)), "{mobile:?}");
    assert_eq!(of("real/lact/phoenix/card1/device/gpu_metrics"), Err(Fault::Integrated((2, 1))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(revision in prop::sample::select(vec![(1, 3), (1, 6), (1, 8), (1, 9), (3, 0)]), count in 0_u8..60, rest in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = vec![0, 0, revision.0, revision.1];
        if revision == (1, 9) {
            bytes.extend([count, 0, 0, 0]);
        }
        bytes.extend(rest);
        let _metrics = decode(&bytes);
    }

    #[test]
    fn a_table_cut_anywhere_keeps_what_stands_before(cut in 8_usize..246) {
        let whole = blob("v1_9_idle");
        let metrics = decode(&whole[..cut]).unwrap();
        prop_assert_eq!(metrics.stopped.is_some(), cut < whole.len());
    }
}
