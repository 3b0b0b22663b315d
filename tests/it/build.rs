//! Arms that are really built: kept and found again, damaged, shared, failing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gate::edge::arms::build::BuildFailed;
use gate::edge::arms::store::{Limits, Store};
use gate::edge::arms::trees::Trees;
use gate::edge::arms::{Built, Identical, Made, Maker, identical};
use gate::edge::environment::Scrubbed;
use gate::edge::git::Repository;

use crate::alone::alone;
use crate::playground::{Checkout, Playground, everything};

/// A C program where there is a compiler, else a script that is "compiled" by copying.
const COMPILE: &str = "mkdir -p build; if command -v cc >/dev/null; then cc -O1 -o build/prog main.c; else cp main.c build/prog; fi";

/// A checkout with everything that making arms needs.
struct Yard<'a> {
    checkout: Checkout<'a>,
    scrubbed: Scrubbed,
    trees: Trees,
    store: Store,
    steps: Vec<Vec<String>>,
    env: Vec<(String, String)>,
    artifacts: Vec<String>,
    timeout: Duration,
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

fn shell(text: &str) -> Vec<Vec<String>> {
    vec![words(&["sh", "-c", text])]
}

impl<'a> Yard<'a> {
    fn new(place: &'a Playground) -> Self {
        let checkout = place.repository("r");
        checkout.write("main.c", "int main(void) { return 1; }\n");
        checkout.commit("one");
        Self {
            trees: Trees::open(&checkout.state(), &checkout.open()).expect("the folder is ours"),
            store: Store::open(&checkout.state().join("cache"), Limits::DEFAULT).expect("the folder is ours"),
            checkout,
            scrubbed: place.scrubbed(),
            steps: shell(COMPILE),
            env: Vec::new(),
            artifacts: words(&["build/*"]),
            timeout: Duration::from_secs(60),
        }
    }

    fn make(&self, revision: &str) -> anyhow::Result<Made> {
        self.make_of(&self.checkout.open(), revision)
    }

    fn make_of(&self, repository: &Repository, revision: &str) -> anyhow::Result<Made> {
        let maker = Maker {
            trees: &self.trees,
            store: &self.store,
            scrubbed: &self.scrubbed,
            steps: &self.steps,
            env: &self.env,
            artifacts: &self.artifacts,
            submodules: false,
            timeout: self.timeout,
            interrupts: None,
        };
        maker.make(repository, revision, &self.log())
    }

    fn log(&self) -> PathBuf {
        self.checkout.top.join(".gate/build.log")
    }

    fn made(&self, revision: &str) -> Made {
        self.make(revision).unwrap_or_else(|error| panic!("not made: {error:#}"))
    }

    fn refused(&self) -> String {
        format!("{:#}", self.make("HEAD").expect_err("it was made"))
    }

    /// The files of kept builds.
    fn kept(&self) -> Vec<PathBuf> {
        let files = everything(&self.checkout.top.join(".gate/cache/builds"));
        files
            .into_keys()
            .filter(|path| path.parent().is_some_and(|folder| !folder.ends_with("builds")))
            .collect()
    }
}

fn runs(made: &Made) -> Option<i32> {
    Command::new(made.tree.path().join("build/prog")).status().expect("it runs").code()
}

