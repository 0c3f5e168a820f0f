/* Reading and writing elements of every type. */
#include "cublas.h"

#include <math.h>
#include <string.h>

size_t type_bytes(int type) {
    switch (type) {
    case R_8I: case R_8F_E4M3: case R_8F_E5M2: return 1;
    case R_16F: case R_16BF: return 2;
    case R_32F: case R_32I: return 4;
    case R_64F: case C_32F: return 8;
    case C_64F: return 16;
    default: return 0;
    }
}

bool is_complex(int type) { return type == C_32F || type == C_64F; }

bool is_double(int type) { return type == R_64F || type == C_64F; }

static double half_to_double(uint16_t bits) {
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(fraction + 1024, exponent - 25);
}

/* To nearest, ties to even, which is what rint does. */
static uint16_t double_to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value)) return 0x7FFF;
    if (size >= 65520.0) return sign | 0x7C00;
    int exponent;
    frexp(size, &exponent);
    if (size == 0.0 || exponent < -13) return sign | (uint16_t)rint(ldexp(size, 24));
    /* A fraction that rounds up to 2048 carries into the exponent by itself. */
    return sign | (uint16_t)(((exponent + 13) << 10) + (int)rint(ldexp(size, 11 - exponent)));
}

static double bfloat_to_double(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint16_t double_to_bfloat(double wide) {
    float value = (float)wide;
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if (isnan(value)) return 0x7FFF;
    return (uint16_t)((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}

/* One of 8 bits by its definition: sign, exponent, mantissa. */
static double eight_to_double(uint8_t code, int type) {
    int mantissa = type == R_8F_E4M3 ? 3 : 2, bias = type == R_8F_E4M3 ? 7 : 15;
    double sign = code & 0x80 ? -1.0 : 1.0;
    int size = code & 0x7F, exponent = size >> mantissa, fraction = size & ((1 << mantissa) - 1);
    if (type == R_8F_E4M3 ? size == 0x7F : size > 0x7C) return (double)NAN;
    if (type == R_8F_E5M2 && size == 0x7C) return sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
    return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

/* The nearest by trying all; ties to even; saturating. */
static uint8_t double_to_eight(double value, int type) {
    if (isnan(value)) return 0x7F;
    int most = type == R_8F_E4M3 ? 0x7E : 0x7B, best = 0;
    double size = fabs(value), least = size;
    for (int code = 1; code <= most; code++) {
        double distance = fabs(eight_to_double((uint8_t)code, type) - size);
        if (distance < least || (distance == least && code % 2 == 0)) best = code, least = distance;
    }
    return (uint8_t)(best | (signbit(value) ? 0x80 : 0));
}

struct number load(const void *from, int type, int64_t index) {
    switch (type) {
    case R_32F: return (struct number){((const float *)from)[index], 0};
    case R_64F: return (struct number){((const double *)from)[index], 0};
    case R_16F: return (struct number){half_to_double(((const uint16_t *)from)[index]), 0};
    case R_16BF: return (struct number){bfloat_to_double(((const uint16_t *)from)[index]), 0};
    case R_8I: return (struct number){((const int8_t *)from)[index], 0};
    case R_32I: return (struct number){((const int32_t *)from)[index], 0};
    case R_8F_E4M3: case R_8F_E5M2:
        return (struct number){eight_to_double(((const uint8_t *)from)[index], type), 0};
    case C_32F: return (struct number){((const float *)from)[2 * index], ((const float *)from)[2 * index + 1]};
    default: return (struct number){((const double *)from)[2 * index], ((const double *)from)[2 * index + 1]};
    }
}

void store(void *to, int type, int64_t index, struct number value) {
    switch (type) {
    case R_32F: ((float *)to)[index] = (float)value.re; break;
    case R_64F: ((double *)to)[index] = value.re; break;
    case R_16F: ((uint16_t *)to)[index] = double_to_half(value.re); break;
    case R_16BF: ((uint16_t *)to)[index] = double_to_bfloat(value.re); break;
    case R_8F_E4M3: case R_8F_E5M2: ((uint8_t *)to)[index] = double_to_eight(value.re, type); break;
    case R_8I: ((int8_t *)to)[index] = (int8_t)rint(fmin(fmax(value.re, -128), 127)); break;
    case R_32I: ((int32_t *)to)[index] = (int32_t)(uint32_t)(int64_t)value.re; break;
    case C_32F:
        ((float *)to)[2 * index] = (float)value.re;
        ((float *)to)[2 * index + 1] = (float)value.im;
        break;
    case C_64F:
        ((double *)to)[2 * index] = value.re;
        ((double *)to)[2 * index + 1] = value.im;
        break;
    default: break;
    }
}

struct number load_scalar(const struct scalar *scalar) {
    const void *from = scalar->address != 0 ? standin_backing(scalar->address) : scalar->bytes;
    return load(from, scalar->type, 0);
}

struct number multiply(struct number one, struct number other) {
    return (struct number){one.re * other.re - one.im * other.im, one.re * other.im + one.im * other.re};
}

static double tf32(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if ((bits >> 23 & 0xFF) != 0xFF) bits = (bits + 0x1000) & ~UINT32_C(0x1FFF); /* 10 bits of fraction, to nearest */
    memcpy(&single, &bits, sizeof bits);
    return single;
}

struct number round_to_tf32(struct number value) { return (struct number){tf32(value.re), tf32(value.im)}; }
