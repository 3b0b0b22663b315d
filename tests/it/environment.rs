//! What a measured child inherits.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use gate::edge::environment::{Variables, block_bytes, equalise, profiler, scrub};
use proptest::prelude::*;

fn variables(list: &[(&str, &str)]) -> Variables {
    list.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn is_kept(name: &str) -> bool {
    !scrub(variables(&[(name, "x")]).into_iter(), &[]).kept.is_empty()
}

#[test]
fn secrets_and_the_ci_systems_own_variables_are_held_back() {
    for name in [
        "GITHUB_TOKEN",
        "GITHUB_ENV",
        "ACTIONS_RUNTIME_URL",
        "RUNNER_TEMP",
        "GIT_DIR",
        "GIT_ASKPASS",
        "SSH_AUTH_SOCK",
        "TOKEN",
        "HF_TOKEN",
        "hf_token",
        "DB_PASSWORD",
        "DB_PASSWD",
        "CLIENT_SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "MY_CREDENTIAL",
        "OPENAI_API_KEY",
        "OPENAI_APIKEY",
        "API_KEY",
        "APIKEY",
        "AWS_ACCESS_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_PRIVATE_KEY",
        "SOME_SECRET_KEY",
        "SECRETKEY",
        "Some_Api_Key",
        "HF_TOKEN_",
        "github_sha",
    ] {
        assert!(!is_kept(name), "{name} reached the child");
    }
}

#[test]
fn settings_that_only_look_like_secrets_stay() {
    for name in [
        "MAX_NUM_BATCHED_TOKENS",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "MONKEY",
        "KEY",
        "PUBLIC_KEY",
        "SORT_KEY",
        "API_KEY_COUNT",
        "TOKEN_COUNT",
        "SECRETARY",
        "PATH",
        "HOME",
        "GITHUB",
        "GIT",
        "DIGIT_COUNT",
        "RUNNERS",
        "SSH_AUTH_SOCKET",
        "",
        "_",
        "API__",
    ] {
        assert!(is_kept(name), "{name} was held back");
    }
}

#[test]
fn what_is_removed_is_listed_sorted_once_and_pass_brings_one_back() {
    let given = variables(&[
        ("Z_TOKEN", "1"),
        ("PATH", "/bin"),
        ("A_SECRET", "2"),
        ("Z_TOKEN", "3"),
        ("HF_TOKEN", "4"),
    ]);
    let scrubbed = scrub(given.into_iter(), &["HF_TOKEN".to_owned(), "NOT_SET".to_owned()]);
    assert_eq!(scrubbed.removed, ["A_SECRET", "Z_TOKEN"]);
    assert_eq!(scrubbed.kept, variables(&[("PATH", "/bin"), ("HF_TOKEN", "4")]));
}

#[test]
fn no_value_is_ever_printed() {
    let scrubbed = scrub(
        variables(&[("PATH", "tell-nobody"), ("X_TOKEN", "nor-this")]).into_iter(),
        &["X_TOKEN".to_owned()],
    );
    let shown = format!("{scrubbed:?} {scrubbed:#?}");
    assert!(shown.contains("PATH") && shown.contains("X_TOKEN"), "{shown}");
    assert!(!shown.contains("tell-nobody") && !shown.contains("nor-this"), "{shown}");
}

#[test]
fn names_and_values_need_not_be_text() {
    let odd = OsString::from_vec(vec![0xff, b'_', b'T', b'O', b'K', b'E', b'N']);
    let value = OsString::from_vec(vec![0xfe, 0x80]);
    let scrubbed = scrub([(odd, value.clone()), ("RAW".into(), value.clone())].into_iter(), &[]);
    assert_eq!(scrubbed.kept, [("RAW".into(), value)]);
    assert_eq!(scrubbed.removed.len(), 1);
}

#[test]
fn a_profiler_is_named_by_its_variable() {
    for (name, value, sign) in [
        ("HIPFIRE_PROFILE", "1", "HIPFIRE_PROFILE"),
        ("HIPFIRE_PROFILE_JSON", "out.json", "HIPFIRE_PROFILE_JSON"),
        ("ROCPROFILER_METRICS_PATH", "x", "ROCPROFILER_METRICS_PATH"),
        ("ROCPROF_ATT", "0", "ROCPROF_ATT"),
        (
            "LD_PRELOAD",
            "/a.so:/opt/rocm/lib/librocprofiler64.so.1",
            "LD_PRELOAD (librocprofiler64.so.1)",
        ),
        ("LD_PRELOAD", "/usr/lib/libprofiler.so.0 /b.so", "LD_PRELOAD (libprofiler.so.0)"),
        ("HSA_TOOLS_LIB", "libroctracer64.so", "HSA_TOOLS_LIB (libroctracer64.so)"),
        ("ROCP_TOOL_LIB", "/x/librocprof-tool.so", "ROCP_TOOL_LIB (librocprof-tool.so)"),
    ] {
        assert_eq!(profiler(&variables(&[("PATH", "/bin"), (name, value)])).as_deref(), Some(sign));
    }
}

#[test]
fn other_variables_are_no_sign_of_a_profiler() {
    for (name, value) in [
        ("HIPFIRE_PROFILE", "0"),
        ("HIPFIRE_PROFILE", ""),
        ("ROCPROF_OFF", ""),
        ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2:/usr/lib/libtcmalloc.so.4"),
        ("LD_LIBRARY_PATH", "/opt/rocprofiler/lib"),
        ("LD_PRELOAD", "/opt/rocprofiler/libharmless.so"),
    ] {
        assert_eq!(profiler(&variables(&[(name, value)])), None, "{name}={value}");
    }
}

#[test]
fn equal_arms_get_no_filler() {
    let mut envs = [variables(&[("MODE", "aa")]), variables(&[("MODE", "bb")])];
    let before = envs.clone();
    equalise(&mut envs);
    assert_eq!(envs, before);
}

#[test]
fn a_difference_in_bytes_takes_one_variable_of_one_name_in_both_arms() {
    let mut envs = [variables(&[("MODE", "short")]), variables(&[("MODE", "rather-longer")])];
    equalise(&mut envs);
    let names = |env: &Variables| env.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&envs[0]), ["MODE", "GATE_PAD"]);
    assert_eq!(names(&envs[0]), names(&envs[1]));
    assert_eq!(block_bytes(&envs[0]), block_bytes(&envs[1]));
}

proptest! {
    #[test]
    fn both_arms_get_equally_much(
        a in proptest::collection::vec(("[A-Z]{1,9}", "[ -~]{0,40}"), 0..12),
        b in proptest::collection::vec(("[A-Z]{1,9}", "[ -~]{0,40}"), 0..12),
    ) {
        let own = |list: Vec<(String, String)>| list.into_iter().map(|(n, v)| (n.into(), v.into())).collect::<Variables>();
        let (a, b) = (own(a), own(b));
        let mut envs = [a.clone(), b.clone()];
        equalise(&mut envs);
        prop_assert_eq!(envs[0].len(), envs[1].len());
        prop_assert_eq!(block_bytes(&envs[0]), block_bytes(&envs[1]));
        prop_assert_eq!(&envs[0][..a.len()], &a[..], "the arm's own variables stay in front, unchanged");
        prop_assert_eq!(&envs[1][..b.len()], &b[..]);
        let again = { let mut again = envs.clone(); equalise(&mut again); again };
        prop_assert_eq!(again, envs, "doing it twice changes nothing");
    }
}
