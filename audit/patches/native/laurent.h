// Laurent polynomials of arrays, with all their derivatives.
//
// The mathematics and the order of operations are those of audit/patches/laurent.py, which says why; a test holds the
// two equal bit for bit.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "mlx/mlx.h"
#include "paired.h"
#include "unbounded.h"

namespace gradaudit {
// Each patch is a library of its own: nothing here may be merged with the other's copy at load time.
namespace {

using Arrays = std::vector<mx::array>;

// coefficient * product of variables[i] ^ powers[i]
struct Term {
  int64_t coefficient;
  std::vector<int> powers;
};
using Terms = std::vector<Term>;

// Terms of sum_i w_i * d/dv_along[i], with the weights w as new last variables.
Terms derivative(const Terms& terms, const std::vector<int>& along) {
  Terms result;
  for (size_t position = 0; position < along.size(); ++position) {
    for (const auto& term : terms) {
      int power = term.powers[along[position]];
      if (power == 0) {
        continue;
      }
      Term next{term.coefficient * power, term.powers};
      next.powers[along[position]] -= 1;
      next.powers.resize(term.powers.size() + along.size(), 0);
      next.powers[term.powers.size() + position] = 1;
      result.push_back(std::move(next));
    }
  }
  return result;
}

Arrays joined(Arrays first, const Arrays& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

using Numbers = std::vector<Unbounded>;

Unbounded product(const Numbers& all, const Arithmetic& in) {
  Unbounded result = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    result = in.product(result, all[i]);
    if ((i + 1) % factors_at_most == 0) {
      result = in.normalised(result);
    }
  }
  return result;
}

// Each number as often as its power says, of the powers with that sign.
Numbers repeated(const Numbers& parts, const std::vector<int>& powers, int sign) {
  Numbers result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (sign * powers[i] > 0) {
      result.insert(result.end(), std::abs(powers[i]), parts[i]);
    }
  }
  return result;
}

Unbounded monomial(const Numbers& parts, const Term& term, const Arithmetic& in) {
  auto [leading, shift] = in.leading(term.coefficient);
  Numbers over = repeated(parts, term.powers, 1);
  Numbers under = repeated(parts, term.powers, -1);
  if (leading != 1.0 || over.empty()) {
    over.push_back(in.constant(leading));
  }
  Unbounded result = product(over, in);
  if (!under.empty()) {
    result = in.quotient(result, product(under, in));
  }
  return in.scaled(term.coefficient < 0 ? in.negated(result) : result, shift);
}

mx::array sum(const Arrays& terms, mx::StreamOrDevice s) {
  mx::array total = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    total = mx::add(total, terms[i], s);
  }
  return total;
}

mx::array several(const Numbers& parts, const Terms& terms, const Arithmetic& in, mx::StreamOrDevice s) {
  std::vector<int> common = terms[0].powers;
  for (const auto& term : terms) {
    for (size_t i = 0; i < common.size(); ++i) {
      common[i] = std::min(common[i], term.powers[i]);
    }
  }
  std::vector<Product> products;
  Arrays separate;
  for (const auto& term : terms) {
    auto powers = term.powers;
    for (size_t i = 0; i < powers.size(); ++i) {
      powers[i] -= common[i];
    }
    products.push_back({term.coefficient, repeated(parts, powers, 1)});
    separate.push_back(monomial(parts, term, in).significand);
  }
  Numbers factors = parts;
  factors.push_back(PairedArithmetic(in).sum_of_products(products));
  Term factored{1, common};
  factored.powers.push_back(1);
  auto total = in.join(in.normalised(monomial(factors, factored, in)));

  // A zero denominator or an infinity makes every term that it is in zero, infinite or NaN: there the terms add as
  // in the format, where a common denominator would turn 0 - 0 into inf / inf.
  Arrays significands;
  for (const auto& part : parts) {
    significands.push_back(part.significand);
  }
  auto ordinary = mx::isfinite(sum(significands, s), s);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (common[i] < 0) {
      auto divides = mx::not_equal(parts[i].significand, in.number(0.0), s);
      ordinary = mx::logical_and(ordinary, divides, s);
    }
  }
  return mx::where(ordinary, total, sum(separate, s), s);
}

