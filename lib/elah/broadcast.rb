# frozen_string_literal: true

require_relative "native"
require_relative "api/sse"
require_relative "broadcast/backlog"

module Elah
  # Sends the same Server-Sent Events to many clients. Each event becomes bytes once, and all share these. A listener costs no fiber:
  # its connection takes what it is told when it can. One that reads too slowly misses events, and delays nobody.
  #
  # It speaks to the listeners of its own process: every worker has its own.
  #
  # @example
  #   TICKS = Elah::Broadcast.new
  #
  #   class Ticker < Elah::API
  #     get(:ticks) { broadcast TICKS }
  #   end
  #
  #   Elah::Config.at(:before_worker_boot) { Elah.every(1) { TICKS.push({ time: Time.now.to_i }) } }
  class Broadcast
    KEEPALIVE_SECONDS = 15
    # Events that a listener may have unread before it misses one.
    UNREAD_MAX = 16
    KEEP_ALIVE = ": keep-alive\n\n"
    private_constant :KEEP_ALIVE

    # @return [Integer] listeners of this process when it pushed last
    attr_reader :listeners

    # @return [Integer] events that listeners of this process have missed, since they read too slowly
    attr_reader :missed

    # @param keepalive_seconds [Numeric] a comment is sent when nothing was for so long
    # @param unread_max [Integer]
    # @param keeps_last [Boolean] whether who comes is told the last event at once
    def initialize(keepalive_seconds: KEEPALIVE_SECONDS, unread_max: UNREAD_MAX, keeps_last: false)
      @keepalive_seconds = keepalive_seconds
      @unread_max = unread_max
      @keeps_last = keeps_last
      @backlog = Backlog.new(unread_max)
      @listeners = @missed = 0
      @audience = @event_loop = @keep_alive = nil
      @was_told = false
      @last = ""
    end

    # Sends an event to all who listen now. Returns at once, however slow they are. May be called in another thread of the process.
    #
    # @param data [String, Object] a text, or what JSON is made of
    # @param named [Hash] `id:`, `event:` and `retry_ms:` of {API::ServerSentEvents#push}
    # @return [self]
    def push(data, **named)
      frame = API::ServerSentEvents.frame(data, **named)
      @last = frame if @keeps_last
      @was_told = true
      @backlog.push(frame)
      return self unless @audience

      event_loop = @event_loop
      Elah.current_loop.equal?(event_loop) ? tell(frame) : event_loop.post { tell(frame) }
      self
    end

    # Ends the streams of all listeners of this process.
    #
    # @return [nil]
    def close
      @backlog.close
      return unless @audience

      @keep_alive.cancel
      @audience.close
      @audience = nil
      @listeners = 0
      nil
    end

    # @api private
    # Answers a request with the events to come. The handler's fiber is free when this returns.
    #
    # @param request [Elah::Request]
    # @param status [Integer]
    # @param headers [Hash, Elah::HeaderSet]
    # @return [Boolean] whether the client was still there
    def join(request, status, headers)
      begin_in(Elah.current_loop) unless @audience && Elah.current_loop.equal?(@event_loop)
      @audience.join(request, status, headers, @last)
    end

    # @api private
    # Writes the events to come, behind Rack middleware and under other servers: until the client is gone, the broadcast is closed, or
    # Elah's own server drains.
    #
    # @param out [#write]
    def write_to(out)
      place = @backlog.place
      API::ServerSentEvents.until_drain do
        out.write(@last) unless @last.empty?
        until @backlog.closed?
          place, frames = @backlog.wait_after(place, @keepalive_seconds)
          out.write(frames.empty? ? KEEP_ALIVE : frames.join)
        end
      end
    end

    private

    # After a fork, and in another loop, there are other listeners.
    def begin_in(event_loop)
      @event_loop = event_loop
      @audience = Audience.open(@unread_max)
      @listeners = @missed = 0
      @keep_alive = Elah.every(@keepalive_seconds, detached: true) do
        tell(KEEP_ALIVE) unless @was_told
        @was_told = false
      end
    end

    def tell(frame)
      @listeners, @missed = @audience.tell(frame)
    end
  end
end
