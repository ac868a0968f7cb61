# frozen_string_literal: true

require_relative "body"

module Stats
  # The parameters of a request's query and body, in any format.
  module Parameters
    FORM = "application/x-www-form-urlencoded"
    JSON = "application/json"
    TEXT = "text/plain"
    NONE = {}.freeze
    # Levels of a document. The event adds one, and JSON is written with at most 100.
    DEPTH_MAX = 99
    # The accepted types, in addition to forms. The endpoints read the body by themselves.
    TYPES = { json: JSON, txt: TEXT, ndjson: "application/x-ndjson" }.freeze

    class << self
      # Lets the endpoints of an API read bodies unparsed. Other types get a 415.
      #
      # @param api [Class]
      def accept_bodies(api)
        TYPES.each do |name, type|
          api.content_type(name, type)
          api.parser(name, ->(text, _env) { text })
        end
      end

      # @param query [String]
      # @return [Hash{String=>Object}]
      # @raise [Refused]
      def of_query(query) = form(query)

      # @param request [#query_string, #content_type, #body, #header]
      # @param bytes_max [Integer] the most bytes after inflating
      # @param type [String, nil] the media type of the body
      # @return [Hash{String=>Object}] the body's parameters override those of the query
      # @raise [Refused]
      def of(request, bytes_max, type = media_type(request))
        body = Body.read(request, bytes_max)
        said = body.empty? ? NONE : of_body(body, type)
        request.query? ? of_query(request.query_string).merge(said) : said
      end

      # @param request [#content_type]
      # @return [String, nil] in lower case, without parameters
      def media_type(request)
        type = request.content_type
        type == JSON ? type : type&.[](/\A[^;,\s]+/)&.downcase
      end

      # @param text [String]
      # @return [Object]
      # @raise [Refused]
      def json(text)
        # Such a short text cannot nest too deeply, and keywords cost more than parsing it.
        text.bytesize <= 2 * DEPTH_MAX ? Elah::JSON.parse(text) : Elah::JSON.parse(text, depth_max: DEPTH_MAX)
      rescue Elah::JSON::ParseError => e
        raise Refused.new("malformed_json", e.message, 400)
      end

      private

      def of_body(body, type)
        case type
        when JSON then object(json(body))
        when nil, FORM then form(body, semicolons: false)
        when TEXT then of_text(body)
        else object(json(body))
        end
      end

      def form(text, semicolons: true)
        semicolons ? Elah::Form.parse(text) : Elah::Form.parse(text, semicolons: false)
      rescue Elah::Form::ParseError => e
        raise Refused.new("invalid_parameters", e.message, 400)
      end

      # `navigator.sendBeacon(url, JSON.stringify(event))` sends text.
      def of_text(body)
        body.start_with?("{") ? object(json(body)) : { "text" => body.dup.force_encoding(Encoding::UTF_8).scrub }
      end

      def object(value)
        return value if value.is_a?(Hash)

        raise Refused.new("not_an_object", "An event must be a JSON object; send several to /stats/batch.")
      end
    end
  end
end