#[test]
fn both_arms_are_built_kept_and_found_again() {
    if !alone("build::both_arms_are_built_kept_and_found_again") {
        return;
    }
    let place = Playground::new();
    let yard = Yard::new(&place);
    yard.checkout.write("main.c", "int main(void) { return 2; }\n");
    let scratch = yard.trees.claim(None).expect("a folder");
    let snapshot = yard.checkout.open().snapshot(scratch.path(), false).expect("a snapshot");
    let before = yard.checkout.inside();
    let (a, b) = (yard.made("HEAD"), yard.make_of(&snapshot.repository, &snapshot.tree));
    let b = b.expect("it can be built");
    assert!(
        matches!((a.built, b.built), (Built::Now(_), Built::Now(_))),
        "{:?} {:?}",
        a.built,
        b.built
    );
    assert_eq!((runs(&a), runs(&b)), (Some(1), Some(2)));
    assert_eq!(identical(&a, &b), None);
    for made in [&a, &b] {
        made.check().expect("nothing else wrote to it");
        assert_eq!(made.stamps().expect("the files are there").len(), 1);
    }
    let record = a.artifacts.of_record();
    assert_eq!(
        (
            record[0].path.as_str(),
            record[0].md5.as_ref().map_or(0, String::len),
            record[0].blake3.len()
        ),
        ("build/prog", 32, 64)
    );
    let (artifacts, tree) = (a.artifacts.clone(), a.tree.path().to_owned());
    drop((a, b));
    assert!(!tree.exists(), "the tree outlived its run");

    let started = Instant::now();
    let again = yard.made("HEAD");
    assert_eq!((again.built, &again.artifacts), (Built::Kept, &artifacts));
    assert_eq!(runs(&again), Some(1));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(again.tree.path(), tree, "equal builds are made in the same place");
    let beside = yard.made("HEAD");
    assert_eq!((beside.built, identical(&again, &beside)), (Built::Kept, Some(Identical::Inputs)));
    assert_ne!(beside.tree.path(), tree, "two arms share a tree");
    assert!(yard.checkout.inside() == before, "the repository was changed");
}

#[test]
fn a_kept_build_depends_on_steps_variables_patterns_and_tools() {
    if !alone("build::a_kept_build_depends_on_steps_variables_patterns_and_tools") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    yard.steps = shell("mkdir -p build; echo \"$LEVEL\" > build/prog");
    yard.env = vec![("LEVEL".to_owned(), "{tree}/x".to_owned())];
    let first = yard.made("HEAD");
    let text = |made: &Made| fs::read_to_string(made.tree.path().join("build/prog")).expect("it was built");
    assert_eq!(
        text(&first),
        format!("{}/x\n", first.tree.path().display()),
        "placeholders in variables"
    );
    // It holds the path of its tree: as long as that is taken, it cannot be used elsewhere.
    let second = yard.made("HEAD");
    assert!(matches!(second.built, Built::Now(_)), "{:?}", second.built);
    assert_eq!(text(&second), format!("{}/x\n", second.tree.path().display()));
    drop((first, second));
    assert_eq!(yard.made("HEAD").built, Built::Kept);
    yard.env[0].1 = "2".to_owned();
    assert_eq!(text(&yard.made("HEAD")), "2\n");
    yard.artifacts = words(&["build/prog"]);
    assert!(matches!(yard.made("HEAD").built, Built::Now(_)), "other patterns");
    yard.checkout.script("bin/cc", "echo cc 17");
    let bin = yard.checkout.top.join("bin");
    for (_, path) in yard.scrubbed.kept.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = format!("{}:{}", bin.display(), path.to_string_lossy()).into();
    }
    assert!(matches!(yard.made("HEAD").built, Built::Now(_)));
    assert_eq!(yard.made("HEAD").built, Built::Kept);
    yard.checkout.script("bin/cc", "echo cc 18");
    assert!(matches!(yard.made("HEAD").built, Built::Now(_)), "another compiler");
}

