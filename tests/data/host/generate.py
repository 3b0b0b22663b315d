#!/usr/bin/env python3
"""Writes the invented hosts of the tests: metrics/*.bin, NAME.snapshot.json and expected.json. usage: generate.py [FOLDER]

Every value is invented; only the shapes are those of the kernel's files. `healthy` is whole, every other host says what differs from it.
"""
import base64
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import metrics  # noqa: E402

HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
BLOBS = metrics.write(HERE)
RELEASE = "6.11.0-17-generic"
CARDS = [(3, "0000:1b:00.0", 0x1B00, 130), (4, "0000:5e:00.0", 0x5E00, 131)]
FIRMWARE = dict(mec="0x000000b4", mec2="0x000000b4", rlc="0x0000003b", sdma="0x00000016", smc="0x00556900", sos="0x0036021a", vcn="0x09118008")


def blob(name):
    return {"b64": base64.b64encode(BLOBS[name]).decode()}


def device(number, rest):
    return f"sys/class/drm/card{number}/device/{rest}"


def sensor(number, rest):
    return device(number, f"hwmon/hwmon{number + 9}/{rest}")


def every(pairs, place=device):
    """The same files for every card."""
    return {place(number, name): value for number, *_ in CARDS for name, value in pairs.items()}


def properties(location, minor, xcc=8, units=304, device_id=29857):
    pairs = dict(cpu_cores_count=0, simd_count=units * 4, simd_per_cu=4, gfx_target_version=90402, vendor_id=4098, device_id=device_id,
                 location_id=location, domain=0, drm_render_minor=minor, unique_id=4_000_000 + minor, hive_id=77, num_xcc=xcc, fw_version=180,
                 sdma_fw_version=22, max_engine_clk_fcompute=2100)
    return "".join(f"{name} {value}\n" for name, value in pairs.items())


