/* A stand-in for libnvidia-ml: counts who holds it open, and tells what is between GPUs. Pairs (0 and 1, 2 and 3 ...) have four
 * links; 0 to 3 are at one switch, 4 and 5 at the same host bridge as these, and the others at another. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES = 9, LINKS = 4 };

static atomic_int open_count, device_count;
static char devices[DEVICES];

EXPORT int nvmlInit_v2(void) {
    atomic_fetch_add(&open_count, 1);
    return 0;
}

EXPORT int nvmlShutdown(void) {
    enum { UNINITIALIZED = 1 };
    if (atomic_load(&open_count) == 0) return UNINITIALIZED;
    if (atomic_fetch_sub(&open_count, 1) == 1) atomic_store(&device_count, 0);
    return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
    enum { UNINITIALIZED = 1, NOT_FOUND = 6 };
    if (atomic_load(&open_count) == 0) return UNINITIALIZED;
    if (strncmp(address, "0000:0", 6) != 0) return NOT_FOUND;
    long bus = strtol(address + 5, NULL, 16);
    if (bus < 1 || bus > DEVICES) return NOT_FOUND;
    atomic_fetch_add(&device_count, 1);
    *device = &devices[bus - 1];
    return 0;
}

static long ordinal(const void *device) { return (const char *)device - devices; }

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active) {
    enum { INVALID_ARGUMENT = 2 };
    (void)device;
    if (link > LINKS) return INVALID_ARGUMENT;
    *active = link < LINKS;
    return 0;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *remote) {
    enum { INVALID_ARGUMENT = 2 };
    if (link >= LINKS) return INVALID_ARGUMENT;
    remote->domain = remote->device = 0;
    remote->bus = (unsigned)(ordinal(device) ^ 1) + 1;
    snprintf(remote->address, sizeof remote->address, "00000000:%02X:00.0", remote->bus);
    return 0;
}

EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *one, void *two, unsigned *level) {
    enum { ONE_SWITCH = 10, HOST_BRIDGE = 30, SYSTEM = 50 };
    long farther = ordinal(one) > ordinal(two) ? ordinal(one) : ordinal(two);
    *level = farther < 4 ? ONE_SWITCH : farther < 6 ? HOST_BRIDGE : SYSTEM;
    return 0;
}

/* How often it is open, and how many devices were opened since. */
EXPORT int standin_nvml_open(void) { return atomic_load(&open_count); }
EXPORT int standin_nvml_devices(void) { return atomic_load(&device_count); }
