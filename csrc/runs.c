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

static inline int is_before(oop_first a, oop_first b) {
    return ((unsigned __int128)a.key << 64 | a.run) < ((unsigned __int128)b.key << 64 | b.run);
}

/* A tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): tree[1] is the last match and holds its loser,
   tree[0] who won it; leaf r is node leaves + r. While it is built, nodes hold their winners. Afterwards a leaf holds
   the row behind the one that is in the matches, so that nobody waits for it. */
static void build_tree(oop_first *tree, int64_t leaves) {
    for (int64_t at = leaves - 1; at > 0; at--)
        tree[at] = is_before(tree[2 * at + 1], tree[2 * at]) ? tree[2 * at + 1] : tree[2 * at];
    tree[0] = tree[1];
    for (int64_t at = 1; at < leaves; at++)
        tree[at] = tree[tree[2 * at].run == tree[at].run ? 2 * at + 1 : 2 * at];
}

/* Which of two rows wins cannot be foretold: a match has no branch, which a compiler would make of a choice. */
#define MERGE(NAME, TYPE, KEY)                                                                                     \
    int NAME(const TYPE *values, int64_t n, const int64_t *starts, int64_t runs, int64_t leaves, oop_first *tree,  \
             int64_t *next, int64_t *order) {                                                                      \
        int code = check_starts(starts, runs, leaves, n), falls = 0;                                               \
        if (code != OOP_OK) return code;                                                                           \
        for (int64_t r = 0; r < runs; r++)                                                                         \
            for (int64_t i = starts[r] + 1; i < starts[r + 1]; i++) falls |= KEY(values[i]) < KEY(values[i - 1]);  \
        if (falls) return OOP_NOT_SORTED;                                                                          \
        for (int64_t r = 0; r < leaves; r++) {                                                                     \
            const int some = r < runs && starts[r] < starts[r + 1];                                                \
            tree[leaves + r].key = some ? KEY(values[starts[r]]) : UINT64_MAX;                                     \
            tree[leaves + r].run = (uint64_t)(some ? r : r + leaves);                                              \
        }                                                                                                          \
        build_tree(tree, leaves);                                                                                  \
        for (int64_t r = 0; r < runs; r++) {                                                                       \
            const int some = (next[r] = starts[r]) + 1 < starts[r + 1];                                            \
            tree[leaves + r].key = some ? KEY(values[next[r] + 1]) : UINT64_MAX;                                   \
            tree[leaves + r].run = (uint64_t)(some ? r : r + leaves);                                              \
        }                                                                                                          \
        oop_first won = tree[0];                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                          \
            const int64_t run = (int64_t)won.run, at = next[run]++;                                                \
            const int some = at + 2 < starts[run + 1];                                                             \
            oop_first *leaf = &tree[leaves + run];                                                                 \
            won = *leaf;                                                                                           \
            order[i] = at;                                                                                         \
            leaf->key = KEY(values[some ? at + 2 : at]) | -(uint64_t)!some;                                        \
            leaf->run = (uint64_t)(some ? run : run + leaves);                                                     \
            for (int64_t match = (leaves + run) >> 1; match; match >>= 1) {                                        \
                const oop_first other = tree[match];                                                               \
                const uint64_t loses = -(uint64_t)is_before(other, won);                                           \
                const uint64_t key = (won.key ^ other.key) & loses, number = (won.run ^ other.run) & loses;        \
                tree[match].key = other.key ^ key;                                                                 \
                tree[match].run = other.run ^ number;                                                              \
                won.key ^= key;                                                                                    \
                won.run ^= number;                                                                                 \
            }                                                                                                      \
        }                                                                                                          \
        return OOP_OK;                                                                                             \
    }

MERGE(oop_merge_runs_int, int64_t, INT_KEY)
MERGE(oop_merge_runs_float, double, FLOAT_KEY)
