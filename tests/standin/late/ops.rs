//! Operations of every kind that add 1 to each element, with a test's hands in their CUDA half.

use crate::common::LONG;
use std::ffi::CStr;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use windlass::{
    DeviceBuffer, Error, Result,
    op::{Built, Enqueue, LaunchDims, Op, OpKind, PlanBuilder, PlanKey, Prepare, Ptx, Slices, SlicesMut, Spans},
};

static KERNELS: Ptx = Ptx::new(
    ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry endless() { ret; }\n\
     .visible .entry add_one_f32(.param .u64 data, .param .u64 n) { ret; }\n",
);

/// The kinds, as a constant of the type.
pub(crate) const ENQUEUE: u8 = 0;
pub(crate) const BLOCKING: u8 = 1;
pub(crate) const PREPARED: u8 = 2;

/// What goes wrong in a half or in a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Fails,
    Panics,
}

impl Trouble {
    pub(crate) fn happen(self) -> Error {
        match self {
            Trouble::Fails => Error::unsupported("as the test wanted"),
            Trouble::Panics => panic!("as the test wanted"),
        }
    }
}

/// `x += 1`, by a half of that kind.
#[derive(Default)]
pub(crate) struct AddOne<const KIND: u8> {
    /// Where the half stands before it enqueues.
    pub(crate) stand: Option<Stand>,
    pub(crate) before: Option<Trouble>,
    pub(crate) after: Option<Trouble>,
    /// Of a prepared one.
    pub(crate) plan: Option<Plan>,
    pub(crate) kernel: Option<&'static CStr>,
    pub(crate) ran_on: Option<Sender<ThreadId>>,
}

/// Where something stands until the test lets it go on.
#[derive(Debug)]
pub(crate) struct Stand {
    arrived: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

/// The test's end of it. Dropped, it lets go on.
pub(crate) struct Hold {
    arrived: Receiver<()>,
    _go_on: Sender<()>,
}

pub(crate) fn stand() -> (Stand, Hold) {
    let ((arrived, seen), (go_on, told)) = (channel(), channel());
    (Stand { arrived, go_on: Mutex::new(told) }, Hold { arrived: seen, _go_on: go_on })
}

impl Stand {
    pub(crate) fn wait(&self) {
        let _ = self.arrived.send(());
        // Not for ever: a test that fails tells nothing.
        let _ = self.go_on.lock().unwrap().recv_timeout(LONG);
    }
}

impl Hold {
    #[track_caller]
    pub(crate) fn await_arrival(&self) {
        self.arrived.recv_timeout(LONG).expect("it never came there");
    }

    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived.try_recv().is_ok()
    }

    pub(crate) fn go_on(self) {}
}

impl<const KIND: u8> AddOne<KIND> {
    /// One that stands in its half.
    pub(crate) fn held() -> (Self, Hold) {
        let (stand, hold) = stand();
        (AddOne { stand: Some(stand), ..AddOne::default() }, hold)
    }
}

impl<const KIND: u8> Op for AddOne<KIND> {
    const NAME: &'static str = "add_one";
    const LIBRARY: &'static str = "test";
    const KIND: OpKind = if KIND == BLOCKING { OpKind::Blocking } else { OpKind::Enqueue };
    const PREPARED: bool = KIND == PREPARED;
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn prepare(&self, (): &Spans<()>, _: &Spans<(f32,)>, plans: &mut Prepare<'_>) {
        self.plan.iter().for_each(|plan| plans.plan(plan));
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        x.iter_mut().for_each(|x| *x += 1.0);
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if let Some(ran_on) = &self.ran_on {
            let _ = ran_on.send(std::thread::current().id());
        }
        if let Some(stand) = &self.stand {
            stand.wait();
        }
        if let Some(trouble) = self.before {
            return Err(trouble.happen());
        }
        if let Some(plan) = &self.plan {
            assert_eq!(queue.plan::<Plan>(0)?.name, plan.name, "another's plan");
            assert!(queue.plan::<Plan>(1).is_err());
        }
        let (x,) = *queue.writes();
        let dims = LaunchDims::for_elements(x.len())?;
        let kernel = self.kernel.unwrap_or(c"add_one_f32");
        let arguments: &[_] = if kernel == c"endless" { &[] } else { &[x.into(), x.len().into()] };
        // SAFETY: the kernels have these parameters, and touch the buffer or nothing.
        unsafe { queue.launch(&KERNELS, kernel, dims, arguments) }?;
        self.after.map_or(Ok(()), |trouble| Err(trouble.happen()))
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// A plan by its name. The rest is the test's, and not part of the key.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: u32,
    pub(crate) bytes: u64,
    pub(crate) log: Arc<Log>,
}

/// What happened to plans.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) built: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    /// The next build stands here.
    pub(crate) stand: Mutex<Option<Stand>>,
    /// The next builds end so.
    pub(crate) troubles: Mutex<Vec<Trouble>>,
    /// The next builds find no memory.
    pub(crate) short: AtomicUsize,
}

impl Plan {
    pub(crate) fn new(name: u32, log: &Arc<Log>) -> Self {
        Plan { name, bytes: 1000, log: log.clone() }
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
impl Eq for Plan {}
impl Hash for Plan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// What was built.
#[derive(Debug)]
pub(crate) struct Thing {
    name: u32,
    log: Arc<Log>,
}

impl Drop for Thing {
    fn drop(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl PlanKey for Plan {
    type Plan = Thing;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Thing>> {
        assert!(builder.device().starts_with("cuda:"));
        self.log.built.fetch_add(1, Ordering::SeqCst);
        let stand = self.log.stand.lock().unwrap().take();
        if let Some(stand) = stand {
            stand.wait();
        }
        if self.log.short.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
            return Err(no_memory());
        }
        let trouble = self.log.troubles.lock().unwrap().pop();
        if let Some(trouble) = trouble {
            return Err(trouble.happen());
        }
        Ok(Built { plan: Thing { name: self.name, log: self.log.clone() }, bytes: self.bytes })
    }
}

fn no_memory() -> Error {
    Error::out_of_memory(1 << 40, [0; 3])
}

/// One that needs a plan.
pub(crate) fn prepared(plan: Plan) -> AddOne<PREPARED> {
    AddOne { plan: Some(plan), ..AddOne::default() }
}
