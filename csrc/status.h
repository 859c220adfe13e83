/* What every kernel returns. After a failure the caller may use nothing that was written, unless the header says so. */
#ifndef OOP_STATUS_H
#define OOP_STATUS_H

enum oop_status {
    OOP_OK = 0,
    OOP_TIME_OUTSIDE = 1, /* a time is outside the limits that the caller gave, or NaN */
    OOP_ID_OUTSIDE = 2,   /* an id is negative, or not below the number of groups */
    OOP_ROW_OUTSIDE = 3,  /* a row's number is negative, or not below the number of rows */
    OOP_FULL = 4,         /* a table must grow: it holds as many groups as it has room for */
    OOP_FULL_BYTES = 5,   /* a table's bytes must grow */
    OOP_BYTES_OUTSIDE = 6, /* offsets do not ascend within their data */
    OOP_SUM_OUTSIDE = 7,  /* an exact sum is beyond what its words hold */
    OOP_NOT_SORTED = 8    /* what should ascend does not */
};

#endif
