# frozen_string_literal: true

require_relative "../native"
require_relative "../api/sse"
require_relative "broadcast/backlog"
require_relative "broadcast/reach"

module Elah
  # Sends the same Server-Sent Events to many clients. Each event is encoded once, and all listeners share its bytes. A listener needs no fiber. A
  # listener that reads too slowly misses events and delays nobody.
  #
  # A broadcast made by {new} reaches the listeners of its own process: every worker has its own. One made by {named} reaches those of all workers
  # and, with a store on a cluster, of all machines.
  #
  # @example
  #   TICKS = Elah::Broadcast.new
  #
  #   class Ticker < Elah::API
  #     get(:ticks) { broadcast TICKS }
  #   end
  #
  #   Elah::Config.at(:before_worker_boot) { Elah.every(1) { TICKS.push({ time: Time.now.to_i }) } }
  #
  # @example For listeners on all machines
  #   STORE = Elah::Store.open(Elah.config.state("shop"))
  #   NEWS = Elah::Broadcast.named("news", store: STORE)
  class Broadcast
    KEEPALIVE_SECONDS = 15
    # Maximum number of unread events of a listener before it misses one.
    UNREAD_MAX = 16
    KEEP_ALIVE = ": keep-alive\n\n"
    private_constant :KEEP_ALIVE

    @named = {}

    class << self
      # The broadcast of this name, which reaches the listeners of all workers that have one of this name. Call it while the app is loaded. Between
      # workers an event arrives at most once; events of one worker arrive in order.
      #
      # @param name [String] unique in the app
      # @param store [Elah::Store, Elah::Store::Cluster, nil] of which all workers are reached; nil reaches those of this server
      # @param options [Hash{Symbol=>Object}] of {#initialize}
      # @option options [Numeric] :keepalive_seconds
      # @option options [Integer] :unread_max
      # @option options [Boolean] :keeps_last
      # @return [Broadcast] the same one at every call, with the options of the first
      def named(name, store: nil, **options)
        Elah.const_get(:Entity) # loaded with the app, so that a worker takes calls of others before it is ready
        @named[name.to_s] ||= new(**options).tap { |broadcast| broadcast.reach_from(name.to_s.dup.freeze, store) }
      end

      # @return [Array<Elah::Store, Elah::Store::Cluster>] those of the named broadcasts
      # @api private
      def stores = @named.each_value.filter_map(&:store)

      # Connects the named broadcasts with those of the other workers. Called when a worker boots.
      #
      # @param event_loop [Elah::EventLoop]
      # @api private
      def start(event_loop)
        return if @named.empty?

        event_loop.post { event_loop.spawn(Task.service) { connect(event_loop) } }
      end

      # Sends events of another worker to the listeners here.
      #
      # @param passes_on [Boolean] whether this worker sends them to the others of its machine
      # @param events [Array<Array(String, String)>] names and frames; names that this worker does not know are ignored
      # @return [nil]
      # @api private
      def receive(passes_on, events)
        events.each { |name, frame| @named[name]&.receive(frame, passes_on) }
        nil
      end

      private

      def connect(event_loop)
        reaches = {}.compare_by_identity
        @named.each_value do |broadcast|
          store = broadcast.store
          placement = store ? store.placement : Placement.current
          peers = Entity::Peers.open(event_loop, placement)
          store&.join(event_loop, peers)
          broadcast.reach = reaches[placement] ||= Reach.new(event_loop, placement, peers) if peers
        end
      end
    end

    # @return [Integer] how often an event of this process could not be sent to another worker, or to another machine, because that one did not take
    #   it in time
    attr_reader :unsent

    # @return [String, nil] see {named}
    attr_reader :name

    # @return [Elah::Store, Elah::Store::Cluster, nil]
    # @api private
    attr_reader :store

    # @api private
    attr_writer :reach

    # @param keepalive_seconds [Numeric] time without events after which a comment is sent
    # @param unread_max [Integer]
    # @param keeps_last [Boolean] whether a new listener receives the last event at once
    def initialize(keepalive_seconds: KEEPALIVE_SECONDS, unread_max: UNREAD_MAX, keeps_last: false)
      @keepalive_seconds = keepalive_seconds
      @unread_max = unread_max
      @keeps_last = keeps_last
      @backlog = Backlog.new(unread_max)
      @listeners = @missed = @unsent = 0
      @audience = @event_loop = @thread = @keep_alive = @name = @store = @reach = nil
      @last = ""
    end

    # @return [Integer] listeners of this process at the last push
    def listeners = @listeners + @backlog.listeners

    # @return [Integer] events that listeners of this process have missed because they read too slowly
    def missed = @missed + @backlog.missed

    # Sends an event to all current listeners. Returns at once, however slow they and the other workers are. May be called in another thread of the
    # process.
    #
    # @param data [Object] a text, or an object to write as JSON
    # @param named [Hash{Symbol=>Object}] as of {Framework::ServerSentEvents#push}
    # @option named [#to_s, nil] :id
    # @option named [#to_s, nil] :event
    # @option named [Integer, nil] :retry_ms
    # @return [self]
    # @raise [ArgumentError] when a text is not valid in its encoding
    def push(data, **named)
      frame = Framework::ServerSentEvents.frame(data, **named)
      @reach&.push(self, frame)
      push_here(frame)
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
      out.sink
      @backlog.listen { Framework::ServerSentEvents.until_drain { write_after(place, out) } }
    end

    # @param name [String]
    # @param store [Elah::Store, Elah::Store::Cluster, nil]
    # @api private
    def reach_from(name, store)
      @name = name
      @store = store
    end

    # Sends an event of another worker to the listeners here.
    #
    # @param frame [String]
    # @param passes_on [Boolean]
    # @api private
    def receive(frame, passes_on)
      @reach&.pass_on(self, frame) if passes_on
      push_here(frame)
    end

    # @api private
    def note_unsent = @unsent += 1

    private

    def write_after(place, out)
      out.write(@last) unless @last.empty?
      until @backlog.closed?
        place, frames = @backlog.wait_after(place, @keepalive_seconds)
        out.write(frames.empty? ? KEEP_ALIVE : frames.join)
      end
    end

    def push_here(frame)
      @last = frame if @keeps_last
      @backlog.push(frame)
      return unless @audience

      event_loop = @event_loop
      Elah.current_loop.equal?(event_loop) ? send_frame(frame) : event_loop.post { send_frame(frame) }
    end

    # A fork, and another loop, have their own listeners. The audience comes first: other requests join while the new fiber begins.
    def begin_in(event_loop)
      @audience = Audience.open(@unread_max)
      @event_loop = event_loop
      @thread = Thread.current
      @listeners = @missed = 0
      @sent_at = Concurrency.now
      @keep_alive = Elah.every(@keepalive_seconds, detached: true) { keep_alive }
    rescue Overloaded
      @audience = nil
      raise
    end

    def end_streams
      return unless @audience

      @keep_alive&.cancel
      @audience.close
      @audience = nil
      @listeners = 0
    end

    def keep_alive
      while (rest = @sent_at + @keepalive_seconds - Concurrency.now).positive?
        sleep(rest)
      end
      send_frame(KEEP_ALIVE)
    end

    # A frame of another thread may come after the end.
    def send_frame(frame)
      @sent_at = Concurrency.now
      @listeners, @missed = @audience.push(frame) if @audience
    end
  end
end
