# frozen_string_literal: true

require "etc"
require "fileutils"
require_relative "../../server/placement/clustered"
require_relative "../../server/run_dir"

module Elah
  class Store
    class Cluster
      # This process in the cluster: it joins when its entities are used first, or when its worker boots, and leaves when it ends. A fork is a
      # process of its own.
      # @api private
      class Membership
        # Limits of the connections of the writer and the reader.
        BOUNDS = { connections_max: 1, waiters_max: 0, statements_max: 64, pool_seconds: 5.0, connect_seconds: 5.0, query_seconds: 30.0,
                   idle_seconds: 300.0 }.freeze

        # @return [Elah::Clients::Cluster]
        attr_reader :native

        # @return [Placement::Clustered]
        attr_reader :placement

        # @return [Integer] the process that it was made in
        attr_reader :process_id

        # @param url [String] of the database
        # @param shards [Integer] number of shards of the cluster
        # @param config [Elah::Config]
        def initialize(url, shards, config)
          @process_id = Process.pid
          socket = File.join(Membership.folder(config), "#{@process_id}.sock")
          @native = Clients::Cluster.open(url, BOUNDS, own(config, shards, socket))
          @placement = Placement::Clustered.new(@native, shards: shards, socket: socket)
        end

        # Takes part from now on.
        #
        # @param event_loop [Elah::EventLoop, nil] in which shards are handed over in order
        # @return [Placement::Clustered]
        def join(event_loop)
          @native.join
          @placement.serve_releases(event_loop) if event_loop
          @placement
        end

        # @return [String, nil] why the database accepts nothing at the moment
        def trouble = @native.trouble

        # @return [Array<String>] what has happened since the last call
        def notes = @native.take_notes

        # Hands everything over, once. Does nothing in a fork of the process.
        def leave
          @native.leave if @process_id == Process.pid
        end

        # @param config [Elah::Config]
        # @return [String] the folder of the sockets of this machine's processes
        def self.folder(config) = File.join(RunDir.base(config.run_dir), "cluster")

        private

        def own(config, shards, socket)
          { node: config.cluster_node || Etc.uname[:nodename], address: "", socket: socket, shards: shards,
            lease_seconds: config.lease_seconds.to_f, handover_seconds: config.handover_seconds.to_f }
        end
      end
    end
  end
end
