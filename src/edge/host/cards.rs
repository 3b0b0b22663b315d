//! The devices of the GPU driver, with their sensors.

use std::collections::BTreeMap;

use super::capture::hashed;
use super::source::Source;
use crate::model::gpu_metrics::{self, Metrics};
use crate::model::host::card::{Card, Temperature, steps};
use crate::model::host::seen::{Seen, Unseen, Why};

const DRM: &str = "sys/class/drm";

/// One device's folder, and whether the device sleeps.
struct Device<'a> {
    source: &'a Source,
    folder: String,
    suspended: bool,
}

impl Device<'_> {
    fn parse<T>(&self, file: &str, read: impl FnOnce(&str) -> Option<T>) -> Seen<T> {
        let found = self.source.parse(&format!("{}/{file}", self.folder), read);
        found.map_err(|unseen| unseen.of_device(self.suspended))
    }

    fn text(&self, file: &str) -> Seen<String> {
        self.parse(file, |text| Some(text.to_owned()))
    }

    fn number<T: std::str::FromStr>(&self, file: &str) -> Seen<T> {
        self.parse(file, |text| text.parse().ok())
    }

    /// A number of small steps, in whole units.
    fn scaled(&self, file: &str, steps: f64) -> Seen<f64> {
        self.number::<i64>(file).map(|value| value as f64 / steps)
    }

    fn busy(&self) -> Seen<f64> {
        self.number::<u32>("gpu_busy_percent").map(f64::from)
    }

    fn metrics(&self) -> Seen<Metrics> {
        let path = format!("{}/gpu_metrics", self.folder);
        let blob = self.source.bytes(&path).map_err(|unseen| unseen.of_device(self.suspended))?;
        gpu_metrics::decode(&blob).map_err(|fault| Unseen {
            why: Why::Malformed,
            errno: None,
            at: format!("{path} ({fault})"),
        })
    }
}

/// Every device that the driver `amdgpu` drives, by number. The first card is often a server's console, which another driver drives.
pub fn all(source: &Source) -> Vec<Card> {
    let mut numbers: Vec<u32> = source
        .list(DRM)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.strip_prefix("card")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let names = numbers.into_iter().map(|number| format!("card{number}"));
    names.filter_map(|name| card(source, name)).collect()
}

/// Whether there is any such device.
pub fn are_there(source: &Source) -> bool {
    let names = source.list(DRM).unwrap_or_default();
    let driven = |name: &String| {
        let uevent = source.peek(&format!("{DRM}/{name}/device/uevent"), |text| Some(text.contains("DRIVER=amdgpu")));
        name.starts_with("card") && uevent == Ok(true)
    };
    names.iter().any(driven)
}

/// Looks again at what moves: activity, and where `tables` is set the telemetry table.
pub fn look_again(source: &Source, cards: &mut [Card], tables: bool) {
    for card in cards {
        let device = device(source, &card.name);
        card.busy_pct.push(device.busy());
        if tables {
            card.metrics.push(device.metrics());
        }
    }
}

/// Reads again what somebody may set, or a driver may change by itself: caps, levels, partitions, whether it sleeps.
pub fn settings_again(source: &Source, cards: &mut [Card]) {
    for card in cards {
        let device = device(source, &card.name);
        let hwmon = hwmon(&device);
        card.sclk = device.parse("pp_dpm_sclk", steps);
        card.perf_level = device.text("power_dpm_force_performance_level");
        card.compute_partition = device.text("current_compute_partition");
        card.memory_partition = device.text("current_memory_partition");
        card.runtime_status = device.text("power/runtime_status");
        card.cap_w = device.scaled(&format!("{hwmon}/power1_cap"), 1e6);
    }
}

fn device<'a>(source: &'a Source, name: &str) -> Device<'a> {
    let folder = format!("{DRM}/{name}/device");
    let suspended = source
        .text(&format!("{folder}/power/runtime_status"))
        .is_ok_and(|status| status == "suspended");
    Device { source, folder, suspended }
}

