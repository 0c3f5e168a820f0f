/* What tests write into the script: failures of calls, faults, what kernels do, attributes; and the environment. */
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

struct failure {
    char call[64]; /* "any" */
    int left, code;
    bool sticks; /* a device fault that shows in this call */
};

struct script {
    char kernel[64];
    int code;
};

static struct failure failures[64];
static int failure_count;
static uint64_t failed;
static struct script scripts[32];
static int script_count;
static int fault_countdown = -1, fault_code;
static struct { int attribute, value; } attributes[32];
static int attribute_count;
static char held[64];
static const char *deadly;

/* The process is killed as it makes a call for which a test has put a file into this folder: once, for the file goes first. */
static void die_if_told(const char *name) {
    char path[1024];
    if (deadly == NULL || snprintf(path, sizeof path, "%s/%s", deadly, name) >= (int)sizeof path) return;
    if (unlink(path) == 0) raise(SIGKILL);
}

bool must_fail(const char *name, bool driver, CUresult *code) {
    die_if_told(name);
    bool fails = driver && chance_fails(name, code);
    failed += fails;
    bool only_names = strcmp(name, "cuGetErrorName") == 0 || strcmp(name, "cuGetErrorString") == 0;
    for (int i = 0; i < failure_count;) {
        struct failure *failure = &failures[i];
        bool any = strcmp(failure->call, "any") == 0;
        bool meant = any ? driver && !only_names : same_call(failure->call, name);
        if (meant && failure->left-- == 0) {
            *code = failure->code;
            if (failure->sticks) {
                state.sticky = failure->code;
                pthread_cond_broadcast(&state.changed);
            }
            fails = true;
            failed++;
            *failure = failures[--failure_count];
        } else {
            i++;
        }
    }
    return fails;
}

const int *attribute_override(int attribute) {
    for (int i = attribute_count - 1; i >= 0; i--)
        if (attributes[i].attribute == attribute) return &attributes[i].value;
    return NULL;
}

bool scripted(const char *kernel, int *code) {
    for (int i = script_count - 1; i >= 0; i--) {
        if (strcmp(scripts[i].kernel, kernel) != 0) continue;
        *code = scripts[i].code;
        return true;
    }
    return false;
}

bool fault_is_due(int *code) {
    if (fault_countdown < 0 || fault_countdown-- > 0) return false;
    *code = fault_code;
    return true;
}

void forget_script(void) {
    failed = 0;
    failure_count = script_count = attribute_count = 0;
    fault_countdown = -1;
    held[0] = 0;
    forget_chances();
}

static void add_failure(const char *call, int nth, int code, bool sticks) {
    if (failure_count == (int)(sizeof failures / sizeof *failures)) return;
    struct failure *failure = &failures[failure_count++];
    snprintf(failure->call, sizeof failure->call, "%s", call);
    failure->left = nth;
    failure->code = code;
    failure->sticks = sticks;
}

static int mode_named(const char *name) {
    static const char *names[] = {"auto", "manual", "eager", "background", "seeded"};
    for (int i = 0; i < 5; i++)
        if (strcmp(name, names[i]) == 0) return i;
    return STANDIN_AUTO;
}

void read_environment(void) {
    const char *value;
    find_machine();
    deadly = getenv("WINDLASS_STANDIN_DEADLY");
    if ((value = getenv("WINDLASS_STANDIN_SEED"))) state.seed = state.random = strtoull(value, NULL, 10);
    if ((value = getenv("WINDLASS_STANDIN_MODE"))) state.mode = mode_named(value);
    if ((value = getenv("WINDLASS_STANDIN_MEMORY"))) state.total_memory = strtoull(value, NULL, 10);
    if ((value = getenv("WINDLASS_STANDIN_RACES"))) state.races = atoi(value) != 0;
    if ((value = getenv("WINDLASS_STANDIN_DEVICES"))) {
        int count = atoi(value);
        state.device_count = count < 0 ? 0 : count > MAXIMUM_DEVICES ? MAXIMUM_DEVICES : count;
    }
    if ((value = getenv("WINDLASS_STANDIN_FAULT"))) {
        int nth = 0, code = CUDA_ERROR_ILLEGAL_ADDRESS;
        sscanf(value, "%d:%d", &nth, &code);
        fault_countdown = nth;
        fault_code = code;
    }
    for (value = getenv("WINDLASS_STANDIN_FAIL"); value != NULL && *value != 0;) {
        char call[64];
        int nth, code;
        if (sscanf(value, "%63[^:]:%d:%d", call, &nth, &code) == 3) add_failure(call, nth, code, false);
        value = strchr(value, ',');
        if (value != NULL) value++;
    }
}

void standin_set_attribute(int attribute, int value) {
    pthread_mutex_lock(&state.mutex);
    if (attribute_count < (int)(sizeof attributes / sizeof *attributes)) {
        attributes[attribute_count].attribute = attribute;
        attributes[attribute_count++].value = value;
    }
    pthread_mutex_unlock(&state.mutex);
}

void standin_fault(int code) { LOCKED(state.sticky = code; lose_managed(); pthread_cond_broadcast(&state.changed)); }

void standin_fault_after(int nth, int code) { LOCKED(fault_countdown = nth; fault_code = code); }

void standin_script(const char *kernel, int code) {
    pthread_mutex_lock(&state.mutex);
    if (script_count < (int)(sizeof scripts / sizeof *scripts)) {
        snprintf(scripts[script_count].kernel, sizeof scripts[0].kernel, "%s", kernel);
        scripts[script_count++].code = code;
    }
    pthread_mutex_unlock(&state.mutex);
}

void standin_fail(const char *call, int nth, int code) { LOCKED(add_failure(call, nth, code, false)); }

void standin_fail_any(int nth, int code) { LOCKED(add_failure("any", nth, code, false)); }

void standin_fault_any(int nth, int code) { LOCKED(add_failure("any", nth, code, true)); }

void standin_hold(const char *call) {
    LOCKED(snprintf(held, sizeof held, "%s", call); pthread_cond_broadcast(&state.changed));
}

bool is_held(const char *name) { return held[0] != 0 && same_call(held, name); }

uint64_t standin_failed(void) {
    uint64_t count;
    LOCKED(count = failed);
    return count;
}

void standin_clear(void) { LOCKED(failure_count = script_count = 0; fault_countdown = -1; forget_chances()); }
