/* libnccl's stand-in: ranks that are devices of this process, whether one communicator has them all or each thread its own.
 *
 * A call enqueues a command on its rank's stream that runs when those of all ranks have come to the heads of their streams; the
 * first that runs does the work of all. So a rank that does not call leaves the others standing, as NCCL's kernels do; an abort
 * lets them end, with garbage as their results. A test makes a call itself stand still by `hold`. */
#include "cublas.h"

#include <stdlib.h>
#include <string.h>

typedef struct { char bytes[128]; } unique_id;

enum { UNHANDLED = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7 };
enum { MOST_RANKS = 16, MOST_ITEMS = 64 };
enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, EXCHANGE };

struct item { /* of an exchange */
    int peer;
    bool sends, done;
    uint64_t at;
    size_t bytes;
};

struct part { /* what one rank has called */
    struct comm *comm;
    enum kind kind;
    uint64_t send, receive, sequence;
    size_t count;
    int type, op, root, items;
    struct item item[MOST_ITEMS];
    bool done;
};

struct clique {
    struct clique *next;
    uint64_t id;
    int ranks, joined;
    struct comm *comm[MOST_RANKS];
};

struct comm {
    struct clique *clique;
    int rank, device;
    uint64_t calls;
    struct part *current; /* at the head of its stream */
    bool aborted, blocking, finalized;
};

static struct clique *all;
static uint64_t ids;
static __thread int depth;
static __thread struct { struct part *part; CUstream stream; } queue[256];
static __thread int queued;

static size_t size_of(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < 10 ? sizes[type] : 0;
}

static double number(const void *at, int type, size_t i) {
    switch (type) {
    case 0: return ((const int8_t *)at)[i];
    case 1: return ((const uint8_t *)at)[i];
    case 2: return ((const int32_t *)at)[i];
    case 3: return ((const uint32_t *)at)[i];
    case 7: return ((const float *)at)[i];
    case 8: return ((const double *)at)[i];
    default: standin_violation("nccl: the stand-in reduces no elements of type %d", type); return 0;
    }
}

static void put(void *at, int type, size_t i, double x) {
    switch (type) {
    case 0: ((int8_t *)at)[i] = (int8_t)(int64_t)x; return;
    case 1: ((uint8_t *)at)[i] = (uint8_t)(int64_t)x; return;
    case 2: ((int32_t *)at)[i] = (int32_t)(int64_t)x; return;
    case 3: ((uint32_t *)at)[i] = (uint32_t)(int64_t)x; return;
    case 7: ((float *)at)[i] = (float)x; return;
    case 8: ((double *)at)[i] = x; return;
    default: return;
    }
}

static double combined(int op, double a, double b) {
    switch (op) {
    case 1: return a * b;
    case 2: return a > b ? a : b;
    case 3: return a < b ? a : b;
    default: return a + b; /* a sum, or an average before its division */
    }
}

/* The reduction of all ranks' elements first .. first + count, in the order of the ranks. */
static void reduce(const struct clique *clique, size_t first, size_t count, void *to) {
    const struct part *lead = clique->comm[0]->current;
    for (size_t i = 0; i < count; i++) {
        double sum = number(standin_backing(lead->send), lead->type, first + i);
        for (int rank = 1; rank < clique->ranks; rank++)
            sum = combined(lead->op, sum, number(standin_backing(clique->comm[rank]->current->send), lead->type, first + i));
        put(to, lead->type, i, lead->op == 4 ? sum / clique->ranks : sum);
    }
}

