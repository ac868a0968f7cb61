# frozen_string_literal: true

require "json"
require "net/http"
require "securerandom"
require "uri"
require_relative "client/members"
require_relative "client/statistics"

module Leaderboards
  # A client of one leaderboard, for Ruby programs, with the method names of the gem "leaderboard", so that its users can move:
  # `Leaderboard.new(name)` becomes `Leaderboards::Client.new(name, url: ...)`. It needs nothing but Ruby. One client is for one thread at a time.
  #
  # What differs: scores are Integers, or texts with all their digits where the board has decimals; equal scores are ranked by who was first, and in
  # the styles that `ranks:` names; a percentile counts the members that are not better; the `_in` methods take another leaderboard's name, as
  # there; a season takes the place of `expire_leaderboard`.
  #
  # @example
  #   board = Leaderboards::Client.new("highscores", url: "http://127.0.0.1:9305")
  #   board.rank_member("ann", 120)
  #   board.change_score_for("ann", 5)
  #   board.leaders(1)                    # => [{member: "ann", score: 125, rank: 1}]
  class Client
    include Members
    include Statistics

    # The server said no; `code` is stable, for programs.
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

    # The server could not be reached, or did not answer in time.
    class Unreachable < StandardError; end

    PAGE_SIZE = 25
    SECONDS = 10
    # How often an increment is sent whose answer did not come; it counts once.
    ATTEMPTS = 5
    BROKEN = [SystemCallError, IOError, Timeout::Error, SocketError, Net::ProtocolError].freeze

    # @return [String]
    attr_reader :leaderboard_name
    # @return [Integer]
    attr_accessor :page_size

    # @param leaderboard_name [String] of a board of the game, which is made if there is none
    # @param url [String] where the app is
    # @param game [Integer] its number; it has to be there
    # @param page_size [Integer]
    # @param ranks [Symbol] :ordinal, :dense, :competition, :modified or :fractional
    # @param reverse [Boolean] whether the smaller score ranks first, for a board that is made
    # @param api_key [String, nil]
    # @param seconds [Numeric] for connecting, and for each answer
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

    # Ends the connection; the next call opens another.
    def disconnect
      @http&.finish if @http&.started?
      @http = nil
    end

    # Ends the leaderboard, with all that it has.
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

    # Boards are listed ten on a page.
    def find(name)
      page = 0
      until (boards = call("GET", "/games/#{@game}/leaderboards?page=#{page += 1}")).empty?
        found = boards.find { |board| board["name"] == name }
        return found["id"] if found
      end
    end

    def make(name) = call("POST", "/games/#{@game}/leaderboards", { name: name, operator: "set", order: @reverse ? "asc" : "desc" }).fetch("id")

    # @return [Object, nil] the answer's JSON; nil for what is not there
    def look(*arguments)
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
      raise Unreachable, "#{@uri} did not answer #{verb} #{path}: #{e.message}"
    end

    def read(answer)
      json = answer.body.to_s.empty? ? nil : JSON.parse(answer.body)
      return json if answer.is_a?(Net::HTTPSuccess)

      raise Error.new(json.is_a?(Hash) && json["detail"] || answer.message, answer.code.to_i, json.is_a?(Hash) ? json["code"] : nil)
    rescue JSON::ParserError
      raise Error.new("The answer is no JSON: #{answer.body[0, 64]}", answer.code.to_i, nil)
    end

    def http
      @http ||= Net::HTTP.start(@uri.host, @uri.port, use_ssl: @uri.scheme == "https", open_timeout: @seconds, read_timeout: @seconds, max_retries: 0)
    end
  end
end
