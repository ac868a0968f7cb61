# frozen_string_literal: true

require_relative "../../stored_request"

module Links
  module Stores
    class Mongo
      # Requests with an Idempotency-Key: `_id`: the key, `k`: the StoredRequest, and until its link is made, the plan of the link, `e`: its expiry.
      class Requests
        # @param collection [Elah::Mongo::Collection]
        def initialize(collection)
          @requests = collection
        end

        def create_index = @requests.create_index({ "e" => 1 }, expire_after_seconds: 0)

        # Carries out a request, unless that was done before. Attempts at the same time, or after one with an unknown outcome, make the same link.
        #
        # @param order [Order] gets the code and the time of the link that another attempt has planned
        # @yieldreturn [Creation::Outcome]
        # @return [Creation::Outcome]
        def once(order)
          request = order.request
          kept = keep(request.key, request.plan(order.link))
          known = request.resume(kept, order.link) and return known

          yield.tap { |outcome| finish(request, kept, outcome) }
        end

        private

        # @return [String] what is stored under the key now: the plan, or what was there before
        def keep(key, plan)
          @requests.insert_one({ "_id" => key, "k" => plan, "e" => expiry })
          plan
        rescue Elah::Mongo::DuplicateKey
          found = @requests.find_one({ "_id" => key }) or retry
          return found["k"] if found["e"] > now

          # Servers delete expired documents by themselves, but not at once.
          @requests.delete_one({ "_id" => key, "e" => found["e"] })
          retry
        end

        def finish(request, plan, outcome)
          own = { "_id" => request.key, "k" => plan }
          return @requests.delete_one(own) if outcome.kind == :taken

          @requests.replace_one(own, { "k" => request.encode(outcome.code), "e" => expiry })
        end

        def expiry = now + StoredRequest::KEPT_SECONDS
        def now = Time.at(0, Timestamp.now, :millisecond)
      end

      private_constant :Requests
    end
  end
end
