//! Flags: each raised by its own cause alone, each one file and one word, and what they make of a block and of a session.

use std::collections::{BTreeMap, BTreeSet};

use gate::judge::flag::{ALL, Effect, Look, limits, raised, void, watching};
use gate::model::gpu_metrics::Limit;
use gate::model::telemetry::{DeviceTrace, Foreign, Missed, Raised, Reading, Telemetry, Trace, Watching};

use crate::sources::root;
use crate::synthetic::{Session, noisy};

/// What is watched where nothing is declared.
pub fn usual() -> Watching {
    watching(0.1, None, true, &BTreeMap::new())
}

/// One look under a steady load.
fn reading(at: u32) -> Reading {
    Reading {
        at_s: f64::from(at) * 0.1,
        took_s: 0.001,
        clock_s: Some(1000.0 + f64::from(at) * 0.1),
        gfxclk_mhz: Some(1300.0),
        apart_pct: Some(2.0),
        uclk_mhz: Some(1300.0),
        power_w: Some(700.0),
        hotspot_c: Some(70.0),
        mem_c: Some(60.0),
        gfx_activity_pct: Some(99.0),
        umc_activity_pct: Some(60.0),
        vram_used_bytes: Some(1 << 30),
        energy_steps: Some(1_000_000 + u64::from(at) * 4_587_520),
        ticks: Some(5000 + at * 100),
        residency: BTreeMap::from([(Limit::Ppt, 4000 + at * 90), (Limit::SocketThermal, 7)]),
    }
}

/// Three seconds of a steady load on one device.
pub fn steady() -> Trace {
    Trace {
        window_s: 3.0,
        every_s: 0.1,
        devices: vec![DeviceTrace {
            device: "0000:1b:00.0".to_owned(),
            source: "gpu_metrics 1.9".to_owned(),
            crit_c: [Some(100.0), Some(105.0)],
            uclk_top_mhz: Some(1300.0),
            counters_trusted: true,
            readings: (0..=30).map(reading).collect(),
            ..DeviceTrace::default()
        }],
        foreign: Ok(Vec::new()),
        cpu_wait_pct: Ok(1.0),
        other_load: Some(0.1),
        messages: Ok(Vec::new()),
    }
}

#[test]
fn every_flag_is_one_file_and_one_word() {
    let files = std::fs::read_dir(root().join("src/judge/flag")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "mod")
        .collect();
    let listed: BTreeSet<String> = ALL.iter().map(|flag| flag.name.to_owned()).collect();
    assert_eq!(files, listed);
    let mut names = BTreeSet::new();
    for limit in limits() {
        assert!(names.insert(limit.name), "{} stands twice", limit.name);
        assert!(limit.default >= 0.0 && !limit.about.is_empty(), "{}", limit.name);
    }
    for flag in ALL {
        assert!(!flag.about.is_empty() && !flag.about.ends_with('.'), "{}", flag.name);
        assert!(
            flag.effect == Effect::Warns || matches!(flag.look, Look::Process(_)),
            "{}: arms side by side void no block",
            flag.name
        );
    }
}

type Cause = (&'static str, &'static str, fn(&mut Trace));

fn each(trace: &mut Trace, change: impl Fn(usize, &mut Reading)) {
    let readings = &mut trace.devices[0].readings;
    readings.iter_mut().enumerate().for_each(|(at, reading)| change(at, reading));
}

/// A limit that held the clocks down for this share of the window, in %.
fn held(trace: &mut Trace, limit: Limit, pct: u32) {
    each(trace, |at, reading| {
        reading.residency.insert(limit, pct * at as u32);
    });
}

