# frozen_string_literal: true

require_relative "../../bench/lib/links"

module Lab
  module Workloads
    # Owns the data of the workload links: 10,000 of them, imported in one request, and asked for at random.
    class Links
      SECONDS_MAX = 120

      def initialize(folder)
        @links = Bench::Links.new(FileUtils.mkdir_p(folder).first)
      end

      # @return [String] path of the file
      def paths_file = @links.paths_file

      # @param server [ServerProcess]
      # @raise [Lab::Error] when the server does not take them
      def load(server)
        request = Net::HTTP::Post.new("/links/import", "content-type" => "application/x-ndjson")
        request.body = File.read(@links.import_file)
        answer = Net::HTTP.start("127.0.0.1", server.port, read_timeout: SECONDS_MAX) { |http| http.request(request) }
        raise Error, "the import was refused with #{answer.code}: #{answer.body.to_s[0, 300]}" unless answer.is_a?(Net::HTTPSuccess)
      end
    end
  end
end
