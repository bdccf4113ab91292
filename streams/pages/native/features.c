/* The content model's input for all segments of a page in one go. The law is features.py, column by column. */
#include <math.h>

#include "base.h"

enum { KINDS_OF_COUNT = 6, FLAG_BITS = 16, LEVELS = 6, SHARES = 5, GATHERED = 4, SHIFTS = 6, BASIS = 6 };
static const int levels[LEVELS] = {0, 1, 2, 3, 5, 7};
static const int shifts[SHIFTS] = {-3, -2, -1, 1, 2, 3};

typedef struct {
    const int32_t *elements, *parents; /* of segments; of elements */
    const float *counts;               /* segments x 6: characters, in links, words, commas, full stops, links */
    const uint16_t *flags;
    const int32_t *kinds; /* of elements */
    const int64_t *groups;
    const uint64_t *masks; /* of elements */
    int64_t count, element_count, kind_count, bits, columns;
    double wide_share;
} Page;

static float at_most(float value, float most) { return value < most ? value : most; }
static float at_least(float value, float least) { return value > least ? value : least; }

static float *put_bits(float *out, uint64_t mask, int64_t bits) {
    for (int64_t bit = 0; bit < bits; bit++) *out++ = (float)(mask >> bit & 1);
    return out;
}

static float *put_window(float *out, const double *sums, int64_t row, int64_t count, int64_t reach) {
    int64_t low = row - reach < 0 ? 0 : row - reach, high = row + reach + 1 > count ? count : row + reach + 1;
    for (int at = 0; at < 3; at++) *out++ = (float)((sums[high * 3 + at] - sums[low * 3 + at]) / (double)(high - low));
    return out;
}

/* Fills all columns but those of the whole page, which come last; what these are made of goes to `whole`: characters,
 * in links, in good texts, how many good texts, and the shares of segments with flags 9 to 13. 0 without memory. */
