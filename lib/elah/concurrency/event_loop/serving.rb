# frozen_string_literal: true

module Elah
  class EventLoop
    # The fibers that serve requests, and the requests for which there is none.
    module Serving
      # Maximum number of idle fibers kept for later requests. One takes about 13 KB once it has run.
      POOL_MAX = 1024

      # The shortest time between two log lines about requests without a fiber.
      WARNING_SECONDS = 1.0

      REFUSED = "The server cannot start another fiber: try again later."
      private_constant :REFUSED

      # Ends the idle fibers, whose stacks may keep objects of their last requests alive; only in the loop itself.
      def end_idle_fibers
        @idle_max = 0
        enter(@idle.pop) until @idle.empty?
      ensure
        @idle_max = POOL_MAX
      end

      private

      def prepare_serving
        @idle = []
        @idle_max = POOL_MAX
        @next_warning = 0.0
        @without_fiber = 0
      end

      # A fiber that serves one request after another. While no handler waits, all requests of an iteration run without a switch of fibers. When a
      # handler waits, the loop resumes another fiber for the rest.
      def new_task
        task = Task.new
        @fiber_state.watch(task)
        handler = @handler
        task.suspended = task.fiber = fiber = Fiber.new(**FiberState::OPTIONS) do
          while true
            serve_ready(task, handler)
            break if @idle.size >= @idle_max || @fatal

            task.suspended = fiber
            @idle << task
            @root.transfer
          end
        end
        task
      end

      def serve_ready(task, handler)
        request = next_request(task.request) # one that has lost its fiber, or nil
        while request
          task.request = request
          begin
            handler.handle(request)
          rescue Exception => e # the loop must outlive whatever a handler does
            end_fork(e) if @is_fork
            failed(e, request)
          end
          end_fork if @is_fork
          task.finish { |exception| failed(exception, request) } if task.endings
          @fiber_state.clear(task) if task.fiber_state
          request = next_request(request)
        end
        task.request = nil
      end

      # Serves requests in a new fiber.
      #
      # @param ended [Elah::Request, nil] a request whose fiber was lost
      # @return [Boolean] whether there was one
      def start_serving(ended = nil)
        task = new_task
        task.request = ended
        start(task)
        true
      rescue Exception => e
        end_if_fatal(e)
        task.nil? || e.is_a?(Overloaded) ? refuse_requests(e, ended) : lost(task, e)
        false
      end

      # Every fiber waits and there cannot be another one.
      def refuse_requests(cause, ended)
        request = next_request(ended)
        while request
          @without_fiber += 1
          request.respond_with_problem(503, "overloaded", REFUSED)
          request = next_request(request)
        end
        warn_of_refusals(cause)
      rescue Exception => e
        outlive(e)
      end

      def warn_of_refusals(cause)
        now = Concurrency.now
        return if @without_fiber.zero? || now < @next_warning

        @next_warning = now + WARNING_SECONDS
        Log.current.warn("#{@without_fiber} requests got no fiber, and a 503 was sent: #{cause.message}")
        @without_fiber = 0
      end
    end
  end
end
