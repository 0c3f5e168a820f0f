//! Sparse vectors.

use super::model::Exact;
use crate::common::{Rng, Sample, assert_same_bits, devices, down, up};
use crate::each_sparse;
use windlass::reference::Value;
use windlass::sparse::SparseElement;

fn vectors_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(41), device.sparse());
        for len in [0usize, 1, 50, 3000] {
            let places: Vec<usize> = (0..len).filter(|_| rng.below(4) == 0).collect();
            let (x, y): (Vec<T>, Vec<T>) = (rng.samples(places.len()), rng.samples(len));
            let indices = up(&device, places.iter().map(|i| *i as i32).collect::<Vec<_>>());
            let vector = sparse.vector(len, indices, up(&device, &x[..])).unwrap().await_result().unwrap();
            let (alpha, beta) = (T::Scalar::real(2.0), T::Scalar::real(-0.5));
            let got = down(&device, &sparse.axpby(alpha, &vector, beta, up(&device, &y[..])).unwrap().into_output());
            let mut all = vec![T::default(); len];
            places.iter().zip(&x).for_each(|(place, x)| all[*place] = *x);
            for i in 0..len {
                let want = Exact::of(Value::parts(all[i])).times(alpha.parts());
                want.plus(Exact::of(Value::parts(y[i])).times(beta.parts()))
                    .assert_near::<T, T::Scalar>(got[i], "axpby");
            }
            let fresh = sparse.axpby(alpha, &vector, T::Scalar::default(), device.uninit(len).unwrap()).unwrap();
            assert_eq!(down(&device, &fresh.into_output()).len(), len);
            let gathered = sparse.gather(&up(&device, &y[..]), &vector, device.uninit(x.len()).unwrap()).unwrap();
            let want: Vec<T> = places.iter().map(|place| y[*place]).collect();
            assert_same_bits(&down(&device, &gathered.into_output()), &want, "gather");
            let mut want = y.clone();
            places.iter().zip(&x).for_each(|(place, x)| want[*place] = *x);
            let scattered = sparse.scatter(&vector, up(&device, &y[..])).unwrap().into_output();
            assert_same_bits(&down(&device, &scattered), &want, "scatter");
            for conj in [false, true] {
                let up_y = up(&device, &y[..]);
                let pending = if conj { sparse.dotc(&vector, &up_y) } else { sparse.dot(&vector, &up_y) };
                let got = pending.unwrap().await_result().unwrap();
                let mut sum = Exact::default();
                for (place, x) in places.iter().zip(&x) {
                    let [re, im] = Value::parts(*x);
                    sum.add([re, if conj { -im } else { im }], Value::parts(y[*place]));
                }
                sum.assert_near::<T, T::Scalar>(got, "dot");
            }
            let (c, s) = (T::Scalar::real(0.6), T::Scalar::real(0.8));
            let (values, turned) =
                sparse.rot(c, s, &vector, up(&device, &x[..]), up(&device, &y[..])).unwrap().into_output();
            let (values, turned) = (down(&device, &values), down(&device, &turned));
            for (k, place) in places.iter().enumerate() {
                let (x, y) = (Exact::of(Value::parts(x[k])), Exact::of(Value::parts(y[*place])));
                x.times(c.parts()).plus(y.times(s.parts())).assert_near::<T, T::Scalar>(values[k], "rot");
                let minus = s.parts().map(|s| -s);
                y.times(c.parts()).plus(x.times(minus)).assert_near::<T, T::Scalar>(turned[*place], "rot");
            }
        }
    }
}

#[test]
fn sparse_vectors_are_added_gathered_scattered_and_turned() {
    each_sparse!(vectors_of);
}
