# frozen_string_literal: true

require_relative "placement/releasing"
require_relative "placement/single"

module Elah
  # Which worker of this server runs here, and which owns what. The keys of entities hash to a fixed number of shards; a slot, the
  # place of one worker, owns each shard. A worker that is replaced leaves its slot and its shards to the next *generation*.
  #
  # A placement has these methods: `slot`, `generation`, `slots` (the upper bound of the slots), `shards`, `owner_of(shard)`,
  # `term_of(shard)` (which changes when this worker owns the shard again), `generation_of(slot)` (0 for an empty slot), `version` (which changes
  # whenever one of these does), `link_path(slot, generation)`, `own_path` (nil if no other process calls this one), `network?`,
  # `before_release { |terms| }`, `publish(name, integer)` and `server_id`, the process that represents all workers. One with an `own_path` also has
  # `neighbours` (slots of the other workers of this machine) and `machines` (slots of the workers of other machines, by machine).
  module Placement
    class << self
      # @return [Placement::Single, Placement::Supervised] that of this process
      def current
        @current = Single.new if @current.nil? || @current.process_id != Process.pid
        @current
      end

      # Set once, by a worker that begins.
      #
      # @param placement [#process_id]
      # @api private
      attr_writer :current
    end
  end
end
