// Numbers of a format whose exponents have no limits.
//
// The mathematics and the order of operations are those of audit/patches/unbounded.py, which says why; a test holds
// the two equal bit for bit.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "mlx/mlx.h"

namespace gradaudit {
// Each patch is a library of its own: nothing here may be merged with the other's copy at load time.
namespace {

namespace mx = mlx::core;

// Exponent of a zero that is added: below every other one, and far from the ends of int32.
constexpr int zero_exponent = -(1 << 24);
// A product of so many significands stays below 2^9, far inside float16.
constexpr int factors_at_most = 8;

// significand * 2^exponent, the exponent an int32.
struct Unbounded {
  mx::array significand;
  mx::array exponent;
};

// Bit fields of a format as constants of its unsigned type.
struct Layout {
  mx::Dtype type;
  mx::Dtype unsigned_type;
  int digits;
  int bias;
  mx::array sign;
  mx::array fraction;
  mx::array one;
  mx::array infinity;
  mx::array half;
  mx::array upper;

  Layout(mx::Dtype type, mx::Dtype whole, int digits, int bias)
      : type(type),
        unsigned_type(whole),
        digits(digits),
        bias(bias),
        sign(mx::array(uint64_t{1} << (8 * mx::size_of(type) - 1), whole)),
        fraction(mx::array((uint64_t{1} << digits) - 1, whole)),
        one(mx::array(static_cast<uint64_t>(bias) << digits, whole)),
        infinity(mx::array(static_cast<uint64_t>(2 * bias + 1) << digits, whole)),
        half(mx::array(uint64_t{1} << (lower() - 1), whole)),
        upper(mx::array(~uint64_t{0} << lower(), whole)) {}

  // Digits of the lower half of a significand.
  int lower() const { return (digits + 2) / 2; }

  static Layout of(mx::Dtype type) {
    switch (type.val()) {
      case mx::Dtype::Val::float16:
        return {type, mx::uint16, 10, 15};
      case mx::Dtype::Val::bfloat16:
        return {type, mx::uint16, 7, 127};
      case mx::Dtype::Val::float32:
        return {type, mx::uint32, 23, 127};
      default:
        return {type, mx::uint64, 52, 1023};
    }
  }
};

// Arithmetic in one format; all operations go to one stream.
class Arithmetic {
 public:
  Arithmetic(mx::Dtype type, mx::StreamOrDevice s) : layout_(Layout::of(type)), s_(s) {}

  // Significand in +-[1, 2) and exponent; zeros, infinities and NaN are kept, with exponent 0.
  Unbounded split(const mx::array& x) const {
    const auto& l = layout_;
    auto bits = mx::view(x, l.unsigned_type, s_);
    auto sign = mx::bitwise_and(bits, l.sign, s_);
    auto magnitude = mx::bitwise_xor(bits, sign, s_);
    // A subnormal is converted from its integer: hardware that flushes subnormals never sees one.
    auto small = mx::less_equal(magnitude, l.fraction, s_);
    auto raised = mx::view(mx::astype(magnitude, l.type, s_), l.unsigned_type, s_);
    magnitude = mx::where(small, raised, magnitude, s_);
    auto digits = mx::array(static_cast<uint64_t>(l.digits), l.unsigned_type);
    auto exponent = mx::astype(mx::right_shift(magnitude, digits, s_), mx::int32, s_);
    auto offset = mx::where(small, whole(2 * l.bias + l.digits - 1), whole(l.bias), s_);
    exponent = mx::subtract(exponent, offset, s_);
    auto ordinary = mx::logical_and(
        mx::not_equal(magnitude, mx::array(uint64_t{0}, l.unsigned_type), s_),
        mx::less(magnitude, l.infinity, s_),
        s_);
    auto fraction = mx::bitwise_and(magnitude, l.fraction, s_);
    auto significand = mx::bitwise_or(mx::bitwise_or(fraction, l.one, s_), sign, s_);
    return {
        mx::where(ordinary, mx::view(significand, l.type, s_), x, s_),
        mx::where(ordinary, exponent, whole(0), s_)};
  }

  // The numbers of several arrays of one shape, each with a first axis of length 1. Taken apart together: for small
  // arrays the cost of MLX lies in the number of operations.
  std::vector<Unbounded> split_all(const std::vector<mx::array>& variables) const {
    int count = static_cast<int>(variables.size());
    auto parts = split(mx::stack(variables, 0, s_));
    auto significands = mx::split(parts.significand, count, 0, s_);
    auto exponents = mx::split(parts.exponent, count, 0, s_);
    std::vector<Unbounded> result;
    for (int i = 0; i < count; ++i) {
      result.push_back({significands[i], exponents[i]});
    }
    return result;
  }