/// What each flag of a process is raised by, and by nothing else; and what it says.
const CAUSES: &[Cause] = &[
    (
        "contention",
        "0000:1b:00.0: 2048 MiB more than before the session were in use",
        |trace| {
            trace.devices[0].vram_above_idle_bytes = 2 << 30;
        },
    ),
    ("contention", "process 3001 (trainer) held 1024 MiB", |trace| {
        let (pid, name, vram_bytes) = (3001, "trainer".to_owned(), 1 << 30);
        trace.foreign = Ok(vec![Foreign { pid, name, vram_bytes }]);
    }),
    ("cap_or_level_changed", "the power cap was 750 W and is 500 W", |trace| {
        trace.devices[0].changed = vec!["the power cap was 750 W and is 500 W".to_owned()];
    }),
    ("gpu_reset", "the kernel told \"amdgpu: GPU reset begin!\"", |trace| {
        trace.messages = Ok(vec!["amdgpu: GPU reset begin!".to_owned()]);
    }),
    ("gpu_reset", "its memory had 2 more uncorrectable errors", |trace| {
        trace.devices[0].uncorrectable = 2
    }),
    ("gpu_reset", "it refused to be read, as in a reset", |trace| {
        trace.devices[0].missed.in_reset = true
    }),
    ("oversubscribed", "Runlist is getting oversubscribed", |trace| {
        trace.messages = Ok(vec![
            "amdgpu: Runlist is getting oversubscribed. Expect reduced ROCm performance.".to_owned(),
        ]);
    }),
    (
        "thermal_throttle",
        "hbm_thermal held the clocks down 3.0 % of the time, the limit is 1 %",
        |trace| {
            held(trace, Limit::HbmThermal, 3);
        },
    ),
    ("thermal_throttle", "where the graphics clock fell from 1300 to 1200 MHz", |trace| {
        trace.devices[0].counters_trusted = false;
        each(trace, |at, reading| {
            if (12..=18).contains(&at) {
                (reading.hotspot_c, reading.gfxclk_mhz) = (Some(98.5), Some(1200.0));
            }
        });
    }),
    (
        "thermal_throttle",
        "within 2 °C of its critical temperature all the while",
        |trace| {
            trace.devices[0].counters_trusted = false;
            each(trace, |_, reading| reading.mem_c = Some(104.0));
        },
    ),
    (
        "dpm_not_ramped",
        "300 MHz at first and 1300 MHz later, the limit is 10 % below",
        |trace| {
            trace.devices[0].readings = (0..=300).map(reading).collect();
            each(trace, |at, reading| {
                if (1..=29).contains(&at) {
                    reading.gfxclk_mhz = Some(300.0);
                }
            });
        },
    ),
    ("mclk_low", "the memory clock was below 1300 MHz in 32 % of the looks", |trace| {
        each(trace, |at, reading| {
            if at < 10 {
                reading.uclk_mhz = Some(900.0);
            }
        });
    }),
    (
        "clock_drift",
        "the graphics clock moved by -4.1 % over the window, the limit is 3 %",
        |trace| {
            each(trace, |at, reading| reading.gfxclk_mhz = Some(1300.0 - 2.0 * at as f64));
        },
    ),
    (
        "xcd_imbalance",
        "more than 10 % apart in 31 % of the looks, the limit is 20 %",
        |trace| {
            each(trace, |at, reading| {
                if at < 10 {
                    reading.apart_pct = Some(15.0);
                }
            });
        },
    ),
    (
        "host_contention",
        "tasks waited for a processor 40.0 % of the time, the limit is 10 %",
        |trace| {
            trace.cpu_wait_pct = Ok(40.0);
        },
    ),
    (
        "host_contention",
        "the load beyond the process's own was 80 % of the processors",
        |trace| trace.other_load = Some(0.8),
    ),
    ("host_bound", "median activity 20 %, the limit is 50 %", |trace| {
        each(trace, |_, reading| reading.gfx_activity_pct = Some(20.0));
    }),
    ("stale_telemetry", "4 looks in a row failed (busy), the limit is 3", |trace| {
        let (all, in_a_row, why, in_reset) = (4, 4, Some("busy".to_owned()), false);
        trace.devices[0].missed = Missed {
            all,
            in_a_row,
            why,
            in_reset,
        };
    }),
    ("stale_telemetry", "the device's own time stood still between two looks", |trace| {
        trace.devices[0].readings[9].clock_s = trace.devices[0].readings[8].clock_s;
    }),
    (
        "stale_telemetry",
        "the slowest look in a hundred took 60 ms, the limit is 50 ms",
        |trace| {
            trace.devices[0].readings[9].took_s = 0.06;
        },
    ),
];

