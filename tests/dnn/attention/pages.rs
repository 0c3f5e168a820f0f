//! Keys and values in pages: prompts and single queries, by the definition on what the pages hold.

use super::oracle::Case;
use super::{Given, close_rows};
use crate::common::{Rng, devices, is_host, refused};
use crate::convolution::oracle::{Numbers, Real, down};
use windlass::dnn::{Attention, Corner};
use windlass::{Device, Error, PendingDispatch, Tensor, bf16, f16};

/// Blocks in random order, of which some belong to nobody. What no batch has is NaN. Also the table, whose entries beyond the keys of a
/// batch are numbers of no block.
fn paged<T: Real>(
    device: &Device,
    rng: &mut Rng,
    case: &Case,
    places: usize,
    all: [&Numbers; 2],
) -> ([Tensor<T>; 2], Tensor<i32>) {
    let [batch, _, heads, _, keys, ..] = case.sizes;
    let (pages, more) = (keys / places, 3);
    let blocks = batch * pages + more;
    let mut order: Vec<usize> = (0..blocks).collect();
    (1..blocks).rev().for_each(|k| order.swap(k, rng.below(k + 1)));
    let lengths = &case.lengths.as_ref().unwrap()[1];
    let used = |b: usize, page: usize| page * places < lengths[b] as usize;
    let table: Vec<i32> = (0..batch * pages)
        .map(|k| if used(k / pages, k % pages) { order[k] as i32 } else { rng.pick(&[-1, i32::MAX, i32::MIN]) })
        .collect();
    let stored = all.map(|numbers| {
        let width = numbers.extents[3];
        let mut memory = vec![T::POISON; blocks * heads * places * width];
        for (b, length) in lengths.iter().enumerate() {
            for (h, key) in (0..heads).flat_map(|h| (0..*length as usize).map(move |key| (h, key))) {
                let block = order[b * pages + key / places];
                let at = ((block * heads + h) * places + key % places) * width;
                let to = &mut memory[at..at + width];
                to.iter_mut().zip(numbers.row(&[b, h, key])).for_each(|(to, x)| *to = T::of(*x));
            }
        }
        device.tensor([blocks, heads, places, width], memory).unwrap()
    });
    (stored, device.tensor([batch, pages], table).unwrap())
}

fn forward<T: Real>(device: &Device, rng: &mut Rng, case: &Case, places: usize) {
    let what = format!("{} {:?} pages of {places}, {case:?}", T::DTYPE, device.kind());
    let [q, k, v] = [case.q(), case.k(), case.v()].map(|extents| Numbers::random::<T>(rng, &extents));
    let bias = case.bias.map(|extents| Numbers::random::<T>(rng, &extents));
    let want = case.forward([&q, &k, &v], bias.as_ref());
    let ([k, v], table) = paged::<T>(device, rng, case, places, [&k, &v]);
    let q = super::up_with::<T>(device, rng, &q, 0);
    let given = Given::new(device, rng, case, bias.as_ref());
    let spec = given.spec(case).pages(&table);
    let alone = device.dnn().attend(&spec, &q, &k, &v).expect(&what).await_result().expect(&what);
    let (both, sums) = device.dnn().attend_training(&spec, &q, &k, &v).expect(&what).await_result().expect(&what);
    for got in [down(device, &alone), down(device, &both)] {
        close_rows(case, &got, &super::numbers(device, &sums), &want, &what);
    }
}

/// Batches, heads, heads of keys, queries, pages, width, and the places of a page.
fn case(rng: &mut Rng, [batch, heads, kv, queries, pages, width, places]: [usize; 7]) -> Case {
    let keys = pages * places;
    let mut case = Case::new([batch, heads, kv, queries, keys, width, width]);
    let of_keys: Vec<i32> = (0..batch).map(|_| (1 + rng.below(keys)) as i32).collect();
    let of_queries = of_keys.iter().map(|k| (1 + rng.below(queries)).min(*k as usize) as i32).collect();
    case.lengths = Some([of_queries, of_keys]);
    case
}

#[test]
fn attention_over_pages_equals_the_definition() {
    for device in devices() {
        let all = [
            [2, 4, 4, 9, 3, 16, 16],
            [3, 4, 2, 1, 5, 64, 16],
            [2, 2, 1, 1, 2, 128, 64],
            [2, 4, 2, 20, 2, 16, 64],
            [1, 1, 1, 1, 1, 8, 16],
            [2, 2, 2, 1, 2, 64, 128],
        ];
        for (seed, sizes) in all.into_iter().enumerate() {
            for corner in [None, Some(Corner::BottomRight), Some(Corner::TopLeft)] {
                let rng = &mut Rng::new(seed as u64);
                let case = Case { causal: corner, ..case(rng, sizes) };
                forward::<f16>(&device, rng, &case, sizes[6]);
                forward::<bf16>(&device, rng, &case, sizes[6]);
                if is_host(&device) {
                    forward::<f64>(&device, rng, &case, sizes[6]);
                }
            }
        }
    }
}