fn card(source: &Source, name: String) -> Option<Card> {
    let uevent = source.text(&format!("{DRM}/{name}/device/uevent")).ok()?;
    let said = |key: &str| uevent.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    (said("DRIVER") == Some("amdgpu")).then_some(())?;
    let bdf = said("PCI_SLOT_NAME").map(str::to_owned);
    let device = device(source, &name);
    let hwmon = hwmon(&device);
    Some(Card {
        bdf: bdf.ok_or_else(|| Unseen::malformed(&format!("{}/uevent", device.folder))),
        device: device.text("device"),
        subsystem: device.text("subsystem_vendor").and_then(|vendor| {
            let (subsystem, revision) = (device.text("subsystem_device")?, device.text("revision")?);
            Ok(format!("{vendor}:{subsystem} {revision}"))
        }),
        uid_hash: device.text("unique_id").map(|uid| hashed(&uid)),
        product: device.text("product_name"),
        vbios: device.text("vbios_version"),
        numa_node: device.number("numa_node"),
        busy_pct: vec![device.busy()],
        vram_bytes: (device.number("mem_info_vram_total"), device.number("mem_info_vram_used")),
        vram_vendor: device.text("mem_info_vram_vendor"),
        sclk: device.parse("pp_dpm_sclk", steps),
        mclk: device.parse("pp_dpm_mclk", steps),
        perf_level: device.text("power_dpm_force_performance_level"),
        compute_partition: device.text("current_compute_partition"),
        memory_partition: device.text("current_memory_partition"),
        link_speed: device.text("current_link_speed"),
        link_width: device.number("current_link_width"),
        runtime_status: device.text("power/runtime_status"),
        firmware: firmware(&device),
        power_w: power(&device, &hwmon),
        cap_w: device.scaled(&format!("{hwmon}/power1_cap"), 1e6),
        cap_default_w: device.scaled(&format!("{hwmon}/power1_cap_default"), 1e6),
        temperatures: temperatures(&device, &hwmon),
        metrics: vec![device.metrics()],
        name,
    })
}

/// Where a card's files are, to be read again and again: its folder and the folder of its sensors below that.
pub fn places(source: &Source, name: &str) -> (String, String) {
    let device = device(source, name);
    let hwmon = hwmon(&device);
    (device.folder, hwmon)
}

/// The folder of its sensors, whose number changes from start to start.
fn hwmon(device: &Device) -> String {
    let names = device.source.list(&format!("{}/hwmon", device.folder)).unwrap_or_default();
    let paths: Vec<String> = names.iter().map(|name| format!("hwmon/{name}")).collect();
    let own = paths
        .iter()
        .find(|path| device.text(&format!("{path}/name")).is_ok_and(|name| name == "amdgpu"));
    own.or(paths.first()).cloned().unwrap_or_else(|| "hwmon".to_owned())
}

/// The power of this moment where there is one, else its average.
fn power(device: &Device, hwmon: &str) -> Seen<(f64, &'static str)> {
    let from = |file: &'static str| device.scaled(&format!("{hwmon}/{file}"), 1e6).map(|watts| (watts, file));
    from("power1_input").or_else(|unseen| {
        let average = from("power1_average");
        if average.as_ref().is_err_and(|other| other.why == Why::Absent) {
            return Err(unseen);
        }
        average
    })
}

/// Sensors are found by their labels: some devices have no first one.
fn temperatures(device: &Device, hwmon: &str) -> BTreeMap<String, Temperature> {
    let files = device.source.list(&format!("{}/{hwmon}", device.folder)).unwrap_or_default();
    let sensors = files
        .iter()
        .filter_map(|file| file.strip_suffix("_label"))
        .filter(|sensor| sensor.starts_with("temp"));
    sensors
        .filter_map(|sensor| {
            let label = device.text(&format!("{hwmon}/{sensor}_label")).ok()?;
            let degrees = |what: &str| device.scaled(&format!("{hwmon}/{sensor}_{what}"), 1e3);
            let temperature = Temperature {
                now_c: degrees("input"),
                crit_c: degrees("crit"),
            };
            Some((label, temperature))
        })
        .collect()
}

fn firmware(device: &Device) -> BTreeMap<String, Seen<String>> {
    let files = device.source.list(&format!("{}/fw_version", device.folder)).unwrap_or_default();
    let names = files.iter().filter_map(|file| Some((file, file.strip_suffix("_fw_version")?)));
    names
        .map(|(file, name)| (name.to_owned(), device.text(&format!("fw_version/{file}"))))
        .collect()
}