fn names(trace: &Trace, watching: &Watching) -> Vec<String> {
    raised(trace, watching).into_iter().map(|raised| raised.flag).collect()
}

#[test]
fn each_flag_is_raised_by_its_own_cause_alone() {
    assert_eq!(
        raised(&steady(), &usual()),
        [],
        "a device at its power limit under load is no fault"
    );
    let mut caused = BTreeSet::new();
    for (name, says, cause) in CAUSES {
        let mut trace = steady();
        cause(&mut trace);
        let found = raised(&trace, &usual());
        assert_eq!(
            found.iter().map(|raised| raised.flag.as_str()).collect::<Vec<_>>(),
            [*name],
            "{found:?}"
        );
        assert!(found[0].saw.contains(says), "{name}: {}", found[0].saw);
        let flag = ALL.iter().find(|flag| flag.name == *name).unwrap();
        assert_eq!(found[0].voids, flag.effect != Effect::Warns, "{name}");
        caused.insert(*name);
        if !flag.limits.is_empty() {
            let far = flag.limits.iter().map(|limit| (limit.name.to_owned(), 1e9)).collect();
            let mut wide = watching(0.1, None, true, &far);
            if *name == "host_bound" {
                wide.limits.insert("host_bound_pct".to_owned(), 0.0);
            }
            let left = names(&trace, &wide);
            let standing =
                says.contains("process 3001") || says.contains("stood still") || says.contains("critical") || says.contains("fell from");
            assert!(standing || !left.contains(&(*name).to_owned()), "{name}: a declared limit counts");
        }
    }
    let of_processes: BTreeSet<&str> = ALL.iter().filter(|flag| flag.can_void()).map(|flag| flag.name).collect();
    assert_eq!(caused, of_processes, "every flag of a process has a cause here");
}

#[test]
fn too_little_to_tell_raises_nothing() {
    let mut trace = steady();
    trace.devices[0].readings = (0..6).map(reading).collect();
    each(&mut trace, |at, reading| reading.gfxclk_mhz = Some(1300.0 - 100.0 * at as f64));
    assert_eq!(names(&trace, &usual()), Vec::<String>::new(), "four looks are no line");
    let mut nothing = steady();
    nothing.devices[0].readings.clear();
    assert_eq!(
        names(&nothing, &usual()),
        ["stale_telemetry"],
        "and it is said that there is nothing to tell from"
    );
    // Clocks while nothing works are no clocks of the process.
    let mut idle = steady();
    each(&mut idle, |at, reading| {
        if at > 15 {
            (reading.gfx_activity_pct, reading.gfxclk_mhz, reading.umc_activity_pct) = (Some(0.0), Some(133.0), Some(0.0));
        }
    });
    let mut patient = usual();
    patient.gpu_bound = false;
    assert_eq!(names(&idle, &patient), Vec::<String>::new());
}

#[test]
fn what_a_gate_declares_voids_and_contention_always_does() {
    let with = |void: &[&str]| {
        watching(
            0.1,
            Some(void.iter().map(|name| (*name).to_owned()).collect()),
            false,
            &BTreeMap::new(),
        )
    };
    assert_eq!(with(&[]).void, ["contention"]);
    let mut trace = steady();
    trace.cpu_wait_pct = Ok(40.0);
    trace.devices[0].uncorrectable = 1;
    let found = raised(&trace, &with(&["host_contention"]));
    assert_eq!(
        found.iter().map(|raised| (raised.flag.as_str(), raised.voids)).collect::<Vec<_>>(),
        [("gpu_reset", false), ("host_contention", true)]
    );
    let void = void(&found).unwrap();
    assert_eq!((void.check.as_str(), void.attributable), ("host_contention", false));
}