/// Batches of no keys or no queries, full ones, and settings beside the pages.
#[test]
fn pages_go_with_other_settings() {
    for device in devices() {
        let rng = &mut Rng::new(3);
        let plain = case(rng, [3, 2, 2, 9, 4, 16, 16]);
        let plain = Case { lengths: Some([vec![9, 0, 4], vec![64, 5, 0]]), ..plain };
        forward::<f16>(&device, rng, &plain, 16);
        forward::<f16>(&device, rng, &Case { causal: Some(Corner::BottomRight), ..plain.clone() }, 16);
        forward::<f16>(&device, rng, &Case { sink: Some(vec![1.0, -1.0]), ..plain.clone() }, 16);
        forward::<f16>(&device, rng, &Case { causal: Some(Corner::TopLeft), window: Some(3), ..plain.clone() }, 16);
        forward::<f16>(&device, rng, &Case { bias: Some([1, 2, 9, 64]), ..plain.clone() }, 16);
        // One query of each.
        let plain = case(rng, [4, 2, 2, 1, 4, 16, 16]);
        let plain = Case { lengths: Some([vec![1, 0, 1, 1], vec![64, 5, 0, 17]]), ..plain };
        forward::<f16>(&device, rng, &plain, 16);
        forward::<f16>(&device, rng, &Case { causal: Some(Corner::BottomRight), ..plain.clone() }, 16);
        forward::<f16>(&device, rng, &Case { sink: Some(vec![1.0, -1.0]), ..plain.clone() }, 16);
        forward::<f16>(&device, rng, &Case { bias: Some([1, 2, 1, 64]), ..plain.clone() }, 16);
    }
}

#[test]
fn pages_of_nothing_are_nothing() {
    for device in devices() {
        let rng = &mut Rng::new(4);
        for sizes in [[0, 2, 2, 3, 2, 64, 16], [2, 2, 2, 0, 2, 64, 16], [2, 2, 2, 3, 0, 64, 16]] {
            let [batch, heads, kv, queries, pages, width, places] = sizes;
            let mut case = Case::new([batch, heads, kv, queries, pages * places, width, width]);
            case.lengths = Some([vec![queries as i32; batch], vec![(pages * places) as i32; batch]]);
            forward::<f16>(&device, rng, &case, places);
        }
    }
}

#[test]
fn pages_that_do_not_fit_are_refused() {
    for device in devices() {
        let (dnn, q) = (device.dnn(), device.zeros::<f16>([2, 4, 6, 8]).unwrap());
        let k = device.zeros::<f16>([5, 4, 16, 8]).unwrap();
        let lengths = device.tensor([2], [6i32, 6]).unwrap();
        let named = |error: Result<PendingDispatch<Tensor<f16>>, Error>, argument: &str| {
            let error = error.map(drop).unwrap_err();
            assert_eq!(refused(&error).0, argument, "{error}");
        };
        let table = |extents: &[usize]| device.zeros::<i32>(extents).unwrap();
        for extents in [&[2][..], &[3, 2], &[2, 1, 1]] {
            let table = table(extents);
            named(dnn.attend(&Attention::new().lengths(&lengths, &lengths).pages(&table), &q, &k, &k), "pages");
        }
        let table = table(&[2, 3]);
        named(dnn.attend(&Attention::new().pages(&table), &q, &k, &k), "pages");
        let spec = Attention::new().lengths(&lengths, &lengths).pages(&table);
        dnn.attend(&spec, &q, &k, &k).unwrap().await_result().unwrap();
        let none = device.zeros::<f16>([0, 4, 16, 8]).unwrap();
        named(dnn.attend(&spec, &q, &none, &none), "k");
        named(dnn.attend(&spec, &q, &k, &device.zeros::<f16>([5, 4, 8, 8]).unwrap()), "v");
        named(dnn.attend(&spec, &q, &device.zeros::<f16>([5, 4, 16, 16]).unwrap(), &k), "k");
        let sums = device.zeros::<f32>([2, 4, 6]).unwrap();
        let error = dnn.attend_gradients(&spec, &q, &k, &k, &q, &q, &sums).map(drop).unwrap_err();
        assert_eq!(refused(&error).0, "pages", "{error}");
        let error = dnn.plan_attention_gradients(&spec, &q, &k, &k).map(drop).unwrap_err();
        assert_eq!(refused(&error).0, "pages", "{error}");
    }
}