#[test]
fn damaged_entries_are_made_anew() {
    if !alone("build::damaged_entries_are_made_anew") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    // Like make: what is there is not made again.
    yard.steps = shell("mkdir -p build; test -e build/prog || { echo '#!/bin/sh'; echo exit 7; } > build/prog; chmod +x build/prog");
    assert!(matches!(yard.made("HEAD").built, Built::Now(_)));
    let damages: [&dyn Fn(&Path); 4] = [
        &|file| fs::write(file, "forged").expect("it is ours"),
        &|file| fs::remove_file(file).expect("it is ours"),
        &|file| fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("it is ours"),
        &|file| {
            fs::remove_file(file).expect("it is ours");
            symlink("/bin/true", file).expect("the folder is ours");
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let files = yard.kept();
        damage(files.iter().find(|path| path.ends_with("files/build/prog")).expect("it is kept"));
        let made = yard.made("HEAD");
        // A copy gets its mode from the list: a changed one is mended, not noticed.
        assert!(
            number == 2 || matches!(made.built, Built::Now(_)),
            "damage {number}: {:?}",
            made.built
        );
        assert_eq!(runs(&made), Some(7), "damage {number}");
        drop(made);
        assert_eq!(yard.made("HEAD").built, Built::Kept, "damage {number}: not kept again");
    }
    for junk in [
        "",
        "{}",
        "[[[",
        "{\"version\":1,\"key\":\"x\",\"bound_to\":null,\"artifacts\":{\"../../../x\":{\"link\":{\"target\":\"y\"}}}}",
    ] {
        let list = yard
            .kept()
            .into_iter()
            .find(|path| path.ends_with("list.json"))
            .expect("it is kept");
        fs::write(list, junk).expect("it is ours");
        assert!(matches!(yard.made("HEAD").built, Built::Now(_)), "{junk}");
    }
}

#[test]
fn a_list_cannot_lead_out_of_a_tree() {
    if !alone("build::a_list_cannot_lead_out_of_a_tree") {
        return;
    }
    let place = Playground::new();
    let yard = Yard::new(&place);
    let key = yard.made("HEAD").key;
    let list = yard
        .kept()
        .into_iter()
        .find(|path| path.ends_with("list.json"))
        .expect("it is kept");
    let victim = yard.checkout.top.join("a");
    let above = [
        ("../../../a", "y"),
        (victim.to_str().expect("text"), "y"),
        ("build/prog", "../../x"),
        ("build/prog", "/etc/passwd"),
    ];
    for (path, target) in above {
        let text = format!(r#"{{"version":1,"key":"{key}","bound_to":null,"artifacts":{{"{path}":{{"link":{{"target":"{target}"}}}}}}}}"#);
        fs::write(&list, text).expect("it is ours");
        assert!(matches!(yard.made("HEAD").built, Built::Now(_)), "{path}");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "one\n", "{path}");
    }
}

#[test]
fn a_build_that_writes_outside_its_tree_is_caught() {
    if !alone("build::a_build_that_writes_outside_its_tree_is_caught") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    let shared = place.path("shared");
    fs::create_dir(&shared).expect("the folder is ours");
    let shared = shared.display();
    yard.checkout.write("main.c", "int main(void) { return 2; }\n");
    yard.checkout.commit("two");
    // The target folder is shared, and what stands in the tree is the same file under a second name.
    yard.steps = shell(&format!(
        "mkdir -p build; cat main.c > {shared}/prog; ln -f {shared}/prog build/prog 2>/dev/null || exit 3"
    ));
    let a = yard.made("HEAD^");
    a.check().expect("so far it is what was built");
    let _b = yard.made("HEAD");
    let error = format!("{:#}", a.check().expect_err("B overwrote it"));
    assert!(
        error.contains("build/prog is not what this arm's build made") && error.contains("target folder"),
        "{error}"
    );

    yard.steps = shell(&format!(
        "mkdir -p build; cat main.c > {shared}/prog; ln -s {shared}/prog build/prog"
    ));
    let error = yard.refused();
    assert!(
        error.contains("build/prog: a symlink to") && error.contains("outside the arm's tree"),
        "{error}"
    );
    yard.steps = shell(&format!("cat main.c > {shared}/prog; ln -s {shared} build"));
    let error = yard.refused();
    assert!(
        error.contains("\"build/*\" matches no file") && error.contains("build is a symlink"),
        "{error}"
    );
    yard.steps = shell("true");
    assert_eq!(yard.refused(), "artifacts: \"build/*\" matches no file in the arm's tree");
}

#[test]
fn a_change_that_the_artifacts_do_not_show_is_told() {
    if !alone("build::a_change_that_the_artifacts_do_not_show_is_told") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    yard.checkout.write("README", "only words\n");
    yard.checkout.commit("two");
    yard.steps = shell("mkdir -p build; cp main.c build/prog");
    let (a, b) = (yard.made("HEAD^"), yard.made("HEAD"));
    let found = identical(&a, &b).expect("the files are equal");
    assert_eq!(found, Identical::Stale);
    assert!(found.warning().is_some_and(|warning| warning.contains("stale build")), "{found:?}");
    assert_eq!(Identical::Inputs.warning(), None);
    yard.steps = Vec::new();
    yard.artifacts = Vec::new();
    let (a, b) = (yard.made("HEAD"), yard.made("HEAD"));
    assert_eq!(
        (a.built, identical(&a, &b)),
        (Built::Not, None),
        "nothing is listed: nothing is known"
    );
}

#[test]
fn a_failing_step_is_told_with_its_last_lines() {
    if !alone("build::a_failing_step_is_told_with_its_last_lines") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    let failed = |yard: &Yard<'_>| {
        yard.make("HEAD")
            .expect_err("it failed")
            .downcast::<BuildFailed>()
            .expect("a failed build")
    };
    yard.steps = vec![
        words(&["sh", "-c", "echo first"]),
        words(&["sh", "-c", "seq 100; printf '\\033[31mbad \\007thing\\033[0m\\n' >&2; exit 9"]),
        words(&["sh", "-c", "touch never"]),
    ];
    let error = failed(&yard);
    assert_eq!(error.exit, "failed with exit code 9");
    assert_eq!(
        (error.tail.len(), error.tail[0].as_str(), error.tail[28].as_str()),
        (30, "72", "100")
    );
    assert_eq!(error.tail[29], "bad \u{fffd}thing");
    let log = fs::read_to_string(&error.log).expect("the log is kept");
    assert!(
        log.starts_with("$ sh -c 'echo first'\nfirst\n$ sh -c") && log.contains("\n1\n2\n") && !log.contains("never"),
        "{log}"
    );
    assert!(
        error.to_string().contains("build step `sh -c") && error.to_string().contains("build.log"),
        "{error}"
    );

    yard.timeout = Duration::from_millis(600);
    yard.steps = vec![words(&["sleep", "0.4"]), words(&["sleep", "100"])];
    let started = Instant::now();
    let error = failed(&yard);
    assert!(
        error.exit.contains("was stopped") && error.exit.contains("build_timeout"),
        "{}",
        error.exit
    );
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    yard.timeout = Duration::from_secs(60);
    for (step, says) in [
        (vec!["no-such-program"], "no such program"),
        (vec![], "must name a program"),
        (vec!["./main.c"], "not executable"),
    ] {
        yard.steps = vec![words(&step)];
        let error = failed(&yard);
        assert!(
            error.exit.contains("cannot be started") && error.exit.contains(says),
            "{}",
            error.exit
        );
    }
    yard.steps = vec![words(&["sh", "-c", "kill -9 $$"])];
    assert_eq!(failed(&yard).exit, "was ended by signal 9");
    yard.steps = vec![words(&["{trees}/x"])];
    assert!(yard.refused().contains("{trees} is no placeholder"));
    assert!(yard.kept().is_empty(), "a failed build was kept");
}

