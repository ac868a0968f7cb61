# frozen_string_literal: true

require "fileutils"
require "net/http"

module Bench
  class Leaderboards
    # Owns the folders with a filled board, which are kept for the next run. They are filled by the app itself, by its import.
    module BoardData
      BOARD = 1
      SCORES = 1_000_000_000
      # Members of one request.
      CHUNK = 50_000
      SECONDS_MAX = 600
      # Options of a server that is filled.
      IMPORTING = ["--body-bytes-max", (64 * 1024**2).to_s, "--request-seconds", SECONDS_MAX.to_s].freeze

      module_function

      # @param number [Integer]
      # @return [String] the name of a member
      def member(number) = "player:#{number}"

      # @param members [Integer]
      # @return [String] a data folder whose board has so many
      def folder(members)
        folder = File.join(Bench.work_directory, "leaderboards-#{members}")
        done = File.join(folder, "filled")
        return folder if File.exist?(done)

        FileUtils.rm_rf(folder)
        FileUtils.mkdir_p(folder)
        server = Bench.elah(APP, "--data", folder, "--store-bytes-max", STORE_BYTES_MAX.to_s, *IMPORTING, name: "elah-leaderboards-fill")
        server.run { fill(server, members) }
        FileUtils.touch(done)
        folder
      end

      # Makes the board.
      # @param server [Server] that runs, with IMPORTING
      # @param members [Integer]
      def fill(server, members)
        Net::HTTP.start("127.0.0.1", server.port, read_timeout: SECONDS_MAX) do |http|
          post(http, "/games", "application/json", '{"name":"bench"}')
          post(http, "/games/1/leaderboards", "application/json", '{"name":"bench","operator":"set"}')
          import(http, members)
        end
      end

      def import(http, members)
        random = Random.new(2)
        members.times.each_slice(CHUNK) do |numbers|
          lines = numbers.map { |number| %({"member":"#{member(number)}","score":#{random.rand(SCORES)}}\n) }
          post(http, "/leaderboards/#{BOARD}/import", "application/x-ndjson", lines.join)
        end
      end

      def post(http, path, type, body)
        answer = http.post(path, body, "content-type" => type)
        raise "#{path} answered #{answer.code}: #{answer.body}" unless answer.is_a?(Net::HTTPSuccess)
      end
    end
  end
end
