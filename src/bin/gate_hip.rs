//! `gate-hip`: what HIP says of its devices, a warm-up of their memory clocks, and the bandwidth of copies. One line of JSON on standard output.
//!
//! Scalar calls only: `hipDeviceProp_t` changed its layout between ROCm 5 and 6, and is never read. The calls are declared here and not
//! taken from the binding, which says that they return a Rust enum: a code that a newer runtime adds would be undefined behaviour.
#![expect(unsafe_code, reason = "HIP is a C interface")]
#![expect(clippy::disallowed_methods, reason = "the process measures how long its own calls take")]

mod work;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::process::ExitCode;
use std::ptr;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use gate::model::gpu_helper::{HIP, State};
// It finds the library and links it.
use hip_sys as _;
use serde_json::{Map, Value, json};
use work::{Fault, Found, PATIENCE_S, spread};

unsafe extern "C" {
    fn hipRuntimeGetVersion(version: *mut c_int) -> c_int;
    fn hipDriverGetVersion(version: *mut c_int) -> c_int;
    fn hipGetDeviceCount(count: *mut c_int) -> c_int;
    fn hipGetErrorName(code: c_int) -> *const c_char;
    fn hipSetDevice(device: c_int) -> c_int;
    fn hipDeviceGet(handle: *mut c_int, device: c_int) -> c_int;
    fn hipDeviceGetName(name: *mut c_char, length: c_int, handle: c_int) -> c_int;
    fn hipDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) -> c_int;
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> c_int;
    fn hipMalloc(memory: *mut *mut c_void, bytes: usize) -> c_int;
    fn hipMemset(memory: *mut c_void, value: c_int, bytes: usize) -> c_int;
    fn hipMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: *mut c_void) -> c_int;
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int;
    fn hipDeviceSynchronize() -> c_int;
}

/// `hipErrorNoDevice`
const NO_DEVICE: c_int = 100;
/// `hipMemcpyDeviceToHost`
const TO_HOST: c_int = 2;
/// `hipMemcpyDeviceToDevice`
const ON_DEVICE: c_int = 3;
/// Bytes of each of the two arrays, unless told otherwise: beyond the last cache of an MI300X.
const ARRAY_MIB: u64 = 1024;
/// Copies that are measured, after the first half second of them, in which clocks rise.
const COPIES: u32 = 20;
/// That half second.
const UNMEASURED: Duration = Duration::from_millis(500);
/// Copies that a warm-up starts at once.
const AT_ONCE: u32 = 16;
/// Longest name or address.
const TEXT_BYTES: usize = 256;
/// What the first array is filled with.
const PATTERN: u8 = 0x5a;

/// Asks HIP about its devices, warms their memory up, or measures its bandwidth; one line of JSON
#[derive(Debug, Parser)]
#[command(name = "gate-hip", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// One device only, counted as HIP counts what it sees
    #[arg(long, global = true, value_name = "INDEX")]
    device: Option<u32>,
    /// Seconds after which a call that does not come back is given up [default: 120, and the time of the warm-up]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Versions, devices, names, PCI addresses, memory
    Info,
    /// Copy device memory for a while, on every device
    Warmup {
        /// For how long
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
        seconds: u64,
    },
    /// Measure copies within the memory of one device
    Bandwidth {
        /// Size of each of the two arrays in MiB
        #[arg(long, default_value_t = ARRAY_MIB, value_parser = clap::value_parser!(u64).range(1..=65536))]
        mib: u64,
    },
}

fn main() -> ExitCode {
    let Arguments { command, device, limit } = Arguments::parse();
    let (word, asked_s) = match command {
        Command::Info => ("info", 0),
        Command::Warmup { seconds } => ("warmup", seconds),
        Command::Bandwidth { .. } => ("bandwidth", 0),
    };
    let limit = Duration::from_secs(limit.unwrap_or(PATIENCE_S + asked_s));
    work::run(HIP, word, limit, move || {
        let devices = devices(device)?;
        match command {
            Command::Info => info(&devices),
            Command::Warmup { seconds } => warmup(&devices, Duration::from_secs(seconds)),
            Command::Bandwidth { mib } => bandwidth(&devices, mib),
        }
    })
}

