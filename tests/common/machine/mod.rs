//! Kernels by their text on the stand-in for the CUDA libraries (`tests/standin/driver`): the PTX machine of the crate, which this
//! program has, for a library in C. It finds the machine by a variable of the environment, which holds for this process alone: so a
//! worker process, which is this program too, has it as well.

pub mod record;

use record::Recorded;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock};
use windlass::error::FindingKind;
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// `struct standin_part`: memory that a launch may touch.
#[repr(C)]
struct Part {
    address: u64,
    memory: *mut u8,
    bytes: usize,
    number: c_int,
    pinned: c_int,
}

/// `struct standin_launch`. The parameters follow each other without gaps.
#[repr(C)]
struct Launch {
    module: u64,
    kernel: *const c_char,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parts: *const Part,
    part_count: c_int,
    parameters: *const u8,
    parameter_bytes: usize,
}

/// Says where a variable of so many bytes is, and where its memory is in this process.
type Place = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut *mut u8) -> u64;

/// `struct standin_machine`. Each answers 0, or a CUDA error; what is wrong is written into the last argument, if it says anything.
#[repr(C)]
struct Machine {
    load: unsafe extern "C" fn(u64, *const c_char, Place, *mut c_void, *mut c_char, usize) -> c_int,
    launch: unsafe extern "C" fn(*const Launch, *mut c_char, usize) -> c_int,
}

static MACHINE: Machine = Machine { load, launch };

/// Before `main`, and before the process becomes a worker.
#[used]
#[unsafe(link_section = ".init_array.00100")]
static TOLD: extern "C" fn() = {
    extern "C" fn tell() {
        let value = format!("{}:{}\0", std::process::id(), &raw const MACHINE as usize);
        // SAFETY: both texts end with a zero, and no other thread is there yet.
        unsafe { libc::setenv(c"WINDLASS_STANDIN_MACHINE".as_ptr(), value.as_ptr().cast(), 1) };
    }
    tell
};

#[derive(Default)]
struct Modules {
    loaded: HashMap<u64, Loaded>,
    /// Those without variables, by their text: they are decoded once.
    known: HashMap<String, Arc<PtxModule>>,
}

#[derive(Clone)]
struct Loaded {
    module: Arc<PtxModule>,
    /// Where they were placed.
    variables: Arc<[(String, u64)]>,
    /// If launches are written down.
    text: Arc<str>,
}

fn modules() -> &'static Mutex<Modules> {
    static MODULES: OnceLock<Mutex<Modules>> = OnceLock::new();
    MODULES.get_or_init(Mutex::default)
}

const INVALID_PTX: c_int = 218;

/// # Safety
/// As `standin.h` says of `load`.
unsafe extern "C" fn load(
    module: u64,
    text: *const c_char,
    place: Place,
    context: *mut c_void,
    said: *mut c_char,
    room: usize,
) -> c_int {
    // SAFETY: a text that ends with a zero.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let known = modules().lock().unwrap_or_else(|poisoned| poisoned.into_inner()).known.get(&*text).cloned();
    let mut places = Vec::new();
    let made = match known {
        Some(known) => Ok(known),
        None => made_of(&text, place, context, &mut places).map(Arc::new),
    };
    match made {
        Ok(made) => {
            let mut modules = modules().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if places.is_empty() {
                modules.known.insert(text.to_string(), made.clone());
            }
            let variables = places.iter().map(|(name, at, ..)| (name.to_string_lossy().into_owned(), *at)).collect();
            let text = if record::is_on() { (*text).into() } else { "".into() };
            modules.loaded.insert(module, Loaded { module: made, variables, text });
            0
        }
        // SAFETY: as our caller promises.
        Err(fault) => unsafe { say(&fault.to_string(), INVALID_PTX, said, room) },
    }
}

/// A variable: its name, address, memory and bytes.
type Variable = (CString, u64, *mut u8, usize);

