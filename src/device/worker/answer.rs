//! The answer to a question of the client.

use super::memory::Memory;
use super::modules::encoded;
use super::server::Server;
use crate::core::arena::Lent;
use crate::core::error::{Error, Result};
use crate::core::op::{guarded, wire};
use crate::core::sync::Arc;
use crate::device::program::Arrived;
#[cfg(feature = "host")]
use crate::engines::ptx::PtxModule;
use crate::engines::worker::child::{With, run};
use crate::engines::worker::parent::{Ask, Question};

/// Answers a question.
pub(crate) fn answer(server: &Server, memory: &Memory, body: &[u8]) -> Result<Vec<u8>> {
    let Ask { what, block } = postcard::from_bytes(body).map_err(wire::garbled)?;
    let mut lent = match block {
        None => None,
        Some(block) => Some(
            Lent::new(&server.bulk, block)
                .ok_or_else(|| Error::library("an offset lies outside of the shared memory"))?,
        ),
    };
    if let Question::Program { id } = what {
        let lent = lent.take().ok_or_else(|| Error::library("the recorded program did not arrive"))?;
        let (epoch, gpu) = (server.device.epoch(), server.is_gpu());
        let mut find = |code, with: With<'_>| run(server.handlers.find(code)?, with);
        let mut arrived = None;
        // The code that reads an operation is its author's, and may panic.
        guarded(&mut || {
            arrived = Some(Arrived::decode(lent.bytes(), gpu, &mut find, (&epoch, &server.modules))?);
            Ok(())
        })?;
        server.modules.programs.lock().extend(arrived.map(|arrived| (id, Arc::new(arrived))));
        return encoded(&());
    }
    if let Question::Grow { id, to } = what {
        return encoded(&memory.grow(&server.device, id, to)?);
    }
    if let Question::Shrink { id, to } = what {
        return encoded(&memory.shrink(&server.device, id, to)?);
    }
    #[cfg(feature = "host")]
    if let (Question::Load { id, is_text: true }, false) = (&what, server.is_gpu()) {
        let lent = lent.take().ok_or_else(|| Error::library("the text did not arrive"))?;
        let text = std::str::from_utf8(lent.bytes()).map_err(|_| Error::invalid("image", "the PTX is no UTF-8"))?;
        let module = PtxModule::within(text, &server.device.epoch().meter)
            .map_err(|fault| fault.lack().unwrap_or_else(|| Error::invalid("image", fault.to_string())))?;
        server.modules.texts.lock().insert(*id, Arc::new(module));
        return encoded(&());
    }
    #[cfg(feature = "cuda")]
    {
        let epoch = server.device.epoch();
        if let Some(engine) = epoch.engine.as_cuda() {
            return server.modules.answer((&server.device, engine, &epoch), memory, what, lent);
        }
    }
    let _ = (memory, lent);
    Err(Error::unsupported(format!("the worker's device cannot load modules; the request was {what:?}")))
}
