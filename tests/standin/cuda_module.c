/* Modules, functions and launches. */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_DEFAULT = 49152, SHARED_OPTIN = 232448, ATTRIBUTE_MAX_DYNAMIC_SHARED = 8 };

EXPORT CUresult cuModuleLoadData(CUmodule *made, const void *image) {
    ENTER(cuModuleLoadData, A_CONTEXT);
    if (image == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "%s", "");
    /* Only text can be looked into; a cubin is refused as one for another architecture would be. */
    if (memcmp(image, "\177ELF", 4) == 0 || strstr(image, ".entry") == NULL) LEAVE(CUDA_ERROR_INVALID_IMAGE, "%s", "");
    struct module *module = new_object(MODULE, sizeof *module, current_device());
    module->text = strdup(image);
    *made = handle_of(&module->object);
    LEAVE(CUDA_SUCCESS, "module#%d", module->object.number);
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *made, const void *image, unsigned count, int *options, void **values) {
    (void)count, (void)options, (void)values;
    return cuModuleLoadData(made, image);
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
    LEAVE(CUDA_SUCCESS, "module#%d", module->object.number);
}

static struct function *existing(const struct module *module, const char *name) {
    for (int i = 0; i < state.tables[FUNCTION].count; i++) {
        struct function *function = (struct function *)state.tables[FUNCTION].items[i];
        if (function->module == module && strcmp(function->name, name) == 0) return function;
    }
    return NULL;
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
        function->parameters = parse_parameters(entry, function->parameter_bytes, 32);
        if (function->kernel != NULL && function->parameters == 0) {
            function->parameters = function->kernel->parameters;
            memcpy(function->parameter_bytes, function->kernel->parameter_bytes,
                   sizeof function->kernel->parameter_bytes);
        }
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

EXPORT CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream_handle,
                               void **parameters, void **extra) {
    ENTER(cuLaunchKernel, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct function *function = enter_object(handle, FUNCTION);
    if (stream == NULL || function == NULL || stream->object.destroyed) LEAVE(CUDA_ERROR_INVALID_HANDLE, "? stream#?");
    int number = stream->object.number;
    if (function->object.device != stream->object.device) {
        violation("function#%d is of context#%d, stream#%d of context#%d", function->object.number,
                  function->object.device, number, stream->object.device);
        LEAVE(CUDA_ERROR_INVALID_HANDLE, "%s stream#%d", function->name, number);
    }
    if (extra != NULL) LEAVE(CUDA_ERROR_NOT_SUPPORTED, "%s stream#%d", function->name, number);
    unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
    const struct kernel *kernel = function->kernel;
    int needed = kernel != NULL ? kernel->parameters : function->parameters;
    if (bad_shape(grid, block) || shared > function->maximum_dynamic_shared || (needed > 0 && parameters == NULL))
        LEAVE(CUDA_ERROR_INVALID_VALUE, "%s stream#%d", function->name, number);
    struct launch launch = {.threads = (uint64_t)grid_x * grid_y * grid_z * block_x * block_y * block_z};
    struct command *command = enqueue(stream, WORK);
    command->function = function;
    if (kernel != NULL) {
        for (int i = 0; i < kernel->parameters; i++)
            memcpy(&launch.slots[i], parameters[i], kernel->parameter_bytes[i]);
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
    submit(stream, command, true);
    LEAVE(CUDA_SUCCESS, "%s grid %u,%u,%u block %u,%u,%u shared %u stream#%d", function->name, grid_x, grid_y, grid_z,
          block_x, block_y, block_z, shared, number);
}
