# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"

module Elah
  # The counters of a running server in a mapped file: supervisor and workers write them, anybody of the same user reads them, also while
  # the writers are stuck. The layout is native (crates/elah-scoreboard/src/lib.rs); names of cells stand in its scoreboard/names.rs.
  class Scoreboard
    # What a worker process is doing, by the number in its seat's cell `state`.
    STATES = %i[gone booting ready releasing draining].freeze

    # How a worker bounds its calls to another, by the number in the cell `state` of a peer; see {PeerLinks::Limiter}.
    PEER_STATES = %i[none open limited probing].freeze

    # Places for workers on a scoreboard; `workers` and TTIN go no further.
    SLOTS_MAX = 64

    class << self
      # @return [Elah::Scoreboard, nil] the one of this process's server
      attr_accessor :current

      # @return [Integer, nil] the number of the seat in which this process writes; nil while it has none, and in its forks
      def own_seat = (@own_seat if @own_seat_pid == Process.pid)

      # @param number [Integer] of the seat that this process takes
      def own_seat=(number)
        @own_seat = number
        @own_seat_pid = Process.pid
      end
    end

    # @!method self.create(path, slots_max, seats, shards)
    #   @return [Elah::Scoreboard]
    #   @raise [Elah::RunDirError] when the file exists or cannot be written
    # @!method self.open(path)
    #   @return [Elah::Scoreboard]
    #   @raise [Elah::RunDirError] when it is missing, damaged, or of another version
    # @!method self.now_ms
    #   @return [Integer] milliseconds of the clock in which heartbeats are told
    # @!method server
    #   @return [Hash{Symbol=>Integer}]
    # @!method slot(number)
    #   @return [Hash{Symbol=>Integer}]
    # @!method seat(number)
    #   @return [Hash{Symbol=>Integer}]
    # @!method peer(seat, slot)
    #   @return [Hash{Symbol=>Integer}] what the worker in a seat says of the one at a slot
    # @!method map_version
    #   @return [Integer] another one whenever a shard has another owner, or a slot another incarnation
    # @!method owner_of(shard)
    #   @return [Integer] a slot

    # Says what a worker process is doing.
    #
    # @param seat [Integer]
    # @param state [Symbol] one of {STATES}
    def set_state(seat, state) = set_seat(seat, :state, STATES.index(state))

    # @param seat [Integer]
    # @return [Symbol] one of {STATES}
    def state(seat) = STATES.fetch(seat_value(seat, :state), :gone)

    # Says how a worker sees another one.
    #
    # @param seat [Integer] of who calls
    # @param slot [Integer] of who is called
    # @param limiter [Hash{Symbol=>Object}, nil] {PeerLinks::Limiter#to_h}; nil when it was never called
    def show_peer(seat, slot, limiter)
      limiter ||= { state: :none, allowance: nil, in_flight: 0, late_calls: 0, limited_calls: 0 }
      values = { state: PEER_STATES.index(limiter[:state]), allowance: limiter[:allowance] || 0, calls: limiter[:in_flight],
                 late_calls: limiter[:late_calls], limited_calls: limiter[:limited_calls] }
      values.each { |cell, value| set_peer(seat, slot, cell, value) }
    end

    # @return [Range] the numbers of the seats
    def seats = 0...sizes[1]

    # @return [Range] the numbers of the shards
    def shards = 0...sizes[2]
  end
end
