/* Texts with numbers: a program looks at a text once, and from then on knows it by its number in a list. */
#ifndef OOP_CODED_H
#define OOP_CODED_H

#include <stdint.h>

enum oop_text_sizes {
    OOP_TEXT_PLACES = 8192,  /* places of a list, a power of two */
    OOP_TEXT_MOST = 4096,    /* texts that are found again, at most */
    OOP_TEXT_MEMOS = 4096,   /* a power of two */
    OOP_TEXTS_AT_ONCE = 256, /* texts that are looked for together in a table of keys */
    OOP_TEXT_SHORT = 16      /* bytes of a text that two words tell from all others of its length */
};

/* A text of a list. Its bytes are those of a batch, or of the program's room for text. */
typedef struct {
    uint64_t first, last; /* if it is short, words that have all of its bytes; else its hash, and 0 */
    const uint8_t *bytes;
    int64_t length; /* -1: it is null */
    uint64_t hash;  /* the one of tables of keys */
    uint64_t word;  /* what the hash of shards makes of it, if rows are sent to shards by it */
} oop_text;

/* Which code a text has in the table of a target. */
typedef struct {
    uint64_t whose;  /* generation * OOP_TARGETS + target; a new generation of the program invalidates all memos */
    uint32_t number; /* of the text in its list */
    uint32_t code;
} oop_text_memo;

/* The texts of one key column that a program has met. There may be more than are found again: if texts hardly ever come
   back, it is faster not to look for them, and each row has a text of its own. */
typedef struct {
    oop_text *texts;
    uint32_t *places;    /* one more than the number of the text that is found there; 0: none */
    int32_t *codes;      /* for each row of the chunk that is left, the number of its text */
    uint64_t *words;     /* likewise, what the hash of shards makes of it; NULL: nobody asks */
    oop_text_memo *memos;
    uint64_t seed, factor; /* those of all tables of keys */
    int64_t count, room;
    int64_t kept;        /* how many are found again */
    int64_t plain;       /* chunks for which new texts are not put into `places` */
    int64_t null;        /* the number of the null; -1: there was none */
    int32_t is_hashed;   /* 1: strings, sharded by one of HASHES values of their hash; 0: bytes, by the hash itself */
} oop_texts;

#endif
