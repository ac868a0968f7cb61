# frozen_string_literal: true

require_relative "active_record/ownership"
require_relative "active_record/return"
require_relative "active_record/interruption"

module Elah
  module Adapters
    # The ActiveRecord adapter: every request and every spawned fiber has its own connection, and returns it at its end, even after an exception.
    #
    # Until 7.0 the pool counts threads: {Ownership} makes it count tasks of the loop. From 7.1 on it counts by
    # `ActiveSupport::IsolatedExecutionState`: see {ActiveSupport}.
    module ActiveRecord
      class << self
        # @return [Boolean] whether the gem is loaded
        def install
          return false unless defined?(::ActiveRecord::Base)

          prepare unless @is_installed
          @is_installed = true
        end

        # Returns the connections that the caller has leased.
        def return_connections = ::ActiveRecord::Base.connection_handler.clear_active_connections!

        # @param version [#to_s] of ActiveRecord
        # @return [Boolean] whether its pool can count fibers
        def counts_fibers?(version = ::ActiveRecord::VERSION::STRING) = Gem::Version.new(version) >= Gem::Version.new("7.1")

        private

        def prepare
          connections = ::ActiveRecord::ConnectionAdapters
          unless counts_fibers?
            connections::ConnectionPool.prepend(Ownership::OfPool)
            connections::AbstractAdapter.prepend(Ownership::OfConnection)
            ::ActiveRecord::Base.singleton_class.prepend(Ownership::OfRole) unless defined?(::ActiveSupport::IsolatedExecutionState)
          end
          connections::AbstractAdapter.prepend(Return::OfConnection, Interruption::Untranslated)
          connections::ConnectionPool.prepend(Return::OfPool)
          connections::ConnectionPool.prepend(Return::OfLease) if connections::ConnectionPool.method_defined?(:lease_connection)
          ErrorMapping.register_with_rails
          # Connections leased while the app was loaded would never be returned: the loop's own fiber has no end.
          # Now, because from here on their owner is no longer the thread.
          return_connections
          ActiveSupport.isolate_tasks
        end
      end
    end
  end
end
