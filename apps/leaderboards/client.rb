# frozen_string_literal: true

require "json"
require "net/http"
require "securerandom"
require "uri"
require_relative "client/members"
require_relative "client/statistics"

module Leaderboards
  # A client of one leaderboard, for Ruby programs, with the method names of the gem "leaderboard", so that its users can migrate:
  # `Leaderboard.new(name)` becomes `Leaderboards::Client.new(name, url: ...)`. It needs only Ruby. A client serves one thread at
  # a time.
  #
  # Differences: scores are Integers, or Strings with all their digits if the board has decimals. Equal scores are ranked by who
  # was first, in the styles of `ranks:`. A percentile counts the members that are not better. The `_in` methods accept another
  # leaderboard's name, as in the gem. A season replaces `expire_leaderboard`.
  #
  # @example
  #   board = Leaderboards::Client.new("highscores", url: "http://127.0.0.1:9305")
  #   board.rank_member("ann", 120)
  #   board.change_score_for("ann", 5)
  #   board.leaders(1)                    # => [{member: "ann", score: 125, rank: 1}]
  class Client
    include Members
    include Statistics

    # A refusal by the server; `code` is stable, for programs.
    class Error < StandardError
      # @return [Integer]
      attr_reader :status
      # @return [String, nil]
      attr_reader :code

      def initialize(message, status, code)
        super(message)
        @status = status
        @code = code
      end
    end

    # The server could not be reached, or did not respond in time.
    class Unreachable < StandardError; end

    PAGE_SIZE = 25
    SECONDS = 10
    # How often an increment without a response is sent; it counts once anyway.
    ATTEMPTS = 5
    BROKEN = [SystemCallError, IOError, Timeout::Error, SocketError, Net::ProtocolError].freeze

    # @return [String]
    attr_reader :leaderboard_name
    # @return [Integer]
    attr_accessor :page_size

    # @param leaderboard_name [String] of a board of the game; it is created if it does not exist
    # @param url [String] of the app
    # @param game [Integer] the ID of an existing game
    # @param page_size [Integer]
    # @param ranks [Symbol] :ordinal, :dense, :competition, :modified or :fractional
    # @param reverse [Boolean] whether the smaller score ranks first, if the board is created
    # @param api_key [String, nil]
    # @param seconds [Numeric] for connecting, and for each response
    def initialize(leaderboard_name, url:, game: 1, page_size: PAGE_SIZE, ranks: :ordinal, reverse: false, api_key: nil, seconds: SECONDS)
      @leaderboard_name = leaderboard_name
      @uri = URI(url)
      @game = game
      @page_size = page_size
      @ranks = ranks
      @reverse = reverse
      @api_key = api_key
      @seconds = seconds
      @boards = {}
      @http = nil
    end

    # Closes the connection; the next call opens another.
    def disconnect
      @http&.finish if @http&.started?
      @http = nil
    end

    # Deletes the leaderboard with all its data.
    def delete_leaderboard = delete_leaderboard_named(@leaderboard_name)

    # @param name [String]
    def delete_leaderboard_named(name)
      call("DELETE", path(name))
      @boards.delete(name)
      nil
    end

    private

    def path(name, *more) = ["/leaderboards/#{id_of(name)}", *more.map { |part| URI.encode_www_form_component(part).gsub("+", "%20") }].join("/")

    def id_of(name) = @boards[name] ||= find(name) || make(name)

    # Boards are listed in pages of ten.
    def find(name)
      page = 0
      until (boards = call("GET", "/games/#{@game}/leaderboards?page=#{page += 1}")).empty?
        found = boards.find { |board| board["name"] == name }
        return found["id"] if found
      end
    end

    def make(name) = call("POST", "/games/#{@game}/leaderboards", { name: name, operator: "set", order: @reverse ? "asc" : "desc" }).fetch("id")

    # @return [Object, nil] the response's JSON; nil if it does not exist
    def call_or_nil(*arguments)
      call(*arguments)
    rescue Error => e
      e.code == "member_not_found" ? nil : raise
    end

    def call(verb, path, body = nil, headers = {})
      request = Net::HTTP.const_get(verb.capitalize).new(path, { "accept" => "application/json", **headers })
      request["authorization"] = "Bearer #{@api_key}" if @api_key
      if body
        request["content-type"] = "application/json"
        request.body = JSON.generate(body)
      end
      read(http.request(request))
    rescue *BROKEN => e
      @http = nil
      raise Unreachable, "#{@uri} did not respond to #{verb} #{path}: #{e.message}"
    end

    def read(response)
      json = response.body.to_s.empty? ? nil : JSON.parse(response.body)
      return json if response.is_a?(Net::HTTPSuccess)

      raise Error.new(json.is_a?(Hash) && json["detail"] || response.message, response.code.to_i, json.is_a?(Hash) ? json["code"] : nil)
    rescue JSON::ParserError
      raise Error.new("The response is not JSON: #{response.body[0, 64]}", response.code.to_i, nil)
    end

    def http
      @http ||= Net::HTTP.start(@uri.host, @uri.port, use_ssl: @uri.scheme == "https", open_timeout: @seconds, read_timeout: @seconds, max_retries: 0)
    end
  end
end
