# frozen_string_literal: true

module Elah
  class Entity
    # A call came back to an entity that waits for its result, which would never come.
    class Reentrant < Error; end

    # A refusal by an entity, as in `raise Refusal, "The balance is 3."`. It promises that the method has changed nothing, so the entity stays in
    # memory. After any other exception it is restored from the store. Apps derive their own classes.
    #
    # The refusal of another entity that passes through a method promises nothing for it: the method may have changed something before its call.
    class Refusal < Error
      # Ends its promise, which is that of the entity whose method raised it first, in whichever process.
      #
      # @return [Boolean] whether it had not ended before
      # @api private
      def end_promise
        return false if @promise_ended || frozen?

        @promise_ended = true
      end
    end

    # An argument or the result of a call cannot be copied by `Marshal`. Copies keep each side from changing the other's objects. The message names
    # the method, the argument and its class. Nothing of the call was stored.
    class NotSerializable < Error; end

    # An idempotency key is missing, empty or too long.
    class IdempotencyKeyInvalid < Error
      include Problem

      # @return [Integer] the HTTP status
      def status = 400

      # @return [String] the stable code of the problem
      def code = "idempotency_key_invalid"
    end

    # An idempotency key came again, with another method or other arguments.
    class IdempotencyKeyReused < Error
      include Problem

      # @return [Integer] the HTTP status
      def status = 422

      # @return [String] the stable code of the problem
      def code = "idempotency_key_reused"
    end

    # No worker owned the entity for too long: its shard is changing its owner.
    class Moving < Unavailable
      # @return [String] the stable code of the problem
      def code = "entity_moving"
    end

    # Acknowledged changes of an entity with durability `:memory` could not be stored. Reported in the log, because no caller waits for them.
    class Lost < Error; end

    # This process no longer owns the entity's shard. The caller asks the owner.
    #
    # @api private
    class Moved < Error; end
  end

  module Shards
    # The message of {Entity::NotSerializable}, without the method.
    #
    # @api private
    class NotCopied < Error; end
  end
end