#[test]
fn a_build_sees_no_secret_no_login_and_not_the_users_repository() {
    if !alone("build::a_build_sees_no_secret_no_login_and_not_the_users_repository") {
        return;
    }
    let place = Playground::new();
    let mut yard = Yard::new(&place);
    yard.steps = shell("mkdir build; git rev-parse --show-toplevel >> build/git 2>&1; pwd > build/pwd");
    let made = yard.made("HEAD");
    let text = |name: &str| fs::read_to_string(made.tree.path().join("build").join(name)).expect("it was built");
    assert!(text("git").contains("not a git repository"), "{}", text("git"));
    assert_eq!(text("pwd").trim_end(), made.tree.path().to_str().expect("text"));
    let mut scrubbed = place.scrubbed();
    scrubbed.kept.extend([
        ("TERM".into(), "x".into()),
        ("SHLVL".into(), "7".into()),
        ("CFLAGS".into(), "-O2".into()),
    ]);
    let env = gate::edge::arms::build::environment(&scrubbed, &[("CFLAGS".to_owned(), "-O3".to_owned())], yard.trees.path());
    let value = |name: &str| {
        env.iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| value.to_str().expect("text"))
            .collect::<Vec<_>>()
    };
    assert_eq!((value("TERM"), value("SHLVL"), value("CFLAGS")), (vec![], vec![], vec!["-O3"]));
}
