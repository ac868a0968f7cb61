# frozen_string_literal: true

module Elah
  class EventLoop
    # State that code keeps with a fiber: fiber-locals (`Thread.current[:name]`), Fiber storage (`Fiber[:name]`, Ruby 3.2 and later), attributes
    # that libraries have added to Fiber, the observer and the locals of its task, and time limits, shields and masks whose blocks have not ended. A
    # pooled fiber serves one request after another; each request finds this state empty.
    #
    # Writes to locals and storage are recorded. Reading a fiber's locals after each request would cost 660 instructions.
    class FiberState
      HAS_STORAGE = Fiber.method_defined?(:storage)

      # Options of Fiber.new for a pooled fiber: it inherits nothing from the fiber that creates it.
      OPTIONS = (HAS_STORAGE ? { storage: nil } : {}).freeze

      # Writers that Ruby itself defines.
      OWN_WRITERS = %i[storage= == === !=].freeze
      private_constant :HAS_STORAGE, :OWN_WRITERS

      # Prepended to Thread.
      module TrackLocals
        # Sets a fiber-local.
        def []=(_name, _value)
          FiberState.note if equal?(Thread.current)
          super
        end
      end

      # Prepended to the class methods of Fiber.
      module TrackStorage
        # Sets a variable of the fiber's storage.
        def []=(_name, _value)
          FiberState.note
          super
        end
      end

      # Prepended to Fiber.
      module TrackWholeStorage
        # Sets the whole storage.
        def storage=(_variables)
          FiberState.note
          super
        end
      end

      Thread.prepend(TrackLocals)
      Fiber.singleton_class.prepend(TrackStorage) if HAS_STORAGE
      Fiber.prepend(TrackWholeStorage) if HAS_STORAGE

      # Records that the running task has set some state.
      def self.note
        task = Elah.current_loop&.current_task
        task.fiber_state = true if task
      end

      # Finds, once, the attributes that libraries such as ActiveSupport and OpenTelemetry have added.
      #
      # @param thread [Thread] of the loop
      def initialize(thread)
        @thread = thread
        @writers = Fiber.public_instance_methods.grep(/=\z/) - OWN_WRITERS
      end

      # Makes a task in a pooled fiber call {#clear} after each request if there are such attributes, because writes to them are not recorded.
      #
      # @param task [Elah::Task]
      def watch(task) = task.fiber_state = @writers.any?

      # Clears the state of the running fiber. Call it when `task.fiber_state` is true.
      #
      # @param task [Elah::Task] the task that runs in it
      def clear(task)
        fiber = Fiber.current
        @thread.keys.each { |name| @thread[name] = nil }
        fiber.storage&.each_key { |name| Fiber[name] = nil } if HAS_STORAGE
        @writers.each { |writer| fiber.public_send(writer, nil) }
        task.observer = nil
        task.leave_blocks
        watch(task)
      end
    end
  end
end
