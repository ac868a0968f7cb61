# frozen_string_literal: true

module Elah
  class RankedSet
    # Root of the errors of ranked sets. The operation that raised has changed nothing.
    class Error < Elah::Error; end

    # A score is not a finite number, is out of range, has more decimal digits than the set keeps, or another number of components.
    class InvalidScore < Error; end

    # The name of a member is too long.
    class InvalidMember < Error; end

    # A set has no, or too many, components or decimals, or an unknown direction.
    class InvalidOrder < Error; end

    # A cursor is damaged, or from a set with another order.
    class InvalidCursor < Error; end

    # The name of a set in its table is too long.
    class InvalidPrefix < Error; end

    # A row of the table is damaged, or from a set with another order.
    class InvalidRow < Error; end

    # The set has reached `members_max`.
    class Full < Error; end
  end
end
