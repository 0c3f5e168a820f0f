//! A grid: its blocks on the threads of the pool.
//!
//! A thread takes the next block when its own is done or had a long turn, and puts the latter aside: so blocks that wait for
//! earlier ones, or for all blocks of a cooperative launch, get what they wait for, and no thread blocks.

use super::block::{Block, Place, Progress, Where};
use super::code::Kernel;
use super::finding::{Found, finding};
use super::launch::{Checks, Common, Shape};
use super::memory::{Area, Memory};
use super::module::PtxModule;
use super::shadow::{Cells, GlobalShadow};
use crate::core::error::{Finding, FindingKind};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Instructions of a warp before the next warp has its turn, and turns of a block before the next one.
const TURN: u32 = 1 << 14;
const TURNS: u32 = 4;

/// Blocks put aside; with more, a thread goes on with an old one.
const ASIDE: usize = 4096;

/// Larger areas have no shadow: it takes nineteen times their size.
const MOST_SHADOW: u64 = 256 << 20;

/// Runs a kernel: `parameters` are the bytes of its parameters, each at its place.
pub(super) fn run(
    module: &PtxModule,
    kernel: &Kernel,
    shape: Shape,
    parameters: &[u8],
    areas: Vec<Area<'_>>,
    checks: Checks,
    printed: &(dyn Fn(String) + Sync),
) -> Result<(), Box<Finding>> {
    let files = &module.text.files;
    let refuse = |detail: String| {
        let found = Found { kind: FindingKind::Launch, lane: 0, detail };
        Box::new(finding(kernel, files, u32::MAX, found, ([0; 3], [0; 3])))
    };
    // Not a byte more than was asked for.
    let declared = if shape.dynamic_shared == 0 { kernel.shared_bytes } else { kernel.dynamic_at };
    let shape = Shape { total_shared: (declared as u32).saturating_add(shape.dynamic_shared), ..shape };
    check(kernel, &shape, parameters).map_err(refuse)?;
    let mut areas = areas;
    areas.extend(module.areas());
    for area in &mut areas {
        // The initial bytes of an output matter even where races are not looked for.
        let wanted = checks.races && area.writable || checks.initialised && area.fresh;
        if wanted && area.bytes <= MOST_SHADOW {
            area.shadow = Some(GlobalShadow::new(area.bytes + (area.start & 7), checks.races));
        }
    }
    let memory = Memory::new(areas);
    if let Some(refusal) = memory.refusal() {
        return Err(refuse(refusal));
    }
    let common = Common::new(checks);
    let grid = Grid {
        kernel,
        memory: &memory,
        common: &common,
        parameters,
        shape: &shape,
        printed,
        next: AtomicU64::new(0),
        blocks: shape.blocks(),
        aside: Mutex::new(VecDeque::new()),
        stop: AtomicBool::new(false),
    };
    let most = if checks.parallel { rayon::current_num_threads() as u64 } else { 1 };
    let threads = most.min(shape.blocks()).max(1);
    let first = Mutex::new(None);
    let work = |_: u64| {
        if let Err((index, at)) = grid.work() {
            grid.stop.store(true, Ordering::Relaxed);
            let thread = shape.thread(at.warp * 32 + at.found.lane as u32);
            first.lock().get_or_insert_with(|| Box::new(finding(kernel, files, at.pc, at.found, (index, thread))));
        }
    };
    if threads == 1 {
        work(0);
    } else {
        use rayon::prelude::*;
        (0..threads).into_par_iter().for_each(work);
    }
    if let Some(found) = first.into_inner() {
        return Err(found);
    }
    if checks.initialised {
        written(&memory).map_err(|detail| {
            let found = Found { kind: FindingKind::NotWritten, lane: 0, detail };
            Box::new(finding(kernel, files, u32::MAX, found, ([0; 3], [0; 3])))
        })?;
    }
    Ok(())
}

/// Whether the launch fits the kernel.
fn check(kernel: &Kernel, shape: &Shape, parameters: &[u8]) -> Result<(), String> {
    let (threads, blocks) = (shape.threads(), shape.blocks());
    if threads == 0 || threads > 1024 || blocks == 0 || blocks > u64::from(u32::MAX) - 1 {
        return Err(format!("blocks of {threads} threads (1 to 1024 are allowed), and {blocks} of them"));
    }
    if kernel.most_threads.is_some_and(|most| most < threads.into()) {
        return Err(format!("blocks of {threads} threads; the kernel allows {:?}", kernel.most_threads));
    }
    let shared = kernel.dynamic_at + u64::from(shape.dynamic_shared);
    if shared > 228 << 10 {
        return Err(format!("{shared} bytes of shared memory, more than 228 KiB"));
    }
    if parameters.len() as u64 != kernel.parameter_bytes {
        let (given, wanted) = (parameters.len(), kernel.parameter_bytes);
        return Err(format!("{given} bytes of parameters, and the kernel has {wanted}"));
    }
    Ok(())
}

/// An output that is not written whole.
fn written(memory: &Memory<'_>) -> Result<(), String> {
    for area in memory.areas.iter().filter(|area| area.fresh) {
        let Some(shadow) = &area.shadow else { continue };
        if let Some(at) = shadow.unwritten(area.start & 7, area.bytes) {
            return Err(format!("byte {at} of {} ({} bytes) was not written", area.name, area.bytes));
        }
    }
    Ok(())
}

struct Grid<'r, 'm> {
    kernel: &'r Kernel,
    memory: &'r Memory<'m>,
    common: &'r Common,
    parameters: &'r [u8],
    shape: &'r Shape,
    printed: &'r (dyn Fn(String) + Sync),
    next: AtomicU64,
    blocks: u64,
    aside: Mutex<VecDeque<Block<'r, 'm>>>,
    stop: AtomicBool,
}

impl<'r, 'm> Grid<'r, 'm> {
    /// Runs blocks until none is left.
    fn work(&self) -> Result<(), ([u32; 3], Where)> {
        // The last block that ended.
        let mut ended = None;
        while let Some(mut block) = self.take(&mut ended) {
            let mut turns = 0;
            loop {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                match block.run(TURN).map_err(|at| (block.index, *at))? {
                    Progress::Done => {
                        ended = Some(block);
                        break;
                    }
                    Progress::Turn => turns += 1,
                }
                if turns >= TURNS && self.blocks > 1 {
                    self.aside.lock().push_back(block);
                    break;
                }
            }
        }
        Ok(())
    }

    fn take(&self, ended: &mut Option<Block<'r, 'm>>) -> Option<Block<'r, 'm>> {
        if self.aside.lock().len() < ASIDE {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number < self.blocks {
                let Some(mut block) = ended.take() else { return Some(self.block(number)) };
                block.again(self.shape.block_index(number));
                return Some(block);
            }
        }
        self.aside.lock().pop_front()
    }

    fn block(&self, number: u64) -> Block<'r, 'm> {
        let shared = vec![0u8; self.shape.total_shared as usize];
        let checks = self.common.checks;
        let cells = if checks.races || checks.initialised { shared.len().div_ceil(4) + 1 } else { 0 };
        let place = Place {
            kernel: self.kernel,
            memory: self.memory,
            common: self.common,
            parameters: self.parameters,
            shape: self.shape,
            cells: Cells::new(if shared.is_empty() { 0 } else { cells }, checks.races),
            shared,
            printed: self.printed,
            votes: [(0, 0); 16],
            outcomes: [(0, 0); 16],
            arrived: Vec::new(),
        };
        Block::new(self.shape.block_index(number), place)
    }
}