/// Reads a text and fills its variables. `place` and `context` are those of `load`.
fn made_of(text: &str, place: Place, context: *mut c_void, places: &mut Vec<Variable>) -> Result<PtxModule, Fault> {
    let mut placed = |name: &str, bytes: u64, _: u64| {
        let (name, mut memory) = (CString::new(name).unwrap_or_default(), std::ptr::null_mut());
        // SAFETY: as the caller of `load` promises.
        let address = unsafe { place(context, name.as_ptr(), bytes as usize, &mut memory) };
        places.push((name, address, memory, bytes as usize));
        address
    };
    let made = PtxModule::placed(text, &mut placed)?;
    for (name, _, memory, bytes) in places {
        let initial = made.initial(&name.to_string_lossy())?.unwrap_or_default();
        if !memory.is_null() && initial.len() == *bytes {
            // SAFETY: there are so many bytes, and nobody else uses them yet.
            unsafe { std::slice::from_raw_parts_mut(*memory, *bytes) }.copy_from_slice(&initial);
        }
    }
    Ok(made)
}

/// # Safety
/// As `standin.h` says of `launch`.
unsafe extern "C" fn launch(launch: *const Launch, said: *mut c_char, room: usize) -> c_int {
    // SAFETY: as our caller promises.
    let launch = unsafe { &*launch };
    let run = std::panic::AssertUnwindSafe(|| run(launch));
    let (text, code) = match std::panic::catch_unwind(run) {
        Ok(Ok(())) => return 0,
        Ok(Err(fault)) => (fault.to_string(), code_of(&fault)),
        Err(_) => ("the machine panicked".to_owned(), 0),
    };
    // SAFETY: as our caller promises.
    unsafe { say(&text, code, said, room) }
}

fn run(launch: &Launch) -> Result<(), Fault> {
    // SAFETY: a text that ends with a zero.
    let kernel = unsafe { CStr::from_ptr(launch.kernel) }.to_string_lossy();
    let found = modules().lock().unwrap_or_else(|poisoned| poisoned.into_inner()).loaded.get(&launch.module).cloned();
    let Some(Loaded { module, variables, text }) = found else { return Err(Fault::Missing(kernel.into_owned())) };
    let parts = match launch.part_count {
        0 => &[],
        // SAFETY: there are so many.
        count => unsafe { std::slice::from_raw_parts(launch.parts, count as usize) },
    };
    let areas = |part: &Part| {
        // SAFETY: the memory lives as long as the call, and is apart from that of the others.
        let memory = unsafe { std::slice::from_raw_parts_mut(part.memory, part.bytes) };
        let name = format!("{}#{}", if part.pinned != 0 { "pinned" } else { "mem" }, part.number);
        Area::write(name, memory).at(part.address)
    };
    // SAFETY: there are so many.
    let mut given = unsafe { std::slice::from_raw_parts(launch.parameters, launch.parameter_bytes) };
    let (places, bytes) = module.parameters(&kernel)?;
    let mut parameters = vec![0; bytes as usize];
    for (at, size) in places {
        let (here, rest) = given.split_at_checked(size as usize).unwrap_or((given, &[]));
        parameters[at as usize..][..here.len()].copy_from_slice(here);
        given = rest;
    }
    if record::is_on() {
        // SAFETY: as above; nobody writes now.
        let memory =
            |part: &Part| (part.address, unsafe { std::slice::from_raw_parts(part.memory.cast_const(), part.bytes) });
        let Launch { grid, block, shared, .. } = *launch;
        let (kernel, parameters, variables) = (kernel.to_string(), parameters.clone(), variables.to_vec());
        let recorded =
            Recorded { text: String::new(), kernel, grid, block, shared, parameters, parts: vec![], variables };
        record::record(&text, recorded, &parts.iter().map(memory).collect::<Vec<_>>());
    }
    let shape = Shape::new(launch.grid, launch.block, launch.shared);
    let checks = Checks { parallel: false, budget: 1 << 33, ..Checks::ALL };
    module.launch(&kernel, shape, &parameters, parts.iter().map(areas).collect(), checks, &|text| print!("{text}"))
}

/// The CUDA error that a GPU has for it; 0 where it has none.
fn code_of(fault: &Fault) -> c_int {
    let Fault::Found(finding) = fault else { return 0 };
    match finding.kind {
        FindingKind::OutOfBounds => 700,
        FindingKind::Misaligned => 716,
        FindingKind::Trap => 719,
        _ => 0,
    }
}

/// # Safety
/// `room` bytes can be written at `said`.
unsafe fn say(text: &str, code: c_int, said: *mut c_char, room: usize) -> c_int {
    let bytes = &text.as_bytes()[..text.len().min(room.saturating_sub(1))];
    if room > 0 {
        // SAFETY: as our caller promises.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), said.cast(), bytes.len());
            *said.add(bytes.len()) = 0;
        }
    }
    code
}
