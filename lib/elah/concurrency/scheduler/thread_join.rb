# frozen_string_literal: true

module Elah
  class Scheduler
    # Thread#join with a limit, in a fiber of the loop on Ruby 3.1. Ruby's own calls {Scheduler#block} again after each timeout until the thread has
    # ended, and does not look at the time.
    module ThreadJoin
      # Ends the wait.
      class LimitOver < StandardError; end
      private_constant :LimitOver

      # @param limit [Numeric, nil] seconds; a negative one is 0
      # @return [Thread, nil] nil after the limit
      def join(limit = nil)
        scheduler = Fiber.current_scheduler
        return super unless limit.is_a?(Numeric) && scheduler.is_a?(Scheduler)

        scheduler.event_loop.limit(limit, -> { LimitOver.new }, LimitOver) { super }
      rescue LimitOver
        nil
      end

      ::Thread.prepend(self) if RUBY_VERSION < "3.2"
    end
  end
end
