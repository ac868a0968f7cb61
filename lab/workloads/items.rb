# frozen_string_literal: true

require "json"

module Lab
  module Workloads
    # 1,000 items, created one by one over HTTP, as the contract has it: the same seeded texts for every contender.
    class Items
      COUNT = 1_000
      CONNECTIONS = 4
      WORDS = %w[amber basin copper delta ember fjord garnet harbour indigo juniper kelp lagoon meadow nickel orchid prairie].freeze
      DESCRIPTION_WORDS = 20

      # The path is the workload's.
      def paths_file = nil

      # @param server [ServerProcess]
      # @raise [Lab::Error] when the server does not take them
      def load(server)
        bodies = Queue.new
        texts.each { |text| bodies << text }
        bodies.close
        Array.new(CONNECTIONS) { Thread.new { create(server, bodies) }.tap { |thread| thread.report_on_exception = false } }.each(&:value)
      end

      private

      def texts
        random = Random.new(1)
        Array.new(COUNT) do |index|
          JSON.generate({ name: "#{WORDS.sample(2, random: random).join(' ')} #{index}",
                          description: Array.new(DESCRIPTION_WORDS) { WORDS.sample(random: random) }.join(" ") })
        end
      end

      def create(server, bodies)
        Net::HTTP.start("127.0.0.1", server.port) do |http|
          while (body = bodies.pop)
            answer = http.post("/items", body, "content-type" => "application/json")
            raise Error, "an item was refused with #{answer.code}: #{answer.body.to_s[0, 300]}" unless answer.code == "201"
          end
        end
      end
    end
  end
end