#[test]
fn what_others_caused_excuses_what_the_candidate_can_have_caused() {
    let mut trace = steady();
    held(&mut trace, Limit::HbmThermal, 3);
    let own = void(&raised(&trace, &usual())).unwrap();
    assert_eq!((own.check.as_str(), own.attributable), ("thermal_throttle", true));
    trace.devices[0].vram_above_idle_bytes = 8 << 30;
    let others = void(&raised(&trace, &usual())).unwrap();
    assert_eq!((others.check.as_str(), others.attributable), ("contention", false));
    assert_eq!(void(&[]), None);
}

#[test]
fn a_summary_says_what_was_and_why_not() {
    let telemetry = Telemetry::from(&steady());
    let device = &telemetry.devices[0];
    assert_eq!((device.readings, device.missed, device.start_hotspot_c), (31, 0, Some(70.0)));
    assert_eq!(device.throttled_pct["ppt"], 90.0);
    assert_eq!(device.throttled_pct["socket_thermal"], 0.0);
    let energy = device.energy.as_ref().unwrap();
    assert_eq!((energy.method.as_str(), energy.scope.as_str()), ("accumulator", "socket"));
    assert!(
        (energy.energy_j - 2100.0).abs() < 1.0 && (energy.over_s - 3.0).abs() < 1e-9,
        "{energy:?}"
    );
    assert!(device.missing.is_empty() && telemetry.missing.is_empty(), "{telemetry:?}");

    let method = |change: fn(&mut Trace)| {
        let mut trace = steady();
        change(&mut trace);
        let device = Telemetry::from(&trace).devices.remove(0);
        device
            .energy
            .map_or_else(|| device.missing["energy"].clone(), |energy| energy.method)
    };
    assert_eq!(
        method(|trace| each(trace, |_, reading| reading.energy_steps = Some(9))),
        "power_integral",
        "it stands still"
    );
    assert_eq!(
        method(|trace| each(trace, |_, reading| reading.energy_steps = None)),
        "power_integral",
        "0, or all ones"
    );
    assert_eq!(
        method(|trace| each(trace, |at, reading| reading.energy_steps = Some(1000 - at as u64))),
        "power_integral",
        "it began anew"
    );
    assert_eq!(
        method(|trace| each(trace, |at, reading| reading.energy_steps = Some(at as u64 * 9_000_000))),
        "power_integral",
        "power contradicts it"
    );
    assert_eq!(method(|trace| each(trace, |_, reading| reading.power_w = None)), "accumulator");
    assert_eq!(
        method(|trace| each(trace, |_, reading| (reading.power_w, reading.energy_steps) = (None, None))),
        "gpu_metrics 1.9 gives neither a counter that advances nor power"
    );
    assert_eq!(
        method(|trace| each(trace, |_, reading| reading.clock_s = Some(1.0))),
        "the readings stood still"
    );

    let mut blind = steady();
    blind.foreign = Err("/sys/class/kfd/kfd/proc/7/vram_1001: permission denied (EACCES)".to_owned());
    blind.devices[0].readings.clear();
    blind.devices[0].missed.why = Some("the device is in reset".to_owned());
    let telemetry = Telemetry::from(&blind);
    assert!(telemetry.missing["foreign"].contains("permission denied"));
    assert_eq!(telemetry.devices[0].missing["power_w"], "the device is in reset");
    assert_eq!(telemetry.devices[0].power_w, None, "missing is no zero");
}