static void carry_out(const struct clique *clique) {
    const struct part *lead = clique->comm[0]->current;
    size_t bytes = lead->count * size_of(lead->type), whole = lead->kind == REDUCE_SCATTER ? bytes * clique->ranks : bytes;
    unsigned char *results = malloc(bytes * clique->ranks + whole + 1);
    switch (lead->kind) {
    case ALL_REDUCE:
    case REDUCE: reduce(clique, 0, lead->count, results); break;
    case REDUCE_SCATTER: reduce(clique, 0, lead->count * clique->ranks, results); break;
    case BROADCAST: memcpy(results, standin_backing(clique->comm[lead->root]->current->send), bytes); break;
    case ALL_GATHER:
        for (int rank = 0; rank < clique->ranks; rank++)
            memcpy(results + rank * bytes, standin_backing(clique->comm[rank]->current->send), bytes);
        break;
    case EXCHANGE: break;
    }
    for (int rank = 0; rank < clique->ranks; rank++) {
        struct part *part = clique->comm[rank]->current;
        if (part->kind != lead->kind || part->count != lead->count || part->type != lead->type || part->root != lead->root)
            standin_violation("nccl: the ranks 0 and %d have called different collectives", rank);
        void *to = part->receive == 0 ? NULL : standin_backing(part->receive);
        if (lead->kind == REDUCE_SCATTER) memcpy(to, results + rank * bytes, bytes);
        else if (lead->kind == ALL_GATHER) memcpy(to, results, bytes * clique->ranks);
        else if (lead->kind != REDUCE || rank == lead->root) memcpy(to, results, bytes);
        part->done = true;
    }
    free(results);
}

/* Moves what can be moved between a rank's part and those of its peers; whether all of it has been. */
static bool exchange(struct part *part) {
    bool done = true;
    for (int i = 0; i < part->items; i++) {
        struct item *mine = &part->item[i];
        struct part *peer = part->comm->clique->comm[mine->peer]->current;
        for (int j = 0; peer != NULL && !mine->done && j < peer->items; j++) {
            struct item *theirs = &peer->item[j];
            if (theirs == mine || theirs->done || theirs->peer != part->comm->rank || theirs->sends == mine->sends) continue;
            if (theirs->bytes != mine->bytes) standin_violation("nccl: a send and its receive differ in length");
            struct item *from = mine->sends ? mine : theirs, *to = mine->sends ? theirs : mine;
            memmove(standin_backing(to->at), standin_backing(from->at), to->bytes);
            mine->done = theirs->done = true;
        }
        done = done && mine->done;
    }
    return done;
}

static bool is_ready(void *payload) {
    struct part *part = *(struct part **)payload;
    struct comm *comm = part->comm;
    if (comm->aborted || part->done) return true;
    comm->current = part;
    if (part->kind == EXCHANGE) return part->done = exchange(part);
    for (int rank = 0; rank < comm->clique->ranks; rank++) {
        struct comm *other = comm->clique->comm[rank];
        if (other == NULL || other->aborted || other->current == NULL || other->current->sequence != part->sequence) return false;
    }
    carry_out(comm->clique);
    return true;
}

static void run_part(void *payload) {
    struct part *part = *(struct part **)payload;
    if (part->comm->current == part) part->comm->current = NULL;
    if (part->comm->aborted && !part->done && part->receive != 0)
        memset(standin_backing(part->receive), 0xA5, part->count * size_of(part->type));
}

static bool is_exchange(int kind) { return kind == EXCHANGE; }

static CUresult enqueue_part(struct part *part, CUstream stream) {
    size_t bytes = part->count * size_of(part->type);
    size_t ranks = part->comm->clique->ranks;
    struct operand operands[MAXIMUM_OPERANDS];
    int count = 0;
    if (is_exchange(part->kind)) {
        for (int i = 0; i < part->items && count < MAXIMUM_OPERANDS; i++)
            operands[count++] = (struct operand){.range = {part->item[i].at, part->item[i].bytes, 0, 1},
                                                 .kind = part->item[i].sends ? READ : WRITE};
    } else {
        if (part->kind != BROADCAST || part->root == part->comm->rank)
            operands[count++] = (struct operand){.range = {part->send, part->kind == REDUCE_SCATTER ? bytes * ranks : bytes, 0, 1}, .kind = READ};
        if (part->receive != 0)
            operands[count++] = (struct operand){.range = {part->receive, part->kind == ALL_GATHER ? bytes * ranks : bytes, 0, 1}, .kind = WRITE};
    }
    return standin_enqueue_when(stream, operands, count, is_ready, run_part, &part, sizeof part);
}

static struct part *begin(struct comm *comm, enum kind kind, CUstream stream) {
    if (depth > 0 && kind == EXCHANGE)
        for (int i = 0; i < queued; i++)
            if (queue[i].part->comm == comm && queue[i].part->kind == EXCHANGE) return queue[i].part;
    struct part *part = calloc(1, sizeof *part); /* lives as long as the process: the simulator may look at it late */
    part->comm = comm;
    part->kind = kind;
    if (kind != EXCHANGE) part->sequence = ++comm->calls;
    queue[queued].part = part;
    queue[queued++].stream = stream;
    return part;
}