/// The result of a call: fine, or the runtime's name for what went wrong.
fn check(what: &str, code: c_int) -> Result<(), Fault> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: it gives a text that is never freed, or null, for any number.
    let name = unsafe { hipGetErrorName(code) };
    let name = if name.is_null() {
        "unknown to the runtime".into()
    } else {
        // SAFETY: it is not null, and ends with NUL.
        unsafe { CStr::from_ptr(name) }.to_string_lossy()
    };
    let fault = Fault::failed(what, format!("{name} ({code})"));
    Err(if code == NO_DEVICE {
        Fault {
            state: State::NoDevice,
            ..fault
        }
    } else {
        fault
    })
}

/// A call that writes one number.
fn number(what: &str, call: impl FnOnce(*mut c_int) -> c_int) -> Result<c_int, Fault> {
    let mut value = 0;
    check(what, call(&raw mut value))?;
    Ok(value)
}

/// A call that writes a text.
fn text(what: &str, call: impl FnOnce(*mut c_char, c_int) -> c_int) -> Result<String, Fault> {
    let mut bytes = [0_u8; TEXT_BYTES];
    // One byte less than there is: the last stays NUL.
    check(what, call(bytes.as_mut_ptr().cast(), TEXT_BYTES as c_int - 1))?;
    let text = CStr::from_bytes_until_nul(&bytes).map_err(|error| Fault::failed(what, error))?;
    Ok(text.to_string_lossy().into_owned())
}

/// The devices to work on: every one, or the one that was named.
fn devices(named: Option<u32>) -> Result<Vec<c_int>, Fault> {
    // SAFETY: the pointer is to a number of this thread.
    let count = number("hipGetDeviceCount", |count| unsafe { hipGetDeviceCount(count) })?;
    let all = 0..count;
    match named.map(|index| index as c_int) {
        _ if all.is_empty() => Err(Fault {
            state: State::NoDevice,
            why: "hipGetDeviceCount: 0".to_owned(),
        }),
        Some(index) if !all.contains(&index) => Err(Fault {
            state: State::NoDevice,
            why: format!("there is no device {index}: HIP sees {count}"),
        }),
        Some(index) => Ok(vec![index]),
        None => Ok(all.collect()),
    }
}

fn info(devices: &[c_int]) -> Result<Found, Fault> {
    // SAFETY: both write one number.
    let runtime = number("hipRuntimeGetVersion", |version| unsafe { hipRuntimeGetVersion(version) })?;
    let driver = number("hipDriverGetVersion", |version| unsafe { hipDriverGetVersion(version) })?;
    let devices = devices
        .iter()
        .map(|&device| describe(device))
        .collect::<Result<Vec<Value>, Fault>>()?;
    Ok(Map::from_iter([
        ("runtime_version".to_owned(), json!(runtime)),
        ("driver_version".to_owned(), json!(driver)),
        ("devices".to_owned(), json!(devices)),
    ]))
}

fn describe(device: c_int) -> Result<Value, Fault> {
    choose(device)?;
    // SAFETY: the pointers are to numbers and texts of this thread, with their true lengths.
    let handle = number("hipDeviceGet", |handle| unsafe { hipDeviceGet(handle, device) })?;
    let name = text("hipDeviceGetName", |name, length| unsafe { hipDeviceGetName(name, length, handle) })?;
    let pci = text("hipDeviceGetPCIBusId", |id, length| unsafe {
        hipDeviceGetPCIBusId(id, length, device)
    })?;
    let (mut free, mut total) = (0, 0);
    check("hipMemGetInfo", unsafe { hipMemGetInfo(&raw mut free, &raw mut total) })?;
    Ok(json!({ "index": device, "name": name, "pci": pci.to_lowercase(), "memory_bytes": total, "memory_free_bytes": free }))
}

fn choose(device: c_int) -> Result<(), Fault> {
    // SAFETY: it takes a number.
    check("hipSetDevice", unsafe { hipSetDevice(device) })
}

fn wait() -> Result<(), Fault> {
    // SAFETY: it takes nothing.
    check("hipDeviceSynchronize", unsafe { hipDeviceSynchronize() })
}

/// Two arrays in the memory of the chosen device, which end with the process.
struct Arrays {
    from: *mut c_void,
    to: *mut c_void,
    bytes: usize,
}

