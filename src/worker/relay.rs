//! An operation as the worker's own device sees it: the op itself, but for its end, which is the client's.

use super::order::Suffer;
use super::server::Reply;
use crate::op::{Bufs, Cost, Op, Output, Slices, SlicesMut, Spans, WritesOf};
use crate::{Enqueue, Error, Result};
use std::marker::PhantomData;
use std::time::Duration;

/// Gives what the device leaves for the host as it is: `finish` runs where the result is awaited.
pub(crate) struct Relay<O: Op> {
    pub(super) op: O,
    pub(super) reply: Reply,
    pub(super) suffer: Option<Suffer>,
}

/// The output of a relay: nobody here puts one together.
pub(crate) struct Relayed<O>(PhantomData<O>);

impl<O: Op> Output for Relayed<O> {
    type Writes = WritesOf<O>;
    type Host = O::Raw;
    fn join(_: Bufs<Self>, _: O::Raw) -> Result<Self> {
        Ok(Relayed(PhantomData))
    }
}

impl<O: Op> Relay<O> {
    /// What a fault plan has for it.
    fn begin(&self) -> Result<()> {
        self.reply.start();
        match self.suffer {
            None => Ok(()),
            Some(Suffer::Fail) => Err(Error::library("failed by the fault plan")),
            Some(Suffer::Poison) => self.reply.poison("poisoned by the fault plan"),
            Some(Suffer::Delay(nanos)) => {
                std::thread::sleep(Duration::from_nanos(nanos));
                Ok(())
            }
        }
    }
}

impl<O: Op> Op for Relay<O> {
    const NAME: &'static str = O::NAME;
    const LIBRARY: &'static str = O::LIBRARY;
    type Reads = O::Reads;
    type Output = Relayed<O>;
    type Raw = O::Raw;

    fn check(&self, reads: &Spans<O::Reads>, writes: &Spans<WritesOf<O>>) -> Result<()> {
        self.op.check(reads, writes)
    }

    fn overwrites(&self, writes: &Spans<WritesOf<O>>) -> bool {
        self.op.overwrites(writes)
    }

    fn cost(&self) -> Cost {
        self.op.cost()
    }

    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<O::Raw> {
        self.begin()?;
        self.op.host(reads, writes)
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.begin()?;
        #[cfg(feature = "cuda")]
        return queue.relayed(|queue| self.op.cuda(queue));
        #[cfg(not(feature = "cuda"))]
        {
            let _ = queue;
            Err(Error::unsupported("this build has no CUDA engine"))
        }
    }

    fn finish(&self, raw: O::Raw) -> Result<O::Raw> {
        Ok(raw)
    }
}
