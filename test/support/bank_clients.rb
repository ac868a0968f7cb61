# frozen_string_literal: true

require_relative "bank_cluster"
require_relative "cluster_clients"

# Clients of a cluster's bank, which make deposits and read balances.
class BankClients < ClusterClients
  APP = BankCluster::APP
  SETTINGS = {}.freeze
  KEYS = Array.new(16) { |number| "account#{number}" }.freeze
  # The share of reads.
  READS = 0.3

  def initialize(...)
    @history = History.new(:account)
    super
  end

  # Reads all accounts at all servers, as a part of the history.
  #
  # @return [Hash{String=>Integer}]
  def read_all
    @cluster.servers.each_index.map do |place|
      KEYS.to_h do |key|
        [key, until_known("server #{place} returns #{key}") { call(@count + place, place, key, nil) }[:balance]]
      end
    end.last
  end

  private

  def step(client, place, random)
    amount = random.rand < READS ? nil : @history.new_number
    [call(client, place, KEYS.sample(random: random), amount), !amount.nil?]
  end

  def call(client, place, key, amount)
    return @history.record(client, key, :read) { balance(request(place, "GET", "/#{key}")) } unless amount

    @history.record(client, key, :deposit, amount: amount) { balance(request(place, "POST", "/#{key}/#{amount}")) }
  end

  def balance(result) = result.is_a?(Hash) ? result.transform_keys(&:to_sym).slice(:balance, :writer) : result
end
