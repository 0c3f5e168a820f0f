//! Too few addresses for what a call needs: the error says so, the buffers come back, and the process goes on.

use super::limits::{addresses, limit};
use crate::common::child::{alone, this_test};
use crate::common::{down, host, up};
use windlass::fft::{FftSpec, Kind, RealTransform, Trig, Window, fftfreq, rfftfreq, window};
use windlass::rng::{Generator, Stream};
use windlass::tensor::Layout;
use windlass::{Error, Result};

#[track_caller]
fn is_out_of_memory<T>(result: Result<T>) {
    match result {
        Err(Error::OutOfMemory { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it had the memory"),
    }
}

#[test]
fn lists_and_plans_of_any_length_are_an_error() {
    alone(&this_test!(), || {
        let device = host(1).open().unwrap();
        let x = up(&device, [1.0f64, 2.0]);
        limit(libc::RLIMIT_AS, addresses() + (1 << 30));
        is_out_of_memory(fftfreq(1 << 40, 1.0));
        is_out_of_memory(rfftfreq(1 << 40, 1.0));
        is_out_of_memory(window(Window::Blackman, 1 << 40));
        is_out_of_memory(Stream::new(Generator::Philox, 1).split(1 << 42));
        is_out_of_memory(device.rng(1).split(1 << 42));
        let fft = device.fft();
        let line = |n: usize| Layout::row_major([n]).unwrap();
        let n = (1 << 28) + 3;
        for (kind, x, y) in
            [(Kind::R2c, 1 << 40, (1 << 39) + 1), (Kind::C2c, 1 << 30, 1 << 30), (Kind::C2r, n / 2 + 1, n)]
        {
            is_out_of_memory(fft.prepare::<f64>(kind, &FftSpec::new(), line(x), line(y)).unwrap().await_result());
        }
        let none = || device.uninit::<f64>([0, 1 << 40]).unwrap();
        let spec = RealTransform::new(Trig::Dct2).axes([1]);
        fft.real_transform(&spec, &none(), none()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &x), [1.0, 2.0]);
    });
}

#[test]
fn a_factorization_without_memory_gives_its_buffers_back() {
    alone(&this_test!(), || {
        let device = host(1).open().unwrap();
        let solver = device.solver();
        let (tall, all, wide) = (1usize << 21, 1usize << 23, 8);
        let a = device.fill(device.uninit::<f64>(tall).unwrap(), 1.0).unwrap().await_result().unwrap();
        let b = device.fill(device.uninit::<f64>(all).unwrap(), 1.0).unwrap().await_result().unwrap();
        limit(libc::RLIMIT_AS, addresses() + (16 << 20));
        // One long column takes no memory beside itself.
        let qr = solver.qr(a.with_layout(Layout::columns(tall, 1)).unwrap()).unwrap().await_result().unwrap();
        // A panel written out in full is as large as these 8 columns, 64 MiB.
        let b = b.with_layout(Layout::columns(all / wide, wide)).unwrap();
        let rejected = solver.qr(b).unwrap().await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::OutOfMemory { .. }), "{}", rejected.error);
        let (b, ..) = rejected.back.expect("the buffers");
        assert_eq!(b.len(), all);
        drop((qr, b));
        assert_eq!(down(&device, &up(&device, [7u8])), [7]);
    });
}
