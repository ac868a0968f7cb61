# frozen_string_literal: true

require_relative "../../errors"

module Elah
  module Adapters
    # The dalli adapter: a request that is cancelled, or ends by its deadline, closes its connection. Before version 3.2.5 dalli takes what ended it
    # for a failure of memcached, and uses that server for no request of the worker for 30 s.
    module Dalli
      # What sends commands, from the newest version to 2.7.
      SENDERS = %w[Dalli::Protocol::Base Dalli::Protocol::Binary Dalli::Server].freeze
      private_constant :SENDERS

      # @return [Boolean] whether the gem is loaded
      def self.install
        sender = SENDERS.find { |name| Object.const_defined?(name) } or return false
        Object.const_get(sender).prepend(Cancellation)
        true
      end

      # Stands before the methods of a sender.
      module Cancellation
        private

        # Called when a command raises.
        def down!
          return super unless $!.is_a?(Elah::Error)

          close
          raise $!
        end
      end
    end
  end
end
