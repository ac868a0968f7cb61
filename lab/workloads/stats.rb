# frozen_string_literal: true

require "json"

module Lab
  module Workloads
    # Events as a page sends them: objects in JSON, of a few paths and visitors.
    class Stats
      EVENTS = 10_000
      PATHS = %w[/ /pricing /docs /blog /about].freeze

      # @return [String] path of the file
      attr_reader :paths_file

      def initialize(folder)
        @paths_file = File.join(FileUtils.mkdir_p(folder).first, "stats.posts")
        random = Random.new(1)
        File.write(paths_file, Array.new(EVENTS) { "POST\t/stats\t#{JSON.generate(event(random))}\n" }.join)
      end

      # There is nothing to begin with.
      def load(_server) = nil

      private

      def event(random)
        { event: "page_view", path: PATHS.sample(random: random), campaign: "autumn", screen: "1920x1080", milliseconds: random.rand(10_000) }
      end
    end
  end
end
