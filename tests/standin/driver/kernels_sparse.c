/* The kernels of sparse matrices: those of `kernels_sparse.cpp`, whose library lies beside this one, if it was made. */
#define _GNU_SOURCE
#include "simulator.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void (*tell)(struct command *, const struct launch *);
typedef const struct kernel *(*find)(const char *, tell);

/* Which of its parameters are read and which written is not known: their memory must live. */
static void touched(struct command *command, const struct launch *launch) {
    for (int i = 0, told = 0; i < MAXIMUM_PARAMETERS && told < MAXIMUM_OPERANDS; i++) {
        if (!is_device_address(launch->slots[i])) continue;
        add_operand(command, TOUCH, flat(launch->slots[i], 1));
        told++;
    }
}

static find look(void) {
    Dl_info own;
    char path[4096];
    const char *name = "libstandin-sparse.so", *slash = NULL;
    if (dladdr((void *)known_sparse_kernel, &own) != 0) slash = strrchr(own.dli_fname, '/');
    if (slash == NULL) return NULL;
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, name);
    void *library = dlopen(path, RTLD_NOW);
    return library == NULL ? NULL : (find)dlsym(library, "standin_sparse_kernel");
}

const struct kernel *known_sparse_kernel(const char *name) {
    static bool looked;
    static find found;
    if (!looked) found = look();
    looked = true;
    return found == NULL ? NULL : found(name, touched);
}
