# frozen_string_literal: true

module RingPools
  module Pools
    # On which terms a pool gives its numbers; times are in microseconds.
    #
    # hold: how long a number is certain to be its holder's · quarantine: how long nobody gets it after that · policy: of
    # {Policies::NAMES} · overflow: Integer, the number that is given when none is free, or nil · draining: whether no
    # number is given · tracking_url: what an answer leads to · revision: of the definition, later ones are larger
    Terms = Struct.new(:hold, :quarantine, :policy, :overflow, :draining, :tracking_url, :revision,
                       keyword_init: true) do
      # @param definition [Definition]
      # @return [Terms]
      def self.of(definition)
        new(hold: (definition.lifetime_seconds * 1_000_000).round, quarantine: definition.quarantine_seconds * 1_000_000,
            policy: definition.policy, overflow: definition.overflow, draining: definition.draining, tracking_url: definition.tracking_url,
            revision: definition.revision)
      end
    end
  end
end
