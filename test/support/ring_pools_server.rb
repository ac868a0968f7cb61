# frozen_string_literal: true

require_relative "app_server"

# Owns a real allocator of a test: apps/ring_pools.
class RingPoolsServer < AppServer
  APP = File.expand_path("../../apps/ring_pools/app.rb", __dir__)

  # @return [Hash] the pool that was created
  # @raise [RuntimeError] when it was refused
  def create(numbers, **fields)
    answer = post("/pools", { numbers: numbers, overflow_number: "+18885550000", **fields })
    answer.status == 201 ? answer.json : raise("#{answer.status} #{answer.body}")
  end

  # Asks for a number for each of the pools, in one bulk request.
  #
  # @param pools [Array<Hash>] as {#create} answers them
  # @param parameters [String]
  # @return [Array<Hash>] rows
  def bulk(pools, parameters: "a=1")
    rows = pools.map do |pool|
      { api_suffix: "#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}&#{parameters}" }
    end
    post("/api/2013-07-01/bulk.json", { requests: rows }).json.fetch("responses")
  end
end
