/*
 * The seeded schedule: at each call of a thread that takes part, chance decides what runs and whether the call fails.
 *
 * Each thread draws from a generator of its own, which begins anew at every step that the test announces: what one thread
 * meets does not depend on how often another, the housekeeping above all, calls.
 */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>

static struct { int one_in, code; } chances[8];
static int chance_count;

static _Thread_local bool takes_part;
static _Thread_local uint64_t mine;

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

bool takes_part_here(void) { return takes_part; }

static uint64_t draw(void) { return mixed(mine += UINT64_C(0x9E3779B97F4A7C15)); }

bool own_draw(uint64_t *drawn) {
    if (!takes_part || state.mode != STANDIN_SEEDED) return false;
    *drawn = draw();
    return true;
}

void standin_take_part(int thread, int step) {
    uint64_t seed;
    LOCKED(seed = state.seed);
    takes_part = thread >= 0;
    mine = mixed(mixed(seed + 1) ^ (uint64_t)(unsigned)thread << 32 ^ (uint64_t)(unsigned)step);
}

void standin_chance(int one_in, int code) {
    pthread_mutex_lock(&state.mutex);
    if (one_in > 0 && chance_count < (int)(sizeof chances / sizeof *chances)) {
        chances[chance_count].one_in = one_in;
        chances[chance_count++].code = code;
    }
    pthread_mutex_unlock(&state.mutex);
}

void forget_chances(void) { chance_count = 0; }

/* Some commands of streams that chance picks, and then the call itself: whether it fails. */
bool chance_fails(const char *name, CUresult *code) {
    if (!takes_part || state.mode != STANDIN_SEEDED) return false;
    for (uint64_t left = draw() % 4; left > 0 && step(NULL); left--) continue;
    if (strcmp(name, "cuGetErrorName") == 0 || strcmp(name, "cuGetErrorString") == 0) return false;
    for (int i = 0; i < chance_count; i++) {
        if (draw() % (uint64_t)chances[i].one_in != 0) continue;
        *code = chances[i].code;
        return true;
    }
    return false;
}
