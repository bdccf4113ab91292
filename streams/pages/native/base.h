/* What every file needs. */
#ifndef RIFFLE_BASE_H
#define RIFFLE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint8_t byte;

static inline byte lower(byte letter) { return letter >= 'A' && letter <= 'Z' ? (byte)(letter + 32) : letter; }

#endif
