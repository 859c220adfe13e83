/* What every kernel returns. After a failure the caller may use nothing that was written, unless the header says so. */
#ifndef OOP_STATUS_H
#define OOP_STATUS_H

enum oop_status {
    OOP_OK = 0,
    OOP_TIME_OUTSIDE = 1, /* a time is outside the limits that the caller gave, or NaN */
    OOP_ID_OUTSIDE = 2,   /* an id is negative, or not below the number of groups */
    OOP_ROW_OUTSIDE = 3,  /* the number of a row, place or slot is out of range, or does not fit what is there */
    OOP_FULL = 4,         /* there is no room: the caller must make some, and may go on as the header says */
    OOP_FULL_BYTES = 5,   /* a table's bytes must grow */
    OOP_BYTES_OUTSIDE = 6, /* offsets do not ascend within their data */
    OOP_SUM_OUTSIDE = 7,  /* an exact sum is beyond what its words hold */
    OOP_NOT_SORTED = 8,   /* what should ascend does not */
    OOP_NO_TARGET = 9,    /* of a program: see programs.h, as for those that follow */
    OOP_NO_NULLS = 10,
    OOP_LATE_FULL = 11,
    OOP_SPREAD = 12,
    OOP_TEXT_FULL = 13,
    OOP_ODD = 14,
    OOP_USER_FAILED = 15,
    OOP_SESSIONS_FULL = 16,
    OOP_TOO_WIDE = 17, /* something does not fit in as many bits */
    OOP_TEXTS_FULL = 18
};

#endif
