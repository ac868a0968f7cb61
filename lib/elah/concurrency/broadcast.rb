# frozen_string_literal: true

require_relative "../native"
require_relative "../api/sse"
require_relative "broadcast/backlog"

module Elah
  # Sends the same Server-Sent Events to many clients. Each event is encoded once, and all listeners share its bytes. A listener needs no fiber. A
  # listener that reads too slowly misses events and delays nobody.
  #
  # It reaches the listeners of its own process: every worker has its own.
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
    # Maximum number of unread events of a listener before it misses one.
    UNREAD_MAX = 16
    KEEP_ALIVE = ": keep-alive\n\n"
    private_constant :KEEP_ALIVE

    # @return [Integer] listeners of this process at the last push
    attr_reader :listeners

    # @return [Integer] events that listeners of this process have missed because they read too slowly
    attr_reader :missed

    # @param keepalive_seconds [Numeric] time without events after which a comment is sent
    # @param unread_max [Integer]
    # @param keeps_last [Boolean] whether a new listener receives the last event at once
    def initialize(keepalive_seconds: KEEPALIVE_SECONDS, unread_max: UNREAD_MAX, keeps_last: false)
      @keepalive_seconds = keepalive_seconds
      @unread_max = unread_max
      @keeps_last = keeps_last
      @backlog = Backlog.new(unread_max)
      @listeners = @missed = 0
      @audience = @event_loop = @thread = @keep_alive = nil
      @was_pushed = false
      @last = ""
    end

    # Sends an event to all current listeners. Returns at once, however slow they are. May be called in another thread of the process.
    #
    # @param data [Object] a text, or an object to write as JSON
    # @param named [Hash{Symbol=>Object}] as of {API::ServerSentEvents#push}
    # @option named [#to_s, nil] :id
    # @option named [#to_s, nil] :event
    # @option named [Integer, nil] :retry_ms
    # @return [self]
    # @raise [ArgumentError] when a text is not valid in its encoding
    def push(data, **named)
      frame = API::ServerSentEvents.frame(data, **named)
      @last = frame if @keeps_last
      @was_pushed = true
      @backlog.push(frame)
      return self unless @audience

      event_loop = @event_loop
      Elah.current_loop.equal?(event_loop) ? send_frame(frame) : event_loop.post { send_frame(frame) }
      self
    end

    # Ends the streams of all listeners of this process. May be called in another thread of the process.
    #
    # @return [nil]
    def close
      @backlog.close
      return unless @audience

      Thread.current.equal?(@thread) ? end_streams : @event_loop.post { end_streams }
      nil
    end

    # @api private
    # Responds to a request with all later events. The handler's fiber is free when this returns.
    #
    # @param request [Elah::Request]
    # @param status [Integer]
    # @param headers [Hash, Elah::HeaderSet]
    # @return [Boolean] whether the client was still connected
    def join(request, status, headers)
      begin_in(Elah.current_loop) unless @audience && Elah.current_loop.equal?(@event_loop)
      @audience.join(request, status, headers, @last)
    end

    # @api private
    # Writes all later events, behind Rack middleware and under other servers. It ends when the client disconnects, the broadcast is closed, or
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

    # A fork, and another loop, have their own listeners.
    def begin_in(event_loop)
      @event_loop = event_loop
      @thread = Thread.current
      @audience = Audience.open(@unread_max)
      @listeners = @missed = 0
      @keep_alive = Elah.every(@keepalive_seconds, detached: true) do
        send_frame(KEEP_ALIVE) unless @was_pushed
        @was_pushed = false
      end
    end

    def end_streams
      return unless @audience

      @keep_alive.cancel
      @audience.close
      @audience = nil
      @listeners = 0
    end

    # A frame of another thread may come after the end.
    def send_frame(frame)
      @listeners, @missed = @audience.push(frame) if @audience
    end
  end
end