impl Arrays {
    fn new(mib: u64) -> Result<Self, Fault> {
        let bytes = usize::try_from(mib << 20).map_err(|error| Fault::failed("--mib", error))?;
        let array = || {
            let mut memory = ptr::null_mut();
            // SAFETY: the pointer is to a pointer of this thread.
            check("hipMalloc", unsafe { hipMalloc(&raw mut memory, bytes) })?;
            Ok(memory)
        };
        let arrays = Self {
            from: array()?,
            to: array()?,
            bytes,
        };
        for (memory, value) in [(arrays.from, PATTERN), (arrays.to, 0)] {
            // SAFETY: the array is as long.
            check("hipMemset", unsafe { hipMemset(memory, c_int::from(value), bytes) })?;
        }
        Ok(arrays)
    }

    /// Starts a copy of one to the other.
    fn copy(&self) -> Result<(), Fault> {
        // SAFETY: both arrays are as long and do not overlap; the null stream always is.
        check("hipMemcpyAsync", unsafe {
            hipMemcpyAsync(self.to, self.from, self.bytes, ON_DEVICE, ptr::null_mut())
        })
    }

    /// Whether the last bytes have arrived.
    fn verify(&self) -> Result<(), Fault> {
        let mut end = vec![0_u8; self.bytes.min(1 << 20)];
        // SAFETY: it reads as much as the buffer holds, from inside the array.
        check("hipMemcpy", unsafe {
            let from = self.to.cast::<u8>().add(self.bytes - end.len());
            hipMemcpy(end.as_mut_ptr().cast(), from.cast(), end.len(), TO_HOST)
        })?;
        match end.iter().filter(|&&byte| byte != PATTERN).count() {
            0 => Ok(()),
            wrong => Err(Fault {
                state: State::Wrong,
                why: format!("{wrong} of the last {} bytes are not what was copied", end.len()),
            }),
        }
    }
}

fn warmup(devices: &[c_int], span: Duration) -> Result<Found, Fault> {
    let mut arrays = Vec::new();
    for &device in devices {
        choose(device)?;
        arrays.push((device, Arrays::new(ARRAY_MIB)?));
    }
    let start = Instant::now();
    let mut copies = 0_u64;
    while start.elapsed() < span {
        for (device, arrays) in &arrays {
            choose(*device)?;
            (0..AT_ONCE).try_for_each(|_| arrays.copy())?;
        }
        for (device, _) in &arrays {
            choose(*device)?;
            wait()?;
        }
        copies += u64::from(AT_ONCE);
    }
    let wall_s = start.elapsed().as_secs_f64();
    for (device, arrays) in &arrays {
        choose(*device)?;
        arrays.verify()?;
    }
    let each = copies as f64 * 2.0 * (ARRAY_MIB << 20) as f64;
    Ok(Map::from_iter([
        ("devices".to_owned(), json!(devices)),
        ("wall_s".to_owned(), json!(wall_s)),
        ("copies".to_owned(), json!(copies)),
        ("copy_gb_s".to_owned(), json!(each / wall_s / 1e9)),
    ]))
}

fn bandwidth(devices: &[c_int], mib: u64) -> Result<Found, Fault> {
    let device = devices.first().copied().unwrap_or_default();
    choose(device)?;
    let arrays = Arrays::new(mib)?;
    let start = Instant::now();
    while start.elapsed() < UNMEASURED {
        arrays.copy()?;
        wait()?;
    }
    let mut rates = Vec::new();
    for _ in 0..COPIES {
        let copy = Instant::now();
        arrays.copy()?;
        wait()?;
        rates.push(2.0 * arrays.bytes as f64 / copy.elapsed().as_secs_f64() / 1e9);
    }
    arrays.verify()?;
    let [median, least, most] = spread(rates).ok_or_else(|| Fault::failed("bandwidth", "nothing was copied"))?;
    Ok(Map::from_iter([
        ("device".to_owned(), json!(device)),
        ("copies".to_owned(), json!(COPIES)),
        ("array_bytes".to_owned(), json!(arrays.bytes)),
        ("copy_gb_s".to_owned(), json!(median)),
        ("copy_min_gb_s".to_owned(), json!(least)),
        ("copy_max_gb_s".to_owned(), json!(most)),
    ]))
}
