//! Pooling beside its definition: windows as lists of places.

use crate::sample::{Laid, Number, Rng, read, same, same_bits, typed};
use windlass::dnn::Pool;
use windlass::{Device, bf16, f16};

/// Windows along an axis of `n`.
#[derive(Clone, Copy, Debug)]
struct Axis {
    n: usize,
    window: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    after: usize,
    ceil: bool,
    adaptive: bool,
}

impl Axis {
    fn random(rng: &mut Rng, adaptive: bool, ceil: bool) -> Self {
        let dilation = rng.among(&[1, 1, 1, 2, 3]);
        Axis {
            n: rng.among(&[0, 1, 2, 3, 5, 7, 8]),
            window: rng.among(&[1, 2, 3, 4]),
            stride: rng.among(&[1, 1, 2, 3, 5]),
            dilation,
            before: rng.below(4),
            after: rng.below(4),
            ceil,
            adaptive,
        }
    }

    fn span(&self) -> usize {
        self.dilation * (self.window - 1) + 1
    }

    fn fits(&self) -> bool {
        if self.adaptive { self.n > 0 } else { self.n + self.before + self.after >= self.span() }
    }

    fn windows(&self) -> usize {
        if self.adaptive {
            return self.window;
        }
        let free = self.n + self.before + self.after - self.span();
        let all = if self.ceil { free.div_ceil(self.stride) } else { free / self.stride } + 1;
        if self.ceil && (all - 1) * self.stride >= self.n + self.before { all - 1 } else { all }
    }

    /// The elements of a window, and its number of places with the padding.
    fn window(&self, o: usize) -> (Vec<usize>, usize) {
        if self.adaptive {
            let (first, end) = (o * self.n / self.window, ((o + 1) * self.n).div_ceil(self.window));
            return ((first..end).collect(), end - first);
        }
        let places = (0..self.window).map(|t| (o * self.stride + t * self.dilation) as isize - self.before as isize);
        let places: Vec<isize> = places.filter(|p| *p < (self.n + self.after) as isize).collect();
        let elements = places.iter().filter(|p| (0..self.n as isize).contains(p)).map(|p| *p as usize).collect();
        (elements, places.len())
    }
}

struct Case {
    axes: Vec<Axis>,
    outer: Vec<usize>,
    pool: Pool,
    counts: bool,
}

impl Case {
    fn random(rng: &mut Rng) -> Case {
        let (adaptive, ceil, counts) = (rng.below(4) == 0, rng.below(2) == 0, rng.below(2) == 0);
        let rank = 1 + rng.below(3);
        let axes: Vec<Axis> =
            std::iter::repeat_with(|| Axis::random(rng, adaptive, ceil)).filter(Axis::fits).take(rank).collect();
        let list = |f: fn(&Axis) -> usize| axes.iter().map(f).collect::<Vec<usize>>();
        let pool = if adaptive {
            Pool::adaptive(list(|a| a.window))
        } else {
            Pool::new(list(|a| a.window))
                .stride(list(|a| a.stride))
                .dilation(list(|a| a.dilation))
                .padding_between(list(|a| a.before), list(|a| a.after))
                .ceil(ceil)
                .count_padding(counts)
        };
        let outer = (0..rng.below(3)).map(|_| rng.among(&[0, 1, 2, 3, 3])).collect();
        Case { axes, outer, pool, counts: counts && !adaptive }
    }

    fn extents(&self, own: impl Fn(&Axis) -> usize) -> Vec<usize> {
        self.outer.iter().copied().chain(self.axes.iter().map(own)).collect()
    }

    /// For each window of a plane: its elements in order, and its places.
    fn windows(&self) -> Vec<(Vec<usize>, usize)> {
        let mut all = vec![(vec![0], 1)];
        for axis in &self.axes {
            let mut next = Vec::new();
            for (elements, places) in &all {
                for o in 0..axis.windows() {
                    let (own, count) = axis.window(o);
                    let joined = elements.iter().flat_map(|e| own.iter().map(move |p| e * axis.n + p)).collect();
                    next.push((joined, places * count));
                }
            }
            all = next;
        }
        all
    }
}

