/*
 * Streams that are captured, and graphs.
 *
 * A capture writes down what is submitted to one stream, in order, and a launch submits all of it anew: as it lay on that
 * stream, so each node behind the one before it. Stricter than the driver: an event, a wait, and memory that is allocated
 * or freed are no part of a capture of ours, and a call that a capture does not allow breaks it, as there: also one of
 * another thread that waits for the whole context (calls.c).
 */
#include "simulator.h"

#include <stdlib.h>
#include <string.h>

typedef void *CUgraph, *CUgraphExec;

enum { CAPTURE_RELAXED = 2 };

static void free_commands(struct command *head) {
    while (head != NULL) {
        struct command *next = head->next;
        free(head->payload);
        free(head);
        head = next;
    }
}

void forget_graph(struct graph *graph) {
    free_commands(graph->head);
    graph->head = NULL;
}

void forget_capture(struct stream *stream) {
    if (stream->capture == NULL) return;
    free_commands(stream->capture->head);
    free(stream->capture);
    stream->capture = NULL;
}

bool breaks_capture(struct stream *stream, CUresult code) {
    if (stream->capture == NULL) return false;
    if (stream->capture->broken == CUDA_SUCCESS) stream->capture->broken = code;
    return true;
}

bool break_captures(int device, CUresult code) {
    bool any = false;
    for (int i = 0; i < state.tables[STREAM].count; i++) {
        struct stream *stream = (struct stream *)state.tables[STREAM].items[i];
        if (stream->object.device == device && !stream->object.destroyed) any |= breaks_capture(stream, code);
    }
    return any;
}

void capture_command(struct stream *stream, struct command *command) {
    if (command->kind != WORK) {
        violation("%s on stream#%d, which is captured", command->call, stream->object.number);
        breaks_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    struct capture *capture = stream->capture;
    if (capture->tail != NULL) capture->tail->next = command;
    else capture->head = command;
    capture->tail = command;
}

/* The same work once more. */
static struct command *copy_of(const struct command *command) {
    struct command *copy = malloc(sizeof *copy);
    *copy = *command;
    copy->next = NULL;
    copy->payload = malloc(command->payload_bytes + 1);
    if (command->payload_bytes > 0) memcpy(copy->payload, command->payload, command->payload_bytes);
    for (int i = 0; i < copy->operand_count; i++) copy->operands[i].allocation = NULL;
    return copy;
}

static struct graph *new_graph(enum handle_kind kind, int device, const struct command *head) {
    struct graph *graph = new_object(kind, sizeof *graph, device);
    struct command **place = &graph->head;
    for (; head != NULL; head = head->next, place = &(*place)->next, graph->count++) *place = copy_of(head);
    return graph;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
    ENTER(cuStreamBeginCapture_v2, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (stream->capture != NULL || mode < 0 || mode > 2)
        LEAVE(CUDA_ERROR_INVALID_VALUE, "stream#%d mode %d", stream->object.number, mode);
    if (mode != CAPTURE_RELAXED)
        violation("a capture of stream#%d that forbids calls of other threads", stream->object.number);
    stream->capture = calloc(1, sizeof *stream->capture);
    LEAVE(CUDA_SUCCESS, "stream#%d mode %d", stream->object.number, mode);
}

EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *made) {
    ENTER(cuStreamEndCapture, A_CONTEXT);
    struct stream *stream = enter_stream(handle);
    if (stream == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "stream#?");
    if (made == NULL || stream->capture == NULL) LEAVE(CUDA_ERROR_INVALID_VALUE, "stream#%d", stream->object.number);
    struct graph *graph = NULL;
    if (stream->capture->broken == CUDA_SUCCESS) graph = new_graph(GRAPH, current_device(), stream->capture->head);
    forget_capture(stream);
    *made = graph != NULL ? handle_of(&graph->object) : NULL;
    LEAVE(graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "stream#%d nodes %d",
          stream->object.number, graph != NULL ? graph->count : 0);
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph handle, unsigned long long flags) {
    ENTER(cuGraphInstantiateWithFlags, A_CONTEXT);
    struct graph *graph = enter_object(handle, GRAPH);
    if (graph == NULL || made == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "graph#?");
    struct graph *instance = new_graph(GRAPH_EXEC, current_device(), graph->head);
    *made = handle_of(&instance->object);
    LEAVE(CUDA_SUCCESS, "instance#%d of graph#%d flags %llu", instance->object.number, graph->object.number, flags);
}

/* Nodes are paired in order; one of another call is another node. */
EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec instance_handle, CUgraph graph_handle, void *information) {
    ENTER(cuGraphExecUpdate_v2, A_CONTEXT);
    struct graph *instance = enter_object(instance_handle, GRAPH_EXEC);
    struct graph *graph = enter_object(graph_handle, GRAPH);
    if (instance == NULL || graph == NULL || information == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "instance#? graph#?");
    const struct command *old = instance->head, *new = graph->head;
    for (; old != NULL && new != NULL; old = old->next, new = new->next)
        if (strcmp(old->call, new->call) != 0) break;
    if (old != NULL || new != NULL)
        LEAVE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "instance#%d graph#%d", instance->object.number, graph->object.number);
    forget_graph(instance);
    struct command **place = &instance->head;
    for (new = graph->head; new != NULL; new = new->next, place = &(*place)->next) *place = copy_of(new);
    LEAVE(CUDA_SUCCESS, "instance#%d graph#%d", instance->object.number, graph->object.number);
}

EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    ENTER(cuGraphLaunch, A_CONTEXT);
    struct stream *stream = enter_stream(stream_handle);
    struct graph *instance = enter_object(handle, GRAPH_EXEC);
    if (stream == NULL || instance == NULL) LEAVE(CUDA_ERROR_INVALID_HANDLE, "instance#? stream#?");
    for (const struct command *node = instance->head; node != NULL; node = node->next) {
        struct command *command = enqueue(stream, WORK);
        struct command *copy = copy_of(node);
        command->run = copy->run;
        command->payload = copy->payload;
        command->payload_bytes = copy->payload_bytes;
        command->function = copy->function;
        command->endless = copy->endless;
        command->call = copy->call;
        free(copy);
        for (int i = 0; i < node->operand_count; i++) add_operand(command, node->operands[i].kind, node->operands[i].range);
        submit(stream, command, true);
    }
    LEAVE(CUDA_SUCCESS, "instance#%d stream#%d", instance->object.number, stream->object.number);
}

static CUresult destroy_graph(const void *handle, enum handle_kind kind) {
    struct graph *graph = destroy_object(handle, kind);
    if (graph == NULL) return CUDA_ERROR_INVALID_HANDLE;
    forget_graph(graph);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle) {
    ENTER(cuGraphExecDestroy, A_CONTEXT);
    CUresult code = destroy_graph(handle, GRAPH_EXEC);
    LEAVE(code, "an instance");
}

EXPORT CUresult cuGraphDestroy(CUgraph handle) {
    ENTER(cuGraphDestroy, A_CONTEXT);
    CUresult code = destroy_graph(handle, GRAPH);
    LEAVE(code, "a graph");
}
