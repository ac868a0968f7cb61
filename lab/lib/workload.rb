# frozen_string_literal: true

module Lab
  # What is asked of every contender: requests, the contract that makes the answers comparable, and the load. The entry is in workloads.yml.
  class Workload
    KEYS = %w[title api contract cases path data rows status connections headline rate store].freeze
    REQUIRED = %w[title contract cases status connections rate].freeze
    # A fixed rate needs no more: what waits for a connection counts as latency.
    PACE_CONNECTIONS_MAX = 256

    # @return [String]
    attr_reader :name

    # @param name [String]
    # @param entry [Hash{String=>Object}]
    # @raise [Lab::Error]
    def initialize(name, entry)
      @name = name
      @entry = entry
      check
    end

    def title = @entry.fetch("title")

    # @return [String] what is asked, whatever it is stored in: contenders know their settings by it
    def api = @entry.fetch("api", name)

    # @return [String] path of the contract
    def contract = @entry.fetch("contract")

    # @return [Array<String>] names of the cases that must pass before anything is measured
    def cases = @entry.fetch("cases")

    # @return [String, nil] what is asked for; nil when {#data} has a list of paths
    def path = @entry["path"]

    # @return [Integer, nil] how many rows each contender's own loader puts into its store before it starts; see LoadedStores
    def rows = @entry["rows"]

    # @return [Integer] status that counts as an answer
    def status = @entry.fetch("status")

    # @return [Array<Integer>] numbers of connections at which it is saturated
    def connections = @entry.fetch("connections")

    # @return [Integer] the one of them that the summary shows
    def headline = @entry.fetch("headline", connections.last)

    # @return [Integer] connections of the runs at a fixed rate
    def pace_connections = [headline, PACE_CONNECTIONS_MAX].min

    # @return [Integer] requests per second that every contender should manage: where latencies are compared
    def rate = @entry.fetch("rate")

    # @return [String, nil] the kind of database server that all contenders use
    def store = @entry["store"]

    # What is put into a server before it is asked.
    # @return [Object, nil] see Workloads
    def data = @entry["data"] && (@data ||= Workloads.for(@entry["data"]))

    private

    def check
      unknown = @entry.keys - KEYS
      raise Error, "workloads.yml: #{name} has the unknown key #{unknown.first}; the keys are #{KEYS.join(', ')}." if unknown.any?

      missing = REQUIRED - @entry.keys
      raise Error, "workloads.yml: #{name} lacks #{missing.join(', ')}." if missing.any?
      raise Error, "workloads.yml: #{name} needs either path or data." unless path || @entry["data"]
      return if connections.include?(headline)

      raise Error, "workloads.yml: the headline of #{name} is #{headline}, which is none of its connections."
    end
  end
end
