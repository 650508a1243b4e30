// Division whose derivatives are Laurent polynomials: right over the whole exponent range at every order.

#include "hotpatch.h"
#include "laurent.h"

namespace gradaudit {
namespace {

const Terms quotient{{1, {1, -1}}};

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
    result.push_back(laurent(joined(primals, cotangents), derivative(quotient, {argument}), self->stream()));
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
  return {laurent(joined(primals, tangents), derivative(quotient, argnums), self->stream())};
}

mx::array example() {
  return mx::divide(mx::array(3.0f), mx::array(2.0f));
}

const Rule rule{"mlx+divide", "Divide", example, divide_vjp, divide_jvp};

} // namespace
} // namespace gradaudit

GRADAUDIT_PATCH(gradaudit::rule)
