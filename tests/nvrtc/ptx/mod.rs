//! PTX on the CPU: what its instructions compute, what its checks find, and texts that are none.

mod areas;
mod arithmetic;
mod checks;
mod forms;
mod generator;
mod kernels;
mod mutations;
mod patterns;
mod races;
mod random;
mod samples;
mod texts;

use windlass::error::{Finding, FindingKind};
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// The head of a text.
const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// A kernel `k` over `u64` words: its operands are `x` (read), `y` (written) and the number of threads.
struct Case {
    body: String,
    head: &'static str,
    grid: u32,
    block: u32,
    checks: Checks,
    output: bool,
}

impl Case {
    /// `%x` and `%y` are the addresses of the operands, `%i` the index of the thread in the grid, `%t` that in the block.
    fn new(body: &str) -> Self {
        Case { body: body.to_owned(), head: "", grid: 1, block: 32, checks: Checks::ALL, output: false }
    }

    fn module(&self) -> Result<PtxModule, Fault> {
        let Case { body, head, .. } = self;
        PtxModule::new(&format!(
            "{HEAD}{head}.visible .entry k(.param .u64 x, .param .u64 y) {{
                .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<32>; .reg .b64 %q<32>; .reg .f32 %f<9>; .reg .f64 %d<9>;
                .reg .u64 %x, %y, %i, %at; .reg .u32 %t, %b, %n;
                ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
                mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
                mul.wide.u32 %i, %b, %n; cvt.u64.u32 %at, %t; add.u64 %i, %i, %at; shl.b64 %at, %i, 3;
                {body}
                ret;
            }}"
        ))
    }

    fn run(&self, x: &[u64], y: &mut [u64]) -> Result<(), Fault> {
        let module = self.module()?;
        let parameters = [x.as_ptr() as u64, y.as_mut_ptr() as u64];
        let y = bytemuck::cast_slice_mut(y);
        let areas = vec![
            Area::read("x", bytemuck::cast_slice(x)),
            if self.output { Area::output("y", y) } else { Area::write("y", y) },
        ];
        let shape = Shape::new([self.grid, 1, 1], [self.block, 1, 1], 0);
        module.launch("k", shape, bytemuck::cast_slice(&parameters), areas, self.checks, &|_| ())
    }

    /// What a check finds.
    #[track_caller]
    fn found(&self) -> Finding {
        let (x, mut y) = (vec![1u64; 256], vec![0u64; 256]);
        match self.run(&x, &mut y) {
            Err(Fault::Found(finding)) => *finding,
            other => panic!("{other:?} of\n{}", self.body),
        }
    }

    #[track_caller]
    fn finds(&self, kind: FindingKind, words: &[&str]) {
        let finding = self.found();
        let text = finding.to_string();
        assert!(finding.kind == kind && words.iter().all(|word| text.contains(word)), "{text}");
        assert!(finding.kernel == "k" && (finding.line > 3 || kind == FindingKind::NotWritten), "{finding:?}");
    }
}
