//! A machine's part of an identity: what has to be the same for two figures to be comparable.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::card::{Card, GUEST_MI300X, Node};
use super::machine::{Machine, Surroundings};
use super::seen::Seen;
use super::smi::{Smi, Told};
use super::visible::{self, visible};
use crate::model::identity::{Facts, Unknown, none};

/// The facts of a record's identity: those of the machine, those of its GPUs, and what is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Kernel, processor, governor, load.
    pub machine: Facts,
    /// The devices: empty where they are not known.
    pub gpu: Facts,
    /// What is not known.
    pub missing: Vec<Unknown>,
}

/// The full identity of a machine: fields by their names, `gpu.product`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Described {
    /// What is known.
    pub fields: BTreeMap<String, Value>,
    /// What is not, each with its reason.
    pub missing: Vec<Unknown>,
}

impl Described {
    fn put<T: Into<Value>>(&mut self, field: &str, value: Seen<T>) {
        match value {
            Ok(value) => drop(self.fields.insert(field.to_owned(), value.into())),
            Err(unseen) => self.lacks(field, unseen.to_string()),
        }
    }

    fn lacks(&mut self, field: &str, why: String) {
        self.missing.push(Unknown {
            field: field.to_owned(),
            why,
        });
    }

    /// One value a card; known only where every card's is.
    fn of_cards<T: Into<Value>>(&mut self, field: &str, cards: &[Card], of: impl Fn(&Card) -> Seen<T>) {
        let values: Seen<Vec<Value>> = cards.iter().map(|card| of(card).map(Into::into)).collect();
        self.put(field, values);
    }
}

/// What a record says of a machine.
pub fn recorded(machine: &Machine) -> Recorded {
    let mut described = Described::default();
    let cpu = json!({
        "model": machine.cpu.model.as_deref().unwrap_or("unnamed"),
        "count": machine.cpu.threads.as_ref().ok(),
    });
    described.put("machine.kernel", machine.kernel.release.clone());
    described.put("machine.governor", machine.cpu.governor.clone());
    described.put("machine.load", machine.cpu.load.clone());
    described.put("machine.cpu", machine.cpu.threads.clone().map(|_| cpu));
    let gpus = machine.nodes.as_deref().unwrap_or_default();
    let absent = gpus.is_empty() && (machine.nodes.is_ok() || !machine.compute_device);
    if gpus.is_empty() && !absent {
        described.lacks("gpu", "there is a compute device, but no topology in sysfs".to_owned());
    }
    if !gpus.is_empty() {
        gpu(machine, gpus, &mut described);
    }
    let part = |name: &str| -> Facts {
        let fields = described.fields.iter();
        let own = fields.filter_map(|(field, value)| Some((field.strip_prefix(name)?.strip_prefix('.')?.to_owned(), value.clone())));
        own.collect()
    };
    Recorded {
        machine: part("machine"),
        gpu: if absent { none() } else { part("gpu") },
        missing: described.missing,
    }
}

/// The devices as a baseline compares them: what they are, and the software below a measured program.
fn gpu(machine: &Machine, gpus: &[Node], described: &mut Described) {
    let of = |fact: fn(&Node) -> &String| gpus.iter().map(fact).cloned().collect::<Vec<String>>();
    described.put("gpu.archs", Ok(of(|gpu| &gpu.arch)));
    described.put("gpu.pci", Ok(of(|gpu| &gpu.bdf)));
    match products(machine) {
        Some(products) => described.put("gpu.product", Ok(alike(products))),
        None => described.lacks(
            "gpu.product",
            "the device does not name itself, and its PCI id is not in the table".to_owned(),
        ),
    }
    let driver = &machine.driver;
    let version = driver.version.as_deref().ok();
    match (version, driver.srcversion.as_deref()) {
        (None, Err(unseen)) => described.lacks("gpu.driver", unseen.to_string()),
        (_, srcversion) => {
            let version = version.unwrap_or("in the kernel's tree");
            described.put("gpu.driver", Ok(json!({ "version": version, "srcversion": srcversion.ok() })));
        }
    }
    // A program may bring its own: then none is installed here.
    if !machine.rocm.is_empty() {
        described.put("gpu.rocm", Ok(json!(machine.rocm)));
    }
    match firmware(machine, gpus) {
        firmware if firmware.is_empty() => described.lacks("gpu.firmware", "no version of any firmware is readable".to_owned()),
        firmware => described.put("gpu.firmware", Ok(json!(firmware))),
    }
}