def nodes(partitions=1):
    files = {"gpu_id": "0", "properties": "cpu_cores_count 128\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\ndomain 0\n"}
    found = {f"sys/class/kfd/kfd/topology/nodes/0/{name}": text for name, text in files.items()}
    node = 0
    for _, _, location, minor in CARDS:
        for part in range(partitions):
            node += 1
            place = f"sys/class/kfd/kfd/topology/nodes/{node}"
            found[f"{place}/gpu_id"] = f"{1000 + node}\n"
            found[f"{place}/properties"] = properties(location, minor + part, 8 // partitions, 304 // partitions)
    return found


def process(pid, vram, name=None, gpu=1001):
    place = f"sys/class/kfd/kfd/proc/{pid}"
    found = {f"{place}/vram_{gpu}": f"{vram}\n", f"{place}/stats_{gpu}/cu_occupancy": "0\n", f"{place}/pasid": "32771\n"}
    if name:
        found[f"proc/{pid}/comm"] = f"{name}\n"
    return found


def healthy():
    files = {
        "proc/sys/kernel/osrelease": RELEASE, "proc/sys/kernel/tainted": "12288", "proc/sys/kernel/numa_balancing": "0",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt pci=realloc=off", "proc/loadavg": "0.31 0.22 0.20 2/1500 9000",
        "proc/uptime": "90000.12 1000000.00", "proc/pressure/cpu": "some avg10=0.00 avg60=0.10 avg300=0.05 total=1",
        "proc/meminfo": "MemTotal:       1056000000 kB\nMemAvailable:   1040000000 kB\nSwapTotal:       8388608 kB\nSwapFree:        8388608 kB",
        "proc/cpuinfo": "processor : 0\nmodel name : Invented 64-Core\nphysical id : 0\nflags : fpu sse2\nprocessor : 1\nphysical id : 0\nflags : fpu",
        "proc/self/status": "Name:\tgate\nCpus_allowed_list:\t0-127", "proc/self/ns/pid": "pid:[4026531836]",
        "sys/devices/system/cpu/online": "0-127", "sys/devices/system/cpu/smt/active": "0",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance", "sys/devices/system/cpu/cpu0/cpuidle/state2/disable": "1",
        "sys/devices/system/node/has_cpu": "0", "sys/devices/system/node/node0/cpulist": "0-127",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "opt/rocm-7.0.1/.info/version": "7.0.1-38",
        "opt/rocm-7.0.1/lib/librocblas.so.5": "", "opt/rocm-7.0.1/lib/librocblas.so.5.0.70001": "", "opt/rocm-7.0.1/lib/libother.so.1": "",
        "sys/module/amdgpu/initstate": "live", "sys/module/amdgpu/version": "6.14.9", "sys/module/amdgpu/srcversion": "AAAABBBBCCCCDDDD0000111",
        "sys/module/amdgpu/taint": "OE", "sys/module/amdgpu/parameters/cwsr_enable": "1", "sys/module/amdgpu/parameters/runpm": "-1",
        f"lib/modules/{RELEASE}/updates/dkms/amdgpu.ko.zst": "",
        "cmd/dkms_status/stdout": f"amdgpu/6.14.9-1.24.04, {RELEASE}, x86_64: installed",
        "cmd/dmesg/stdout": "[    9.000001] amdgpu 0000:1b:00.0: amdgpu: ready",
        "sys/class/drm/card0/device/uevent": "DRIVER=mgag200\nPCI_SLOT_NAME=0000:02:00.0", "sys/class/drm/card0/device/vendor": "0x102b",
        "dev/kfd": "",
    }
    files |= nodes()
    files |= every(dict(
        vendor="0x1002", device="0x74a1", subsystem_vendor="0x1002", subsystem_device="0x74a1", revision="0x00", product_name="",
        vbios_version="113-INVENTED-01", numa_node="0", gpu_busy_percent="0", mem_info_vram_total="206141652992", mem_info_vram_used="301989888",
        mem_info_vram_vendor="hynix", pp_dpm_sclk="S: 132Mhz *\n0: 500Mhz\n1: 2100Mhz", pp_dpm_mclk="0: 900Mhz *\n1: 1300Mhz",
        power_dpm_force_performance_level="auto", current_compute_partition="SPX", current_memory_partition="NPS1",
        current_link_speed="32.0 GT/s PCIe", current_link_width="16", gpu_metrics=blob("v1_9_idle")) | {"power/runtime_status": "active"})
    files |= every({f"fw_version/{name}_fw_version": version for name, version in FIRMWARE.items()})
    files |= every(dict(name="amdgpu", power1_input="131000000", power1_cap="750000000", power1_cap_default="750000000", temp2_label="junction",
                        temp2_input="41000", temp2_crit="100000", temp3_label="mem", temp3_input="36000", temp3_crit="105000"), sensor)
    for number, bdf, *_ in CARDS:
        files[device(number, "uevent")] = f"DRIVER=amdgpu\nPCI_ID=1002:74A1\nPCI_SLOT_NAME={bdf}"
        files[device(number, "unique_id")] = f"00000000000000{number:02x}"
    return files


def one(pairs, place=device):
    """Files of the first card only."""
    return {place(CARDS[0][0], name): value for name, value in pairs.items()}


LOG = "cmd/dmesg/stdout"
GUEST = {"vendor": "0x1002", "device": "0x74b5", "pp_dpm_sclk": "0: 500Mhz\n1: 2101Mhz *\n2: 2100Mhz"}
# Name: what differs, what is absent, the verdict, and the checks that do not pass.
HOSTS = {
    "idle_between_levels": (every({"pp_dpm_sclk": "0: 500Mhz\n1: 141Mhz *\n2: 2100Mhz"}), [], "pass", []),
    "under_load": (one({"gpu_busy_percent": "100", "gpu_metrics": blob("v1_9_load"), "pp_dpm_sclk": "0: 500Mhz\n1: 1290Mhz *\n2: 2100Mhz"})
                   | one({"power1_input": "701000000", "temp2_input": "66000"}, sensor), [], "fail", ["Q-BUSY", "Q-POWER"]),
    "hot": (one({"gpu_busy_percent": "100", "gpu_metrics": blob("v1_9_hot"), "pp_dpm_sclk": "0: 500Mhz\n1: 940Mhz *\n2: 2100Mhz"})
            | one({"power1_input": "598000000", "temp2_input": "99000", "temp3_input": "104000"}, sensor)
            | {LOG: "[ 8000.0] amdgpu 0000:1b:00.0: amdgpu: WARN: GPU is throttled, expect performance decrease. thermal."},
            [], "fail", ["L-DMESG-THROTTLE", "Q-BUSY", "T-TEMP"]),
    "contended": (process(3001, 40 << 30, "trainer") | process(3002, 0, "rdcd")
                  | one({"gpu_busy_percent": "55", "mem_info_vram_used": str(41 << 30)}) | one({"power1_input": "380000000"}, sensor),
                  [], "fail", ["P-KFDPROC", "P-MONITOR", "Q-BUSY", "Q-VRAM"]),
    "stranded": (one({"mem_info_vram_used": str(30 << 30)}), [], "fail", ["Q-VRAM-STRANDED"]),
    "zombie": (process(3003, 1 << 30) | one({"mem_info_vram_used": str((1 << 30) + 300_000_000)}), [], "fail", ["P-KFDPROC-ORPHAN", "Q-VRAM"]),
    "partitioned": (nodes(8) | every({"current_compute_partition": "CPX", "current_memory_partition": "NPS4"}), [], "fail", ["G-CPART", "G-MPART"]),
    "leftover_clock": (every({"power_dpm_force_performance_level": "perf_determinism", "pp_dpm_sclk": "S: 132Mhz *\n0: 500Mhz\n1: 1800Mhz"}),
                       [], "fail", ["C-PERFLEVEL", "C-SCLKMAX"]),
    "leftover_cap": (every({"power1_cap": "450000000"}, sensor), [], "fail", ["C-PCAP"]),
    "stuck_clock": (one({"gpu_busy_percent": "99", "pp_dpm_sclk": "S: 62Mhz *\n0: 500Mhz\n1: 2100Mhz"}) | one({"power1_input": "178000000"}, sensor),
                    [], "fail", ["C-STUCK", "Q-BUSY"]),
    "untuned": ({"proc/sys/kernel/numa_balancing": "1", "proc/cmdline": "BOOT_IMAGE=/vmlinuz ro quiet",
                 "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
                 "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, [], "warn",
                ["H-GOV", "H-IOMMU", "H-NUMABAL", "H-REALLOC", "H-THP"]),
    "interfaces_differ": ({LOG: "[   12.0] amdgpu 0000:1b:00.0: amdgpu: smu driver if version = 0x00000030, smu fw if version = 0x00000034, "
                           "smu fw program = 4"}, [], "warn", ["F-SMUIF"]),
    "oversubscribed": ({LOG: "[ 8100.0] amdgpu: Runlist is getting oversubscribed. Expect reduced ROCm performance."}, [], "warn", ["L-OVERSUB"]),
    "was_reset": ({LOG: "[ 200.0] amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!"}, [], "warn", ["L-RESET"]),
    "guest": (every(GUEST) | every({"power1_input": "192000000"}, sensor), [], "warn", ["I-VIRT"]),
    "counters_stuck": (every({"gpu_metrics": blob("v1_6_stuck")}), [], "warn", ["T-RESID-TRUST"]),
    "suspended": (one({"power/runtime_status": "suspended"}), [], "fail", ["C-RUNPM"]),
    "in_tree_driver": ({"sys/module/amdgpu/taint": "", "cmd/dkms_status/stdout": ""} | every({"power1_average": "131000000"}, sensor),
                       ["sys/module/amdgpu/version", f"lib/modules/{RELEASE}/updates/dkms/amdgpu.ko.zst"] + list(every({"power1_input": ""}, sensor)),
                       "warn", ["D-VER"]),
    "hidden_devices": ({"env.json": json.dumps({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"})}, [], "fail", ["E-VISMIX"]),
}


# Other parts, of which little more than a card and a node was captured: the node's version (none: no topology) and the telemetry table.
PARTS = {"gfx1201": (120001, "v1_3"), "gfx90a": (90010, "v1_3_page"), "gfx1151": (110501, "v3_0"), "gfx1103": (110003, "v2_1"),
         "without_topology": (None, "v1_3")}


def part(version, table):
    place = "sys/class/drm/card1/device"
    files = {f"{place}/uevent": "DRIVER=amdgpu\nPCI_ID=1002:7000\nPCI_SLOT_NAME=0000:c4:00.0", f"{place}/gpu_metrics": blob(table),
             f"{place}/pp_dpm_sclk": "0: 600Mhz *\n1: 2900Mhz", f"{place}/hwmon/hwmon5/name": "amdgpu",
             f"{place}/hwmon/hwmon5/temp1_label": "edge", f"{place}/hwmon/hwmon5/temp1_input": "43000",
             f"{place}/hwmon/hwmon5/power1_average": "12000000"}
    if version:
        node = "sys/class/kfd/kfd/topology/nodes/1"
        files |= {f"{node}/gpu_id": "5000", f"{node}/properties": f"simd_count 80\ngfx_target_version {version}\nlocation_id 50176\ndomain 0\n"}
    return files


def entry(value):
    return value if isinstance(value, dict) else {"t": value}


def write(name, base, files, absent):
    document = {"kind": "gate-host-snapshot/1", "label": "INVENTED", "host": name, "base": base,
                "files": {path: entry(value) for path, value in sorted(files.items())}}
    if absent:
        document["absent"] = sorted(absent)
    (HERE / f"{name}.snapshot.json").write_text(json.dumps(document, indent=1) + "\n")


def main():
    write("healthy", None, healthy(), [])
    expected = {"healthy": {"verdict": "pass", "checks": []}}
    for name, (files, absent, verdict, checks) in HOSTS.items():
        write(name, "healthy", files, absent)
        expected[name] = {"verdict": verdict, "checks": sorted(checks)}
    # A device that refuses its files, for each reason; not a host of the table.
    refused = [("gpu_busy_percent", "EPERM"), ("current_compute_partition", "EPERM"), ("pp_dpm_sclk", "EBUSY"), ("unique_id", "EACCES"),
               ("vbios_version", "ENOENT"), ("gpu_metrics", "EIO")]
    write("refusing", "healthy", {device(3, file): {"errno": errno} for file, errno in refused}, [])
    for name, (version, table) in PARTS.items():
        write(f"part_{name}", None, part(version, table), [])
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


main()
