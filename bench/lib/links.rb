# frozen_string_literal: true

require "fileutils"
require "json"
require "net/http"

module Bench
  # The 10,000 redirects that the link workload asks for, in the form that each side needs.
  class Links
    COUNT = 10_000

    attr_reader :table_file, :paths_file, :import_file

    # @param directory [String] where the files are written
    def initialize(directory)
      @table_file = File.join(directory, "links.tsv")
      @paths_file = File.join(directory, "paths.txt")
      @import_file = File.join(directory, "links.ndjson")
      write
    end

    # @return [String] the path of one of them
    def first_path
      "/#{code(0)}"
    end

    # Creates all of them in the shortener.
    # @param server [Server] a running apps/links
    # @raise [RuntimeError] when it refuses
    def import(server)
      request = Net::HTTP::Post.new("/links/import", "content-type" => "application/x-ndjson")
      request.body = File.read(import_file)
      answer = Net::HTTP.start("127.0.0.1", server.port) { |http| http.request(request) }
      raise "the import was refused with #{answer.code}: #{answer.body}" unless answer.is_a?(Net::HTTPSuccess)
    end

    private

    def write
      indexes = (0...COUNT).to_a
      File.write(table_file, indexes.map { |index| "#{code(index)}\t#{target(index)}\n" }.join)
      File.write(paths_file, indexes.map { |index| "/#{code(index)}\n" }.join)
      File.write(import_file, indexes.map { |index| "#{JSON.generate(code: code(index), target: target(index))}\n" }.join)
    end

    # Seven characters, each once: 7919 and 36**6 have no common factor.
    def code(index)
      "b#{((index * 7919) % (36**6)).to_s(36).rjust(6, "0")}"
    end

    def target(index)
      "https://example.com/articles/#{index}?from=#{code(index)}"
    end
  end
end
