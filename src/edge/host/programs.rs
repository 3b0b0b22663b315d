//! What programs say of a machine that its files do not: the GPU helpers, and AMD's own tools. They are optional, asked once, each within a
//! limit, and never while something is measured.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::snapshot::Entry;
use super::source::Source;
use crate::edge::gpu_helper::{Question, ask};
use crate::edge::process::{self, Environment, Exit, Launch};
use crate::edge::{endpoint, environment};
use crate::model::gpu_helper::ALL;
use crate::model::host::machine::Machine;
use crate::model::host::smi::{self, Smi, or_told};
use crate::model::text::plain_line;

/// How long a helper may take to tell of its devices: a runtime opens every one.
const HELPER_LIMIT: Duration = Duration::from_secs(30);
/// How long one of AMD's tools may take: some versions never end.
const TOOL_LIMIT: Duration = Duration::from_secs(10);
/// Most bytes of a tool's output that are read.
const KEEP_BYTES: usize = 4 << 20;
/// Longest reason.
const WHY_MAX: usize = 300;
/// Where the answer of a served endpoint is kept.
const ENDPOINT: &str = "endpoint";
/// AMD's tools, the newer first, with the words that make them tell of the devices.
const TOOLS: [(&str, &[&str]); 2] = [
    ("amd-smi", &["static", "--json"]),
    (
        "rocm-smi",
        &["--showbus", "--showproductname", "--showvbios", "--showmemvendor", "--json"],
    ),
];

/// Asks the helpers.
pub fn ask_helpers(source: &Source, machine: &mut Machine) {
    let told = ALL.into_iter().filter_map(|name| Some((name.to_owned(), helper(source, name)?)));
    machine.programs.helpers = told.collect();
}

/// Asks AMD's tools, and fills in what sysfs lacks of a device. Without a device and without a tool there is nothing to tell.
pub fn ask_tools(source: &Source, machine: &mut Machine) {
    let Some(smi) = tools(source, machine.cards.len()) else { return };
    for card in &mut machine.cards {
        let told = smi.devices.iter().flatten();
        let bdf = card.bdf.as_ref().ok();
        let Some(told) = told.into_iter().find(|told| told.bdf.is_some() && told.bdf.as_ref() == bdf) else {
            continue;
        };
        if card.product_name().is_none() {
            or_told(&mut card.product, told.product.as_ref());
        }
        or_told(&mut card.vbios, told.vbios.as_ref());
        or_told(&mut card.vram_vendor, told.vram_vendor.as_ref());
    }
    machine.programs.smi = Some(smi);
}

/// Asks a served endpoint whether it is well; a replayed machine tells what was kept.
pub fn ask_endpoint(source: &Source, machine: &mut Machine, url: &str) {
    let told = if source.is_here() {
        let told = endpoint::status(url).map(|status| status.to_string());
        keep(source, ENDPOINT, &told);
        Some(told)
    } else {
        kept(source, ENDPOINT)
    };
    machine.programs.endpoint = told.map(|told| told.and_then(|text| text.trim().parse().map_err(|_| format!("{text:?} is no status"))));
}

/// What was kept of a program: its answer, or why there is none; nothing where it was not asked.
fn kept(source: &Source, name: &str) -> Option<Result<String, String>> {
    let text = |file: &str| source.text(&format!("cmd/{name}/{file}")).ok();
    text("stdout").map(Ok).or_else(|| text("failure").map(Err))
}

fn keep(source: &Source, name: &str, told: &Result<String, String>) {
    let (file, text) = match told {
        Ok(text) => ("stdout", text),
        Err(why) => ("failure", why),
    };
    source.remember(&format!("cmd/{name}/{file}"), Entry::Text(text.clone()));
}

fn helper(source: &Source, name: &str) -> Option<Result<Map<String, Value>, String>> {
    let place = format!("{name}_info");
    let told = if source.is_here() {
        let question = Question {
            helper: name,
            words: &["info"],
            limit: HELPER_LIMIT,
            variables: &[],
        };
        let told = ask(&question, None).map_err(|silence| silence.to_string());
        let told = told.map(|found| Value::Object(without_what_moves(found)).to_string());
        keep(source, &place, &told);
        told
    } else {
        kept(source, &place)?
    };
    Some(told.and_then(|text| serde_json::from_str(&text).map_err(|error| format!("not understood: {error}"))))
}

/// Free memory is no part of what a machine is.
fn without_what_moves(mut found: Map<String, Value>) -> Map<String, Value> {
    for device in found.get_mut("devices").and_then(Value::as_array_mut).into_iter().flatten() {
        let _free = device.as_object_mut().and_then(|device| device.remove("memory_free_bytes"));
    }
    found
}

/// The first tool that names a device, else why the last did not.
fn tools(source: &Source, cards: usize) -> Option<Smi> {
    let mut last = None;
    for (tool, words) in TOOLS {
        let told = if source.is_here() {
            match run(tool, words) {
                Some(told) => told,
                None => continue,
            }
        } else {
            match kept(source, tool) {
                Some(told) => told,
                None => continue,
            }
        };
        let devices = told.and_then(|text| smi::read(&text));
        if source.is_here() {
            // As it was understood: the whole output names serial numbers.
            keep(source, tool, &devices.as_deref().map(smi::written).map_err(Clone::clone));
        }
        let is_answer = devices.is_ok();
        last = Some(Smi {
            tool: tool.to_owned(),
            devices,
        });
        if is_answer {
            break;
        }
    }
    last.or_else(|| {
        let absent = || Smi {
            tool: "amd-smi".to_owned(),
            devices: Err("absent: neither amd-smi nor rocm-smi is in a folder of PATH".to_owned()),
        };
        (source.is_here() && cards > 0).then(absent)
    })
}

/// What a tool printed, or why it did not; none where it is not there.
fn run(tool: &str, words: &[&str]) -> Option<Result<String, String>> {
    let env = environment::of_children(&[]).kept;
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let program = process::resolve(tool, path, Path::new("/")).ok()?;
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(&env),
        cwd: Path::new("/"),
        timeout: TOOL_LIMIT,
        keep_bytes: KEEP_BYTES,
    };
    let ended = process::become_subreaper()
        .map_err(|error| error.to_string())
        .and_then(|()| process::run(&launch, None).map_err(|error| error.to_string()));
    Some(ended.and_then(|ended| match ended.exit {
        Exit::Code(0) => Ok(String::from_utf8_lossy(&ended.stdout.kept).into_owned()),
        Exit::Code(code) => {
            let said = String::from_utf8_lossy(&ended.stderr.kept);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(plain_line(&format!("it ended with exit code {code}: {last}"), WHY_MAX))
        }
        Exit::Signal(number) => Err(format!("signal {number} ended it")),
        Exit::TimedOut => Err(format!("it was still running after {} s and was stopped", TOOL_LIMIT.as_secs())),
        Exit::Interrupted(number) => Err(format!("gate got signal {number}")),
    }))
}
