/* The kernels that the library writes as text (src/libraries/expressions/ptx, src/libraries/reductions/ptx): they run by it. */
#include "simulator.h"

#include <stdio.h>
#include <string.h>

/* The text says which words of the arguments are addresses: `// written 1 to 2, read 2 to 4`. */
static void expression_operands(struct command *command, const struct launch *launch) {
    const char *said = strstr(launch->module->text, "// written ");
    int written = 0, middle = 0, end = 0, same = 0;
    if (said == NULL || sscanf(said, "// written %d to %d, read %d to %d", &written, &middle, &same, &end) != 4) {
        violation("a kernel that does not say its operands");
        return;
    }
    const uint64_t *words = (const uint64_t *)(const void *)launch->bulk;
    /* 0 stands for an operand that the call does not have, an address in the first page for one without elements. */
    for (int i = written; i < end && command->operand_count < MAXIMUM_OPERANDS; i++)
        if (words[i] >= 4096) add_operand(command, i < middle ? WRITE : READ, flat(words[i], 1));
}

/* Its one parameter has as many bytes as the text says. */
static const struct kernel kernel = {"expression", 1, {0}, expression_operands, NULL, 0, true};

const struct kernel *known_expression_kernel(const char *name) { return strcmp(name, kernel.name) == 0 ? &kernel : NULL; }
