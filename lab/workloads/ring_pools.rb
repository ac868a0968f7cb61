# frozen_string_literal: true

require "json"

module Lab
  module Workloads
    # Telephone numbers, 20,000 in 100 pools, and bulk requests that ask any 40 of the pools for a number each. A hold is so short that a server which
    # gives 100,000 numbers a second has half of them left.
    class RingPools
      POOLS = 100
      NUMBERS = 200
      FIRST_NUMBER = 12_002_000_000
      LIFETIME_SECONDS = 0.1
      ROWS = 40
      REQUESTS = 500
      SECONDS_MAX = 120

      # @return [String] path of the file, which {#load} writes: the server makes ids and keys
      attr_reader :paths_file

      def initialize(folder)
        @paths_file = File.join(FileUtils.mkdir_p(folder).first, "ring_pools.paths")
      end

      # @param server [ServerProcess]
      # @raise [Lab::Error] when the server does not take them
      def load(server)
        pools = Net::HTTP.start("127.0.0.1", server.port, read_timeout: SECONDS_MAX) { |http| Array.new(POOLS) { |pool| create(http, pool) } }
        random = Random.new(1)
        File.write(paths_file, Array.new(REQUESTS) { "POST\t/api/2013-07-01/bulk.json\t#{bulk(pools, random)}\n" }.join)
      end

      private

      # @return [Array(Integer, String)] id and key
      def create(http, pool)
        numbers = Array.new(NUMBERS) { |index| "+#{FIRST_NUMBER + (pool * NUMBERS) + index}" }
        fields = { numbers: numbers, lifetime_seconds: LIFETIME_SECONDS, overflow_number: "+18885550000", tracking_url: "https://example.com/c" }
        answer = http.post("/pools", JSON.generate(fields), "content-type" => "application/json")
        raise Error, "a pool was refused with #{answer.code}: #{answer.body.to_s[0, 300]}" unless answer.code == "201"

        JSON.parse(answer.body).values_at("id", "api_key")
      end

      def bulk(pools, random)
        rows = Array.new(ROWS) do
          id, key = pools.sample(random: random)
          { api_suffix: "#{id}/allocate_number.json?ring_pool_key=#{key}&m1=autos&m2=ford", request_id: format("%06X", random.rand(16**6)) }
        end
        JSON.generate({ requests: rows })
      end
    end
  end
end
