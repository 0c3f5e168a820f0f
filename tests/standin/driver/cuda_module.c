/* Modules, functions and launches. */
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_DEFAULT = 49152, SHARED_OPTIN = 232448, ATTRIBUTE_MAX_DYNAMIC_SHARED = 8 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

/* 0, or why it is refused. Only text can be looked into; a cubin is refused as one for another architecture would be. */
static CUresult load(const void *image, struct module **made) {
    if (image == NULL) return CUDA_ERROR_INVALID_VALUE;
    if (memcmp(image, "\177ELF", 4) == 0 || strstr(image, ".entry") == NULL) return CUDA_ERROR_INVALID_IMAGE;
    if (strstr(image, "nonsense") != NULL) return CUDA_ERROR_INVALID_PTX;
    struct module *module = new_object(MODULE, sizeof *module, current_device());
    module->text = strdup(image);
    *made = module;
    return load_by_text(module) || make_variables(module) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuModuleLoadData(CUmodule *made, const void *image) {
    ENTER(cuModuleLoadData, A_CONTEXT);
    struct module *module;
    CUresult refused = load(image, &module);
    if (refused != CUDA_SUCCESS) LEAVE(refused, "%s", "");
    *made = handle_of(&module->object);
    LEAVE(CUDA_SUCCESS, "module#%d", module->object.number);
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *made, const void *image, unsigned count, int *options, void **values) {
    ENTER(cuModuleLoadDataEx, A_CONTEXT);
    struct module *module;
    CUresult refused = load(image, &module);
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == JIT_ERROR_LOG) log = values[i];
        if (options[i] == JIT_ERROR_LOG_BYTES) room = (size_t)values[i];
    }
    if (refused == CUDA_ERROR_INVALID_PTX && log != NULL)
        snprintf(log, room, "ptxas application ptx input, line 4; error   : Unknown instruction 'mov.nonsense'\n");
    if (refused != CUDA_SUCCESS) LEAVE(refused, "%s", "");
    *made = handle_of(&module->object);
    LEAVE(CUDA_SUCCESS, "module#%d", module->object.number);
}

EXPORT CUresult cuModuleUnload(CUmodule handle) {
    ENTER(cuModuleUnload, A_CONTEXT);
    struct module *module = destroy_object(handle, MODULE);
    if (module == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "module#?");
    for (int i = 0; i < state.tables[FUNCTION].count; i++) {
        struct function *function = (struct function *)state.tables[FUNCTION].items[i];
        if (function->module == module) function->object.destroyed = true;
    }
    free(module->text);
    module->text = NULL;
    for (int i = 0; i < module->variable_count; i++) standin_deallocate(module->variables[i].address);
    LEAVE(CUDA_SUCCESS, "module#%d", module->object.number);
}

static struct function *existing(const struct module *module, const char *name) {
    for (int i = 0; i < state.tables[FUNCTION].count; i++) {
        struct function *function = (struct function *)state.tables[FUNCTION].items[i];
        if (function->module == module && strcmp(function->name, name) == 0) return function;
    }
    return NULL;
}

/* `.maxntid 640` between the parameters and the body; 1024 where it does not stand. */
static unsigned maximum_threads(const char *entry) {
    const char *directive = strstr(entry, ".maxntid"), *body = strchr(entry, '{');
    if (directive == NULL || (body != NULL && directive > body)) return 1024;
    return (unsigned)strtoul(directive + strlen(".maxntid"), NULL, 10);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *found, CUmodule handle, const char *name) {
    ENTER(cuModuleGetFunction, A_CONTEXT);
    struct module *module = enter_object(handle, MODULE);
    if (module == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "module#? %s", name);
    const char *entry = find_entry(module->text, name);
    if (entry == NULL) LEAVE(CUDA_ERROR_NOT_FOUND, "module#%d %s", module->object.number, name);
    struct function *function = existing(module, name);
    if (function == NULL) {
        function = new_object(FUNCTION, sizeof *function, module->object.device);
        function->module = module;
        function->name = strdup(name);
        function->kernel = known_kernel(name);
        function->maximum_dynamic_shared = SHARED_DEFAULT;
        function->maximum_threads = maximum_threads(entry);
        function->parameters = parse_parameters(entry, function->parameter_bytes, MAXIMUM_PARAMETERS);
        if (function->kernel != NULL && function->parameters == 0) {
            function->parameters = function->kernel->parameters;
            memcpy(function->parameter_bytes, function->kernel->parameter_bytes,
                   sizeof function->kernel->parameter_bytes);
        }
        function->by_text = runs_by_text(module, function->kernel, entry);
    }
    *found = handle_of(&function->object);
    LEAVE(CUDA_SUCCESS, "module#%d %s: function#%d", module->object.number, name, function->object.number);
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes) {
    ENTER(cuFuncGetParamInfo, A_CONTEXT);
    struct function *function = enter_object(handle, FUNCTION);
    if (function == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "function#? %zu", index);
    if (index >= (size_t)function->parameters)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "function#%d %zu", function->object.number, index);
    size_t at = 0;
    for (size_t i = 0; i <= index; i++) {
        /* Each is aligned to its size, as scalars and pointers are. */
        size_t size = function->parameter_bytes[i], alignment = size == 1 || size == 2 || size == 4 ? size : 8;
        at = (at + alignment - 1) / alignment * alignment;
        if (i < index) at += size;
    }
    *offset = at;
    if (bytes != NULL) *bytes = function->parameter_bytes[index];
    LEAVE(CUDA_SUCCESS, "function#%d %zu", function->object.number, index);
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
    ENTER(cuModuleGetGlobal_v2, A_CONTEXT);
    struct module *module = enter_object(handle, MODULE);
    if (module == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "module#? %s", name);
    const struct variable *variable = find_variable(module, name);
    if (variable == NULL) LEAVE(CUDA_ERROR_NOT_FOUND, "module#%d %s", module->object.number, name);
    if (address != NULL) *address = variable->address;
    if (bytes != NULL) *bytes = variable->bytes;
    LEAVE(CUDA_SUCCESS, "module#%d %s", module->object.number, name);
}

EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction handle) {
    ENTER(cuFuncGetAttribute, A_CONTEXT);
    struct function *function = enter_object(handle, FUNCTION);
    if (function == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "function#? %d", attribute);
    /* MAX_THREADS, then static shared, constant and local bytes, registers, PTX and binary version. */
    const int values[] = {(int)function->maximum_threads, 0, 0, 0, 32, 90, 90};
    *value = attribute == ATTRIBUTE_MAX_DYNAMIC_SHARED ? (int)function->maximum_dynamic_shared
             : attribute >= 0 && attribute < 7         ? values[attribute]
                                                       : 0;
    LEAVE(CUDA_SUCCESS, "function#%d %d: %d", function->object.number, attribute, *value);
}

static int active_blocks(unsigned threads, size_t shared) {
    size_t by_threads = 2048 / (threads > 0 ? threads : 1), by_shared = 233472 / (shared + 1024);
    size_t least = by_threads < by_shared ? by_threads : by_shared;
    return least < 32 ? (int)least : 32;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t shared) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, A_CONTEXT);
    struct function *function = enter_object(handle, FUNCTION);
    if (function == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "function#?");
    if (threads <= 0 || shared > function->maximum_dynamic_shared)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "function#%d", function->object.number);
    *blocks = active_blocks((unsigned)threads, shared);
    LEAVE(CUDA_SUCCESS, "function#%d %d threads: %d", function->object.number, threads, *blocks);
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *least_grid, int *block, CUfunction handle, void *shared_of_size,
                                                 size_t shared, int limit) {
    ENTER(cuOccupancyMaxPotentialBlockSize, A_CONTEXT);
    struct function *function = enter_object(handle, FUNCTION);
    if (function == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "function#?");
    if (shared_of_size != NULL || shared > function->maximum_dynamic_shared)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "function#%d", function->object.number);
    *block = (int)function->maximum_threads;
    if (limit > 0 && limit < *block) *block = limit;
    *least_grid = 132 * active_blocks((unsigned)*block, shared);
    LEAVE(CUDA_SUCCESS, "function#%d: %d", function->object.number, *block);
}

EXPORT CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
    ENTER(cuFuncSetAttribute, A_CONTEXT);
    struct function *function = enter_object(handle, FUNCTION);
    if (function == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "function#?");
    if (attribute == ATTRIBUTE_MAX_DYNAMIC_SHARED) {
        if (value < 0 || value > SHARED_OPTIN)
            LEAVE(CUDA_ERROR_INVALID_VALUE, "function#%d %d", function->object.number, value);
        function->maximum_dynamic_shared = (unsigned)value;
    }
    LEAVE(CUDA_SUCCESS, "function#%d %d = %d", function->object.number, attribute, value);
}

static bool bad_shape(const unsigned *grid, const unsigned *block) {
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0) return true;
    return grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535 || block[2] > 64 || block[0] > 1024 ||
           block[1] > 1024 || block[0] * block[1] * block[2] > 1024;
}

/* All that we know of an unknown kernel is which allocations it was given. */
static void touch_operands(struct command *command, const struct function *function, void **parameters) {
    for (int i = 0; i < function->parameters; i++) {
        uint64_t value;
        if (function->parameter_bytes[i] != sizeof value) continue;
        memcpy(&value, parameters[i], sizeof value);
        if (is_device_address(value)) add_operand(command, TOUCH, flat(value, 1));
    }
}

struct shape {
    unsigned grid[3], block[3], shared;
};

