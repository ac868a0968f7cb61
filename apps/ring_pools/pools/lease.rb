# frozen_string_literal: true

module RingPools
  module Pools
    # What an allocation came to, or what is known of one.
    #
    # kind: :new, :same (the session has it already), :renewed, :released, :overflow or :refused (a pool without overflow) ·
    # number: Integer, digits of E.164; nil when it was refused · grant: counts the allocations of the pool, so that a lease that is over
    # cannot be taken for the one after it; nil for an overflow · begun, due: microseconds since 1970, nil for an overflow · reason: of an
    # overflow, a String of {OVERFLOW_REASONS}
    Lease = Struct.new(:kind, :number, :grant, :begun, :due, :session, :reason) do
      # @return [Boolean]
      def overflow? = kind == :overflow

      # @return [String, nil] what clients call it: the number and the grant
      def id = grant && "#{number}-#{grant}"
    end

    # exhausted: all numbers are held or in quarantine · draining: the pool gives no numbers any more · deadline: its owner did not
    # answer in time · unavailable: its owner cannot be reached · limited: its owner was slow and gets few requests
    OVERFLOW_REASONS = %w[exhausted draining deadline unavailable limited].freeze
  end
end
