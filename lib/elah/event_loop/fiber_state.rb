# frozen_string_literal: true

module Elah
  class EventLoop
    # What code keeps with a fiber: fiber-locals (`Thread.current[:name]`), attributes that libraries have given to Fiber, and Fiber storage
    # (`Fiber[:name]`, Ruby 3.2 and later). A pooled fiber serves one request after the other, and each finds all of it empty.
    class FiberState
      HAS_STORAGE = Fiber.method_defined?(:storage)

      # Options of Fiber.new for a pooled fiber: it inherits nothing from the fiber that makes it.
      OPTIONS = (HAS_STORAGE ? { storage: nil } : {}).freeze

      # Writers that Ruby itself defines.
      OWN_WRITERS = %i[storage= == === !=].freeze
      private_constant :HAS_STORAGE, :OWN_WRITERS

      # Looks once which attributes libraries have added, as ActiveSupport and OpenTelemetry do.
      #
      # @param thread [Thread] of the loop
      def initialize(thread)
        @thread = thread
        @writers = Fiber.public_instance_methods.grep(/=\z/) - OWN_WRITERS
        @is_more_than_locals = HAS_STORAGE || @writers.any?
      end

      # Empties the state of the fiber that runs.
      def clear
        names = @thread.keys
        names.each { |name| @thread[name] = nil } unless names.empty?
        clear_fiber(Fiber.current) if @is_more_than_locals
      end

      private

      def clear_fiber(fiber)
        @writers.each { |writer| fiber.public_send(writer, nil) }
        fiber.storage&.each_key { |name| Fiber[name] = nil } if HAS_STORAGE
      end
    end
  end
end
