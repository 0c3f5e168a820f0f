//! Attention and its gradients against the definition, on every device under test.

#[cfg(feature = "rng")]
mod dropout;
mod lengths;
mod oracle;
mod pages;
mod sink;
mod slices;

use crate::common::edge::by_turns;
use crate::common::{Rng, devices, is_host, refused, seeds};
use crate::convolution::oracle::{Numbers, Real, down, offsets};
use oracle::Case;
use windlass::dnn::{Attention, Corner};
use windlass::tensor::Layout;
use windlass::{Device, Error, Tensor, bf16, f16};

/// A tensor of rows: places before heads in memory or after them, perhaps with gaps; other memory is poison.
fn up<T: Real>(device: &Device, rng: &mut Rng, numbers: &Numbers) -> Tensor<T> {
    let gap = rng.pick(&[0, 0, 8, 3]);
    up_with(device, rng, numbers, gap)
}

fn up_with<T: Real>(device: &Device, rng: &mut Rng, numbers: &Numbers, gap: usize) -> Tensor<T> {
    let [batch, heads, places, width] = numbers.extents[..] else { panic!("{:?}", numbers.extents) };
    let row = width + gap;
    let strides = match rng.below(2) {
        0 => [heads * places * row, places * row, row, 1],
        _ => [heads * places * row, row, heads * row, 1],
    };
    let strides: Vec<isize> = strides
        .iter()
        .zip(&numbers.extents)
        .map(|(step, n)| if *n == 1 { rng.pick(&[3_331_333, 1]) } else { *step as isize })
        .collect();
    let offset = rng.pick(&[0, 0, 1, 8]);
    let mut memory = vec![T::POISON; offset + batch * heads * places * row + 4];
    let layout = Layout::new(&numbers.extents, &strides, offset).unwrap();
    for (at, x) in offsets(&layout).into_iter().zip(&numbers.all) {
        memory[at] = T::of(*x);
    }
    Tensor::from(by_turns(device, memory)).with_layout(layout).unwrap()
}

/// The numbers of a tensor of f32 or f64.
fn numbers<S: windlass::Element>(device: &Device, x: &Tensor<S>) -> Vec<f64> {
    let all = device.download(x).unwrap().await_result().unwrap();
    let bytes = bytemuck::cast_slice::<S, u8>(&all);
    match size_of::<S>() {
        4 => bytes.chunks(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap()).into()).collect(),
        _ => bytes.chunks(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap())).collect(),
    }
}

/// What the settings of a case refer to.
struct Given<T: Real> {
    bias: Option<Tensor<T>>,
    sink: Option<Tensor<T>>,
    lengths: Option<[Tensor<i32>; 2]>,
}

impl<T: Real> Given<T> {
    fn new(device: &Device, rng: &mut Rng, case: &Case, bias: Option<&Numbers>) -> Self {
        let ints = |all: &Vec<i32>| device.tensor([all.len()], &all[..]).unwrap();
        let of_sink = |all: &Vec<f64>| {
            let all: Vec<T> = all.iter().map(|x| T::of(*x)).collect();
            device.tensor([all.len()], all).unwrap()
        };
        Given {
            bias: bias.map(|bias| up::<T>(device, rng, bias)),
            sink: case.sink.as_ref().map(of_sink),
            lengths: case.lengths.as_ref().map(|[q, k]| [ints(q), ints(k)]),
        }
    }

    fn spec(&self, case: &Case) -> Attention<'_, T> {
        let mut spec = Attention::new().deterministic(true);
        if let Some(corner) = case.causal {
            spec = spec.causal(corner);
        }
        if let Some(window) = case.window {
            spec = spec.window(window);
        }
        if let Some(bias) = &self.bias {
            spec = spec.bias(bias);
        }
        #[cfg(feature = "rng")]
        if let Some(all) = &case.dropout {
            let stream = windlass::rng::Stream::new(windlass::rng::Generator::Philox, all.seed);
            spec = spec.dropout(all.probability, &stream);
        }
        if let Some(sink) = &self.sink {
            spec = spec.sink(sink);
        }
        if let Some([q, k]) = &self.lengths {
            spec = spec.lengths(q, k);
        }
        spec
    }
}

