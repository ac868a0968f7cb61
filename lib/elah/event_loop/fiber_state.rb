# frozen_string_literal: true

module Elah
  class EventLoop
    # What code keeps with a fiber: fiber-locals (`Thread.current[:name]`), Fiber storage (`Fiber[:name]`, Ruby 3.2 and later), and attributes
    # that libraries have added to Fiber. A pooled fiber serves one request after the other, and each finds all of it empty.
    #
    # Locals and storage are noted when they are set: to ask a fiber for its locals after each request would cost 660 instructions.
    class FiberState
      HAS_STORAGE = Fiber.method_defined?(:storage)

      # Options of Fiber.new for a pooled fiber: it inherits nothing from the fiber that makes it.
      OPTIONS = (HAS_STORAGE ? { storage: nil } : {}).freeze

      # Writers that Ruby itself defines.
      OWN_WRITERS = %i[storage= == === !=].freeze
      private_constant :HAS_STORAGE, :OWN_WRITERS

      # Prepended to Thread.
      module NotingLocals
        # Sets a fiber-local.
        def []=(_name, _value)
          FiberState.note if equal?(Thread.current)
          super
        end
      end

      # Prepended to the class methods of Fiber.
      module NotingStorage
        # Sets a variable of the fiber's storage.
        def []=(_name, _value)
          FiberState.note
          super
        end
      end

      Thread.prepend(NotingLocals)
      Fiber.singleton_class.prepend(NotingStorage) if HAS_STORAGE

      # Notes that the task that runs has set something.
      def self.note
        task = Elah.current_loop&.current_task
        task.fiber_state = true if task
      end

      # Looks once which attributes libraries have added, as ActiveSupport and OpenTelemetry do.
      #
      # @param thread [Thread] of the loop
      def initialize(thread)
        @thread = thread
        @writers = Fiber.public_instance_methods.grep(/=\z/) - OWN_WRITERS
      end

      # Has a task that runs in a pooled fiber ask for {#clear} after each request, if there are attributes: nobody notes who sets them.
      #
      # @param task [Elah::Task]
      def watch(task) = task.fiber_state = @writers.any?

      # Empties the state of the fiber that runs. Call it when `task.fiber_state` is true.
      #
      # @param task [Elah::Task] that runs in it
      def clear(task)
        fiber = Fiber.current
        @thread.keys.each { |name| @thread[name] = nil }
        fiber.storage&.each_key { |name| Fiber[name] = nil } if HAS_STORAGE
        @writers.each { |writer| fiber.public_send(writer, nil) }
        watch(task)
      end
    end
  end
end
