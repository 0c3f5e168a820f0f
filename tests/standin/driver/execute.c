/* What a command does when its turn comes, and the checks that belong to that moment. */
#include "simulator.h"

#include <string.h>

struct range flat(uint64_t address, size_t bytes) {
    return (struct range){.address = address, .width = bytes, .pitch = 0, .rows = 1};
}

/* False if following the address would touch memory that is not there at all. */
static bool check_alive(const struct stream *stream, const struct command *command, const struct operand *operand) {
    const struct allocation *allocation = operand->allocation;
    const char *verb = operand->kind == WRITE ? "writes" : operand->kind == READ ? "reads" : "may use";
    bool on_device = is_device_address(operand->range.address);
    if (allocation == NULL) return on_device; /* reported when it was enqueued; the arena has bytes everywhere */
    if (allocation->free_executed)
        violation("use after free: %s on stream#%d %s %s#%d after it was freed", command->call, stream->object.number,
                  verb, on_device ? "mem" : "pinned", allocation->number);
    else if (!allocation->visible)
        violation("use before allocation: %s on stream#%d %s mem#%d before its allocation has run", command->call,
                  stream->object.number, verb, allocation->number);
    if (on_device) {
        /* Past the end of the arena there is nothing to corrupt. */
        uint64_t last = operand->range.address + (operand->range.rows - 1) * operand->range.pitch + operand->range.width;
        return last <= allocation->start || is_device_address(last - 1);
    }
    size_t span = (operand->range.rows - 1) * operand->range.pitch + operand->range.width;
    return !allocation->free_executed && operand->range.address - allocation->start + span <= allocation->bytes;
}

static void do_work(struct stream *stream, struct command *command) {
    bool possible = true;
    for (int i = 0; i < command->operand_count; i++)
        possible &= check_alive(stream, command, &command->operands[i]);
    struct function *function = command->function;
    if (function != NULL) {
        if (function->object.destroyed || function->module->object.destroyed)
            violation("kernel %s on stream#%d runs after its module#%d was unloaded", function->name,
                      stream->object.number, function->module->object.number);
        int code = function->kernel != NULL ? function->kernel->outcome : 0;
        bool replaced = scripted(function->name, &code);
        if (code > 0) state.sticky = code;
        if (code != 0 || replaced) return;
    }
    if (possible && command->run != NULL) command->run(command->payload);
    move_managed(stream, command);
}

void execute(struct stream *stream, struct command *command) {
    switch (command->kind) {
    case WORK:
        do_work(stream, command);
        break;
    case RECORD:
        if (command->event->stream == stream && command->event->sequence == command->sequence)
            command->event->nanoseconds = state.nanoseconds;
        break;
    case ALLOCATE:
        command->allocation->visible = true;
        memset(standin_backing(command->allocation->start), POISON_FRESH, command->allocation->capacity);
        break;
    case RELEASE:
        free_device_bytes(command->allocation);
        break;
    case WAIT:
        break;
    }
}