/// Every card's product; none where one has none, or there is no card.
fn products(machine: &Machine) -> Option<Vec<String>> {
    let products: Option<Vec<String>> = machine.cards.iter().map(Card::product_name).collect();
    products.filter(|products| !products.is_empty())
}

/// One value where all are alike.
fn alike(values: Vec<String>) -> Value {
    let different: BTreeSet<&String> = values.iter().collect();
    match values.first() {
        Some(first) if different.len() == 1 => first.as_str().into(),
        _ => values.into(),
    }
}

/// Firmware by name; several versions where cards differ. Without the driver's files, what the compute driver says.
fn firmware(machine: &Machine, gpus: &[Node]) -> BTreeMap<String, Value> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for card in &machine.cards {
        for (name, version) in &card.firmware {
            if let Ok(version) = version {
                versions.entry(name.clone()).or_default().push(version.clone());
            }
        }
    }
    if versions.is_empty() {
        for gpu in gpus {
            for (name, version) in [("mec", gpu.firmware.0), ("sdma", gpu.firmware.1)] {
                versions
                    .entry(name.to_owned())
                    .or_default()
                    .extend(version.map(|version| version.to_string()));
            }
        }
        versions.retain(|_, versions| !versions.is_empty());
    }
    versions.into_iter().map(|(name, versions)| (name, alike(versions))).collect()
}

/// Everything that an identity of the machine holds.
pub fn described(machine: &Machine) -> Described {
    let mut all = Described::default();
    devices(machine, &mut all);
    selection(machine, &mut all);
    let (driver, kernel, cpu) = (&machine.driver, &machine.kernel, &machine.cpu);
    if !machine.cards.is_empty() || driver.state.is_ok() {
        match driver.is_dkms() {
            Some(dkms) => all.put("driver.kind", Ok(if dkms { "dkms" } else { "in-tree" })),
            None => all.lacks("driver.kind", "its signs disagree, or there are none".to_owned()),
        }
        all.put("driver.version", driver.version.clone());
        all.put("driver.srcversion", driver.srcversion.clone());
        all.put("driver.parameters", Ok(json!(driver.parameters)));
    }
    all.put("kernel.release", kernel.release.clone());
    all.put("kernel.tainted", kernel.tainted.clone());
    all.put("kernel.cmdline", kernel.cmdline.clone().map(|cmdline| told(&cmdline)));
    all.put("rocm", Ok(json!(machine.rocm)));
    if !machine.rocm_libraries.is_empty() {
        all.put("rocm_libraries", Ok(json!(machine.rocm_libraries)));
    }
    all.put("host.cpu", cpu.model.clone());
    all.put("host.threads", cpu.threads.clone());
    all.put("host.sockets", cpu.sockets.clone());
    all.put("host.numa_nodes", cpu.numa_nodes.clone());
    all.put("host.smt", cpu.smt_active.clone());
    all.put("host.governor", cpu.governor.clone());
    all.put("host.numa_balancing", cpu.numa_balancing.clone());
    all.put("host.thp", cpu.thp.clone());
    all.put("host.memory_bytes", machine.memory.total_bytes.clone());
    all.put("host.container", Ok(machine.container.is_some()));
    all.put("env", Ok(json!(machine.env)));
    let Surroundings { runner, cgroup, caches } = &machine.surroundings;
    for (field, value) in [("runner.name", runner), ("host.cgroup", cgroup)] {
        if let Some(value) = value {
            all.put(field, Ok(value.as_str()));
        }
    }
    if !caches.is_empty() {
        all.put("caches", Ok(json!(caches)));
    }
    programs(machine, &mut all);
    all
}

/// What the helpers and AMD's tools say; why not, where they were asked.
fn programs(machine: &Machine, all: &mut Described) {
    for (name, told) in &machine.programs.helpers {
        match told {
            Ok(found) => all.put(&format!("helper.{name}"), Ok(Value::Object(found.clone()))),
            Err(why) => all.lacks(&format!("helper.{name}"), why.clone()),
        }
    }
    let Some(Smi { tool, devices }) = &machine.programs.smi else {
        return;
    };
    match devices {
        Ok(devices) => {
            let of = |field: fn(&Told) -> &Option<String>| json!(devices.iter().map(field).collect::<Vec<_>>());
            all.put("smi.tool", Ok(tool.as_str()));
            all.put("smi.pci", Ok(of(|told| &told.bdf)));
            all.put("smi.product", Ok(of(|told| &told.product)));
            all.put("smi.vbios", Ok(of(|told| &told.vbios)));
        }
        Err(why) => all.lacks("smi", format!("{tool}: {why}")),
    }
}

