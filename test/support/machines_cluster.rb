# frozen_string_literal: true

require_relative "app_cluster"
require_relative "bank_clients"
require_relative "cluster_certificates"
require_relative "machines"

# A cluster on machines with a network between them and mutual TLS.
class MachinesCluster < AppCluster
  # @return [Machines]
  attr_reader :machines

  # @return [String, nil] why this system cannot have one
  def self.obstacle = Machines.obstacle || History.obstacle

  # @param count [Integer] number of machines, each with a server
  # @param more [Integer] number of machines without one
  # @param under [Hash{Integer=>Array<String>}] commands that run the servers of these machines
  # @param options [Hash] see {AppCluster.start}
  # @yieldparam cluster [MachinesCluster]
  def self.start(count, more: 0, under: {}, database: {}, **options)
    Dir.mktmpdir("elah-machines") do |folder|
      Machines.start(count + more) do |machines|
        host = machines.address(Machines::HOST)
        # Whoever kills the database does not want to lose what it has confirmed.
        settings = { "listen_addresses" => "127.0.0.1,#{host}", "synchronous_commit" => "on" }
        database = { settings: settings, **database }
        super(servers: 0, host: host, database: database, **options) do |cluster|
          cluster.join(machines, ClusterCertificates.new(folder), under)
          (1..count).each { |number| cluster.boot(number) }
          cluster.wait_until_spread(count)
          yield cluster
        end
      end
    end
  end

  # @api private
  def join(machines, certificates, under)
    @machines = machines
    @certificates = certificates
    @under = under
    admit(machines.network)
  end

  # Starts the server of a machine, with an empty disk, in the place of one that has ended.
  #
  # @param number [Integer] of the machine, from 1
  # @return [ElahServer]
  def boot(number, **options)
    address = machines.address(number)
    files = @certificates.issue("node#{number}").map { |name, path| "#{name}=#{path}" }.join(",")
    server = add(cluster_node: "node#{number}", cluster_listen: "#{address}:9400-9463", bind: "tcp://#{address}:0",
                 cluster_tls: files, under: [*machines.on(number), *@under[number]], **options)
    return server if servers.size <= number && servers[number - 1].equal?(server)

    servers.pop
    servers[number - 1] = server
  end

  # Waits until only so many processes are alive, and own all shards.
  def wait_until_left(count)
    wait_until("#{count} processes own all shards") { shards.size == count && shards.sum == OPTIONS[:shards] }
  end

  # @return [Array<String>] addresses of all machines but one
  def peers_of(number) = (1..servers.size).reject { |other| other == number }.map { |other| machines.address(other) }

  # @return [Array<String>] the address of the database
  def database_address = [machines.address(Machines::HOST)]
end
