# frozen_string_literal: true

require_relative "../parameters"
require_relative "support"

module RingPools
  module Endpoints
    # The holder of a number at the time of a call.
    class Numbers < Elah::API
      format :json
      helpers Support
      before { authorize! }

      helpers do
        # @return [Integer]
        def number
          E164.parse(params["number"]) || error!("#{params['number']} is not a telephone number such as +18883906665.", 400, code: "invalid_number")
        end

        # @return [Integer] microseconds, by the clock of the holds
        def moment
          text = params["at"] or return service.clock.now
          at = Timestamp.parse(text) || error!("at must be a time such as 2030-01-31T23:59:59Z.", 400, code: "invalid_time")
          at - (service.clock.offset * 1_000_000).round
        end

        def shown_holder(number, at)
          id, holder = service.holder(number, at)
          overflow_of = directory.overflow_pools(number)
          no_number!(number) unless id || overflow_of.any?
          { number: E164.format(number), formatted: E164.formatted(number), at: Timestamp.format(at), pool: id,
            overflow_number_of: overflow_of, holder: holder && details(holder, id) }
        end

        def no_number!(number) = error!("No pool had the number #{E164.format(number)} then.", 404, code: "number_not_found")

        def details(holder, id)
          parameters, signals = Parameters.read(holder.data.to_s, directory[id]&.definition&.signals.to_a)
          { lease: holder.id, session: holder.session, held_since: Timestamp.format(holder.begun_at),
            held_until: Timestamp.format(holder.held_until), parameters: parameters, signals: signals }
        end
      end

      desc "The holder of a number, now or at a time"
      params { optional :at, type: String, desc: "ISO 8601; now, if it is left out" }
      get "numbers/:number", requirements: { number: %r{[^/]+} } do
        shown_holder(number, moment)
      end
    end
  end
end
