# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # Owns the idempotency keys: links:request:KEY is what StoredRequest says, or, while a request with that key is under way,
      # who is at it. A process that dies meanwhile lets go after some seconds.
      class Requests
        UNDER_WAY_SECONDS = 10
        WAIT_SECONDS = 0.01

        # @param redis [Elah::Redis]
        def initialize(redis)
          @redis = redis
          @replace = redis.script(Scripts::REPLACE)
        end

        # Runs the block unless a request with the same key has been answered.
        #
        # @param request [StoredRequest]
        # @yieldreturn [Creation::Outcome]
        # @return [Creation::Outcome]
        def once(request)
          key = "links:request:#{request.key}"
          mine = "at it #{Random.urandom(12).unpack1('H*')}"
          until @redis.set(key, mine, nx: true, ex: UNDER_WAY_SECONDS)
            kept = @redis.get(key)
            return request.compare(kept) if kept && !kept.start_with?("at it ")

            sleep WAIT_SECONDS
          end
          answer(request, key, mine) { yield }
        end

        private

        def answer(request, key, mine)
          outcome = yield
          kept = outcome.kind == :taken ? "" : request.encode(outcome.code)
          @replace.call(keys: [key], args: [mine, kept, StoredRequest::KEPT_SECONDS])
          answered = true
          outcome
        ensure
          let_go(key, mine) unless answered
        end

        # So that the client may try again at once; without a server it may after some seconds.
        def let_go(key, mine)
          @replace.call(keys: [key], args: [mine, ""])
        rescue Elah::Error
          nil
        end
      end
    end
  end
end