/// A watched session in which a run's telemetry is what `change` makes of a steady trace.
fn watched(change: impl Fn(&gate::model::sample::Slot, &mut Trace)) -> Session {
    let mut steady_values = noisy(0.0, 0.3, 3);
    Session::new().planned(|plan| plan.telemetry = Some(usual())).whole(|slot, sample| {
        steady_values(slot, sample);
        let mut trace = steady();
        change(slot, &mut trace);
        let mut telemetry = Telemetry::from(&trace);
        telemetry.flags = raised(&trace, &usual());
        if !slot.warmup {
            sample.void = void(&telemetry.flags);
        }
        sample.telemetry = Some(Box::new(telemetry));
    })
}

#[test]
fn the_arms_are_compared_and_what_only_warns_is_told() {
    use gate::model::sample::Arm;
    let quiet = watched(|_, _| {}).judge();
    assert_eq!(quiet.warnings, Vec::<String>::new());
    let warned = watched(|slot, trace| {
        if slot.arm == Arm::B {
            held(trace, Limit::Ppt, 99);
            each(trace, |_, reading| reading.hotspot_c = Some(85.0));
            trace.cpu_wait_pct = Ok(40.0);
        }
    })
    .judge();
    let told = warned.warnings.join("\n");
    for part in [
        "power_limited: 0000:1b:00.0: held down by the power limit 90 % of the time on A and 99 % on B",
        "start_temp_mismatch: 0000:1b:00.0: processes of A began at 70 °C and those of B at 85 °C",
        "of B and none of A, so that the candidate may be the cause",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(warned.outcome, quiet.outcome, "a warning decides nothing");
}

#[test]
fn who_cannot_see_promises_nothing() {
    let judgement = watched(|_, trace| trace.foreign = Err("permission denied".to_owned())).judge();
    assert_eq!(judgement.disposition, gate::model::judgement::Disposition::Exploratory);
    assert!(
        judgement
            .disposition_because
            .contains(&"nobody could see who else used the GPU: permission denied".to_owned()),
        "{:?}",
        judgement.disposition_because
    );
    assert_eq!(
        watched(|_, _| {}).judge().disposition,
        gate::model::judgement::Disposition::Measured
    );
}

#[test]
fn a_foreign_process_never_fails_and_never_passes() {
    use gate::model::judgement::{Outcome, Verdict};
    let foreign = |trace: &mut Trace| {
        let (pid, name, vram_bytes) = (3001, "trainer".to_owned(), 1 << 30);
        trace.foreign = Ok(vec![Foreign { pid, name, vram_bytes }]);
    };
    let all = watched(|_, trace| foreign(trace));
    let ruling = all.ruling();
    assert_eq!((ruling.verdict, ruling.outcome), (Verdict::Inconclusive, Outcome::Inconclusive));
    assert!(ruling.because.contains("3 blocks were void, 2 are allowed"), "{}", ruling.because);
    assert!(ruling.because.contains("process 3001 (trainer)"), "{}", ruling.because);
    let on_b = watched(|slot, trace| {
        if slot.arm == gate::model::sample::Arm::B {
            foreign(trace);
        }
    });
    assert_eq!(
        on_b.ruling().verdict,
        Verdict::Inconclusive,
        "on the candidate's runs alone it is no fault of the candidate"
    );
    let once = watched(|slot, trace| {
        if !slot.warmup && (slot.block, slot.attempt, slot.position) == (0, 0, 1) {
            foreign(trace);
        }
    });
    assert_eq!(once.ruling().verdict, Verdict::NoRegression);
    let told = once.judge().warnings.join("\n");
    assert!(
        told.contains("1 block was void and run again: contention on sample 3 (B): process 3001 (trainer)"),
        "{told}"
    );
    let flagged: Vec<&Raised> = once
        .0
        .evidence
        .samples
        .iter()
        .flat_map(|sample| &sample.telemetry)
        .flat_map(|seen| &seen.flags)
        .collect();
    assert_eq!(flagged.len(), 1);
}