// The value of a polynomial of at least one term, rounded to the format at the end. Where it has several terms, a
// variable with a negative power in one has one in all.
mx::array evaluate(const Arrays& variables, const Terms& terms, mx::StreamOrDevice s) {
  Arithmetic in(variables[0].dtype(), s);
  Numbers parts = in.split_all(variables);
  auto value = terms.size() == 1 ? in.join(in.normalised(monomial(parts, terms[0], in))) : several(parts, terms, in, s);
  return mx::squeeze(value, 0, s);
}

mx::array laurent(const Arrays& variables, const Terms& terms, mx::StreamOrDevice s);

// Operands of a mapped function with the mapped axis first; what is not mapped is repeated along it.
Arrays aligned(const Arrays& inputs, const std::vector<int>& axes, mx::StreamOrDevice s) {
  Arrays result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(
        axes[i] < 0 ? mx::expand_dims(inputs[i], 0, s) : mx::moveaxis(inputs[i], axes[i], 0, s));
  }
  return mx::broadcast_arrays(result, s);
}

// The polynomial with vjp, jvp and vmap that are such polynomials again.
mx::array with_rule(const Arrays& variables, const Terms& terms, mx::StreamOrDevice s) {
  auto value = [terms, s](const Arrays& at) -> Arrays {
    // Reverse mode never looks in here, but forward mode pushes tangents through, and `view` has no jvp.
    Arrays stopped;
    for (const auto& x : at) {
      stopped.push_back(mx::stop_gradient(x, s));
    }
    return {evaluate(stopped, terms, s)};
  };
  auto vjp = [terms, s](const Arrays& at, const Arrays& cotangents, const Arrays&) {
    Arrays result;
    for (size_t i = 0; i < at.size(); ++i) {
      result.push_back(
          laurent(joined(at, cotangents), derivative(terms, {static_cast<int>(i)}), s));
    }
    return result;
  };
  auto jvp = [terms, s](const Arrays& at, const Arrays& tangents, const std::vector<int>& along) -> Arrays {
    return {laurent(joined(at, tangents), derivative(terms, along), s)};
  };
  // Without a vmap of its own a custom_function is mapped as the operations inside it, and its rule is lost.
  auto vmap = [terms, s](const Arrays& inputs, const std::vector<int>& axes) {
    Arrays result{laurent(aligned(inputs, axes, s), terms, s)};
    return std::pair<Arrays, std::vector<int>>(std::move(result), {0});
  };
  return mx::custom_function(value, vjp, jvp, vmap)(variables)[0];
}

// The polynomial at real floating-point variables of one shape, in the widest of their formats.
mx::array laurent(const Arrays& given, const Terms& terms, mx::StreamOrDevice s) {
  // MLX takes tangents of another format than their primals.
  auto type = given[0].dtype();
  for (const auto& variable : given) {
    type = mx::promote_types(type, variable.dtype());
  }
  Arrays variables;
  for (const auto& variable : given) {
    variables.push_back(mx::astype(variable, type, s));
  }
  Arrays used;
  Terms reduced;
  for (const auto& term : terms) {
    reduced.push_back({term.coefficient, {}});
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    bool appears = false;
    for (const auto& term : terms) {
      appears = appears || term.powers[i] != 0;
    }
    if (!appears) {
      continue;
    }
    used.push_back(variables[i]);
    for (size_t j = 0; j < terms.size(); ++j) {
      reduced[j].powers.push_back(terms[j].powers[i]);
    }
  }
  if (used.empty()) {
    return mx::zeros_like(variables[0], s);
  }
  // One correctly rounded division instead of a scaled one that rounds twice where the result is subnormal.
  if (reduced.size() == 1 && reduced[0].coefficient == 1 && used.size() == 2) {
    if (reduced[0].powers == std::vector<int>{1, -1}) {
      return mx::divide(used[0], used[1], s);
    }
    if (reduced[0].powers == std::vector<int>{-1, 1}) {
      return mx::divide(used[1], used[0], s);
    }
  }
  return with_rule(used, reduced, s);
}

} // namespace
} // namespace gradaudit
