//! Operands laid out in memory, and how a call is told of it.

use windlass::tensor::{AxisSlice, Layout};
use windlass::{Complex, Device, Tensor};

/// A name, and the layout of operands of some extents.
type Laying = (&'static str, fn(&[usize]) -> Layout);

/// The layouts by their names. Each is made of a larger one by views, so that it lies in its memory.
pub(super) const LAYINGS: [Laying; 7] = [
    ("row-major", |extents| Layout::row_major(extents).unwrap()),
    ("column-major", |extents| Layout::column_major(extents).unwrap()),
    // The last two axes of wider rows, swapped.
    ("transposed", |extents| match extents {
        [batch @ .., rows, cols] => {
            let wide = Layout::row_major([batch, &[*cols, rows + 2]].concat()).unwrap();
            wide.slice((AxisSlice::Rest, ..*rows)).unwrap().swap_axes(-1, -2).unwrap()
        }
        _ => Layout::column_major(extents).unwrap(),
    }),
    // Every second element of the last axis.
    ("strided", |extents| {
        let wide = widened(extents, |last| 2 * last);
        wide.slice((AxisSlice::Rest, AxisSlice::from(..).step(2))).unwrap()
    }),
    ("flipped", |extents| Layout::row_major(extents).unwrap().flip(0).unwrap()),
    // Behind the beginning of its memory, in wider rows.
    ("offset", |extents| {
        let last = extents.last().copied().unwrap_or(1);
        widened(extents, |last| last + 3).slice((AxisSlice::Rest, 2..2 + last)).unwrap()
    }),
    ("broadcast", |extents| Layout::row_major(&extents[1..]).unwrap().broadcast(extents).unwrap()),
];

fn widened(extents: &[usize], wider: impl Fn(usize) -> usize) -> Layout {
    let mut all = extents.to_vec();
    if let Some(last) = all.last_mut() {
        *last = wider(*last);
    }
    Layout::row_major(all).unwrap()
}

/// Memory, and where an operand lies in it.
#[derive(Clone)]
pub(super) struct Laid {
    pub(super) memory: Vec<f64>,
    pub(super) layout: Layout,
}

/// The elements of an operand in order, and their extents: what the loops read.
pub(super) struct Array {
    pub(super) extents: Vec<usize>,
    pub(super) elements: Vec<f64>,
}

impl Array {
    /// The element at these indices.
    pub(super) fn at(&self, indices: &[usize]) -> f64 {
        assert_eq!(indices.len(), self.extents.len());
        self.elements[self.extents.iter().zip(indices).fold(0, |place, (n, i)| place * n + i)]
    }
}

/// What `f` gives for all indices below the extents, the last axis fastest.
pub(super) fn each(extents: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Vec<f64> {
    let count: usize = extents.iter().product();
    let mut indices = vec![0; extents.len()];
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(f(&indices));
        for (i, n) in indices.iter_mut().zip(extents).rev() {
            *i = (*i + 1) % n;
            if *i > 0 {
                break;
            }
        }
    }
    all
}

impl Laid {
    /// An operand of these elements. Beside them is `gap`.
    pub(super) fn new(layout: Layout, gap: f64, element: impl Fn(&[usize]) -> f64) -> Self {
        let end = layout.reach().map_or(0, |(_, last)| last + 1);
        let mut memory = vec![gap; end + 2];
        each(layout.shape(), |indices| {
            memory[place(&layout, indices)] = element(indices);
            0.0
        });
        Laid { memory, layout }
    }

    pub(super) fn array(&self) -> Array {
        let extents = self.layout.shape().to_vec();
        let elements = each(&extents, |indices| self.memory[place(&self.layout, indices)]);
        Array { extents, elements }
    }

    /// The memory after these elements were written.
    pub(super) fn written(&self, elements: &[f64]) -> Vec<f64> {
        let (mut memory, mut elements) = (self.memory.clone(), elements.iter());
        each(self.layout.shape(), |indices| {
            memory[place(&self.layout, indices)] = *elements.next().expect("as many as the operand has");
            0.0
        });
        memory
    }

    pub(super) fn tensor(&self, device: &Device) -> Tensor<f64> {
        let whole = device.tensor([self.memory.len()], &self.memory).unwrap();
        whole.with_layout(self.layout.clone()).unwrap()
    }

    /// As complex numbers: their imaginary parts are the elements of their places.
    pub(super) fn complex(&self, device: &Device) -> Tensor<Complex<f64>> {
        let memory: Vec<_> = self.memory.iter().map(|x| Complex::new(*x, *x * 0.5)).collect();
        device.tensor([memory.len()], memory).unwrap().with_layout(self.layout.clone()).unwrap()
    }
}

fn place(layout: &Layout, indices: &[usize]) -> usize {
    let moved: isize = layout.strides().iter().zip(indices).map(|(step, i)| step * *i as isize).sum();
    usize::try_from(layout.offset() as isize + moved).unwrap()
}
