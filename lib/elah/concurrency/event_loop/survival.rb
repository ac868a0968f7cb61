# frozen_string_literal: true

module Elah
  class EventLoop
    # What ends a fiber at the end of the loop. A `rescue => e` does not rescue it, and a shield does not defer it.
    class Ended < Exception; end # rubocop:disable Lint/InheritException
    private_constant :Ended

    # What the loop does with exceptions: it outlives all but those of {Fatal} and {#end_with}.
    module Survival
      # The file whose code waits, and is the first line of what another thread raises there.
      ITERATING = File.expand_path("../event_loop.rb", __dir__)
      private_constant :ITERATING

      # Ends {#run}, in a callback or a posted block.
      #
      # @param exception [Exception] what {#run} raises
      # @raise [Exception]
      def end_with(exception)
        @fatal = exception
        raise exception
      end

      private

      def failed(exception, request)
        return if exception.is_a?(Ended)

        @fatal = exception if Fatal === exception
        @failed.call(exception, request)
      end

      # Until the loop runs, a fiber that fails fails the boot. The reason is the first exception, not what its end makes of other fibers.
      def fail_boot(exception, _request)
        raise exception unless @ending

        Log.current.exception(exception, "A fiber failed when the loop ended") unless exception.is_a?(Cancelled)
      end

      # A task cannot be resumed, or its fiber has ended with an exception. If it served a request, another fiber ends that.
      def lost(task, exception)
        request = task.request
        return outlive(exception) if request.nil? || task.suspended.alive?

        end_if_fatal(exception)
        failed(exception, request)
        post { start_serving(request) }
      end

      # What a callback, a posted block or a switch of fibers raises does not end the loop.
      def outlive(exception)
        end_if_fatal(exception)
        Log.current.exception(exception, "The loop continues after an exception outside of handlers")
      rescue Exception => e # -- the exception's own methods may raise
        end_if_fatal(e)
      end

      # What another thread raises while the loop waits, as rack-timeout does, ends no handler and not the loop either. The loop's own errors end it,
      # and what has ended another thread: Ruby raises it here with `Thread.abort_on_exception`, or when that thread calls `exit`.
      def outlive_interruption(exception)
        raise exception if exception.is_a?(Error) || exception.backtrace_locations&.first&.path != ITERATING

        outlive(exception)
      end

      def end_if_fatal(exception)
        @current = nil
        raise @fatal if @fatal
        raise exception if Fatal === exception
      end

      def call_here(block)
        block.call
      rescue Exception => e # -- as for a handler
        outlive(e)
      end
    end
  end
end
