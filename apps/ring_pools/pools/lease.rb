# frozen_string_literal: true

module RingPools
  module Pools
    # What an allocation came to, or what is known of one.
    #
    # kind: :new, :same (the session has it already), :renewed, :released, :overflow or :refused (a pool without overflow) ·
    # number: Integer, digits of E.164; nil when it was refused · grant: counts the allocations of the pool, so that a lease that is over
    # cannot be taken for the one after it; nil for an overflow · begun, due: microseconds since 1970, nil for an overflow · reason: of an
    # overflow, a String: exhausted (all numbers are held or in quarantine), draining (the pool gives no numbers any more), deadline (its owner
    # did not answer in time), unavailable (its owner cannot be reached) or limited (its owner was slow and gets few requests)
    Lease = Struct.new(:kind, :number, :grant, :begun, :due, :session, :reason) do
      # @return [String, nil] what clients call it: the number and the grant
      def id = grant && "#{number}-#{grant}"
    end
  end
end
