# frozen_string_literal: true

module RingPools
  module History
    # Owns the texts in which the steps of a pool are kept, one row each. A row's key is the pool (7 digits) and the time of the step
    # (microseconds, 16 digits), together as long as a String may be that Ruby keeps in one piece. No two steps of a pool have the same. Its value is
    #
    #   A number hold grant session parameters   allocated; the session is empty when there is none, the parameters go to the end
    #   N number hold grant                      renewed
    #   R number 0 grant                         released
    module Steps
      # kind: "A", "N" or "R" · at: microseconds
      Step = Struct.new(:kind, :at, :number, :hold, :grant, :session, :parameters)

      TIME_DIGITS = 16

      class << self
        # @param id [Integer] of a pool
        # @return [String] that all its keys begin with
        def prefix(id) = format("%07d", id)

        # @param key [String]
        # @param value [String]
        # @return [Step]
        def read(key, value)
          kind, rest = value.force_encoding(Encoding::UTF_8).split(" ", 2)
          number, hold, grant, session, parameters = rest.split(/ /, 5)
          Step.new(kind, key.byteslice(-TIME_DIGITS, TIME_DIGITS).to_i, number.to_i, hold.to_i, grant.to_i, session.to_s.empty? ? nil : session,
                   parameters)
        end

        # Does the steps again that a pool has taken after it was written down.
        #
        # @param pool [Pools::Pool]
        # @param steps [Enumerable<Step>]
        def replay(pool, steps)
          steps.each do |step|
            case step.kind
            when "A" then pool.replay_allocated(step.at, step.number, step.hold, step.grant, step.session)
            when "N" then pool.replay_renewed(step.at, step.number, step.hold)
            when "R" then pool.replay_released(step.at, step.number)
            end
          end
        end
      end
    end
  end
end
