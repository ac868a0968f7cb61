# frozen_string_literal: true

require_relative "order"

module Links
  # The creation of ordered links: each gets its own code, and all of them share one commit.
  class Creation
    # kind: :created, :found (a link with the same redirect existed), :taken (another link has the code), :repeated (by the
    # request's idempotency key) or :mismatch (the key came with another request before) · code: of the link, nil for a mismatch
    Outcome = Struct.new(:kind, :code)

    # @param store [Stores::Embedded]
    # @param generator [Codes::Generator]
    def initialize(store, generator)
      @store = store
      @generator = generator
    end

    # @param orders [Array<Order>]
    # @return [Array<Outcome>] in the same order
    def run(orders)
      orders.each { |order| order.link.code ||= @generator.next }
      outcomes = @store.create(orders)
      outcomes.each_with_index do |outcome, index|
        outcomes[index] = retry_with_new_code(orders[index]) if outcome.kind == :taken && !orders[index].custom?
      end
    end

    private

    # A client had chosen the generated code.
    def retry_with_new_code(order)
      order.link.code = nil
      run([order]).first
    end
  end
end
