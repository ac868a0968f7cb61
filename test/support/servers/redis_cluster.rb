# frozen_string_literal: true

require "open3"

module Servers
  # Owns a Redis Cluster on one machine: every node is a {Redis} of its own.
  class RedisCluster
    FORM_SECONDS = 60

    # A node of a cluster: its bus has a port beside the one that clients use.
    class Node < Redis
      private

      def arguments
        super.merge("cluster-enabled" => "yes", "cluster-port" => free_port, "cluster-config-file" => "nodes.conf",
                    "cluster-node-timeout" => 2000, "cluster-require-full-coverage" => "no")
      end
    end

    # @return [Array<Redis>]
    attr_reader :nodes

    # Starts the nodes and waits until every one of them knows that the cluster is whole. With a block they are removed
    # after it.
    #
    # @param masters [Integer] 3 at least
    # @param replicas [Integer] of each master
    # @param options [Hash] `password:` and `tls:` of {Server.start}
    def self.start(masters: 3, replicas: 0, **options)
      cluster = new(masters, replicas, options)
      return cluster unless block_given?

      begin
        yield cluster
      ensure
        cluster.remove
      end
    end

    def initialize(masters, replicas, options)
      @nodes = []
      @options = options
      options = options.merge(settings: shared_certificate) if options[:tls]
      (masters * (1 + replicas)).times { @nodes << Node.start(**options) }
      command_line("--cluster", "create", *nodes.map(&:address), "--cluster-replicas", replicas.to_s, "--cluster-yes")
      await_agreement(masters * replicas)
    rescue StandardError
      remove
      raise
    end

    # @return [Array<String>]
    def urls = nodes.map(&:url)

    # @return [String] of the first node, which knows the others
    def url = urls.first

    # @return [String] path of the certificate that clients trust
    def ca_file = @certificate.authority_path

    def remove
      nodes.each(&:remove)
      FileUtils.rm_rf(@folder) if @folder
    end

    private

    # All nodes have one certificate. Only nodes that speak TLS to each other tell clients the ports for it.
    def shared_certificate
      @certificate = Certificate.issue(@folder = Dir.mktmpdir("elah-cluster"))
      { "tls-cert-file" => @certificate.path, "tls-key-file" => @certificate.key_path, "tls-ca-cert-file" => ca_file,
        "tls-cluster" => "yes" }
    end

    def credentials
      password = @options[:password]
      [*(["-a", password, "--no-auth-warning"] if password), *(%w[--tls --insecure] if @options[:tls])]
    end

    def await_agreement(replica_count)
      give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + FORM_SECONDS
      until nodes.all? { |node| whole?(node, replica_count) }
        is_late = Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
        raise Failure, "The cluster did not form within #{FORM_SECONDS} s." if is_late
      end
    end

    def whole?(node, replica_count)
      known = command_line("-p", node.port.to_s, "cluster", "nodes").lines
      command_line("-p", node.port.to_s, "cluster", "info").include?("cluster_state:ok") &&
        known.size == nodes.size && known.grep(/slave/).size == replica_count
    end

    def command_line(*arguments)
      out, status = Open3.capture2e("redis-cli", *credentials, *arguments)
      status.success? ? out : raise(Failure, "redis-cli #{arguments.join(' ')}: #{out}")
    end
  end
end
