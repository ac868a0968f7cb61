# frozen_string_literal: true

# The gem mongo on the server of a URL, which this version of it cannot read on Ruby 3.
require "mongo"
require "uri"

Mongo::Logger.logger.level = Logger::WARN

module MongoClient
  # @param url [String] mongodb://HOST:PORT/DATABASE
  # @param threads [Integer] that will use it, each with a connection of its own
  # @return [Mongo::Client]
  def self.open(url, threads)
    server = URI(url)
    Mongo::Client.new(["#{server.host}:#{server.port}"], database: server.path.delete_prefix("/"), connect: :direct, max_pool_size: threads)
  end
end
