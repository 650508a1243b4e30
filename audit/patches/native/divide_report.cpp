// Division with the four orders of the original report for the denominator.
//
// Of the numerator a and the weight g, L is the one of larger magnitude and S the other; b is the denominator:
//   |b| >= 1, |S| >= |b|          -(L/b)*(S/b)
//   |b| >= 1, |S| < |b|           -((L/b)*S)/b
//   |b| < 1, L/b finite           -(L/b)*(S/b)
//   |b| < 1, L/b overflows        -((L*S)/b)/b
// All are -g*a/b^2. They are not right where an operand is subnormal: the patch mlx+divide is.

#include "hotpatch.h"

namespace gradaudit {
namespace {

namespace mx = mlx::core;

mx::array denominator_rule(const mx::array& a, const mx::array& b, const mx::array& g, mx::StreamOrDevice s) {
  // Only what chooses is cut off from differentiation: the operands chosen carry the derivative.
  auto a_size = mx::abs(mx::stop_gradient(a, s), s);
  auto g_size = mx::abs(mx::stop_gradient(g, s), s);
  auto b_value = mx::stop_gradient(b, s);
  auto b_size = mx::abs(b_value, s);
  auto unit = mx::array(1.0, b.dtype());

  auto a_larger = mx::greater_equal(a_size, g_size, s);
  auto large = mx::where(a_larger, a, g, s);
  auto small = mx::where(a_larger, g, a, s);

  auto wide = mx::greater_equal(b_size, unit, s);
  auto survives = mx::greater_equal(mx::minimum(a_size, g_size, s), b_size, s);
  auto overflows = mx::isinf(mx::divide(mx::stop_gradient(large, s), b_value, s), s);
  auto late = mx::logical_and(wide, mx::logical_not(survives, s), s);
  auto last = mx::logical_and(mx::logical_not(wide, s), overflows, s);

  // Divisors are chosen before the arithmetic, so that no order that overflows is ever computed.
  auto first_divisor = mx::where(last, unit, b, s);
  auto second_divisor = mx::where(mx::logical_or(late, last, s), unit, b, s);
  auto third_divisor = mx::where(mx::logical_or(late, last, s), b, unit, s);
  auto fourth_divisor = mx::where(last, b, unit, s);
  auto product = mx::multiply(mx::divide(large, first_divisor, s), mx::divide(small, second_divisor, s), s);
  return mx::negative(mx::divide(mx::divide(product, third_divisor, s), fourth_divisor, s), s);
}

mx::array partial(int argument, const Arrays& primals, const mx::array& weight, mx::StreamOrDevice s) {
  return argument == 0 ? mx::divide(weight, primals[1], s) : denominator_rule(primals[0], primals[1], weight, s);
}

Arrays divide_vjp(
    mx::Primitive* self,
    const Arrays& primals,
    const Arrays& cotangents,
    const std::vector<int>& argnums,
    const Arrays& outputs) {
  if (!mx::issubdtype(primals[0].dtype(), mx::floating)) {
    return original.vjp(self, primals, cotangents, argnums, outputs);
  }
  Arrays result;
  for (int argument : argnums) {
    result.push_back(partial(argument, primals, cotangents[0], self->stream()));
  }
  return result;
}

Arrays divide_jvp(
    mx::Primitive* self,
    const Arrays& primals,
    const Arrays& tangents,
    const std::vector<int>& argnums) {
  if (!mx::issubdtype(primals[0].dtype(), mx::floating)) {
    return original.jvp(self, primals, tangents, argnums);
  }
  auto result = partial(argnums[0], primals, tangents[0], self->stream());
  if (argnums.size() > 1) {
    result = mx::add(result, partial(argnums[1], primals, tangents[1], self->stream()), self->stream());
  }
  return {result};
}

mx::array example() {
  return mx::divide(mx::array(3.0f), mx::array(2.0f));
}

const Rule rule{"mlx+divide-report", "Divide", example, divide_vjp, divide_jvp};

} // namespace
} // namespace gradaudit

GRADAUDIT_PATCH(gradaudit::rule)