/* Enqueues it; 0, or why not. */
static CUresult launch_on(struct stream *stream, struct function *function, const struct shape *shape,
                          void **parameters) {
    if (function->object.device != stream->object.device) {
        violation("function#%d is of context#%d, stream#%d of context#%d", function->object.number,
                  function->object.device, stream->object.number, stream->object.device);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const struct kernel *kernel = function->kernel;
    int needed = kernel != NULL ? kernel->parameters : function->parameters;
    if (bad_shape(shape->grid, shape->block) || shape->shared > function->maximum_dynamic_shared ||
        (needed > 0 && parameters == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t block = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (block > function->maximum_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    struct launch launch = {.threads = shape->grid[0] * block * shape->grid[1] * shape->grid[2],
                            .module = function->module};
    memcpy(launch.grid, shape->grid, sizeof launch.grid);
    memcpy(launch.block, shape->block, sizeof launch.block);
    struct command *command = enqueue(stream, WORK);
    command->function = function;
    if (kernel != NULL) {
        for (int i = 0; i < kernel->parameters; i++) {
            bool is_said = kernel->parameter_bytes[i] == 0;
            size_t bytes = is_said ? function->parameter_bytes[i] : kernel->parameter_bytes[i];
            memcpy(&launch.slots[i], parameters[i], bytes < 8 ? bytes : 8);
            memcpy(launch.wide[i], parameters[i], bytes < 16 ? bytes : 16);
            if (bytes > 16 || is_said) memcpy(launch.bulk, parameters[i], bytes);
        }
        if (kernel->operands != NULL) kernel->operands(command, &launch);
        command->run = kernel->run;
    } else {
        touch_operands(command, function, parameters);
    }
    int outcome = kernel != NULL ? kernel->outcome : 0;
    scripted(function->name, &outcome);
    command->endless = outcome == -1;
    command->payload = malloc(sizeof launch);
    memcpy(command->payload, &launch, sizeof launch);
    command->payload_bytes = sizeof launch;
    if (function->by_text) prepare_by_text(command, &launch, shape->shared, parameters);
    submit(stream, command, true);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream_handle,
                               void **parameters, void **extra) {
    ENTER(cuLaunchKernel, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct function *function = enter_object(handle, FUNCTION);
    if (stream == NULL || function == NULL || stream->object.destroyed) LEAVE(CUDA_ERROR_INVALID_HANDLE, "? stream#?");
    int number = stream->object.number;
    if (extra != NULL) LEAVE(CUDA_ERROR_NOT_SUPPORTED, "%s stream#%d", function->name, number);
    struct shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
    CUresult refused = launch_on(stream, function, &shape, parameters);
    if (refused != CUDA_SUCCESS) LEAVE(refused, "%s stream#%d", function->name, number);
    LEAVE(CUDA_SUCCESS, "%s grid %u,%u,%u block %u,%u,%u shared %u stream#%d", function->name, grid_x, grid_y, grid_z,
          block_x, block_y, block_z, shared, number);
}

struct attribute {
    int number;
    char pad[4];
    union {
        char bytes[64];
        int integer;
        unsigned extents[3];
    } value;
};

struct configuration {
    struct shape shape;
    CUstream stream;
    const struct attribute *attributes;
    unsigned count;
};

EXPORT CUresult cuLaunchKernelEx(const struct configuration *configuration, CUfunction handle, void **parameters,
                                 void **extra) {
    ENTER(cuLaunchKernelEx, A_CONTEXT);
    struct stream *stream = enter_stream(configuration->stream);
    struct function *function = enter_object(handle, FUNCTION);
    if (stream == NULL || function == NULL || stream->object.destroyed) LEAVE(CUDA_ERROR_INVALID_HANDLE, "? stream#?");
    int number = stream->object.number, cooperative = 0, priority = 0;
    const struct shape *shape = &configuration->shape;
    unsigned cluster[3] = {1, 1, 1};
    if (extra != NULL) LEAVE(CUDA_ERROR_NOT_SUPPORTED, "%s stream#%d", function->name, number);
    for (unsigned i = 0; i < configuration->count; i++) {
        const struct attribute *attribute = &configuration->attributes[i];
        if (attribute->number == 2) cooperative = attribute->value.integer;
        else if (attribute->number == 4) memcpy(cluster, attribute->value.extents, sizeof cluster);
        else if (attribute->number == 8) priority = attribute->value.integer;
        else LEAVE(CUDA_ERROR_INVALID_VALUE, "%s attribute %d", function->name, attribute->number);
    }
    unsigned block = shape->block[0] * shape->block[1] * shape->block[2];
    uint64_t blocks = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
    bool fits = !cooperative || blocks <= (uint64_t)(132 * active_blocks(block, shape->shared));
    for (int i = 0; i < 3; i++) fits &= cluster[i] > 0 && shape->grid[i] % cluster[i] == 0;
    if (!fits || cluster[0] * cluster[1] * cluster[2] > 8 || priority < -5 || priority > 0)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%s stream#%d", function->name, number);
    CUresult refused = launch_on(stream, function, shape, parameters);
    if (refused != CUDA_SUCCESS) LEAVE(refused, "%s stream#%d", function->name, number);
    LEAVE(CUDA_SUCCESS, "%s cooperative %d cluster %u,%u,%u priority %d stream#%d", function->name, cooperative,
          cluster[0], cluster[1], cluster[2], priority, number);
}
