/* What is compiled ahead, as the table of it (written by linking.py) and ahead.c see it. */

#include <stdint.h>

#define N_SLOTS 256
#define N_RESULT 4096

typedef struct {
    const char *name;
    const char *content;   /* a hash of the kernel and of all that it calls */
    const char *classes;   /* named tuples of arguments and result */
    const char *arguments; /* how many, and what each is */
    const char *result;
    int32_t (*run)(void *result, void **error, const int64_t *slots);
} Entry;

extern __attribute__((visibility("hidden"))) const Entry entries[];
extern __attribute__((visibility("hidden"))) const int n_entries;
extern __attribute__((visibility("hidden"))) const char target[];
