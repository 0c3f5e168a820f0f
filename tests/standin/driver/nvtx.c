/* NVTX's stand-in: ranges are lines of the driver's log, between the calls that they are around. */
#include "simulator.h"

static _Thread_local int depth;

/* Answers how many ranges are open around it. */
EXPORT int nvtxRangePushA(const char *name) {
    static struct call this_call = {.name = "nvtxRangePushA"};
    int refused = standin_enter(&this_call);
    return refused != 0 ? refused : standin_leave(&this_call, depth++, "%s", name);
}

EXPORT int nvtxRangePop(void) {
    static struct call this_call = {.name = "nvtxRangePop"};
    int refused = standin_enter(&this_call);
    if (refused != 0) return refused;
    if (depth == 0) standin_violation("ends a range that was not begun");
    else depth--;
    return standin_leave(&this_call, depth, "%s", "");
}
