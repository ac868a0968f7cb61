# frozen_string_literal: true

require_relative "errors"
require_relative "native"

module Elah
  # The counters of a running server in a mapped file: supervisor and workers write them, anybody of the same user reads them, also while
  # the writers are stuck. The layout is native (crates/elah-core/src/board.rs); names of cells stand in its board/names.rs.
  class Board
    # What a worker process is doing, by the number in its seat's cell `state`.
    STATES = %i[gone booting ready releasing draining].freeze

    # Places for workers on a board; `workers` and TTIN go no further.
    SLOTS_MAX = 64

    class << self
      # @return [Elah::Board, nil] the one of this process's server
      attr_accessor :current
    end

    # @!method self.create(path, slots_max, seats, shards)
    #   @return [Elah::Board]
    #   @raise [Elah::RunDirError] when the file exists or cannot be written
    # @!method self.open(path)
    #   @return [Elah::Board]
    #   @raise [Elah::RunDirError] when it is missing, damaged, or of another version
    # @!method self.now_ms
    #   @return [Integer] milliseconds of the clock in which heartbeats are told
    # @!method server
    #   @return [Hash{Symbol=>Integer}]
    # @!method slot(number)
    #   @return [Hash{Symbol=>Integer}]
    # @!method seat(number)
    #   @return [Hash{Symbol=>Integer}]
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

    # @return [Range] the numbers of the seats
    def seats = 0...sizes[1]

    # @return [Range] the numbers of the shards
    def shards = 0...sizes[2]
  end
end