fn devices(machine: &Machine, all: &mut Described) {
    let cards = &machine.cards;
    match &machine.nodes {
        Ok(nodes) => {
            let of = |fact: fn(&Node) -> Value| Ok(nodes.iter().map(fact).collect::<Vec<Value>>());
            all.put("gpu.archs", of(|node| json!(node.arch)));
            all.put("gpu.pci", of(|node| json!(node.bdf)));
            all.put("gpu.cu", of(|node| json!(node.cu)));
            all.put("gpu.xcc", of(|node| json!(node.xcc)));
            all.put("firmware.mec_sdma", of(|node| json!(node.firmware)));
        }
        Err(unseen) => all.lacks("gpu.archs", unseen.to_string()),
    }
    if cards.is_empty() {
        return;
    }
    match products(machine) {
        Some(products) => all.put("gpu.product", Ok(products)),
        None => all.lacks(
            "gpu.product",
            "a device does not name itself, and its PCI id is not in the table".to_owned(),
        ),
    }
    all.of_cards("gpu.pci_id", cards, |card| card.device.clone());
    all.of_cards("gpu.subsystem", cards, |card| card.subsystem.clone());
    all.of_cards("gpu.vbios", cards, |card| card.vbios.clone());
    all.of_cards("gpu.vram_bytes", cards, |card| card.vram_bytes.0.clone());
    all.of_cards("gpu.vram_vendor", cards, |card| card.vram_vendor.clone());
    all.of_cards("gpu.uid_hash", cards, |card| card.uid_hash.clone());
    all.of_cards("gpu.guest", cards, |card| {
        let given = card.device.clone()? == GUEST_MI300X;
        Ok(given || machine.cpu.hypervisor == Ok(true))
    });
    all.of_cards("partition.compute", cards, |card| card.compute_partition.clone());
    all.of_cards("partition.memory", cards, |card| card.memory_partition.clone());
    all.of_cards("limits.power_cap_w", cards, |card| card.cap_w.clone());
    all.of_cards("limits.power_cap_default_w", cards, |card| card.cap_default_w.clone());
    all.of_cards("limits.perf_level", cards, |card| card.perf_level.clone());
    let top = |steps: &Seen<super::card::Steps>| steps.as_ref().map_err(Clone::clone).map(|steps| steps.last().map(|step| step.mhz));
    all.of_cards("limits.sclk_max_mhz", cards, |card| top(&card.sclk));
    all.of_cards("limits.mclk_max_mhz", cards, |card| top(&card.mclk));
    let names: BTreeSet<&String> = cards.iter().flat_map(|card| card.firmware.keys()).collect();
    for name in names {
        all.of_cards(&format!("firmware.{name}"), cards, |card| {
            let unseen = || super::seen::Unseen::absent(&format!("{}/fw_version/{name}_fw_version", card.name));
            card.firmware.get(name).cloned().unwrap_or_else(|| Err(unseen()))
        });
    }
}

/// Set and unset are both recorded: what hides a device explains what was measured.
fn selection(machine: &Machine, all: &mut Described) {
    for name in [visible::DRIVER].into_iter().chain(visible::RUNTIME) {
        let value = machine.env.get(name).map_or(Value::Null, |value| value.as_str().into());
        all.put(&format!("selection.{name}"), Ok(value));
    }
    if let Ok(nodes) = &machine.nodes {
        match visible(&machine.env, nodes.len()) {
            Ok(seen) => {
                let seen: Vec<&String> = seen.iter().filter_map(|&index| nodes.get(index)).map(|node| &node.bdf).collect();
                all.put("selection.resolved", Ok(json!(seen)));
            }
            Err(why) => all.lacks("selection.resolved", why),
        }
    }
}

/// A kernel's command line, without what only says where it was started from.
fn told(cmdline: &str) -> String {
    let place = |word: &&str| !["root=", "BOOT_IMAGE=", "initrd="].iter().any(|start| word.starts_with(start));
    cmdline.split_whitespace().filter(place).collect::<Vec<&str>>().join(" ")
}
