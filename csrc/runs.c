#include "runs.h"

#include "keys.h"

#define INT_KEY(value) key_of_int(value)
#define FLOAT_KEY(value) key_of_float(value, UINT64_MAX)

static int check_starts(const int64_t *starts, int64_t runs, int64_t leaves, int64_t n) {
    if (runs < 1 || leaves < runs || starts[0] != 0 || starts[runs] != n) return OOP_ROW_OUTSIDE;
    for (int64_t r = 0; r < runs; r++)
        if (starts[r] > starts[r + 1]) return OOP_ROW_OUTSIDE;
    return OOP_OK;
}

static inline int is_before(uint64_t key, uint64_t run, uint64_t other_key, uint64_t other) {
    return ((unsigned __int128)key << 64 | run) < ((unsigned __int128)other_key << 64 | other);
}

static void copy_node(oop_losers tree, int64_t from, int64_t to) {
    tree.keys[to] = tree.keys[from];
    tree.runs[to] = tree.runs[from];
}

/* A tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): node 1 is the last match and holds its loser,
   node 0 holds its winner; leaf r is node leaves + r. While the tree is built, nodes hold their winners. Afterwards a
   leaf holds the row behind its run's row in the matches, so that it is at hand when that row wins. */
static void build_tree(oop_losers tree) {
    for (int64_t at = tree.leaves - 1; at > 0; at--) {
        const int64_t left = 2 * at, right = left + 1;
        const int wins = is_before(tree.keys[right], tree.runs[right], tree.keys[left], tree.runs[left]);
        copy_node(tree, wins ? right : left, at);
    }
    copy_node(tree, 1, 0);
    for (int64_t at = 1; at < tree.leaves; at++)
        copy_node(tree, tree.runs[2 * at] == tree.runs[at] ? 2 * at + 1 : 2 * at, at);
}

/* Which of two rows wins cannot be predicted, so a match has no branch. It is written with masks, because a compiler
   would make a branch of a choice. */
#define MERGE(NAME, TYPE, KEY)                                                                                     \
    int NAME(const TYPE *values, int64_t n, const int64_t *starts, int64_t runs, oop_losers tree, int64_t *next,   \
             int64_t *order) {                                                                                     \
        const int64_t leaves = tree.leaves;                                                                        \
        int code = check_starts(starts, runs, leaves, n), falls = 0;                                               \
        if (code != OOP_OK) return code;                                                                           \
        for (int64_t r = 0; r < runs; r++)                                                                         \
            for (int64_t i = starts[r] + 1; i < starts[r + 1]; i++) falls |= KEY(values[i]) < KEY(values[i - 1]);  \
        if (falls) return OOP_NOT_SORTED;                                                                          \
        for (int64_t r = 0; r < leaves; r++) {                                                                     \
            const int some = r < runs && starts[r] < starts[r + 1];                                                \
            tree.keys[leaves + r] = some ? KEY(values[starts[r]]) : UINT64_MAX;                                    \
            tree.runs[leaves + r] = (uint64_t)(some ? r : r + leaves);                                             \
        }                                                                                                          \
        build_tree(tree);                                                                                          \
        for (int64_t r = 0; r < runs; r++) {                                                                       \
            const int some = (next[r] = starts[r]) + 1 < starts[r + 1];                                            \
            tree.keys[leaves + r] = some ? KEY(values[next[r] + 1]) : UINT64_MAX;                                  \
            tree.runs[leaves + r] = (uint64_t)(some ? r : r + leaves);                                             \
        }                                                                                                          \
        int64_t run = (int64_t)tree.runs[0];                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                          \
            const int64_t at = next[run]++, leaf = leaves + run;                                                   \
            const int some = at + 2 < starts[run + 1];                                                             \
            uint64_t key = tree.keys[leaf], number = tree.runs[leaf];                                              \
            order[i] = at;                                                                                         \
            tree.keys[leaf] = KEY(values[some ? at + 2 : at]) | -(uint64_t)!some;                                  \
            tree.runs[leaf] = (uint64_t)(some ? run : leaf);                                                       \
            for (int64_t match = leaf >> 1; match; match >>= 1) {                                                  \
                const uint64_t other_key = tree.keys[match], other = tree.runs[match];                             \
                const uint64_t loses = -(uint64_t)is_before(other_key, other, key, number);                        \
                const uint64_t keys = (key ^ other_key) & loses, numbers = (number ^ other) & loses;               \
                tree.keys[match] = other_key ^ keys;                                                               \
                tree.runs[match] = other ^ numbers;                                                                \
                key ^= keys;                                                                                       \
                number ^= numbers;                                                                                 \
            }                                                                                                      \
            run = (int64_t)number;                                                                                 \
        }                                                                                                          \
        return OOP_OK;                                                                                             \
    }

MERGE(oop_merge_runs_int, int64_t, INT_KEY)
MERGE(oop_merge_runs_float, double, FLOAT_KEY)