static int flush(void) {
    int outcome = 0;
    for (int i = 0; i < queued; i++) {
        if (enqueue_part(queue[i].part, queue[i].stream) != CUDA_SUCCESS) outcome = UNHANDLED;
        else if (outcome == 0 && !queue[i].part->comm->blocking) outcome = IN_PROGRESS;
    }
    queued = 0;
    return outcome;
}

static int ended(struct comm *comm) { return depth > 0 ? (comm->blocking ? 0 : IN_PROGRESS) : flush(); }

static int refused(struct comm *comm, const char *call) {
    if (comm == NULL) return INVALID_ARGUMENT;
    if (comm->aborted) standin_violation("nccl: %s on a communicator that was aborted", call);
    return comm->aborted ? INVALID_USAGE : 0;
}

static struct comm *make(struct clique *clique, int rank, int device, bool blocking) {
    struct comm *comm = calloc(1, sizeof *comm);
    *comm = (struct comm){.clique = clique, .rank = rank, .device = device, .blocking = blocking};
    clique->comm[rank] = comm;
    clique->joined++;
    return comm;
}

static struct clique *clique_of(uint64_t id, int ranks) {
    for (struct clique *clique = all; clique != NULL; clique = clique->next)
        if (clique->id == id) return clique;
    struct clique *clique = calloc(1, sizeof *clique);
    *clique = (struct clique){.next = all, .id = id, .ranks = ranks};
    return all = clique;
}

EXPORT int ncclGetVersion(int *version) {
    *version = 22809;
    return 0;
}

EXPORT int ncclGetUniqueId(unique_id *id) {
    BLAS_ENTER(ncclGetUniqueId);
    memset(id, 0, sizeof *id);
    uint64_t number = ++ids;
    memcpy(id->bytes, &number, sizeof number);
    BLAS_LEAVE(0, "%d", (int)number);
}

EXPORT int ncclCommInitAll(struct comm **comms, int count, const int *devices) {
    BLAS_ENTER(ncclCommInitAll);
    if (count < 1 || count > MOST_RANKS) BLAS_LEAVE(INVALID_ARGUMENT, "%d", count);
    struct clique *clique = clique_of(++ids, count);
    for (int rank = 0; rank < count; rank++) comms[rank] = make(clique, rank, devices[rank], true);
    BLAS_LEAVE(0, "%d", count);
}

EXPORT int ncclCommInitRankConfig(struct comm **comm, int ranks, unique_id id, int rank, const int *config) {
    BLAS_ENTER(ncclCommInitRankConfig);
    uint64_t number;
    memcpy(&number, id.bytes, sizeof number);
    if (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks) BLAS_LEAVE(INVALID_ARGUMENT, "%d", rank);
    struct clique *clique = clique_of(number, ranks);
    static __thread uint64_t before;
    if (depth == 0 && before == number) standin_violation("nccl: two ranks of one thread outside of a group");
    before = number;
    if (clique->comm[rank] != NULL) standin_violation("nccl: two ranks %d of one communicator", rank);
    *comm = make(clique, rank, standin_current_device(), config[4] != 0);
    BLAS_LEAVE(IN_PROGRESS, "rank %d of %d", rank, ranks);
}

EXPORT int ncclCommGetAsyncError(struct comm *comm, int *code) {
    BLAS_ENTER(ncclCommGetAsyncError);
    *code = comm->clique->joined < comm->clique->ranks ? IN_PROGRESS : 0;
    int scripted = 0;
    if (standin_scripted("nccl", &scripted)) *code = scripted;
    BLAS_LEAVE(0, "%d", *code);
}

EXPORT int ncclCommFinalize(struct comm *comm) {
    BLAS_ENTER(ncclCommFinalize);
    int code = refused(comm, "a finalization");
    if (code == 0) comm->finalized = true;
    BLAS_LEAVE(code, "%d", comm->rank);
}