/// Rows with gaps that the library takes as they are, in each pass and each mask.
pub(crate) fn gaps<T: Real>(device: &Device, which: std::ops::Range<usize>) {
    let all = [[1, 2, 2, 64, 64, 64, 64], [1, 2, 1, 40, 72, 32, 32], [1, 1, 1, 64, 64, 128, 128]];
    let wide = if is_host(device) { &[8][..] } else { &[8, 16, 64] };
    for (seed, sizes) in all.into_iter().enumerate().take(which.end).skip(which.start) {
        for causal in [None, Some(Corner::TopLeft)] {
            let case = Case { causal, ..Case::new(sizes) };
            for gap in wide {
                forward_with::<T>(device, &mut Rng::new(seed as u64), &case, Some(*gap));
                backward_with::<T>(device, &mut Rng::new(seed as u64), &case, Some(*gap));
            }
        }
    }
}

fn forward<T: Real>(device: &Device, rng: &mut Rng, case: &Case) {
    forward_with::<T>(device, rng, case, None);
}

fn forward_with<T: Real>(device: &Device, rng: &mut Rng, case: &Case, gap: Option<usize>) {
    let what = format!("{} {:?} {case:?}", T::DTYPE, device.kind());
    let [q, k, v] = [case.q(), case.k(), case.v()].map(|extents| Numbers::random::<T>(rng, &extents));
    let bias = case.bias.map(|extents| Numbers::random::<T>(rng, &extents));
    let want = case.forward([&q, &k, &v], bias.as_ref());
    let mut laid = |numbers: &Numbers| match gap {
        Some(gap) => up_with::<T>(device, rng, numbers, gap),
        None => up::<T>(device, rng, numbers),
    };
    let [q, k, v] = [&q, &k, &v].map(&mut laid);
    let given = Given::new(device, rng, case, bias.as_ref());
    let spec = given.spec(case);
    let alone = device.dnn().attend(&spec, &q, &k, &v).expect(&what).await_result().expect(&what);
    let (both, of_sums) = device.dnn().attend_training(&spec, &q, &k, &v).expect(&what).await_result().expect(&what);
    for got in [down(device, &alone), down(device, &both)] {
        close_rows(case, &got, &numbers(device, &of_sums), &want, &what);
    }
}

/// A result and the logarithms of its sums against those of [`Case::forward`].
fn close_rows<T: Real>(case: &Case, got: &[T], got_sums: &[f64], want: &[Numbers; 4], what: &str) {
    let [o, sums, scale, large] = want;
    let [.., keys, width, _] = case.sizes;
    let fast = if T::SUMS > 1e-12 { 2e-6 } else { 0.0 };
    assert_eq!((got.len(), got_sums.len()), (o.all.len(), sums.all.len()), "{what}");
    for (place, got) in got.iter().enumerate() {
        let (want, scale, large) = (o.all[place], scale.all[place], large.all[place]);
        let relative = 2.0 * T::ROUNDING + ((width + keys + 16) as f64 * T::SUMS + fast) * (2.0 + large);
        let bound = relative * scale + 1.01 * T::ROUNDING * want.abs() + T::TINY;
        let error = (got.number() - want).abs();
        assert!(error <= bound, "{what}: element {place} is {}, not {want}: {error:e} > {bound:e}", got.number());
    }
    let large = large.all.iter().copied().fold(0.0, f64::max);
    for (place, (got, want)) in got_sums.iter().zip(&sums.all).enumerate() {
        let bound = ((width + keys + 16) as f64 * T::SUMS + fast) * (2.0 + large) + 4.0 * T::SUMS * want.abs();
        assert!(got == want || (got - want).abs() <= bound, "{what}: sum {place} is {got}, not {want}");
    }
}

#[test]
fn random_attention_equals_the_definition() {
    let devices = devices();
    seeds(32, |rng, seed| {
        let (narrow, wide) = (Case::random(rng, true), Case::random(rng, false));
        for device in &devices {
            let rng = &mut Rng::new(seed);
            match (seed % 4, is_host(device)) {
                (0, true) => forward::<f32>(device, rng, &narrow),
                (1, true) => forward::<f64>(device, rng, &narrow),
                (2, true) => forward::<bf16>(device, rng, &narrow),
                (0 | 1, false) => forward::<bf16>(device, rng, &wide),
                _ => forward::<f16>(device, rng, &wide),
            }
        }
    });
}

fn backward<T: Real>(device: &Device, rng: &mut Rng, case: &Case) {
    backward_with::<T>(device, rng, case, None);
}

