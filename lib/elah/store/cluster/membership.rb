# frozen_string_literal: true

require "etc"
require_relative "../../server/placement/clustered"

module Elah
  class Store
    class Cluster
      # This process in the cluster: it joins when its entities are used first, or when its worker boots, and leaves when it ends. A fork is a
      # process of its own.
      # @api private
      class Membership
        # The version of the protocol and of the stored rows that this process speaks, beside the one before. The processes of a cluster work by the
        # highest that all of them speak, which only grows.
        VERSION = 1

        # Limits of the connections of the writer and the reader.
        BOUNDS = { connections_max: 1, waiters_max: 0, statements_max: 64, pool_seconds: 5.0, connect_seconds: 5.0, query_seconds: 30.0,
                   idle_seconds: 300.0 }.freeze

        @numbers = Mutex.new
        @last_number = 0

        # @return [Integer] another one at each call: a process may take part in several clusters
        def self.next_number = @numbers.synchronize { @last_number += 1 }

        # @return [Elah::Clients::Cluster]
        attr_reader :native

        # @return [Placement::Clustered]
        attr_reader :placement

        # @return [Integer] the process that it was made in
        attr_reader :process_id

        # @param cluster [String] name of the cluster
        # @param url [String] of the database
        # @param database [Database] its connections are closed when the writer has moved to another server
        # @param shards [Integer] number of shards of the cluster
        # @param config [Elah::Config]
        def initialize(cluster, url, database, shards, config)
          @cluster = cluster
          @process_id = Process.pid
          socket = File.join(Membership.folder(config), "#{@process_id}-#{Membership.next_number}.sock")
          own = own(config, shards, socket)
          @node = own[:node]
          @native = Clients::Cluster.open(url, BOUNDS, database.native, own)
          @placement = Placement::Clustered.new(@native, **own.slice(:node, :shards, :socket))
        end

        # Takes part from now on. A process of a server wants shards, a script with a loop only while no server does. A process whose loop has
        # ended, or that has none, gives them to whoever wants some, since nobody can call it. A thread beside a loop changes nothing of that.
        #
        # @param event_loop [Elah::EventLoop, nil] in which shards are handed over in order
        # @param peers [Entity::Peers, nil] who takes calls of others
        def join(event_loop, peers)
          return unless @event_loop.nil? || @event_loop.equal?(event_loop)

          @introduced = nil unless peers.equal?(@peers)
          @peers = peers
          @native.join(peers&.address.to_s, role_in(event_loop))
          introduce
          return unless event_loop

          @placement.serve_releases(event_loop)
          return if @event_loop.equal?(event_loop)

          @event_loop = event_loop
          event_loop.at_end { event_loop.at_end { rest } } # after the blocks that store what calls have left in memory
        end

        # Sends the number of this writer to callers over the network, and again when the process continues as another writer.
        def introduce
          return if @introduced == @native.writer

          @introduced = @native.writer
          @peers&.identify(@cluster, @introduced)
        end

        # @return [String, nil] why the database accepts nothing at the moment
        def trouble = @native.trouble

        # @return [Boolean] whether the database has had no room for a write since the last call
        def full? = @native.take_was_full

        # @return [Array<String>] what has happened since the last call
        def notes
          introduce if @introduced
          [*@native.take_notes, *look_at_members]
        end

        # Hands everything over, once. Does nothing in a fork of the process.
        def leave
          @native.leave if @process_id == Process.pid
        end

        # @param config [Elah::Config]
        # @return [String] the folder of the sockets of this machine's processes
        def self.folder(config) = File.join(RunDir.base(config.run_dir), "cluster")

        private

        def role_in(event_loop)
          return :idle unless event_loop

          event_loop.server? ? :server : :script
        end

        def rest
          @native.join("", :idle) unless @event_loop.server?
          @event_loop = nil
        end

        # What to change in the options of the machines, when members have changed.
        def look_at_members
          return if @seen == @native.version || !@peers

          @seen = @native.version
          living = @native.members.each_value.reject { |member| member[:fenced] }
          [*(note_namesake(living) if @peers.address), *note_unlisted(living)]
        end

        # Calls to processes of the same machine go to their Unix sockets, and those of another machine are not there. A process that does not listen
        # has no address, a script for example.
        def note_namesake(living)
          hosts = [host_of(@peers.address), nil]
          other = living.find { |member| member[:node] == @node && !hosts.include?(host_of(member[:address])) } or return
          "Another machine (#{other[:address]}) has the name #{@node} too: give one of them another cluster_node."
        end

        # Logged once for each machine.
        def note_unlisted(living)
          owners = living.select { |member| member[:node] != @node && member[:shards].positive? && member[:address].empty? }
          nodes = owners.map { |member| member[:node] }.uniq - (@unlisted ||= [])
          @unlisted.concat(nodes)
          "Processes of #{nodes.join(', ')} own shards, and other machines cannot call them: set cluster_listen there." if nodes.any?
        end

        def host_of(address) = address[/@(.+):/, 1]

        def own(config, shards, socket)
          { node: config.cluster_node || Etc.uname[:nodename], socket: socket, shards: shards, version: VERSION,
            lease_seconds: config.lease_seconds.to_f, hang_seconds: config.hang_seconds.to_f, handover_seconds: config.handover_seconds.to_f }
        end
      end
    end
  end
end
