# frozen_string_literal: true

require "json"

module Lab
  module Workloads
    # A board of 10,000 members, imported in one request, and its reads: of ten, seven ask for a member's rank, two for the first ten, one for a
    # member's neighbours. Or its writes: a member's new score, about half of which are better than the old one at first, and ever fewer later.
    class Leaderboards
      MEMBERS = 10_000
      SCORE_MAX = 1_000_000_000
      PATHS = 10_000
      SECONDS_MAX = 120

      # @return [String] path of the file, which {#load} writes: the server numbers its boards
      attr_reader :paths_file

      # @param writes [Boolean] whether scores are submitted rather than ranks read
      def initialize(folder, writes: false)
        @writes = writes
        @paths_file = File.join(FileUtils.mkdir_p(folder).first, "leaderboards.#{writes ? 'puts' : 'paths'}")
      end

      # @param server [ServerProcess]
      # @raise [Lab::Error] when the server does not take them
      def load(server)
        Net::HTTP.start("127.0.0.1", server.port, read_timeout: SECONDS_MAX) do |http|
          game = create(http, "/games", "Chess")
          board = create(http, "/games/#{game}/leaderboards", "Blitz")
          done = post(http, "/leaderboards/#{board}/import", lines, "application/x-ndjson")
          raise Error, "only #{done['imported']} of #{MEMBERS} members were imported" unless done["imported"] == MEMBERS

          File.write(paths_file, @writes ? submissions(board) : paths(board))
        end
      end

      private

      def lines
        random = Random.new(1)
        Array.new(MEMBERS) { |index| "#{JSON.generate({ member: "m#{index}", score: random.rand(SCORE_MAX) })}\n" }.join
      end

      def paths(board)
        random = Random.new(2)
        Array.new(PATHS) do |index|
          member = "members/m#{random.rand(MEMBERS)}"
          "/leaderboards/#{board}/#{{ 7 => 'top', 8 => 'top', 9 => "#{member}/around" }.fetch(index % 10, member)}\n"
        end.join
      end

      def submissions(board)
        random = Random.new(2)
        Array.new(PATHS) do
          "PUT\t/leaderboards/#{board}/members/m#{random.rand(MEMBERS)}\t#{JSON.generate({ score: random.rand(SCORE_MAX) })}\n"
        end.join
      end

      # @return [Integer] id
      def create(http, path, name) = post(http, path, JSON.generate({ name: name }), "application/json").fetch("id")

      def post(http, path, body, type)
        answer = http.post(path, body, "content-type" => type)
        raise Error, "#{path} was refused with #{answer.code}: #{answer.body.to_s[0, 300]}" unless answer.is_a?(Net::HTTPSuccess)

        JSON.parse(answer.body)
      end
    end
  end
end
