# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # The idempotency keys: links:request:KEY is the StoredRequest, and until its link is made, the plan of the link.
      class Requests
        # @param redis [Elah::Redis]
        def initialize(redis)
          @redis = redis
          @replace = redis.script(Scripts::REPLACE)
        end

        # Carries out a request, unless that was done before. Attempts at the same time, or after one with an unknown outcome, make the same link.
        #
        # @param order [Order] gets the code and the time of the link that another attempt has planned
        # @yieldreturn [Creation::Outcome]
        # @return [Creation::Outcome]
        def once(order)
          request = order.request
          key = "links:request:#{request.key}"
          kept = keep(key, request.plan(order.link))
          known = request.resume(kept, order.link) and return known

          outcome = yield
          result = outcome.kind == :taken ? "" : request.encode(outcome.code)
          @replace.call(keys: [key], args: [kept, result, StoredRequest::KEPT_SECONDS])
          outcome
        end

        private

        # @return [String] what is stored under the key now: the plan, or what was there before
        def keep(key, plan)
          until @redis.set(key, plan, nx: true, ex: StoredRequest::KEPT_SECONDS)
            kept = @redis.get(key) and return kept
          end
          plan
        end
      end
    end
  end
end
