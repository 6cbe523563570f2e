#include "threads/stacks/frame_expression.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include <dwarf.h>

namespace kymo::threads {
namespace {

/// base + offset, or the memory there.
struct Term {
  static constexpr std::uint8_t constant = 255;

  std::uint8_t base = constant;
  bool is_memory = false;
  std::int64_t offset = 0;

  [[nodiscard]] bool is_constant() const { return base == constant && !is_memory; }
};

class Stack {
 public:
  bool push(const Term& term) {
    if (size_ == terms_.size()) {
      return false;
    }
    terms_[size_++] = term;
    return true;
  }
  [[nodiscard]] std::optional<Term> pop() { return size_ == 0 ? std::nullopt : std::optional(terms_[--size_]); }

 private:
  std::array<Term, 8> terms_{};
  std::size_t size_ = 0;
};

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::optional<Term> apply(std::uint8_t operation, const Term& left, const Term& right) {
  if (operation == DW_OP_plus && !left.is_memory && right.is_constant()) {
    return Term{left.base, false, wrapping_sum(left.offset, right.offset)};
  }
  if (operation == DW_OP_plus && left.is_constant() && !right.is_memory) {
    return Term{right.base, false, wrapping_sum(left.offset, right.offset)};
  }
  if (!left.is_constant() || !right.is_constant()) {
    return std::nullopt;
  }
  switch (operation) {
    case DW_OP_and:
      return Term{Term::constant, false, left.offset & right.offset};
    case DW_OP_ge:
      return Term{Term::constant, false, left.offset >= right.offset ? 1 : 0};
    case DW_OP_shl:
      return right.offset < 0 || right.offset > 32
                 ? std::nullopt
                 : std::optional(Term{Term::constant, false,
                                      static_cast<std::int64_t>(static_cast<std::uint64_t>(left.offset)
                                                                << static_cast<unsigned>(right.offset))});
    default:
      return std::nullopt;
  }
}

/// A register's value and a number; none of registers that are not followed.
std::optional<Term> register_term(std::uint64_t number, std::int64_t offset, std::uint64_t place,
                                  bool& depends_on_place) {
  if (number == program_counter) {
    depends_on_place = true;
    return Term{Term::constant, false, wrapping_sum(static_cast<std::int64_t>(place), offset)};
  }
  return number < program_counter ? std::optional(Term{static_cast<std::uint8_t>(number), false, offset})
                                  : std::nullopt;
}

std::optional<Term> operand(const Dwarf_Op& operation, std::uint64_t place, bool& depends_on_place) {
  const std::uint8_t atom = operation.atom;
  const auto number = static_cast<std::int64_t>(operation.number);
  if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
    return Term{Term::constant, false, atom - DW_OP_lit0};
  }
  if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
    return register_term(static_cast<std::uint64_t>(atom - DW_OP_breg0), number, place, depends_on_place);
  }
  switch (atom) {
    case DW_OP_bregx:
      return register_term(operation.number, static_cast<std::int64_t>(operation.number2), place, depends_on_place);
    case DW_OP_call_frame_cfa:
      return Term{UnwindValue::frame_address, false, 0};
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_constu:
    case DW_OP_consts:
      return Term{Term::constant, false, number};
    default:
      return std::nullopt;
  }
}

bool step(Stack& stack, const Dwarf_Op& operation, std::uint64_t place, bool& depends_on_place) {
  if (const auto term = operand(operation, place, depends_on_place)) {
    return stack.push(*term);
  }
  std::optional<Term> top = stack.pop();
  if (!top) {
    return false;
  }
  switch (operation.atom) {
    case DW_OP_deref:
      if (top->is_memory || top->base == Term::constant) {
        return false;
      }
      top->is_memory = true;
      return stack.push(*top);
    case DW_OP_plus_uconst:
      top = apply(DW_OP_plus, *top, {Term::constant, false, static_cast<std::int64_t>(operation.number)});
      return top && stack.push(*top);
    default: {
      const std::optional<Term> left = stack.pop();
      top = left ? apply(operation.atom, *left, *top) : std::nullopt;
      return top && stack.push(*top);
    }
  }
}

}  // namespace

UnwindValue reduce_expression(std::span<const Dwarf_Op> operations, ExpressionKind kind, std::uint64_t place,
                              bool& depends_on_place) {
  constexpr std::size_t most_operations = 64;
  Stack stack;
  bool is_value = kind == ExpressionKind::value;
  if (operations.size() > most_operations) {
    return {};
  }
  for (const Dwarf_Op& operation : operations) {
    const std::uint8_t atom = operation.atom;
    if (atom == DW_OP_stack_value && &operation == &operations.back()) {
      is_value = true;
    } else if (atom >= DW_OP_reg0 && atom < DW_OP_reg0 + program_counter && operations.size() == 1 && !is_value) {
      return {UnwindValue::Kind::sum, static_cast<std::uint8_t>(atom - DW_OP_reg0), 0};
    } else if (!step(stack, operation, place, depends_on_place)) {
      return {};
    }
  }
  const std::optional<Term> top = stack.pop();
  if (!top || top->base == Term::constant || top->offset < std::numeric_limits<std::int32_t>::min() ||
      top->offset > std::numeric_limits<std::int32_t>::max() || (top->is_memory && !is_value)) {
    return {};
  }
  const bool is_memory = top->is_memory || !is_value;
  return {is_memory ? UnwindValue::Kind::memory : UnwindValue::Kind::sum, top->base,
          static_cast<std::int32_t>(top->offset)};
}

}  // namespace kymo::threads
