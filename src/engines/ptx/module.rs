//! A module that is loaded: its text, its variables, and the kernels that were decoded.

use super::code::Kernel;
use super::launch::{Checks, Shape};
use super::memory::Area;
use super::parse::parse;
use super::text::{Text, Variable};
use super::types::Space;
use super::{Fault, Faulty, decode, grid};
use crate::core::buffer::Meter;
use crate::core::{machine, room};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes that the variables of a module have.
const MOST: u64 = 1 << 30;

/// A PTX module that can run on the CPU.
///
/// ```
/// # fn main() -> Result<(), windlass::ptx::Fault> {
/// use windlass::ptx::{Area, Checks, PtxModule, Shape};
/// let module = PtxModule::new(
///     ".version 7.0\n.target sm_70\n.address_size 64
///     .visible .entry fill(.param .u64 x) {
///         .reg .u64 %x, %at; .reg .u32 %i;
///         ld.param.u64 %x, [x];
///         mov.u32 %i, %tid.x; mul.wide.u32 %at, %i, 4; add.u64 %x, %x, %at;
///         st.global.u32 [%x], %i; ret;
///     }",
/// )?;
/// let mut x = [0u8; 16];
/// let area = Area::write("x", &mut x);
/// let address = area.address().to_le_bytes();
/// module.launch("fill", Shape::new([1, 1, 1], [4, 1, 1], 0), &address, vec![area], Checks::ALL, &|text| print!("{text}"))?;
/// assert_eq!(x[..8], [0, 0, 0, 0, 1, 0, 0, 0]);
/// # Ok(()) }
/// ```
pub struct PtxModule {
    pub(super) text: Text,
    /// The memory of its variables in global and constant memory; empty where the caller has placed them.
    words: Box<[AtomicU64]>,
    /// Name, offset in `words`, bytes, and whether kernels may write it.
    variables: Vec<(String, u64, u64, bool)>,
    addresses: HashMap<String, u64>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
    /// Gives back what was counted.
    _charged: Option<Charged>,
}

/// What the memory of the variables is counted by.
struct Charged {
    meter: Arc<Meter>,
    bytes: u64,
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.meter.give(self.bytes);
    }
}

impl PtxModule {
    /// Reads a text. Its kernels are decoded when they are first asked for.
    ///
    /// # Errors
    /// [`Fault`] with line and column, if it does not parse.
    pub fn new(text: &str) -> Faulty<PtxModule> {
        let total = machine::total_memory();
        Self::within(text, &Arc::new(Meter::new(total, total)))
    }

    /// The same for a device: the memory of the variables is counted by its meter.
    pub(crate) fn within(text: &str, meter: &Arc<Meter>) -> Faulty<PtxModule> {
        let text = read(text)?;
        let (mut at, mut variables) = (0u64, Vec::new());
        for one in globals(&text) {
            at = at.next_multiple_of(one.align.max(8));
            variables.push((one.name.clone(), at, one.bytes, one.space == Space::Global));
            at = at.saturating_add(one.bytes);
        }
        // Aligned to 256 bytes, as memory of a GPU is.
        let charged = if at > 0 {
            meter.take(at).map_err(no_room)?;
            Some(Charged { meter: meter.clone(), bytes: at })
        } else {
            None
        };
        let mut words = Vec::new();
        room::grown_with(&mut words, at.div_ceil(8) as usize + 32, AtomicU64::default).map_err(no_room)?;
        let words = words.into_boxed_slice();
        let start = words.as_ptr() as u64;
        let shift = start.next_multiple_of(256) - start;
        variables.iter_mut().for_each(|(_, at, ..)| *at += shift);
        let addresses = variables.iter().map(|(name, at, ..)| (name.clone(), start + at)).collect();
        let module = PtxModule { text, words, variables, addresses, kernels: Mutex::default(), _charged: charged };
        module.initialise()?;
        Ok(module)
    }

