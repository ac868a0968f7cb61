# frozen_string_literal: true

require_relative "native"
require_relative "peer_links/crew"
require_relative "peer_links/peer"

module Elah
  # Calls between the workers of one machine. A worker listens on a Unix socket of its own, which only processes of the same user may use,
  # and keeps one connection to each worker that it has called. The native half owns sockets and frames.
  #
  # A message and its answer are whatever `Marshal` can write. Who calls suspends its fiber alone; what is called runs in a fiber, several
  # calls one after the other in the same one while none of them waits.
  #
  # @example
  #   links = Elah::PeerLinks.open(event_loop, path) { |message| accounts.fetch(message) }
  #   links.peer(path_of_another).call("42", 0.15) # => what its block gives there
  class PeerLinks
    # A message or an answer is longer than `link_payload_bytes_max`.
    class TooLong < Error; end

    # The options that bound links.
    BOUNDS = %i[links_max link_calls_max link_waiting_bytes_max link_payload_bytes_max].freeze

    # Begins to listen.
    #
    # @param event_loop [Elah::EventLoop] of this thread
    # @param path [String] of the socket, in a folder that is this user's alone (mode 0700); a missing folder is made
    # @param config [Elah::Config] for the bounds
    # @param log [Elah::Log, nil] told of peers that break the rules
    # @yieldparam message [Object] of a call; what the block gives or raises is its answer
    # @return [PeerLinks]
    # @raise [Elah::ListenError]
    def self.open(event_loop, path, config: Elah.config, log: nil, &handler)
      bounds = BOUNDS.to_h { |name| [name, config.public_send(name)] }
      open_native(path, bounds).tap { |links| links.prepare(event_loop, bounds, log, handler) }
    end

    # Sets up the Ruby half; {open} calls it.
    def prepare(event_loop, bounds, log, handler)
      @loop = event_loop
      @peers = {}
      @crew = Crew.new(event_loop, self, handler, bounds, log).tap(&:expect)
    end

    # @param path [String] that the other worker listens on
    # @return [Peer] always the same one
    def peer(path) = @peers[path] ||= Peer.new(@loop, self, path)

    # Forgets all peers but these, and ends what is called there.
    #
    # @param paths [Array<String>]
    def retain(paths)
      @peers.select! { |path, _| paths.include?(path) }
      retain_native(paths)
    end

    # Forgets all peers but these, and those that have not answered everything yet.
    #
    # @param peers [Array<Peer>]
    def retain_used(peers)
      used = @peers.each_value.select { |peer| peer.limiter.in_flight.positive? } | peers
      retain(used.map(&:path)) if used.size < @peers.size
    end

    # @return [Boolean] whether no call of another worker runs, and all answers have left
    def quiet? = open_incoming.zero? && unread_bytes.zero?

    # @return [Hash{String=>Hash}] the state of each peer by its path
    def to_h
      connections = states.to_h { |state| [state[:path], state] }
      @peers.to_h { |path, peer| [path, { **(connections[path] || {}), **peer.limiter.to_h }] }
    end

    # Ends all calls in both directions, and removes the socket.
    def close
      @peers.clear
      close_native
    end
  end
end
