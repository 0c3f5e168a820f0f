//! What a kernel costs on the CPU, by the machine that checks every access: instructions of threads a second and core, without
//! checks of races and of what was written (`bounds`), with the latter alone (`written`), and with all (`all`).
//!
//! `kernels.ptx` is what NVRTC 13.0 makes of `kernels.cu`. The instructions are counted by the machine: the least budget with which
//! one block runs through. Each figure is the best of seven runs, by the clock of the thread's own processor time.
//!
//! ```text
//! cargo bench --bench kernels
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a benchmark")]

use windlass::error::FindingKind;
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// A launch: buffers (floats, and whether they are written), values behind their addresses, grid and block.
struct Row {
    kernel: &'static str,
    before: Vec<u32>,
    buffers: Vec<(usize, bool)>,
    values: Vec<u64>,
    /// Of 8 bytes each; else of 4.
    wide: bool,
    grid: [u32; 3],
    block: [u32; 3],
}

fn rows() -> Vec<Row> {
    let n = 1usize << 20;
    let row = |kernel, buffers, values, grid, block| Row {
        kernel,
        before: vec![],
        buffers,
        values,
        wide: false,
        grid,
        block,
    };
    vec![
        Row {
            before: vec![2.0f32.to_bits()],
            wide: true,
            ..row("saxpy", vec![(n, false), (n, true)], vec![n as u64], [n as u32 / 256, 1, 1], [256, 1, 1])
        },
        row("heat", vec![(n, false), (n, true)], vec![1024, 1024], [32, 128, 1], [32, 8, 1]),
        row("sum", vec![(n, false), (n / 256, true)], vec![], [n as u32 / 256, 1, 1], [256, 1, 1]),
        row("product", vec![(n / 16, false), (n / 16, false), (n / 16, true)], vec![256], [16, 16, 1], [16, 16, 1]),
        row(
            "polynomial",
            vec![(n / 4, false), (n / 4, true)],
            vec![n as u64 / 4, 100],
            [n as u32 / 1024, 1, 1],
            [256, 1, 1],
        ),
    ]
}

impl Row {
    fn launch(&self, module: &PtxModule, memory: &mut [Vec<f32>], grid: [u32; 3], checks: Checks) -> Result<(), Fault> {
        let (places, bytes) = module.parameters(self.kernel).unwrap();
        let mut areas = Vec::new();
        let mut words: Vec<Vec<u8>> = self.before.iter().map(|word| word.to_ne_bytes().to_vec()).collect();
        for (memory, (_, written)) in memory.iter_mut().zip(&self.buffers) {
            let memory = bytemuck::cast_slice_mut(memory);
            let area = if *written { Area::write("out", memory) } else { Area::read("in", memory) };
            words.push(area.address().to_ne_bytes().to_vec());
            areas.push(area);
        }
        let value =
            |value: &u64| if self.wide { value.to_ne_bytes().to_vec() } else { (*value as u32).to_ne_bytes().to_vec() };
        words.extend(self.values.iter().map(value));
        let mut parameters = vec![0u8; bytes as usize];
        for ((at, size), word) in places.iter().zip(&words) {
            parameters[*at as usize..(at + size) as usize].copy_from_slice(word);
        }
        module.launch(self.kernel, Shape::new(grid, self.block, 0), &parameters, areas, checks, &|_| ())
    }

    /// Instructions of a warp that a block executes, over all its warps.
    fn instructions(&self, module: &PtxModule, memory: &mut [Vec<f32>]) -> u64 {
        let (mut least, mut most) = (0, 1 << 32);
        while least + 1 < most {
            let budget = (least + most) / 2;
            match self.launch(module, memory, [1; 3], Checks { budget, ..Checks::BOUNDS }) {
                Ok(()) => most = budget,
                Err(Fault::Found(found)) if found.kind == FindingKind::Budget => least = budget,
                Err(fault) => panic!("{fault}"),
            }
        }
        most
    }
}

/// What this thread has computed so far.
fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let module = PtxModule::new(include_str!("kernels.ptx")).unwrap();
    let only = std::env::args().nth(1).filter(|name| !name.starts_with("--"));
    let modes =
        [("bounds", Checks::BOUNDS), ("written", Checks { initialised: true, ..Checks::BOUNDS }), ("all", Checks::ALL)];
    println!("millions of instructions of threads a second, on one thread; and how much longer than with `bounds`");
    println!("| kernel | instructions | bounds | written | all | written | all |\n|---|---|---|---|---|---|---|");
    for row in rows().iter().filter(|row| only.as_ref().is_none_or(|only| only == row.kernel)) {
        let mut memory: Vec<Vec<f32>> =
            row.buffers.iter().map(|(len, _)| (0..*len).map(|i| (i % 97) as f32).collect()).collect();
        let blocks: u64 = row.grid.iter().map(|n| u64::from(*n)).product();
        let count = row.instructions(&module, &mut memory) * blocks * 32;
        let rate = |checks: Checks, memory: &mut [Vec<f32>]| {
            let once = |_| {
                let start = seconds();
                row.launch(&module, memory, row.grid, Checks { parallel: false, ..checks }).unwrap();
                seconds() - start
            };
            count as f64 / (0..7).map(once).fold(f64::INFINITY, f64::min) / 1e6
        };
        let rates = modes.map(|(_, checks)| rate(checks, &mut memory));
        let [bounds, written, all] = rates;
        println!(
            "| {} | {:.1} M | {bounds:.0} | {written:.0} | {all:.0} | {:.2} | {:.2} |",
            row.kernel,
            count as f64 / 1e6,
            bounds / written,
            bounds / all
        );
    }
}
