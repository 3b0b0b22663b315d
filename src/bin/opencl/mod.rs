//! OpenCL's devices: which there are, what they say of themselves, and one made ready to compute.

use gate::model::gpu_helper::State;
use ocl::builders::KernelBuilder;
use ocl::core::{DeviceInfo, DeviceInfoResult, PlatformInfo, ProfilingInfo, Status, get_platform_ids};
use ocl::flags::{CommandQueueProperties, DeviceType};
use ocl::prm::Float4;
use ocl::{Buffer, Context, Device, Event, Kernel, OclPrm, Platform, Program, Queue};
use serde_json::{Value, json};

use super::work::Fault;

/// The kernels.
const KERNELS: &str = include_str!("../gate_ocl.cl");
/// `CL_DEVICE_PCI_BUS_INFO_KHR`: domain, bus, device, function, four bytes each.
const PCI_OF_ANY: u32 = 0x410f;
/// `CL_DEVICE_TOPOLOGY_AMD`: 24 bytes, of which the last three are bus, device, function.
const PCI_OF_AMD: u32 = 0x4037;

/// The error of an OpenCL call, in few words: the binding writes several lines.
pub fn failed(what: &str) -> impl Fn(ocl::Error) -> Fault {
    move |error| {
        let how = error.api_status().map_or_else(
            || error.to_string().split_whitespace().collect::<Vec<&str>>().join(" "),
            |status| format!("{status:?}"),
        );
        Fault::failed(what, how)
    }
}

/// A device with its platform.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Its number among all devices of all platforms.
    pub index: usize,
    platform: Platform,
    device: Device,
}

/// Every device of every platform.
pub fn all() -> Result<Vec<Found>, Fault> {
    let none = |why: &str| Fault {
        state: State::NoPlatform,
        why: why.to_owned(),
    };
    // The binding asks for ten seconds where there is none.
    let mut count = 0;
    // SAFETY: it writes one number, and no list is asked for.
    let code = unsafe { ocl::ffi::clGetPlatformIDs(0, std::ptr::null_mut(), &raw mut count) };
    if code == Status::CL_PLATFORM_NOT_FOUND_KHR as i32 || (code == 0 && count == 0) {
        return Err(none(
            "the loader knows no platform; a driver's .icd file belongs in /etc/OpenCL/vendors",
        ));
    }
    let platforms = get_platform_ids().map_err(|error| failed("clGetPlatformIDs")(error.into()))?;
    let mut found = Vec::new();
    let mut names = Vec::new();
    for platform in platforms.into_iter().map(Platform::new) {
        names.push(platform.name().map_err(failed("clGetPlatformInfo"))?);
        let devices = match Device::list(platform, Some(DeviceType::ALL)) {
            Err(error) if error.api_status() == Some(Status::CL_DEVICE_NOT_FOUND) => Vec::new(),
            devices => devices.map_err(failed("clGetDeviceIDs"))?,
        };
        for device in devices {
            let index = found.len();
            found.push(Found { index, platform, device });
        }
    }
    if found.is_empty() {
        return Err(Fault {
            state: State::NoDevice,
            why: format!("no platform has one: {}", names.join(", ")),
        });
    }
    Ok(found)
}

/// The devices to work on: the one that was named; else every GPU; else every device.
pub fn chosen(named: Option<usize>) -> Result<Vec<Found>, Fault> {
    let all = all()?;
    if let Some(index) = named {
        return all.get(index).copied().map(|found| vec![found]).ok_or_else(|| Fault {
            state: State::NoDevice,
            why: format!("there is no device {index}: OpenCL has {}", all.len()),
        });
    }
    let gpus: Vec<Found> = all.iter().copied().filter(Found::is_gpu).collect();
    Ok(if gpus.is_empty() { all } else { gpus })
}

impl Found {
    fn is_gpu(&self) -> bool {
        matches!(self.device.info(DeviceInfo::Type), Ok(DeviceInfoResult::Type(kind)) if kind.contains(DeviceType::GPU))
    }

    /// What it says of itself; null where it does not say.
    pub fn describe(&self) -> Value {
        let of = |info: DeviceInfo| self.device.info(info).map_or(Value::Null, |said| json!(said.to_string().trim()));
        let kind = match self.device.info(DeviceInfo::Type) {
            Ok(DeviceInfoResult::Type(kind)) if kind.contains(DeviceType::GPU) => json!("gpu"),
            Ok(DeviceInfoResult::Type(kind)) if kind.contains(DeviceType::CPU) => json!("cpu"),
            Ok(_) => json!("other"),
            Err(_) => Value::Null,
        };
        let platform = |info: PlatformInfo| self.platform.info(info).map_or(Value::Null, |said| json!(said.to_string().trim()));
        json!({
            "index": self.index,
            "platform": platform(PlatformInfo::Name),
            "platform_version": platform(PlatformInfo::Version),
            "name": of(DeviceInfo::Name),
            "vendor": of(DeviceInfo::Vendor),
            "version": of(DeviceInfo::Version),
            "driver": of(DeviceInfo::DriverVersion),
            "type": kind,
            "pci": self.pci(),
            "compute_units": self.compute_units(),
            "memory_bytes": self.memory_bytes(),
        })
    }