fn backward_with<T: Real>(device: &Device, rng: &mut Rng, case: &Case, gap: Option<usize>) {
    let what = format!("{} {:?} {case:?}", T::DTYPE, device.kind());
    let extents = [case.q(), case.k(), case.v(), case.o()];
    let [q, k, v, dy] = extents.map(|extents| Numbers::random::<T>(rng, &extents));
    let bias = case.bias.map(|extents| Numbers::random::<T>(rng, &extents));
    let want = case.backward([&q, &k, &v, &dy], bias.as_ref());
    let want_sink = case.sink.as_ref().map(|_| case.of_sink([&q, &k, &v, &dy], bias.as_ref()));
    let mut laid = |numbers: &Numbers| match gap {
        Some(gap) => up_with::<T>(device, rng, numbers, gap),
        None => up::<T>(device, rng, numbers),
    };
    let [q, k, v, dy] = [&q, &k, &v, &dy].map(&mut laid);
    let given = Given::new(device, rng, case, bias.as_ref());
    let spec = given.spec(case);
    let dnn = device.dnn();
    let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).expect(&what).await_result().expect(&what);
    if let Some(want) = want_sink {
        let slopes = dnn.attend_sink_gradient(&spec, &o, &dy, &sums).expect(&what).await_result().expect(&what);
        close(&down(device, &slopes), &want, &format!("{what}: sink"));
    }
    let gradients = dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).expect(&what).await_result();
    if !is_host(device) && case.sizes[3] == 1 {
        assert!(gradients.unwrap_err().error.to_string().contains("one query"), "{what}");
        return;
    }
    let (dq, dk, dv) = gradients.expect(&what);
    for (name, got, want) in [("dq", dq, &want[0]), ("dk", dk, &want[1]), ("dv", dv, &want[2])] {
        assert_eq!(got.shape(), want.extents, "{what}");
        close(&down(device, &got), want, &format!("{what}: {name}"));
    }
}

/// The largest magnitude is the measure: sums of numbers of both signs that were rounded in between.
fn close<T: Real>(got: &[T], want: &Numbers, what: &str) {
    let most = want.all.iter().fold(0f64, |most, x| most.max(x.abs()));
    let bound = (16.0 * T::ROUNDING + 1e4 * T::SUMS) * (most + 4.0);
    assert_eq!(got.len(), want.all.len(), "{what}");
    for (place, (got, want)) in got.iter().zip(&want.all).enumerate() {
        let got = got.number();
        assert!((got - want).abs() <= bound, "{what}[{place}] is {got}, not {want} ({bound:e})");
    }
}

#[test]
fn random_gradients_equal_the_definition() {
    let devices = devices();
    seeds(20, |rng, seed| {
        let (narrow, wide) = (Case::random(rng, true), Case::random(rng, false));
        for device in &devices {
            let rng = &mut Rng::new(seed);
            match (seed % 4, is_host(device)) {
                (0, true) => backward::<f32>(device, rng, &narrow),
                (1, true) => backward::<f64>(device, rng, &narrow),
                (2, true) => backward::<bf16>(device, rng, &narrow),
                (0 | 1, false) => backward::<bf16>(device, rng, &wide),
                _ => backward::<f16>(device, rng, &wide),
            }
        }
    });
}

#[test]
fn a_query_that_sees_nothing_gives_zeros() {
    for device in devices() {
        let mut case = Case::new([2, 2, 1, 16, 16, 8, 8]);
        case.lengths = Some([vec![16, 5], vec![7, 1]]);
        forward::<f16>(&device, &mut Rng::new(1), &case);
        case.causal = Some(Corner::BottomRight);
        case.lengths = Some([vec![16, 5], vec![7, 0]]);
        forward::<f16>(&device, &mut Rng::new(1), &case);
    }
}

#[test]
fn there_may_be_more_queries_than_keys() {
    for device in devices() {
        for corner in [Corner::TopLeft, Corner::BottomRight] {
            let case = Case { causal: Some(corner), ..Case::new([1, 2, 2, 9, 5, 8, 8]) };
            forward::<f16>(&device, &mut Rng::new(2), &case);
            backward::<f16>(&device, &mut Rng::new(2), &case);
            if corner == Corner::TopLeft {
                let case = Case { window: Some(3), ..case };
                forward::<f16>(&device, &mut Rng::new(3), &case);
                backward::<f16>(&device, &mut Rng::new(3), &case);
            }
        }
    }
}

