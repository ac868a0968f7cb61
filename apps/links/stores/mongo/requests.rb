# frozen_string_literal: true

require_relative "../../stored_request"

module Links
  module Stores
    class Mongo
      # Requests with an Idempotency-Key: `_id`: the key, `k`: the StoredRequest, `e`: its expiry, `o`: whether it is open, that
      # is, its link is being created.
      #
      # The key is claimed before the link is created and gets its code afterwards, so that of many equal requests one creates it.
      # A claim that a dead process left is taken over after {CLAIM_SECONDS}.
      class Requests
        CLAIM_SECONDS = 10
        LOOK_SECONDS = 0.02

        # @param collection [Elah::Mongo::Collection]
        def initialize(collection)
          @requests = collection
        end

        def create_index = @requests.create_index({ "e" => 1 }, expire_after_seconds: 0)

        # @param request [StoredRequest]
        # @yieldreturn [Creation::Outcome] of the request, if it is new
        # @return [Creation::Outcome]
        def once(request)
          until (claim = claim(request))
            kept = finished(request)
            return compared(request, kept) if kept
          end
          finish(request, claim, yield)
        rescue StandardError
          @requests.delete_one({ "_id" => request.key, "e" => claim }) if claim
          raise
        end

        private

        # @return [Time, nil] the claim, nil when somebody has one
        def claim(request)
          expiry = Time.at(0, Timestamp.now + (CLAIM_SECONDS * 1000), :millisecond)
          @requests.insert_one({ "_id" => request.key, "k" => request.encode(""), "e" => expiry, "o" => true })
          expiry
        rescue Elah::Mongo::DuplicateKey
          nil
        end

        # @return [Hash, nil] what is kept of the request, nil when it may be claimed now
        def finished(request)
          while (kept = @requests.find_one({ "_id" => request.key }))
            return forget(kept) if kept["e"] <= now
            return kept if !kept["o"] || request.compare(kept["k"]).kind == :mismatch

            sleep(LOOK_SECONDS)
          end
        end

        # The stored request is bytes, and a code in bytes would name another document.
        def compared(request, kept) = request.compare(kept["k"]).tap { |outcome| outcome.code&.force_encoding(Encoding::UTF_8) }

        # Servers delete expired documents by themselves, but not at once.
        def forget(kept)
          @requests.delete_one({ "_id" => kept["_id"], "e" => kept["e"] })
          nil
        end

        def finish(request, claim, outcome)
          if outcome.kind == :taken
            @requests.delete_one({ "_id" => request.key, "e" => claim })
          else
            expiry = now + StoredRequest::KEPT_SECONDS
            @requests.replace_one({ "_id" => request.key, "e" => claim }, { "k" => request.encode(outcome.code), "e" => expiry, "o" => false })
          end
          outcome
        end

        def now = Time.at(0, Timestamp.now, :millisecond)
      end

      private_constant :Requests
    end
  end
end