    /// Its PCI address, where its driver tells one.
    fn pci(&self) -> Option<String> {
        let said = |request| self.device.info_raw(request).ok();
        if let Some(words) = said(PCI_OF_ANY).filter(|bytes| bytes.len() == 16) {
            let word = |at: usize| words.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
            return Some(format!("{:04x}:{:02x}:{:02x}.{}", word(0)?, word(4)?, word(8)?, word(12)?));
        }
        let bytes = said(PCI_OF_AMD).filter(|bytes| bytes.len() == 24)?;
        let [.., bus, device, function] = bytes.as_slice() else {
            return None;
        };
        Some(format!("0000:{bus:02x}:{device:02x}.{function}"))
    }

    /// How many compute units it has; 1 where it does not say.
    pub fn compute_units(&self) -> u32 {
        match self.device.info(DeviceInfo::MaxComputeUnits) {
            Ok(DeviceInfoResult::MaxComputeUnits(units)) => units.max(1),
            _ => 1,
        }
    }

    fn memory_bytes(&self) -> Option<u64> {
        match self.device.info(DeviceInfo::GlobalMemSize) {
            Ok(DeviceInfoResult::GlobalMemSize(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Bytes of one array that shows the bandwidth of its memory and not of its caches: a gibibyte on a GPU, 64 MiB elsewhere, and no more than
    /// an eighth of the memory or than one allocation may have.
    pub fn array_bytes(&self) -> u64 {
        let wanted = if self.is_gpu() { 1 << 30 } else { 64 << 20 };
        let largest = match self.device.info(DeviceInfo::MaxMemAllocSize) {
            Ok(DeviceInfoResult::MaxMemAllocSize(bytes)) => bytes,
            _ => wanted,
        };
        wanted.min(largest).min(self.memory_bytes().map_or(wanted, |bytes| bytes / 8))
    }

    /// Makes it ready: context, queue that takes times, kernels compiled.
    pub fn ready(&self) -> Result<Ready, Fault> {
        let context = Context::builder()
            .platform(self.platform)
            .devices(self.device)
            .build()
            .map_err(failed("clCreateContext"))?;
        let times = Some(CommandQueueProperties::PROFILING_ENABLE);
        let queue = Queue::new(&context, self.device, times).map_err(failed("clCreateCommandQueue"))?;
        let program = Program::builder().devices(self.device).src(KERNELS).build(&context);
        Ok(Ready {
            queue,
            program: program.map_err(failed("clBuildProgram"))?,
        })
    }
}

/// A device that can compute.
#[derive(Debug)]
pub struct Ready {
    queue: Queue,
    program: Program,
}

impl Ready {
    /// Memory of this many elements, all zero.
    pub fn buffer<T: OclPrm>(&self, elements: usize) -> Result<Buffer<T>, Fault> {
        let buffer = Buffer::builder()
            .queue(self.queue.clone())
            .len(elements)
            .fill_val(T::default())
            .build();
        buffer.map_err(failed("clCreateBuffer"))
    }

    /// A kernel for so many work items, without its arguments; [`built`] makes it.
    pub fn kernel(&self, name: &'static str, items: usize) -> KernelBuilder<'_> {
        let mut builder = Kernel::builder();
        builder
            .program(&self.program)
            .name(name)
            .queue(self.queue.clone())
            .global_work_size(items);
        builder
    }

    /// Starts a kernel.
    pub fn start(&self, kernel: &Kernel, event: &mut Event) -> Result<(), Fault> {
        // SAFETY: the kernels write their own arrays only, one element a work item, and there are as many items as elements.
        unsafe { kernel.cmd().enew(event).enq() }.map_err(failed("clEnqueueNDRangeKernel"))
    }

    /// Waits for all that was started.
    pub fn finish(&self) -> Result<(), Fault> {
        self.queue.finish().map_err(failed("clFinish"))
    }

    /// Runs a kernel; how long it took by the device's own clock, in seconds.
    pub fn run(&self, kernel: &Kernel) -> Result<f64, Fault> {
        let mut event = Event::empty();
        self.start(kernel, &mut event)?;
        self.finish()?;
        let at = |info: ProfilingInfo| {
            let time = event.profiling_info(info).map_err(failed("clGetEventProfilingInfo"))?;
            time.time().map_err(|error| failed("clGetEventProfilingInfo")(error.into()))
        };
        Ok(at(ProfilingInfo::End)?.saturating_sub(at(ProfilingInfo::Start)?) as f64 * 1e-9)
    }

    /// Elements of a buffer, from one on.
    pub fn read<T: OclPrm>(&self, buffer: &Buffer<T>, from: usize, elements: usize) -> Result<Vec<T>, Fault> {
        let mut values = vec![T::default(); elements];
        buffer.read(&mut values).offset(from).enq().map_err(failed("clEnqueueReadBuffer"))?;
        Ok(values)
    }

    /// An array that is filled with one value.
    pub fn filled(&self, elements: usize, value: f32) -> Result<Buffer<Float4>, Fault> {
        let buffer = self.buffer(elements)?;
        let fill = built(self.kernel("fill", elements).arg(&buffer).arg(value))?;
        self.run(&fill)?;
        Ok(buffer)
    }
}

/// A kernel with all its arguments.
pub fn built(builder: &KernelBuilder<'_>) -> Result<Kernel, Fault> {
    builder.build().map_err(failed("clCreateKernel"))
}
