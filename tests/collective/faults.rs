//! A GPU that dies while another waits for it in a collective. Its context is gone for the process, so this test is run alone:
//! `--ignored faults`.
#![cfg(feature = "cuda")]

use crate::{LONG, gpus};
use std::time::Instant;
use windlass::collective::{Combine, Communicator};
use windlass::{
    DeviceBuffer, Result,
    op::{Enqueue, Op, Ptx, SlicesMut, Spans},
};

static KERNELS: Ptx = Ptx::new(
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad() {\n.reg .u64 %a;\nmov.u64 %a, 64;\n\
     st.global.u32 [%a], 1;\nret;\n}\n",
);

/// Writes where nothing is.
struct Bad;

impl Op for Bad {
    const NAME: &'static str = "bad";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();
    fn check(&self, (): &(), _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): (), _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let dims = windlass::op::LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };
        // SAFETY: that the kernel breaks its promise is the point of the test.
        unsafe { queue.launch(&KERNELS, c"bad", dims, &[]) }
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "ends a context of the process"]
fn a_gpu_that_dies_leaves_no_other_waiting_in_a_collective() {
    let devices = gpus();
    if devices.len() < 2 {
        println!("fewer than two GPUs");
        return;
    }
    let comm = Communicator::new(&devices[..2]).unwrap();
    let ones = |at: usize| devices[at].upload(vec![1.0f32; 1 << 20]).unwrap().into_output();
    let x = comm.all_reduce_in_place(Combine::Sum, vec![ones(0), ones(1)]).unwrap().await_result().unwrap();
    let mut x = x.into_iter();
    let (first, second) = (x.next().unwrap(), x.next().unwrap());
    let second = devices[1].dispatch(Bad, (), (second.into_buffer(),)).unwrap().into_output();
    let began = Instant::now();
    let error = match comm.all_reduce_in_place(Combine::Sum, vec![first, second.into()]) {
        Ok(pending) => match pending.await_timeout(LONG) {
            Ok(answer) => answer.map(drop).unwrap_err().error,
            Err(_) => panic!("it was never settled"),
        },
        Err(rejected) => rejected.error,
    };
    println!("{:?}: {error}", began.elapsed());
    assert!(error.is_poisoning() || error.is_data_lost(), "{error}");
    // A fault ends CUDA for the process, on every GPU; but nobody waits for the kernel of NCCL on the other one.
    let answer = devices[0].synchronize(LONG);
    println!("{:?}: the other GPU answers {answer:?}", began.elapsed());
    assert!(!matches!(answer, Err(windlass::Error::Timeout { .. })), "{answer:?}");
}
