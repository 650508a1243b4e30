// Sums of products that stay accurate when their terms cancel.
//
// The mathematics and the order of operations are those of audit/patches/paired.py, which says why; a test holds the
// two equal bit for bit.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "mlx/mlx.h"
#include "unbounded.h"

namespace gradaudit {
namespace {

// coefficient * product of factors; the coefficient is not zero and there is at least one factor.
struct Product {
  int64_t coefficient;
  std::vector<Unbounded> factors;
};

// (high + low) * 2^exponent, where low is what rounding took from high; high is below 2^9.
struct Paired {
  mx::array high;
  mx::array low;
  mx::array exponent;
};

class PairedArithmetic {
 public:
  explicit PairedArithmetic(const Arithmetic& in) : in_(in), s_(in.stream()) {}

  // The sum of at least two products, normalised. Infinities and NaN are not kept as the format's arithmetic does.
  Unbounded sum_of_products(const std::vector<Product>& products) const {
    Paired total = sum(product(products[0]), product(products[1]));
    for (size_t i = 2; i < products.size(); ++i) {
      // A cancelled sum must not hide what is added next.
      total = sum(normalised(total), product(products[i]));
    }
    // Adding a low part of +0 would lose the sign of a sum of two -0.
    auto exact = mx::equal(total.low, in_.number(0.0), s_);
    auto rounded = mx::where(exact, total.high, mx::add(total.high, total.low, s_), s_);
    return in_.normalised({rounded, total.exponent});
  }

 private:
  using Two = std::pair<mx::array, mx::array>;

  Paired product(const Product& all) const {
    const Unbounded& first = all.factors[0];
    auto [leading, shift] = in_.leading(all.coefficient);
    std::vector<Unbounded> factors(all.factors.begin() + 1, all.factors.end());
    if (leading != 1.0) {
      factors.push_back(in_.constant(leading));
    }
    Paired value{first.significand, in_.number(0.0), in_.scaled(first, shift).exponent};
    for (size_t i = 0; i < factors.size(); ++i) {
      value = times(value, factors[i]);
      if ((i + 2) % factors_at_most == 0) {
        value = normalised(value);
      }
    }
    if (all.coefficient < 0) {
      return {mx::negative(value.high, s_), mx::negative(value.low, s_), value.exponent};
    }
    return value;
  }

  Paired times(const Paired& x, const Unbounded& factor) const {
    auto [high, error] = two_product(x.high, factor.significand);
    auto low = mx::add(error, mx::multiply(x.low, factor.significand, s_), s_);
    return {high, low, mx::add(x.exponent, factor.exponent, s_)};
  }

  Paired sum(const Paired& x, const Paired& y) const {
    auto ranked = [this](const Paired& term) {
      auto zero = mx::equal(term.high, in_.number(0.0), s_);
      return mx::where(zero, in_.whole(zero_exponent), term.exponent, s_);
    };
    auto x_exponent = ranked(x);
    auto y_exponent = ranked(y);
    auto largest = mx::maximum(x_exponent, y_exponent, s_);
    Paired first = shifted(x, mx::subtract(x_exponent, largest, s_));
    Paired second = shifted(y, mx::subtract(y_exponent, largest, s_));
    auto [high, error] = two_sum(first.high, second.high);
    return {high, mx::add(error, mx::add(first.low, second.low, s_), s_), largest};
  }

  // Both parts times 2^shift for a shift of zero or less, at the same exponent.
  Paired shifted(const Paired& x, const mx::array& shift) const {
    // What lies further below than this cannot reach the last place of the other term.
    auto least = in_.whole(-(in_.precision() + 3));
    auto scale = in_.power_of_two(mx::maximum(shift, least, s_));
    scale = mx::where(mx::less(shift, least, s_), in_.number(0.0), scale, s_);
    return {mx::multiply(x.high, scale, s_), mx::multiply(x.low, scale, s_), x.exponent};
  }

  // The same number with its high part in +-[1, 2).
  Paired normalised(const Paired& x) const {
    auto total = mx::add(x.high, x.low, s_);
    auto low = mx::subtract(x.low, mx::subtract(total, x.high, s_), s_);
    auto parts = in_.split(total);
    // Where the sum has lost more than this to cancellation, nothing is left of the low part.
    auto shift = in_.clipped(mx::negative(parts.exponent, s_), -factors_at_most, in_.precision());
    auto scale = in_.power_of_two(shift);
    return {parts.significand, mx::multiply(low, scale, s_), mx::add(x.exponent, parts.exponent, s_)};
  }

  // The rounded product and its error (Dekker, Numerische Mathematik 18, 1971), for numbers near 1.
  Two two_product(const mx::array& x, const mx::array& y) const {
    auto product = mx::multiply(x, y, s_);
    auto [x_high, x_low] = in_.halves(x);
    auto [y_high, y_low] = in_.halves(y);
    auto error = mx::subtract(mx::multiply(x_high, y_high, s_), product, s_);
    error = mx::add(error, mx::multiply(x_high, y_low, s_), s_);
    error = mx::add(error, mx::multiply(x_low, y_high, s_), s_);
    return {product, mx::add(error, mx::multiply(x_low, y_low, s_), s_)};
  }

  // The rounded sum and its error (Knuth, The Art of Computer Programming 2, section 4.2.2).
  Two two_sum(const mx::array& x, const mx::array& y) const {
    auto total = mx::add(x, y, s_);
    auto y_part = mx::subtract(total, x, s_);
    auto x_error = mx::subtract(x, mx::subtract(total, y_part, s_), s_);
    return {total, mx::add(x_error, mx::subtract(y, y_part, s_), s_)};
  }

  const Arithmetic& in_;
  mx::StreamOrDevice s_;
};

} // namespace
} // namespace gradaudit