  // The nearest number of the format; the significand must be normalised.
  mx::array join(const Unbounded& x) const {
    const auto& l = layout_;
    const int least = 1 - l.bias;
    auto bits = mx::view(x.significand, l.unsigned_type, s_);
    auto sign = mx::bitwise_and(bits, l.sign, s_);
    auto magnitude = mx::bitwise_xor(bits, sign, s_);
    auto normal = mx::bitwise_or(
        mx::bitwise_and(magnitude, l.fraction, s_), field(clipped(x.exponent, least, l.bias)), s_);
    // In units of the smallest subnormal; a quarter of it and less round to zero alike.
    auto unit = clipped(mx::subtract(x.exponent, whole(least - l.digits), s_), -2, l.digits);
    auto rounded = mx::round(mx::multiply(mx::abs(x.significand, s_), power_of_two(unit), s_), s_);
    auto out = mx::where(mx::greater(x.exponent, whole(l.bias), s_), l.infinity, normal, s_);
    out = mx::where(
        mx::less(x.exponent, whole(least), s_), mx::astype(rounded, l.unsigned_type, s_), out, s_);
    auto ordinary = mx::equal(mx::bitwise_and(magnitude, l.infinity, s_), l.one, s_);
    return mx::where(
        ordinary, mx::view(mx::bitwise_or(out, sign, s_), l.type, s_), x.significand, s_);
  }

  Unbounded normalised(const Unbounded& x) const {
    auto parts = split(x.significand);
    return {parts.significand, mx::add(parts.exponent, x.exponent, s_)};
  }

  // A scalar between 2^-9 and 2^9, rounded to the format.
  Unbounded constant(double value) const { return {mx::array(value, layout_.type), whole(0)}; }

  Unbounded scaled(const Unbounded& x, int shift) const {
    return {x.significand, mx::add(x.exponent, whole(shift), s_)};
  }

  Unbounded negated(const Unbounded& x) const { return {mx::negative(x.significand, s_), x.exponent}; }

  Unbounded product(const Unbounded& x, const Unbounded& y) const {
    return {mx::multiply(x.significand, y.significand, s_), mx::add(x.exponent, y.exponent, s_)};
  }

  Unbounded quotient(const Unbounded& x, const Unbounded& y) const {
    return {mx::divide(x.significand, y.significand, s_), mx::subtract(x.exponent, y.exponent, s_)};
  }

  // A coefficient's magnitude as a number in [1, 2) times a power of two.
  std::pair<double, int> leading(int64_t coefficient) const {
    const uint64_t magnitude = std::abs(coefficient);
    int shift = 0;
    while (magnitude >> (shift + 1)) {
      ++shift;
    }
    return {static_cast<double>(magnitude) / static_cast<double>(uint64_t{1} << shift), shift};
  }

  // Powers of two with these exponents, which must be those of normal numbers.
  mx::array power_of_two(const mx::array& exponent) const { return mx::view(field(exponent), layout_.type, s_); }

  // Two numbers with half the digits of x each, whose sum is x: products of such halves are exact. Rounded on the
  // encoding, so that no compiler can contract it away.
  std::pair<mx::array, mx::array> halves(const mx::array& x) const {
    auto bits = mx::add(mx::view(x, layout_.unsigned_type, s_), layout_.half, s_);
    auto high = mx::view(mx::bitwise_and(bits, layout_.upper, s_), layout_.type, s_);
    return {high, mx::subtract(x, high, s_)};
  }

  mx::array clipped(const mx::array& exponent, int least, int largest) const {
    return mx::minimum(mx::maximum(exponent, whole(least), s_), whole(largest), s_);
  }

  mx::array whole(int value) const { return mx::array(value, mx::int32); }

  mx::array number(double value) const { return mx::array(value, layout_.type); }

  int precision() const { return layout_.digits + 1; }

  const mx::StreamOrDevice& stream() const { return s_; }

 private:
  // Encodings of powers of two.
  mx::array field(const mx::array& exponent) const {
    auto digits = mx::array(static_cast<uint64_t>(layout_.digits), layout_.unsigned_type);
    auto biased = mx::astype(mx::add(exponent, whole(layout_.bias), s_), layout_.unsigned_type, s_);
    return mx::left_shift(biased, digits, s_);
  }

  Layout layout_;
  mx::StreamOrDevice s_;
};

} // namespace
} // namespace gradaudit
