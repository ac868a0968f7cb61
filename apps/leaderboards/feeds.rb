# frozen_string_literal: true

module Leaderboards
  # The feeds of this worker: polls each board with listeners, once for all of them.
  class Feeds
    EVERY_SECONDS = 0.25
    # The most listeners of one worker.
    LISTENERS_MAX = 1000

    TooMany = Refused.with(503, "too_many_listeners")

    # The longest duration of a stream, in seconds.
    SECONDS = 15

    # A followed board, and the last change seen.
    Feed = Struct.new(:listeners, :poller, :log_id, :number)
    # A listener, and the end of its stream.
    Listener = Struct.new(:queue, :due)

    # @param scores [Stores::Embedded]
    # @param seconds [Integer] after which a listener must reconnect, so that listeners do not delay the end of a worker
    def initialize(scores, seconds)
      @scores = scores
      @seconds = seconds
      @feeds = {}
      @listeners = 0
    end

    # @raise [TooMany]
    def check
      raise TooMany, "#{LISTENERS_MAX} listen in this worker already." if @listeners >= LISTENERS_MAX
    end

    # Follows a board until the time is over, or the block raises because the client has disconnected.
    #
    # @param definition [Definition]
    # @param log_id [String, nil] of the log that the listener has read
    # @param number [Integer]
    # @yieldparam change [Array] season, size, log_id, number and texts; see {Boards::Changes#since}
    def follow(definition, log_id, number)
      listener = Listener.new(Queue.new, monotonic + @seconds)
      enter(definition, listener)
      first = @scores.changes(definition, log_id, number)
      feed = @feeds.fetch(definition.key)
      feed.log_id, feed.number = first[2, 2] unless feed.log_id
      yield first
      seen = first[2, 2]
      while (change = listener.queue.pop)
        next if change[2] == seen[0] && change[3] <= seen[1]

        change = @scores.changes(definition, *seen) if missed(change, seen)
        yield change
        seen = change[2, 2]
      end
    ensure
      leave(definition, listener)
    end

    private

    # Whether the listener has missed changes before this one.
    def missed(change, seen) = change[4] && (change[2] != seen[0] || change[3] - change[4].size != seen[1])

    # The first one starts the poller. Others may enter before it has begun.
    def enter(definition, listener)
      @listeners += 1
      feed = @feeds[definition.key] ||= Feed.new([], nil, nil, 0)
      feed.listeners << listener
      feed.poller = Elah.every(EVERY_SECONDS, detached: true) { poll(definition, feed) } if feed.listeners.one?
    end

    def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def poll(definition, feed)
      now = monotonic
      feed.listeners.each { |listener| listener.queue.close if listener.due <= now }
      change = @scores.changes(definition, feed.log_id, feed.number)
      return if change[2] == feed.log_id && change[3] == feed.number

      feed.log_id, feed.number = change[2, 2]
      feed.listeners.each { |listener| listener.queue << change unless listener.queue.closed? }
    rescue Refused # the board is gone
      feed.listeners.each { |listener| listener.queue.close }
    end

    def leave(definition, listener)
      @listeners -= 1
      feed = @feeds.fetch(definition.key)
      feed.listeners.delete_if { |other| other.equal?(listener) }
      return unless feed.listeners.empty?

      feed.poller&.cancel # none if the worker has too many fibers
      @feeds.delete(definition.key)
    end
  end
end
