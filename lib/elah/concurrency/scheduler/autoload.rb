# frozen_string_literal: true

module Elah
  class Scheduler
    # The waits of a file that is autoloaded, on Ruby 3.1. An autoload belongs to the thread there: while the fiber that loads the file is suspended,
    # other fibers see a constant without its methods, or none. So these waits block the loop. Waits for other fibers suspend after a moment.
    module Autoload
      # From then on the fiber is suspended: what it waits for may depend on other fibers.
      BLOCKING_SECONDS_MAX = 5

      # How much of it one wait may take that a thread or another fiber ends, such as that for a Queue or a Mutex. Nobody knows which of them will.
      THREAD_SECONDS_MAX = 0.1

      # Between two looks at a thread.
      PAUSE_SECONDS = 0.001

      EVENTS = [IO::READABLE, IO::WRITABLE, IO::PRIORITY].freeze
      private_constant :BLOCKING_SECONDS_MAX, :THREAD_SECONDS_MAX, :PAUSE_SECONDS, :EVENTS

      # The `require` of the main object, which every autoload calls. Its file is called as Ruby's own are: Sinatra takes the first other one that
      # requires it for the app.
      module Require
        class_eval(<<~RUBY, "<internal:elah>", 1)
          def require(path)
            scheduler = Fiber.current_scheduler
            scheduler.is_a?(Scheduler) ? scheduler.autoloading { super } : super
          end
        RUBY
        private :require
      end

      # The wait for a block that runs in a thread, as the adapter of mysql2 connects.
      module OffloadedWait
        private

        def wait
          scheduler = Fiber.current_scheduler
          scheduler.block_while { !@done } if scheduler.is_a?(Scheduler)
          super
        end
      end

      # Runs the block, whose waits block the loop.
      def autoloading
        return yield if (@blocks_until ||= {}.compare_by_identity)[fiber = Fiber.current]

        begin
          @blocks_until[fiber] = now + BLOCKING_SECONDS_MAX
          yield
        ensure
          @blocks_until.delete(fiber)
        end
      end

      # As {Scheduler#kernel_sleep}.
      def kernel_sleep(duration = nil)
        seconds = duration && blocking_seconds or return super

        Select.native(nil, nil, nil, [duration, seconds].min)
        duration > seconds ? super(duration - seconds) : true
      end

      # As {Scheduler#io_wait}.
      def io_wait(io, events, timeout = nil)
        seconds = blocking_seconds or return super

        same = IO.for_fd(io.fileno, autoclose: false) # without the buffers of the other one
        lists = EVENTS.map { |event| [same] if events.anybits?(event) }
        ready = Select.native(*lists, [timeout, seconds].compact.min)
        return EVENTS.zip(ready).sum { |event, ios| ios.empty? ? 0 : event } if ready

        timeout && timeout <= seconds ? false : super(io, events, timeout && (timeout - seconds))
      end

      # As {Scheduler#io_select}.
      def io_select(readables, writables = nil, exceptables = nil, timeout = nil)
        seconds = blocking_seconds or return super
        ready = Select.native(readables, writables, exceptables, [timeout, seconds].compact.min)
        return ready if ready || (timeout && timeout <= seconds)

        super(readables, writables, exceptables, timeout && (timeout - seconds))
      end

      # As {Scheduler#address_resolve}.
      def address_resolve(name) = blocking_seconds ? in_thread { addresses(name) } : super

      # Blocks the loop while the block returns true, if this fiber loads a file.
      def block_while
        Select.native(nil, nil, nil, PAUSE_SECONDS) while blocking_seconds && yield
      end

      # Blocks the loop until the block returns true, for a moment, if this fiber loads a file.
      #
      # @param timeout [Numeric, nil] seconds
      # @return [Boolean] whether it returned true
      def true_while_loading?(timeout = nil)
        seconds = blocking_seconds or return false
        due = now + [seconds, THREAD_SECONDS_MAX, timeout].compact.min
        Select.native(nil, nil, nil, PAUSE_SECONDS) until (is_true = yield) || now >= due
        is_true
      end

      private

      def value_of(thread)
        block_while { thread.alive? }
        super
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [Numeric, nil] how long a wait of this fiber blocks the loop
      def blocking_seconds
        blocks_until = @blocks_until&.[](Fiber.current) or return
        seconds = blocks_until - now
        seconds if seconds.positive?
      end
    end

    if RUBY_VERSION < "3.2"
      prepend Autoload
      TOPLEVEL_BINDING.receiver.extend(Autoload::Require)
      Offload::Job.prepend(Autoload::OffloadedWait)
    end
  end
end
