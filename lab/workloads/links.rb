# frozen_string_literal: true

require_relative "../../bench/lib/links"

module Lab
  module Workloads
    # Owns the data of the workloads of links: 10,000 of them, imported in one request, and asked for at random; or new ones, one per request.
    class Links
      SECONDS_MAX = 120
      NEW = 10_000

      # @return [String] path of the file
      attr_reader :paths_file

      # @param writes [Boolean] whether links are created rather than visited
      def initialize(folder, writes: false)
        @links = Bench::Links.new(FileUtils.mkdir_p(folder).first)
        @paths_file = writes ? write(File.join(folder, "links.posts")) : @links.paths_file
      end

      # @param server [ServerProcess]
      # @raise [Lab::Error] when the server does not take them
      def load(server)
        request = Net::HTTP::Post.new("/links/import", "content-type" => "application/x-ndjson")
        request.body = File.read(@links.import_file)
        answer = Net::HTTP.start("127.0.0.1", server.port, read_timeout: SECONDS_MAX) { |http| http.request(request) }
        raise Error, "the import was refused with #{answer.code}: #{answer.body.to_s[0, 300]}" unless answer.is_a?(Net::HTTPSuccess)
      end

      private

      def write(file)
        File.write(file, Array.new(NEW) { |index| "POST\t/links\t#{JSON.generate({ target: "https://example.com/news/#{index}" })}\n" }.join)
        file
      end
    end
  end
end