#[test]
fn an_attention_of_nothing_is_nothing_or_zeros() {
    for device in devices() {
        for sizes in [[0, 2, 1, 3, 3, 8, 8], [2, 0, 0, 3, 3, 8, 8], [2, 2, 1, 0, 3, 8, 8], [2, 2, 1, 3, 0, 8, 8]] {
            forward::<f16>(&device, &mut Rng::new(3), &Case::new(sizes));
            backward::<f16>(&device, &mut Rng::new(3), &Case::new(sizes));
        }
    }
}

#[test]
fn what_a_library_lacks_is_said() {
    for device in devices() {
        let told = |answer: windlass::Result<()>| match (is_host(&device), answer) {
            (true, answer) => answer.unwrap(),
            (false, Err(Error::Unsupported { reason, .. })) => assert!(reason.contains("cuDNN"), "{reason}"),
            (false, other) => panic!("{other:?}"),
        };
        let dnn = device.dnn();
        let x = device.zeros::<f64>([1, 1, 2, 8]).unwrap();
        told(dnn.attend(&Attention::new(), &x, &x, &x).unwrap().await_result().map(drop).map_err(Into::into));
        let x = device.zeros::<f32>([1, 1, 2, 8]).unwrap();
        told(dnn.attend(&Attention::new(), &x, &x, &x).unwrap().await_result().map(drop).map_err(Into::into));
        dnn.attend(&Attention::new().tf32(true), &x, &x, &x).unwrap().await_result().unwrap();
        let x = device.zeros::<f16>([1, 1, 2, 5]).unwrap();
        told(dnn.attend(&Attention::new(), &x, &x, &x).unwrap().await_result().map(drop).map_err(Into::into));
    }
}

#[test]
fn windows_at_the_bottom_right_are_right_or_refused() {
    for device in devices() {
        for (queries, keys) in [(5, 16), (1, 16), (16, 16)] {
            let mut case = Case::new([2, 2, 1, queries, keys, 16, 16]);
            (case.causal, case.window) = (Some(Corner::BottomRight), Some(3));
            if is_host(&device) || queries == keys {
                forward::<f16>(&device, &mut Rng::new(4), &case);
                continue;
            }
            let (dnn, x) = (device.dnn(), |places| device.zeros::<f16>([2, 2, places, 16]).unwrap());
            let (q, k) = (x(queries), x(keys));
            let given = Given::<f16>::new(&device, &mut Rng::new(0), &case, None);
            let spec = given.spec(&case);
            match dnn.attend(&spec, &q, &k, &k).unwrap().await_result().unwrap_err().error {
                Error::Unsupported { reason, .. } => assert!(reason.contains("bottom right"), "{reason}"),
                other => panic!("{other}"),
            }
            // Without the window, and at the other corner, there is one.
            case.window = None;
            forward::<f16>(&device, &mut Rng::new(5), &case);
            (case.causal, case.window) = (Some(Corner::TopLeft), Some(3));
            forward::<f16>(&device, &mut Rng::new(6), &case);
        }
    }
}

#[test]
fn extents_that_do_not_fit_are_refused() {
    for device in devices() {
        let (dnn, plain) = (device.dnn(), Attention::new());
        let x = |extents: &[usize]| device.zeros::<f16>(extents).unwrap();
        let q = x(&[2, 4, 6, 8]);
        let named = |error: Result<_, Error>, argument: &str| {
            let error: Error = error.map(|_: windlass::PendingDispatch<Tensor<f16>>| ()).unwrap_err();
            assert_eq!(refused(&error).0, argument, "{error}");
        };
        named(dnn.attend(&plain, &x(&[2, 4, 6]), &q, &q), "q");
        named(dnn.attend(&plain, &q, &x(&[1, 4, 6, 8]), &q), "k");
        named(dnn.attend(&plain, &q, &x(&[2, 4, 6, 16]), &q), "k");
        named(dnn.attend(&plain, &q, &x(&[2, 3, 6, 8]), &x(&[2, 3, 6, 8])), "k");
        named(dnn.attend(&plain, &q, &q, &x(&[2, 4, 5, 8])), "v");
        named(dnn.attend(&Attention::new().window(3), &q, &q, &q), "window");
        named(dnn.attend(&Attention::new().causal(Corner::TopLeft).window(0), &q, &q, &q), "window");
        named(dnn.attend(&Attention::new().scale(f64::NAN), &q, &q, &q), "scale");
        named(dnn.attend(&Attention::new().bias(&x(&[3, 1, 6, 6])), &q, &q, &q), "bias");
        let few = device.zeros::<i32>([3]).unwrap();
        named(dnn.attend(&Attention::new().lengths(&few, &few), &q, &q, &q), "query_lengths");
    }
}
