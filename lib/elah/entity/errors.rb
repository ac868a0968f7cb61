# frozen_string_literal: true

module Elah
  class Entity
    # A call came back to an entity that waits for its answer, which can never come.
    class Reentrant < Error; end

    # For an entity to say no, as in `raise Refusal, "The balance is 3."`: a promise that the method has changed nothing, so that the
    # entity stays in memory. After any other exception it is restored from what is stored. Apps derive their own from it.
    class Refusal < Error; end

    # An argument or the answer of a call cannot be copied, so that neither side could change what the other has: `Marshal` has to be able to
    # write it. The message names the method, the argument and its class. Nothing of the call was stored.
    class NotSerializable < Error; end

    # No worker owned the entity for long enough to answer: its shard is changing hands.
    class Moving < Unavailable
      # @return [String] the stable code of the problem
      def code = "entity_moving"
    end

    # What an entity with durability `:memory` had answered could not be stored afterwards. Reported in the log, as no caller waits for it.
    class Lost < Error; end

    # This process does not own the entity's shard any more. Whoever sent the call asks the owner.
    #
    # @api private
    class Moved < Error; end
  end

  module Shards
    # What {Entity::NotSerializable} says, without the method.
    #
    # @api private
    class NotCopied < Error; end
  end
end