fn run<T: Number>(devices: &[Device], case: &Case, rng: &mut Rng, what: &str) {
    let special = rng.below(4) == 0;
    let element = |rng: &mut Rng| match rng.below(if special { 4 } else { 1000 }) {
        0 => f64::NEG_INFINITY,
        1 => f64::NAN,
        2 => -0.0,
        // Some are equal.
        _ => (rng.unit() * 16.0).round() / 16.0,
    };
    let x = Laid::<T>::random(rng, &case.extents(|a| a.n), element);
    let dy = Laid::<T>::random(rng, &case.extents(Axis::windows), |rng| rng.unit());
    let (plane, windows) = (case.axes.iter().map(|a| a.n).product::<usize>(), case.windows());
    let planes: usize = case.outer.iter().product();
    let (mut largest, mut at, mut mean) = (vec![], vec![], vec![]);
    let (mut max_back, mut mean_back) = (vec![0.0; planes * plane], vec![0.0; planes * plane]);
    let lowest = T::LOWEST;
    for p in 0..planes {
        for (w, (elements, places)) in windows.iter().enumerate() {
            let (mut best, mut place, mut sum) = (lowest, -1i64, 0.0);
            for e in elements {
                let value = x.elements[p * plane + e].number();
                if place < 0 || value > best || (value.is_nan() && !best.is_nan()) {
                    (best, place) = (value, *e as i64);
                }
                sum = T::rounded(sum + value);
            }
            let count = if case.counts { *places } else { elements.len() };
            let gradient = dy.elements[p * windows.len() + w].number();
            if place >= 0 {
                let target = &mut max_back[p * plane + place as usize];
                *target = T::rounded(*target + gradient);
            }
            for e in elements {
                let target = &mut mean_back[p * plane + e];
                *target = T::rounded(*target + T::rounded(gradient / count as f64));
            }
            largest.push(best);
            at.push(place);
            mean.push(if count > 0 { T::rounded(sum / count as f64) } else { sum });
        }
    }
    let mut made = vec![vec![]; 5];
    for device in devices {
        let dnn = device.dnn();
        let (x, dy) = (x.up(device), dy.up(device));
        let y = dnn.max_pool(typed::<T>(&x), &case.pool).unwrap().into_output();
        assert_eq!(y.shape(), case.extents(Axis::windows), "{what}");
        let (z, places) = dnn.max_pool_places(typed::<T>(&x), &case.pool).unwrap().into_output();
        let extents = case.extents(|a| a.n);
        // Everything is submitted before the first is waited for.
        let of_floats = T::FLOAT.then(|| {
            [
                dnn.average_pool(typed::<T>(&x), &case.pool).unwrap().into_output(),
                dnn.max_pool_gradient(typed::<T>(&dy), &places, &extents, &case.pool).unwrap().into_output(),
                dnn.average_pool_gradient(typed::<T>(&dy), &extents, &case.pool).unwrap().into_output(),
            ]
        });
        let (z, got) = (read(device, &z), read(device, &places));
        same(&z, &largest, &format!("{what}, the largest"));
        assert_eq!(got, at, "{what}");
        made[0].push(read(device, &y));
        made[1].push(z);
        let wanted = [(&mean, "mean"), (&max_back, "gradient of the largest"), (&mean_back, "gradient of the mean")];
        for (k, (got, (want, name))) in of_floats.iter().flatten().zip(wanted).enumerate() {
            let got = read(device, got);
            same(&got, want, &format!("{what}, {name}"));
            made[2 + k].push(got);
        }
    }
    let first = std::mem::take(&mut made[0]);
    made[1].extend(first);
    made.iter().filter(|all| !all.is_empty()).for_each(|all| same_bits(all, what));
}

/// Random windows, of seeds from `first` on.
pub(crate) fn cases(devices: &[Device], first: u64, count: u64) {
    for seed in first..first + count {
        let mut rng = Rng::new(seed);
        let case = Case::random(&mut rng);
        let what = format!("seed {seed}: {:?} of {:?}", case.axes, case.outer);
        match rng.below(6) {
            0 => run::<f64>(devices, &case, &mut rng, &what),
            1 => run::<f16>(devices, &case, &mut rng, &what),
            2 => run::<bf16>(devices, &case, &mut rng, &what),
            3 => run::<i8>(devices, &case, &mut rng, &what),
            4 => run::<u8>(devices, &case, &mut rng, &what),
            _ => run::<f32>(devices, &case, &mut rng, &what),
        }
    }
}

pub(crate) fn what_does_not_fit_is_told(device: &Device) {
    let (dnn, x) = (device.dnn(), device.zeros::<f32>([2, 3]).unwrap());
    let told = |pool: Pool| dnn.max_pool(&x, &pool).unwrap_err().to_string();
    for (pool, what) in [
        (Pool::new([4]), "spans 4 places, but an axis has 3"),
        (Pool::new([0]), "0 along an axis"),
        (Pool::new([1]).stride([0]), "stride"),
        (Pool::new([1]).dilation([0]), "dilation"),
        (Pool::new([1, 1, 1]), "2 axes"),
        (Pool::new([1, 1, 1, 1]), "one to three"),
        (Pool::new([]), "one to three"),
        (Pool::new([1, 1]).padding([1, 2, 3]), "3 numbers for windows of 2 axes"),
        (Pool::new([1]).padding([usize::MAX]), "the numbers are below"),
        (Pool::new([1]).stride([usize::MAX]), "the numbers are below"),
    ] {
        let error = told(pool);
        assert!(error.contains(what), "{error}");
    }
    let wide = device.zeros::<i32>([2, 3]).unwrap();
    let error = dnn.max_pool(&wide, &Pool::new([2])).unwrap_err().to_string();
    assert!(error.contains("i32 are not pooled"), "{error}");
    let bytes = device.zeros::<u8>([2, 3]).unwrap();
    let error = dnn.average_pool(&bytes, &Pool::new([2])).unwrap_err().to_string();
    assert!(error.contains("u8 are not pooled"), "{error}");
    let error = dnn.average_pool_gradient(&x, &[2, 5], &Pool::new([2])).unwrap_err().to_string();
    assert!(error.contains("the windows need [2, 2]"), "{error}");
    let empty = device.zeros::<f32>([2, 0]).unwrap();
    let error = dnn.average_pool(&empty, &Pool::adaptive([2])).unwrap_err().to_string();
    assert!(error.contains("without elements"), "{error}");
}