EXPORT int riffle_features(const Page *page, float *out, double *whole) {
    int64_t count = page->count, elements = page->element_count;
    double *sums = calloc((size_t)elements * GATHERED, sizeof(double));
    float *shares = malloc((size_t)elements * SHARES * sizeof(float)), *depths = malloc((size_t)elements * sizeof(float));
    uint64_t *own = malloc((size_t)elements * sizeof(uint64_t)), *around = malloc((size_t)elements * sizeof(uint64_t));
    float *basis = malloc((size_t)count * (BASIS + 1) * sizeof(float));
    double *running = calloc((size_t)(count + 1) * 3, sizeof(double)), *alike = calloc((size_t)(count + 1) * 3, sizeof(double));
    int made = sums && shares && depths && own && around && basis && running && alike;
    int64_t first_title = -1, good_count = 0;
    double flagged[5] = {0};
    for (int64_t row = 0; made && row < count; row++) {
        const float *counts = page->counts + row * KINDS_OF_COUNT;
        float length = counts[0], linked = at_most(counts[1] / length, 1), good = length > 80 && linked < 0.3f ? length : 0;
        uint16_t flags = page->flags[row];
        double *sum = sums + page->elements[row] * GATHERED, *group = alike + page->groups[row] * 3;
        sum[0] += length;
        sum[1] += length * linked;
        sum[2] += good;
        sum[3] += 1;
        group[0] += 1;
        group[1] += length;
        group[2] += linked;
        good_count += good > 0;
        if (first_title < 0 && flags & 2) first_title = row;
        for (int bit = 0; bit < 5; bit++) flagged[bit] += flags >> (9 + bit) & 1;
        float *value = basis + row * (BASIS + 1);
        value[0] = log1pf(length) * 0.2f;
        value[1] = linked;
        value[2] = (float)(flags & 1);
        value[3] = good > 0;
        value[4] = (float)(flags >> 2 & 1);
        value[5] = (float)(flags >> 3 & 1);
        value[6] = good * 0.003f;
        double *sofar = running + row * 3;
        sofar[3] = sofar[0] + value[0];
        sofar[4] = sofar[1] + value[1];
        sofar[5] = sofar[2] + value[6];
    }
    for (int64_t index = elements - 1; made && index > 0; index--)
        for (int at = 0; at < GATHERED; at++) sums[page->parents[index] * GATHERED + at] += sums[index * GATHERED + at];
    float total = made ? at_least((float)sums[0], 1) : 1, total_good = made ? at_least((float)sums[2], 1) : 1;
    float wide = made ? (float)(sums[0] * page->wide_share) : 0;
    for (int64_t index = 0; made && index < elements; index++) {
        int32_t parent = page->parents[index];
        const double *sum = sums + index * GATHERED;
        float held = (float)sum[0], filled = at_least(held, 1), *share = shares + index * SHARES;
        share[0] = log1pf(held) * 0.2f;
        share[1] = (float)sum[1] / filled;
        share[2] = (float)sum[2] / filled;
        share[3] = (float)sum[2] / total_good;
        share[4] = log1pf((float)sum[3]) * 0.3f;
        own[index] = parent >= 0 && held > 0 && held <= wide ? page->masks[index] : 0;
        around[index] = parent >= 0 ? own[index] | around[parent] : 0;
        depths[index] = parent >= 0 ? depths[parent] + 1 : 0;
    }
    double before = 0, good_before = 0;
    for (int64_t row = 0; made && row < count; row++) {
        const float *counts = page->counts + row * KINDS_OF_COUNT, *value = basis + row * (BASIS + 1);
        float length = counts[0], words = counts[2], good = value[3] > 0 ? length : 0, *next = out + row * page->columns;
        int32_t element = page->elements[row];
        *next++ = value[0];
        *next++ = at_most(length, 400) / 400;
        *next++ = value[1];
        *next++ = words > 1 ? at_most(length / words, 15) * 0.1f : 0.5f;
        *next++ = at_most(words, 4) * 0.25f;
        next = put_bits(next, page->flags[row], FLAG_BITS);
        for (int at = 3; at < KINDS_OF_COUNT; at++) *next++ = at_most(counts[at], 10) * 0.1f;
        for (int64_t kind = 0; kind < page->kind_count; kind++) *next++ = kind == page->kinds[element];
        int32_t first = page->parents[element] < 0 ? 0 : page->parents[element];
        int32_t second = page->parents[first] < 0 ? 0 : page->parents[first];
        next = put_bits(next, own[element] | own[first] | own[second], page->bits);
        next = put_bits(next, around[element], page->bits);
        for (int level = 0, at = 0; level < LEVELS; level++) {
            static const int32_t body = 0;
            for (; at < levels[level]; at++) element = page->parents[element] < 0 ? body : page->parents[element];
            memcpy(next, shares + (int64_t)element * SHARES, SHARES * sizeof(float));
            next += SHARES;
        }
        *next++ = (float)row / (float)count;
        *next++ = (float)before / total;
        *next++ = (float)good_before / total_good;
        *next++ = good_before > 0;
        *next++ = (float)(good_before + good) >= total_good;
        *next++ = first_title < 0 ? 0.5f : row >= first_title;
        *next++ = first_title < 0 ? 0 : at_least(at_most((float)(row - first_title) / 30, 1), -1);
        *next++ = depths[page->elements[row]] * 0.05f;
        next = put_window(next, running, row, count, 3);
        next = put_window(next, running, row, count, 10);
        for (int shift = 0; shift < SHIFTS; shift++) {
            int64_t other = row + shifts[shift];
            if (other < 0 || other >= count) memset(next, 0, BASIS * sizeof(float));
            else memcpy(next, basis + other * (BASIS + 1), BASIS * sizeof(float));
            next += BASIS;
        }
        const double *group = alike + page->groups[row] * 3;
        *next++ = log1pf((float)group[0]) * 0.3f;
        *next++ = (float)(log1p(group[1] / group[0]) * 0.2);
        *next++ = (float)(group[2] / group[0]);
        before += length;
        good_before += good;
    }
    if (made) {
        whole[0] = sums[0];
        whole[1] = sums[1];
        whole[2] = sums[2];
        whole[3] = (double)good_count;
        for (int bit = 0; bit < 5; bit++) whole[4 + bit] = flagged[bit] / (double)count;
    }
    free(sums);
    free(shares);
    free(depths);
    free(own);
    free(around);
    free(basis);
    free(running);
    free(alike);
    return made;
}
