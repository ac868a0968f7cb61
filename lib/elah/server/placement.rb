# frozen_string_literal: true

require_relative "placement/single"

module Elah
  # Which worker of this server runs here, and which owns what. The keys of entities hash to a fixed number of shards; a slot, the
  # place of one worker, owns each shard. A worker that is replaced leaves its slot and its shards to the next *generation*.
  #
  # A placement has these methods: `slot`, `generation`, `slots` (slots are 0 until this), `shards`, `owner_of(shard)`, `generation_of(slot)` (0 while
  # nobody is there), `version` (another one whenever something of this has changed), `link_path(slot, generation)`,
  # `own_path` (nil where nobody calls this process), `network?`, `before_release { |shards| }`, `publish(name, integer)` and `server_id`, the process
  # that stands for all workers. One with an `own_path` has `neighbours` (slots of the other workers of this machine) and `machines` (slots of those
  # of other machines, by machine).
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
