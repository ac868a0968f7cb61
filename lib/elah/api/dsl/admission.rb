# frozen_string_literal: true

# The statement that limits how many requests run at once.
module Elah
  module Framework
    module DSL
      # behind.
      module Admission
        # Limits how many requests of the following endpoints in this scope run at once, in each worker. The others wait in line without a fiber,
        # and get 503 when their time is over. Other endpoints continue meanwhile.
        #
        # @example
        #   behind SQL                            # twice as many as it has connections
        #   behind max: 20, queue_seconds: 0.5
        # @param pool [#connections_max, nil] the pool that the endpoints use, such as an Elah::SQL
        # @param max [Integer, nil] maximum number of running requests
        # @param queue_seconds [Numeric, nil] maximum wait; nil uses the server's option
        # @param queue_max [Integer, nil] maximum number of waiting requests; nil uses the server's option
        # @return [void]
        # @raise [ArgumentError]
        def behind(pool = nil, max: nil, queue_seconds: nil, queue_max: nil)
          _inherit(:gate, Gate.new(pool, max: max, queue_seconds: queue_seconds, queue_max: queue_max))
        end
      end
    end
  end
end
