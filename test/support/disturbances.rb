# frozen_string_literal: true

# What happens to a machine of a cluster under load. Each method ends it again.
class Disturbances
  # Machines lose their shards, or keep them while they are cut off from each other.
  ALL = %i[killed stopped cut_off database_silent database_deaf peers_silent peers_deaf peers_gone restarted
           database_restarted].freeze

  # @param cluster [MachinesCluster]
  # @param clients [ClusterClients]
  def initialize(cluster, clients)
    @cluster = cluster
    @clients = clients
  end

  # @param name [Symbol] of {ALL}
  # @param number [Integer] of the machine, from 1
  def play(name, number)
    send(name, number)
    @clients.wait_until_served(5)
  rescue Minitest::Assertion => e
    raise e.class, "#{name} (machine #{number}): #{e.message}"
  end

  private

  def others(number) = [0, 1, 2] - [number - 1]

  # The others take over.
  def wait_until_replaced(number)
    @cluster.wait_until_left(2)
    @clients.wait_until_served(5, places: others(number))
  end

  def killed(number)
    @cluster.servers[number - 1].kill
    wait_until_replaced(number)
    @cluster.boot(number)
  end

  def stopped(number)
    server = @cluster.servers[number - 1]
    server.signal(:STOP)
    wait_until_replaced(number)
  ensure
    server.signal(:CONT)
  end

  def cut_off(number)
    @cluster.machines.cut(number)
    wait_until_replaced(number)
  ensure
    @cluster.machines.join(number)
  end

  def database_silent(number) = while_dropping(number, from: @cluster.database_address) { wait_until_replaced(number) }
  def database_deaf(number) = while_dropping(number, to: @cluster.database_address) { wait_until_replaced(number) }
  def peers_silent(number) = while_dropping(number, from: @cluster.peers_of(number)) { serve_others(number) }
  def peers_deaf(number) = while_dropping(number, to: @cluster.peers_of(number)) { serve_others(number) }

  def peers_gone(number)
    peers = @cluster.peers_of(number)
    while_dropping(number, from: peers, to: peers) { serve_others(number) }
  end

  def serve_others(number) = @clients.wait_until_served(2, places: others(number))

  def while_dropping(number, **drops)
    @cluster.machines.drop(number, **drops)
    yield
  ensure
    @cluster.machines.heal(number)
  end

  def restarted(number)
    server = @cluster.servers[number - 1]
    server.signal(:TERM)
    server.wait_until_ended
    @cluster.boot(number)
  end

  def database_restarted(_number)
    @cluster.database.kill
    @cluster.database.start
  end
end
