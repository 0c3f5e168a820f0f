//! Cases, and the walk over all layouts of their operands.

use super::laid::{Array, LAYINGS, Laid};
use crate::common::{devices, is_host};
use windlass::{Device, Result};

/// A call, and what it is held against.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// `a:mk b:kn -> c:mn`: names and axes; what stands behind the arrow is written.
    pub(super) operands: &'static str,
    /// The elements by their indices.
    pub(super) element: fn(&[usize]) -> f64,
    /// The elements of the result in order; of a call that writes an operand, all of that one's memory.
    pub(super) call: fn(&Device, &[Laid]) -> Result<Vec<f64>>,
    /// The elements of the result by loops.
    pub(super) loops: fn(&[Array]) -> Vec<f64>,
    /// `a b: strided flipped`, or `empty k`, or `one`, and what the error says.
    pub(super) refused: &'static [(&'static str, &'static str)],
}

/// The sizes by their letters; `h` is half a spectrum of `k`.
const SIZES: [(char, usize); 5] = [('m', 3), ('n', 4), ('k', 5), ('b', 2), ('h', 3)];

/// cuDNN has no attention of f64, and there are no direct solvers of sparse systems on a GPU.
const ON_THE_CPU: [&str; 3] = ["attend", "cholesky and solve", "solve_qr"];

/// Small whole numbers.
pub(super) fn small(indices: &[usize]) -> f64 {
    (indices.iter().fold(3, |sum, i| sum * 5 + i * 7) % 11) as f64 - 5.0
}

/// Of a matrix whose diagonal is large; symmetric.
pub(super) fn dominant(indices: &[usize]) -> f64 {
    match indices {
        [.., i, j] if i == j => 9.0 + *i as f64,
        [.., i, j] => 1.0 / (1 + i + j) as f64,
        _ => small(indices),
    }
}

struct Operand {
    name: &'static str,
    axes: &'static str,
    is_written: bool,
}

impl Case {
    fn parsed(&self) -> Vec<Operand> {
        let mut is_written = false;
        let mut all = Vec::new();
        for word in self.operands.split_whitespace() {
            match word.split_once(':') {
                Some((name, axes)) => all.push(Operand { name, axes, is_written }),
                None => is_written = true,
            }
        }
        all
    }

    /// What the error says if this operand is laid so.
    fn refuses(&self, operand: &str, laying: &str) -> Option<&'static str> {
        let found = self.refused.iter().find(|(what, _)| {
            let Some((operands, layings)) = what.split_once(": ") else { return false };
            operands.split(' ').any(|name| name == operand) && layings.split(' ').any(|name| name == laying)
        });
        found.map(|(_, says)| *says)
    }

    /// One call. Returns what is wrong with it.
    fn run(&self, device: &Device, laid: &[Laid], says: &[&str]) -> Option<String> {
        let is_written = self.operands.contains("->");
        match ((self.call)(device, laid), says) {
            (Ok(got), []) => {
                let arrays: Vec<Array> = laid.iter().map(Laid::array).collect();
                let elements = (self.loops)(&arrays);
                let wanted = if is_written { laid[laid.len() - 1].written(&elements) } else { elements };
                let scale = wanted.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * scale;
                let right = got.len() == wanted.len() && got.iter().zip(&wanted).all(near);
                (!right).then(|| format!("{got:?}, not {wanted:?}"))
            }
            (Err(error), says) if says.iter().any(|says| error.to_string().contains(says)) => None,
            (Err(error), _) => Some(format!("refused: {error}")),
            (Ok(_), says) => Some(format!("no longer refused with {says:?}")),
        }
    }
}

fn sized(operands: &[Operand], sizes: &[(char, usize)]) -> Vec<Vec<usize>> {
    let size = |letter: char| sizes.iter().find(|(name, _)| *name == letter).expect("a size").1;
    operands.iter().map(|operand| operand.axes.chars().map(size).collect()).collect()
}

/// Each call with each of its operands in each layout, in all combinations; without elements along each axis; of one element.
pub(super) fn walk(cases: &[Case]) {
    let mut wrong = std::collections::BTreeSet::new();
    for device in devices() {
        for case in cases.iter().filter(|case| is_host(&device) || !ON_THE_CPU.contains(&case.name)) {
            let operands = case.parsed();
            let laid = |at: usize, extents: &[usize], laying: usize| {
                let gap = if operands[at].is_written { 777.0 } else { f64::NAN };
                Laid::new(LAYINGS[laying].1(extents), gap, case.element)
            };
            let extents = sized(&operands, &SIZES);
            for combination in 0..LAYINGS.len().pow(operands.len() as u32) {
                let layings = |at: usize| combination / LAYINGS.len().pow(at as u32) % LAYINGS.len();
                if (0..operands.len()).any(|at| operands[at].is_written && LAYINGS[layings(at)].0 == "broadcast") {
                    continue; // no operand that is written shows an element twice
                }
                let all: Vec<Laid> = (0..operands.len()).map(|at| laid(at, &extents[at], layings(at))).collect();
                let names: Vec<_> = (0..operands.len()).map(|at| (operands[at].name, LAYINGS[layings(at)].0)).collect();
                let says: Vec<_> = names.iter().filter_map(|(name, laying)| case.refuses(name, laying)).collect();
                if let Some(what) = case.run(&device, &all, &says) {
                    wrong.insert(format!("{} of {names:?}: {what}", case.name));
                }
            }
            // Sizes: in the first layout of each operand that is not refused.
            let first = |at: usize| {
                let taken = |laying: &usize| case.refuses(operands[at].name, LAYINGS[*laying].0).is_none();
                (0..LAYINGS.len()).find(taken).expect("a layout that the call takes")
            };
            let letters: std::collections::BTreeSet<char> = operands.iter().flat_map(|o| o.axes.chars()).collect();
            let empty = |letter: char| SIZES.map(|(name, n)| (name, if name == letter { 0 } else { n }));
            let mut tried: Vec<_> = letters.iter().map(|letter| (format!("empty {letter}"), empty(*letter))).collect();
            tried.push(("one".into(), SIZES.map(|(name, _)| (name, 1))));
            for (title, sizes) in tried {
                let extents = sized(&operands, &sizes);
                let all: Vec<Laid> = (0..operands.len()).map(|at| laid(at, &extents[at], first(at))).collect();
                let says: Vec<_> =
                    case.refused.iter().filter(|(what, _)| *what == title).map(|(_, says)| *says).collect();
                if let Some(what) = case.run(&device, &all, &says) {
                    wrong.insert(format!("{} of {title}: {what}", case.name));
                }
            }
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
