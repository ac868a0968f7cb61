# frozen_string_literal: true

require_relative "../errors"
require_relative "../stores"

module Leaderboards
  module Endpoints
    # Helpers shared by the endpoints: authorization, and parsing of parameters.
    module Support
      include Elah::ApiKey::Authorization

      REALM = "leaderboards"
      JSON_TYPE = Elah::HeaderSet.new({ "content-type" => "application/json" })
      METADATA_BYTES_MAX = 1024
      # A member's name may contain dots.
      MEMBER = { member: %r{[^/]+} }.freeze
      ROWS_MAX = 1000
      # Rows of the original's lists.
      PAGE_SIZE = 10
      SEASONS = (1..9_999_999_999).freeze
      NUMBER = /\A-?\d{1,15}\z/

      def service = Leaderboards.service
      def directory = service.directory
      def scores = service.scores

      # Ends the request with 401 unless it has the key of the service, if one is set.
      def authorize! = service.api_key.nil? || super(service.api_key, realm: REALM)

      # @return [Definition] of the board that the path names
      def definition = directory[request.route_param("id")]

      # @return [String] the member that the path names
      def member = checked(request.route_param("member"))

      # @param member [Object]
      # @return [String] the same
      # @raise [InvalidMember]
      def checked(member)
        return member if member.is_a?(String) && !member.empty? && member.bytesize <= Definition::MEMBER_BYTES_MAX

        raise InvalidMember, "A member must be a text of 1 to #{Definition::MEMBER_BYTES_MAX} bytes."
      end

      # @return [Boolean] whether the request has no query, so that all parameters have their defaults
      def plain? = !request.query?

      # @return [Symbol] how ranks are numbered
      def style
        return :ordinal if plain? || (given = params["rank"]).nil?

        Stores::STYLES[given] || error!("rank must be #{Stores::STYLES.keys.join(', ')}.", 400, code: "invalid_rank_style")
      end

      # @return [Integer, nil] the number of the requested season, nil for the current one
      def season = plain? || params["season"].nil? ? nil : number("season", 1, SEASONS)

      # @param name [String] of a parameter of the query
      # @param default [Integer]
      # @param range [Range<Integer>]
      # @return [Integer]
      def number(name, default, range)
        return default if plain? || (given = params[name]).nil?
        return given.to_i if given.is_a?(String) && given.match?(NUMBER) && range.cover?(given.to_i)

        error!("#{name} must be a whole number from #{range.begin} to #{range.end}.", 400, code: "invalid_#{name}")
      end

      # @param pages_max [Integer]
      # @return [Integer] how many rows are on the pages before the requested one
      def pages_before(pages_max) = (number("page", 1, 1..pages_max) - 1) * PAGE_SIZE

      # @param given [Hash]
      # @return [String, nil] JSON
      def metadata(given)
        return unless given.key?("metadata")

        value = given["metadata"]
        text = Elah::JSON.generate(value)
        return text if (value.nil? || value.is_a?(Hash)) && text.bytesize <= METADATA_BYTES_MAX

        raise InvalidMetadata, "metadata must be a JSON object of at most #{METADATA_BYTES_MAX} bytes, or null."
      end

      # Sends JSON that the store has written.
      #
      # @param text [String] JSON
      def send_json(text) = request.respond(200, JSON_TYPE, text)
    end
  end
end
