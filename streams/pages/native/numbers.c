/* Sums along a page's tree and means over its segments: what numpy can only do in many small steps. The law is the
 * Python beside each caller (features.py, model.py). Arrays are contiguous; their lengths are the caller's word. */
#include "base.h"

/* Adds to each element's value those of all below it. Parents have smaller numbers. */
EXPORT void riffle_gather(const int32_t *parents, int64_t count, double *values) {
    for (int64_t index = count - 1; index > 0; index--) values[parents[index]] += values[index];
}

/* The widest element around each that holds less than `limit`; 0 for the body. */
EXPORT void riffle_sections(const int32_t *parents, int64_t count, const double *held, double limit, int64_t *sections) {
    if (count) sections[0] = 0;
    for (int64_t index = 1; index < count; index++)
        sections[index] = held[parents[index]] < limit ? sections[parents[index]] : index;
}

static void put_means(const float *hidden, const float *weights, int64_t rows, int64_t width, const int64_t *groups,
                      int64_t group_count, double *sums, float *out, int64_t stride) {
    double *totals = sums + group_count * width;
    memset(sums, 0, (size_t)(group_count * (width + 1)) * sizeof(double));
    for (int64_t row = 0; row < rows; row++) {
        double *sum = sums + groups[row] * width;
        float weight = weights[row];
        const float *values = hidden + row * width;
        for (int64_t at = 0; at < width; at++) sum[at] += (double)(values[at] * weight);
        totals[groups[row]] += weight;
    }
    for (int64_t row = 0; row < rows; row++) {
        const double *sum = sums + groups[row] * width;
        double scale = 1.0 / totals[groups[row]];
        for (int64_t at = 0; at < width; at++) out[row * stride + at] = (float)(sum[at] * scale);
    }
}

/* model.pooled: the hidden layer (rows x width) beside its weighted means over the page and three groupings, and its
 * plain means over two windows; out has 7 x width columns. Groups are numbered below `group_counts`. 0 without memory. */
EXPORT int riffle_pool(const float *hidden, const float *weights, int64_t rows, int64_t width, const int64_t *siblings,
                const int64_t *sections, const int64_t *alike, const int64_t *group_counts, const int64_t *reaches,
                float *out) {
    int64_t most = rows + 1, stride = width * 7;
    for (int index = 0; index < 3; index++)
        if (group_counts[index] > most) most = group_counts[index];
    double *sums = malloc((size_t)(most * (width + 1)) * sizeof(double));
    int64_t *whole = calloc((size_t)(rows + 1), sizeof(int64_t));
    if (!sums || !whole) {
        free(sums);
        free(whole);
        return 0;
    }
    for (int64_t row = 0; row < rows; row++) memcpy(out + row * stride, hidden + row * width, (size_t)width * sizeof(float));
    put_means(hidden, weights, rows, width, whole, 1, sums, out + width, stride);
    put_means(hidden, weights, rows, width, siblings, group_counts[0], sums, out + 2 * width, stride);
    put_means(hidden, weights, rows, width, sections, group_counts[1], sums, out + 3 * width, stride);
    put_means(hidden, weights, rows, width, alike, group_counts[2], sums, out + 4 * width, stride);
    memset(sums, 0, (size_t)width * sizeof(double)); /* running sums: row + 1 holds those before it and its own */
    for (int64_t row = 0; row < rows; row++)
        for (int64_t at = 0; at < width; at++)
            sums[(row + 1) * width + at] = sums[row * width + at] + hidden[row * width + at];
    for (int64_t window = 0; window < 2; window++)
        for (int64_t row = 0; row < rows; row++) {
            int64_t low = row - reaches[window] < 0 ? 0 : row - reaches[window];
            int64_t high = row + reaches[window] + 1 > rows ? rows : row + reaches[window] + 1;
            for (int64_t at = 0; at < width; at++)
                out[row * stride + (5 + window) * width + at] =
                    (float)((sums[high * width + at] - sums[low * width + at]) / (double)(high - low));
        }
    free(sums);
    free(whole);
    return 1;
}
