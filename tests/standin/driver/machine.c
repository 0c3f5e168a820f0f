/*
 * Kernels that run by their text: the machine is the program's (tests/common/machine.rs). It is given all memory that the device
 * of the launch can reach, at the addresses of the device; so a kernel that leaves an allocation is found. What it finds is a
 * violation, and, where a GPU would fault, the fault of the device.
 *
 * The machine runs on this thread, with the mutex held, and calls nothing here.
 */
#include "simulator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct standin_machine *machine;
static bool all;
static uint64_t ran;

void find_machine(void) {
    const char *value = getenv("WINDLASS_STANDIN_MACHINE"), *text = getenv("WINDLASS_STANDIN_TEXT");
    char *end;
    ran = 0;
    all = text != NULL && atoi(text) != 0;
    machine = NULL;
    /* A child has the variable of its parent, and another program at that address. */
    if (value == NULL || strtol(value, &end, 10) != (long)getpid() || *end != ':') return;
    machine = (const struct standin_machine *)(uintptr_t)strtoull(end + 1, NULL, 10);
}

void standin_by_text(int on) { LOCKED(all = on != 0); }

uint64_t standin_ran_by_text(void) {
    uint64_t count;
    LOCKED(count = ran);
    return count;
}

struct placing {
    struct module *module;
    bool failed;
};

static uint64_t place(void *context, const char *name, size_t bytes, unsigned char **memory) {
    struct placing *placing = context;
    struct module *module = placing->module;
    placing->failed = true;
    if (module->variable_count == (int)(sizeof module->variables / sizeof *module->variables)) return 0;
    struct variable *variable = &module->variables[module->variable_count];
    snprintf(variable->name, sizeof variable->name, "%s", name);
    variable->bytes = bytes;
    variable->address = standin_allocate(module->object.device, bytes);
    if (variable->address == 0) return 0;
    module->variable_count++;
    placing->failed = false;
    *memory = standin_backing(variable->address);
    return variable->address;
}

/* The machine has memory of its own; meanwhile no other thread may have the turn, for the mutex is held. */
static void keep_turn(bool on) {
    if (turns_keep != NULL) turns_keep(on);
}

static uint64_t key(const struct module *module) { return (uint64_t)(uintptr_t)handle_of(&module->object); }

bool load_by_text(struct module *module) {
    char said[1024] = "";
    if (machine == NULL) return false;
    struct placing placing = {module, false};
    keep_turn(true);
    int refused = machine->load(key(module), module->text, place, &placing, said, sizeof said);
    keep_turn(false);
    module->by_text = refused == 0 && !placing.failed;
    for (int i = 0; i < module->variable_count && !module->by_text; i++) standin_deallocate(module->variables[i].address);
    if (!module->by_text) module->variable_count = 0;
    return module->by_text;
}

/* `{ ret; }`: a text that only stands for what is written in C. */
static bool is_empty(const char *entry) {
    const char *body = strchr(entry, '{');
    if (body == NULL) return true;
    for (body++; isspace((unsigned char)*body);) body++;
    return strncmp(body, "ret;", 4) == 0 || *body == '}';
}

bool runs_by_text(const struct module *module, const struct kernel *kernel, const char *entry) {
    if (!module->by_text) return false;
    if (kernel == NULL || kernel->is_text) return true;
    return kernel->run != NULL && all && !is_empty(entry);
}

struct by_text {
    struct function *function;
    unsigned grid[3], block[3], shared;
    size_t parameter_bytes;
    unsigned char parameters[];
};

/* The memory that is there when the kernel runs. */
static int collect(int device, struct standin_part *parts) {
    int count = 0;
    for (int i = -1; i < state.device_count; i++) {
        const struct allocation *each = i < 0 ? state.pinned : state.devices[i].allocations;
        for (; each != NULL; each = each->next) {
            bool ours = i < 0 || i == device || (each->pool != NULL && each->pool->access[device]);
            if (!ours || !each->visible || each->free_executed) continue;
            if (parts != NULL)
                parts[count] = (struct standin_part){each->start, standin_backing(each->start), each->bytes, each->number, i < 0};
            count++;
        }
    }
    return count;
}

static void run(void *payload) {
    const struct by_text *launch = payload;
    struct function *function = launch->function;
    if (function->module->object.destroyed) return;
    int device = function->object.device, count = collect(device, NULL);
    struct standin_part *parts = malloc((size_t)(count + 1) * sizeof *parts);
    collect(device, parts);
    struct standin_launch given = {.module = key(function->module),
                                   .kernel = function->name,
                                   .shared = launch->shared,
                                   .parts = parts,
                                   .part_count = count,
                                   .parameters = launch->parameters,
                                   .parameter_bytes = launch->parameter_bytes};
    memcpy(given.grid, launch->grid, sizeof given.grid);
    memcpy(given.block, launch->block, sizeof given.block);
    char said[4096] = "";
    keep_turn(true);
    int code = machine->launch(&given, said, sizeof said);
    keep_turn(false);
    free(parts);
    ran++;
    if (said[0] != 0) violation("%s", said);
    if (code != 0) state.sticky = code;
}

void prepare_by_text(struct command *command, const struct launch *launch, unsigned shared, void **parameters) {
    struct function *function = command->function;
    size_t bytes = 0;
    for (int i = 0; i < function->parameters; i++) bytes += function->parameter_bytes[i];
    struct by_text *kept = malloc(sizeof *kept + bytes);
    kept->function = function;
    memcpy(kept->grid, launch->grid, sizeof kept->grid);
    memcpy(kept->block, launch->block, sizeof kept->block);
    kept->shared = shared;
    kept->parameter_bytes = bytes;
    for (int i = 0, at = 0; i < function->parameters; at += (int)function->parameter_bytes[i++])
        memcpy(kept->parameters + at, parameters[i], function->parameter_bytes[i]);
    free(command->payload);
    command->payload = kept;
    command->payload_bytes = sizeof *kept + bytes;
    command->run = run;
}
