# frozen_string_literal: true

require_relative "../native"
require_relative "peer_links/call_runners"
require_relative "peer_links/peer"
require_relative "peer_links/port"

module Elah
  # Calls between workers. Each worker listens on its own Unix socket, which only processes of the same user may use, and may have a TCP port too,
  # which only machines with a certificate of the cluster may use. It keeps one connection to each worker that it has called. The native half owns
  # sockets and frames.
  #
  # Messages and replies are written by `Marshal`. A call suspends only the calling fiber. The called worker runs calls in order in one fiber while
  # none of them waits.
  #
  # @example
  #   links = Elah::PeerLinks.open(event_loop, path) { |message| accounts.fetch(message) }
  #   links.peer(path_of_another).call("42", 0.15) # => the result of its block there
  #
  # @example Between machines
  #   port = Elah::PeerLinks::Port.bind(Elah.config)
  #   port.address               # => "tls://node1@10.0.0.11:9400"
  #   links = Elah::PeerLinks.open(event_loop, path, port: port) { |message| accounts.fetch(message) }
  #   links.identify("shop", 17) # from now on other machines can call this worker, and it can call them
  #   links.peer("tls://node2@10.0.0.12:9400/23").call("42", 0.15)
  class PeerLinks
    # Other processes listen on all ports of `cluster_listen`.
    class PortsInUse < ListenError; end

    # A worker did not reply in time. Its address is for the log alone.
    class Late < DeadlineExceeded
      # @return [String]
      def detail = "Another worker did not reply in time."
    end

    # A worker runs too many calls, or has too many replies that nobody has read. Its address is for the log alone.
    class Busy < Overloaded
      # @return [String]
      def detail = "Another worker has too much to do: try again later."
    end

    # A message or a reply is longer than `link_payload_bytes_max`.
    class TooLong < Error; end

    # The options that limit links.
    BOUNDS = %i[links_max link_calls_max link_waiting_bytes_max link_payload_bytes_max].freeze

    # Starts to listen.
    #
    # @param event_loop [Elah::EventLoop] of this thread
    # @param path [String] path of the socket, in a folder that only this user can access (mode 0700); a missing folder is created
    # @param config [Elah::Config] source of the limits
    # @param port [Port, nil] on which other machines can call this worker, after {#identify}
    # @param log [Elah::Log, nil] receives a line about each peer that breaks the protocol
    # @yieldparam message [Object] message of a call; the block's value or exception is the reply
    # @return [PeerLinks]
    # @raise [Elah::ListenError]
    def self.open(event_loop, path, config: Elah.config, log: nil, port: nil, &handler)
      bounds = BOUNDS.to_h { |name| [name, config.public_send(name)] }
      open_native(path, bounds, port).tap { |links| links.prepare(event_loop, bounds, log, handler) }
    end

    # Initialises the Ruby half; {open} calls it.
    def prepare(event_loop, bounds, log, handler)
      @loop = event_loop
      @peers = {}
      @runners = CallRunners.new(event_loop, self, handler, bounds, log).tap(&:expect)
    end

    # @!method identify(cluster, writer)
    #   Says who this worker is, and again when its number changes. Before, it neither accepts calls over TCP nor makes any.
    #   @param cluster [String] workers of another cluster are refused
    #   @param writer [Integer] number of this process, used once in the cluster
    #   @raise [ArgumentError]

    # @!method address
    #   @return [String, nil] where other machines can call this worker, such as `tls://node1@10.0.0.11:9400`; nil without a port

    # @param address [String] path of the other worker's socket, or its address, such as `tls://node1@10.0.0.11:9400/17`. The number at the end is
    #   optional: another worker that listens there now is not called.
    # @return [Peer] the same object at every call
    def peer(address) = @peers[address] ||= Peer.new(@loop, self, address)

    # Drops all peers but these, and cancels calls to the dropped ones.
    #
    # @param addresses [Array<String>]
    def retain(addresses)
      @peers.select! { |address, _| addresses.include?(address) }
      retain_native(addresses)
    end

    # Drops these peers, and cancels calls to them.
    #
    # @param addresses [Array<String>]
    def drop(addresses) = retain(@peers.keys - addresses)

    # Drops all peers but these, and those with calls that still wait for a reply.
    #
    # @param peers [Array<Peer>]
    def retain_used(peers)
      used = @peers.each_value.select { |peer| peer.limiter.in_flight.positive? } | peers
      retain(used.map(&:address)) if used.size < @peers.size
    end

    # @return [Boolean] whether no call of another worker runs, and all replies are sent
    def quiet? = open_incoming.zero? && unread_bytes.zero?

    # @return [Hash{String=>Hash}] state of each peer, by its address
    def to_h
      connections = states.to_h { |state| [state[:address], state] }
      @peers.to_h { |address, peer| [address, { **(connections[address] || {}), **peer.limiter.to_h }] }
    end

    # Cancels all calls in both directions, and closes the sockets.
    def close
      @peers.clear
      close_native
    end
  end
end
