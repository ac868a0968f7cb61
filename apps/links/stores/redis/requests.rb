# frozen_string_literal: true

module Links
  module Stores
    class Redis
      # The idempotency keys: links:request:KEY is the StoredRequest or, while such a request runs, its claim. The claim of a dead
      # process expires after some seconds.
      class Requests
        UNDER_WAY_SECONDS = 10
        WAIT_SECONDS = 0.01

        # @param redis [Elah::Redis]
        def initialize(redis)
          @redis = redis
          @replace = redis.script(Scripts::REPLACE)
        end

        # Runs the block unless a request with the same key has been finished.
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
          finish(request, key, mine) { yield }
        end

        private

        def finish(request, key, mine)
          outcome = yield
          kept = outcome.kind == :taken ? "" : request.encode(outcome.code)
          @replace.call(keys: [key], args: [mine, kept, StoredRequest::KEPT_SECONDS])
          finished = true
          outcome
        ensure
          let_go(key, mine) unless finished
        end

        # Lets the client retry at once; if the server is down, it can do so after some seconds.
        def let_go(key, mine)
          @replace.call(keys: [key], args: [mine, ""])
        rescue Elah::Error
          nil
        end
      end
    end
  end
end