    /// Reads a text whose variables the caller places: `place` is given the name, the bytes and the alignment of each one in
    /// global or constant memory, and gives the address. The module has no memory for them: the caller fills
    /// [areas](Area::at) there with their [initial bytes](Self::initial), and gives these to each launch.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn placed(text: &str, place: &mut dyn FnMut(&str, u64, u64) -> u64) -> Faulty<PtxModule> {
        let text = read(text)?;
        let addresses = globals(&text).map(|one| (one.name.clone(), place(&one.name, one.bytes, one.align))).collect();
        let (words, variables, kernels) = (Box::default(), Vec::new(), Mutex::default());
        Ok(PtxModule { text, words, variables, addresses, kernels, _charged: None })
    }

    /// The bytes that a variable has when the module is loaded; `None` if it has no variable of that name in global or constant
    /// memory.
    ///
    /// # Errors
    /// [`Fault`] if it holds the address of what is no such variable.
    pub fn initial(&self, name: &str) -> Faulty<Option<Vec<u8>>> {
        self.text.global(name).map(|variable| self.bytes_of(variable, variable.bytes)).transpose()
    }

    /// The first bytes of a variable.
    fn bytes_of(&self, variable: &Variable, most: u64) -> Faulty<Vec<u8>> {
        let mut bytes = room::zeroed::<u8>(variable.bytes.min(most) as usize).map_err(no_room)?;
        bytes.iter_mut().zip(&variable.initial).for_each(|(to, from)| *to = *from);
        for (place, name, offset) in &variable.addresses {
            let Some(address) = self.addresses.get(name) else {
                return Err(Fault::text(variable.place, format!("`{name}` is no variable in global memory")));
            };
            let value = address.wrapping_add(*offset as u64).to_le_bytes();
            if let Some(to) = bytes.get_mut(*place..*place + 8) {
                to.copy_from_slice(&value);
            }
        }
        Ok(bytes)
    }

    fn initialise(&self) -> Faulty<()> {
        // Not by name: that of a variable may stand in the text several times.
        for (variable, (_, at, ..)) in globals(&self.text).zip(&self.variables) {
            // The rest is zero.
            let bytes = self.bytes_of(variable, variable.initial.len() as u64)?;
            for (n, chunk) in bytes.chunks(8).enumerate() {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                if let Some(to) = self.words.get((at / 8) as usize + n) {
                    to.store(u64::from_le_bytes(word), Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// The names of its kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.text.functions.iter().filter(|one| one.kernel && one.body.is_some()).map(|one| &*one.name)
    }

    /// Its variables in global and constant memory: name, address and bytes. None where the caller [placed](Self::placed) them.
    pub fn variables(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let start = self.words.as_ptr() as u64;
        self.variables.iter().map(move |(name, at, bytes, _)| (&**name, start + at, *bytes))
    }

    pub(super) fn areas(&self) -> Vec<Area<'_>> {
        let all = self.variables.iter().filter(|(_, _, bytes, _)| *bytes > 0);
        all.map(|(name, at, bytes, writable)| {
            Area::of_words(&format!("variable `{name}`"), &self.words, *at, *bytes, *writable)
        })
        .collect()
    }

    /// Decodes a kernel; again it is found at once.
    fn kernel(&self, name: &str) -> Faulty<Arc<Kernel>> {
        if let Some(known) = self.kernels.lock().get(name) {
            return Ok(known.clone());
        }
        let Some(function) = self.text.kernel(name) else { return Err(Fault::missing(name)) };
        let kernel = Arc::new(decode::decode(&self.text, function, &self.addresses)?);
        self.kernels.lock().insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }

    /// Offset and bytes of each parameter of a kernel, and the bytes of all.
    ///
    /// # Errors
    /// [`Fault`] if it is not there, or has an instruction that the machine lacks.
    pub fn parameters(&self, name: &str) -> Faulty<(Vec<(u64, u64)>, u64)> {
        let kernel = self.kernel(name)?;
        Ok((kernel.parameters.clone(), kernel.parameter_bytes))
    }

    /// The approximate instructions of a kernel: PTX leaves the last bits of their results open.
    ///
    /// # Errors
    /// As [`parameters`](Self::parameters).
    pub fn approximate(&self, name: &str) -> Faulty<Vec<String>> {
        Ok(self.kernel(name)?.approximate.clone())
    }

    /// Runs a kernel. `parameters` are the bytes of its parameters, each at its offset; it may touch `areas` and the variables of
    /// the module. `printed` gets what it prints.
    ///
    /// The check for races takes up to twelve times the size of the areas that the kernel writes.
    ///
    /// # Errors
    /// [`Fault`]: of the text, what a check found, or a lack of memory for the blocks or the checks.
    pub fn launch(
        &self,
        name: &str,
        shape: Shape,
        parameters: &[u8],
        areas: Vec<Area<'_>>,
        checks: Checks,
        printed: &(dyn Fn(String) + Sync),
    ) -> Faulty<()> {
        let total = machine::total_memory();
        self.launch_within(name, shape, parameters, areas, checks, printed, &Meter::new(total, total))
    }

    /// The same for a device: what the machine needs is counted by its meter.
    #[expect(clippy::too_many_arguments, reason = "those of a launch, and who pays")]
    pub(crate) fn launch_within(
        &self,
        name: &str,
        shape: Shape,
        parameters: &[u8],
        areas: Vec<Area<'_>>,
        checks: Checks,
        printed: &(dyn Fn(String) + Sync),
        meter: &Meter,
    ) -> Faulty<()> {
        let kernel = self.kernel(name)?;
        grid::run(self, &kernel, shape, parameters, areas, checks, printed, meter)
    }
}

/// Parses a text whose variables fit into memory.
fn read(text: &str) -> Faulty<Text> {
    let text = parse(text)?;
    let mut all = 0u64;
    for one in globals(&text) {
        all = all.saturating_add(one.bytes).saturating_add(one.align);
        if all > MOST {
            return Err(Fault::text(one.place, format!("the variables have more than {MOST} bytes")));
        }
    }
    Ok(text)
}

fn no_room(error: crate::core::error::Error) -> Fault {
    Fault::no_memory(&error, "for the variables of a module")
}

/// The variables in global and constant memory.
fn globals(text: &Text) -> impl Iterator<Item = &Variable> {
    text.variables.iter().filter(|one| matches!(one.space, Space::Global | Space::Const))
}

impl std::fmt::Debug for PtxModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}
