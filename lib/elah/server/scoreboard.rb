# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"

module Elah
  # The counters of a running server in a mapped file: supervisor and workers write them, anybody of the same user reads them, also while
  # the writers are stuck. The layout is native (crates/elah-scoreboard/src/lib.rs); names of cells stand in its scoreboard/names.rs.
  class Scoreboard
    # What a worker process is doing, by the number in its row's cell `state`.
    STATES = %i[gone booting ready releasing draining].freeze

    # How a worker bounds its calls to another, by the number in the cell `state` of a peer; see {PeerLinks::Limiter}.
    PEER_STATES = %i[none open limited probing].freeze

    # Places for workers on a scoreboard; `workers` and TTIN go no further.
    SLOTS_MAX = 64

    class << self
      # @return [Elah::Scoreboard, nil] the one of this process's server
      attr_accessor :current

      # @return [Integer, nil] the number of the row in which this process writes; nil while it has none, and in its forks
      def own_row = (@own_row if @own_row_pid == Process.pid)

      # @param number [Integer] of the row that this process takes
      def own_row=(number)
        @own_row = number
        @own_row_pid = Process.pid
      end
    end

    # @!method self.create(path, slots_max, rows, shards)
    #   @return [Elah::Scoreboard]
    #   @raise [Elah::RunDirError] when the file exists or cannot be written
    # @!method self.open(path)
    #   @return [Elah::Scoreboard]
    #   @raise [Elah::RunDirError] when it is missing, damaged, or of another version
    # @!method self.now_ms
    #   @return [Integer] milliseconds of the clock that heartbeats use
    # @!method server
    #   @return [Hash{Symbol=>Integer}]
    # @!method slot(number)
    #   @return [Hash{Symbol=>Integer}]
    # @!method row(number)
    #   @return [Hash{Symbol=>Integer}]
    # @!method peer(row, slot)
    #   @return [Hash{Symbol=>Integer}] what the worker in a row says of the one at a slot
    # @!method map_version
    #   @return [Integer] another one whenever a shard has another owner, or a slot another generation
    # @!method owner_of(shard)
    #   @return [Integer] a slot

    # Says what a worker process is doing.
    #
    # @param row [Integer]
    # @param state [Symbol] one of {STATES}
    def set_state(row, state) = set_row(row, :state, STATES.index(state))

    # @param row [Integer]
    # @return [Symbol] one of {STATES}
    def state(row) = STATES.fetch(row_value(row, :state), :gone)

    # Says how a worker sees another one.
    #
    # @param row [Integer] of who calls
    # @param slot [Integer] of who is called
    # @param limiter [Hash{Symbol=>Object}, nil] {PeerLinks::Limiter#to_h}; nil when it was never called
    def show_peer(row, slot, limiter)
      limiter ||= { state: :none, allowance: nil, in_flight: 0, late_calls: 0, limited_calls: 0 }
      values = { state: PEER_STATES.index(limiter[:state]), allowance: limiter[:allowance] || 0, calls: limiter[:in_flight],
                 late_calls: limiter[:late_calls], limited_calls: limiter[:limited_calls] }
      values.each { |cell, value| set_peer(row, slot, cell, value) }
    end

    # @return [Range] the numbers of the rows
    def rows = 0...sizes[1]

    # @return [Range] the numbers of the shards
    def shards = 0...sizes[2]
  end
end
