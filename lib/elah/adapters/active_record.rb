# frozen_string_literal: true

require_relative "meaning"
require_relative "active_record/ownership"
require_relative "active_record/return"
require_relative "active_record/interruption"

module Elah
  module Adapters
    # Owns how ActiveRecord runs on the loop: every request and every spawned fiber has a connection of its own, and gives it back
    # when it ends, however it ends.
    #
    # Until 7.0 the pool counts threads: {Ownership} makes it count tasks of the loop. From 7.1 on it counts what
    # `ActiveSupport::IsolatedExecutionState.isolation_level` says, which is set to `:fiber`.
    module ActiveRecord
      class << self
        # @return [Boolean] whether the gem is loaded
        def install
          return false unless defined?(::ActiveRecord::Base)

          prepare unless @is_installed
          @is_installed = true
        end

        # @param version [#to_s] of ActiveRecord
        # @return [Boolean] whether its pool counts fibers when it is told to
        def counts_fibers?(version = ::ActiveRecord::VERSION::STRING) = Gem::Version.new(version) >= Gem::Version.new("7.1")

        private

        def prepare
          ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber if defined?(::ActiveSupport::IsolatedExecutionState)
          connections = ::ActiveRecord::ConnectionAdapters
          unless counts_fibers?
            connections::ConnectionPool.prepend(Ownership::OfPool)
            connections::AbstractAdapter.prepend(Ownership::OfConnection)
          end
          connections::AbstractAdapter.prepend(Return::OfConnection, Interruption::Untranslated)
          connections::ConnectionPool.prepend(Return::OfPool)
          Meaning.tell_rails
          # What the app took while it was loaded would never come back: the loop's own fiber has no end.
          ::ActiveRecord::Base.clear_active_connections!
        end
      end
    end
  end
end
