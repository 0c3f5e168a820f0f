//! Work that a test decides over: any closure, work that waits for the test, work that takes a while.

use super::{Deed, InPlace};
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, DeviceKind, Element, PendingDispatch, Result,
    op::{Op, Slices, SlicesMut, Spans, Wire},
};

/// `x = f(x)` by a closure; host only.
pub struct Map<T, F>(pub F, PhantomData<fn() -> T>);

impl<T, F> Map<T, F> {
    pub fn new(f: F) -> Self {
        Map(f, PhantomData)
    }
}

impl<T: Element, F: Fn(&mut [T]) -> Result<()> + Send + Sync + 'static> Op for Map<T, F> {
    const NAME: &'static str = "map";
    type Reads = ();
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(T,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        (self.0)(x)
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Submits `x = f(x)` to a host device.
#[track_caller]
pub fn map<T: Element>(
    device: &Device,
    x: DeviceBuffer<T>,
    f: impl Fn(&mut [T]) + Send + Sync + 'static,
) -> PendingDispatch<DeviceBuffer<T>> {
    let op = Map::new(move |x: &mut [T]| {
        f(x);
        Ok(())
    });
    device.dispatch(op, (), (x,)).expect("a dispatch")
}

/// Holds work of a host device up until it is opened; dropping it opens it, so that a failing test does not hang.
#[derive(Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: bool,
    arrived: usize,
}

impl Gate {
    /// Work on `x` that waits at the gate and changes nothing.
    pub fn hold<T: Element>(&self, device: &Device, x: DeviceBuffer<T>) -> PendingDispatch<DeviceBuffer<T>> {
        let gate = self.0.clone();
        map(device, x, move |_| {
            let mut state = gate.0.lock().unwrap();
            state.arrived += 1;
            gate.1.notify_all();
            drop(gate.1.wait_while(state, |state| !state.open));
        })
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    /// Waits until `n` pieces of work stand at the gate.
    #[track_caller]
    pub fn await_arrivals(&self, n: usize) {
        let state = self.0.0.lock().unwrap();
        let (state, _) = self.0.1.wait_timeout_while(state, super::LONG, |s| s.arrived < n).unwrap();
        assert!(state.arrived >= n, "{} of {n} pieces of work began", state.arrived);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Work that keeps `x` in flight for about `ms` milliseconds on any device and leaves its values as they are.
pub fn busy(device: &Device, x: DeviceBuffer<f64>, ms: u64) -> DeviceBuffer<f64> {
    // A closure does not cross to a worker; a plain op does.
    if device.kind() == DeviceKind::Host && !device.is_isolated() {
        return map(device, x, move |_| std::thread::sleep(Duration::from_millis(ms))).into_output();
    }
    device.dispatch(InPlace(Spin(ms)), (), (x,)).expect("a kernel").into_output()
}

/// A kernel that looks at the GPU's clock until the time is over.
#[derive(serde::Serialize, serde::Deserialize)]
struct Spin(u64);

#[cfg(feature = "cuda")]
static SPIN: windlass::op::Ptx = windlass::op::Ptx::new(
    "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 nanoseconds) {
    .reg .u64 %start, %now, %limit;
    .reg .pred %more;
    ld.param.u64 %limit, [nanoseconds];
    mov.u64 %start, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %more, %now, %limit;
    @%more bra again;
    ret;
}
",
);

impl Deed for Spin {
    const NAME: &'static str = "spin";
    type Element = f64;

    fn host(&self, _: &mut [f64]) -> Result<()> {
        std::thread::sleep(Duration::from_millis(self.0));
        Ok(())
    }
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut windlass::op::Enqueue<'_, InPlace<Self>>) -> Result<()> {
        let dims = windlass::op::LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };
        // SAFETY: one parameter of 64 bits; the kernel touches no memory.
        unsafe { queue.launch(&SPIN, c"spin", dims, &[(self.0 * 1_000_000).into()]) }
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}
