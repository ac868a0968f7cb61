# frozen_string_literal: true

require "etc"
require_relative "../../native"

module Elah
  class PeerLinks
    # A TCP port for calls of other machines. A worker takes it first, because its address is published before the worker has its number.
    class Port
      class << self
        # Takes the first free port of `cluster_listen`. The worker accepts nothing before {PeerLinks.open} and {PeerLinks#identify}.
        #
        # @param config [Elah::Config]
        # @return [Port, nil] nil without `cluster_listen`
        # @raise [Elah::ListenError, PortsInUse]
        def bind(config) = settings(config)&.then { |settings| bind_native(settings) }

        # Takes a port that nobody is told, to call other machines from a process that they do not call.
        #
        # @param config [Elah::Config] with the name and the certificate of this machine
        # @return [Port]
        # @raise [Elah::ListenError]
        def for_calls(config) = bind_native(host: "127.0.0.1", first_port: 0, last_port: 0, **identity(config))

        # Checks the options of the cluster and the files of the certificate without listening.
        #
        # @param config [Elah::Config]
        # @raise [Elah::OptionError, Elah::ListenError]
        def check(config)
          settings = settings(config) and return check_native(settings)

          raise OptionError, "cluster_tls has no effect without cluster_listen." if config.cluster_tls
        end

        private

        def settings(config)
          listen = config.cluster_listen or return
          { host: listen.host, first_port: listen.ports.begin, last_port: listen.ports.end, **identity(config) }
        end

        def identity(config) = { node: config.cluster_node || Etc.uname[:nodename], tls: config.cluster_tls&.to_a }
      end

      # @!method address
      #   @return [String] where other machines can call this worker, such as `tls://node1@10.0.0.11:9400`
    end
  end
end