EXPORT int ncclCommDestroy(struct comm *comm) {
    BLAS_ENTER(ncclCommDestroy);
    int code = refused(comm, "a destruction");
    if (comm->current != NULL) standin_violation("nccl: rank %d is destroyed while it works", comm->rank);
    if (!comm->blocking && !comm->finalized) standin_violation("nccl: rank %d is destroyed before it is finalized", comm->rank);
    comm->aborted = true;
    BLAS_LEAVE(code, "%d", comm->rank);
}

EXPORT int ncclCommAbort(struct comm *comm) {
    BLAS_ENTER(ncclCommAbort);
    int code = refused(comm, "an abort");
    comm->aborted = true;
    standin_nudge();
    BLAS_LEAVE(code, "%d", comm->rank);
}

EXPORT int ncclGroupStart(void) {
    BLAS_ENTER(ncclGroupStart);
    depth++;
    BLAS_LEAVE(0, "%d", depth);
}

EXPORT int ncclGroupEnd(void) {
    BLAS_ENTER(ncclGroupEnd);
    int code = depth < 1 ? INVALID_USAGE : 0;
    if (code == 0 && --depth == 0) code = flush();
    BLAS_LEAVE(code, "%d", depth);
}

#define COLLECTIVE(name, kind_, op_, root_, receive_)                                                                  \
    BLAS_ENTER(name);                                                                                                  \
    int code = refused(comm, #name);                                                                                   \
    if (code != 0) BLAS_LEAVE(code, "%s", "refused");                                                                  \
    struct part *part = begin(comm, kind_, stream);                                                                    \
    part->send = send;                                                                                                 \
    part->receive = receive_;                                                                                          \
    part->count = count;                                                                                               \
    part->type = type;                                                                                                 \
    part->op = op_;                                                                                                    \
    part->root = root_;                                                                                                \
    code = ended(comm);                                                                                                \
    BLAS_LEAVE(code, "rank %d, %d elements", comm->rank, (int)count)

EXPORT int ncclAllReduce(uint64_t send, uint64_t receive, size_t count, int type, int op, struct comm *comm, CUstream stream) {
    COLLECTIVE(ncclAllReduce, ALL_REDUCE, op, 0, receive);
}

EXPORT int ncclReduce(uint64_t send, uint64_t receive, size_t count, int type, int op, int root, struct comm *comm, CUstream stream) {
    COLLECTIVE(ncclReduce, REDUCE, op, root, comm->rank == root ? receive : 0);
}

EXPORT int ncclBroadcast(uint64_t send, uint64_t receive, size_t count, int type, int root, struct comm *comm, CUstream stream) {
    COLLECTIVE(ncclBroadcast, BROADCAST, 0, root, receive);
}

EXPORT int ncclAllGather(uint64_t send, uint64_t receive, size_t count, int type, struct comm *comm, CUstream stream) {
    COLLECTIVE(ncclAllGather, ALL_GATHER, 0, 0, receive);
}

EXPORT int ncclReduceScatter(uint64_t send, uint64_t receive, size_t count, int type, int op, struct comm *comm, CUstream stream) {
    COLLECTIVE(ncclReduceScatter, REDUCE_SCATTER, op, 0, receive);
}

static int add_item(struct comm *comm, struct item item, CUstream stream) {
    struct part *part = begin(comm, EXCHANGE, stream);
    if (part->items == MOST_ITEMS) return INVALID_ARGUMENT;
    part->item[part->items++] = item;
    return ended(comm);
}

EXPORT int ncclSend(uint64_t at, size_t count, int type, int peer, struct comm *comm, CUstream stream) {
    BLAS_ENTER(ncclSend);
    int code = refused(comm, "ncclSend");
    if (code == 0) code = add_item(comm, (struct item){peer, true, false, at, count * size_of(type)}, stream);
    BLAS_LEAVE(code, "rank %d to %d", comm->rank, peer);
}

EXPORT int ncclRecv(uint64_t at, size_t count, int type, int peer, struct comm *comm, CUstream stream) {
    BLAS_ENTER(ncclRecv);
    int code = refused(comm, "ncclRecv");
    if (code == 0) code = add_item(comm, (struct item){peer, false, false, at, count * size_of(type)}, stream);
    BLAS_LEAVE(code, "rank %d from %d", comm->rank, peer);
}
