/* What every kernel returns. A kernel that fails has written nothing that its caller may use. */
#ifndef OOP_STATUS_H
#define OOP_STATUS_H

enum oop_status {
    OOP_OK = 0,
    OOP_TIME_OUTSIDE = 1 /* a time is outside the limits that the caller gave, or NaN */
};

#endif
