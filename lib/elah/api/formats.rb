# frozen_string_literal: true

# Owns representations: which format an answer has, how objects are written in it and how bodies are read.
module Elah
  class API
    # The formats of one endpoint, settled at boot.
    class Formats
      # In order of preference.
      CONTENT_TYPES = {
        xml: "application/xml", serializable_hash: "application/json", json: "application/json",
        binary: "application/octet-stream", txt: "text/plain"
      }.freeze

      CLASS_AND_ADDRESS = Kernel.instance_method(:to_s)
      private_constant :CLASS_AND_ADDRESS

      # An object whose text is its class and its address was not meant to be sent.
      TEXT = lambda do |object, _env|
        next object.to_txt if object.respond_to?(:to_txt)

        text = object.to_s
        next text unless text.start_with?("#<") && text == CLASS_AND_ADDRESS.bind_call(object)

        raise Exceptions::InvalidFormatter.new(object.class, "txt: define to_s or to_txt in it, or return a String")
      end
      JSON_TEXT = ->(object, _env) { Elah::JSON.generate(object) }
      XML = lambda do |object, _env|
        object.respond_to?(:to_xml) ? object.to_xml : raise(Exceptions::InvalidFormatter.new(object.class, "xml"))
      end
      SERIALIZABLE = ->(object, _env) { object.is_a?(String) ? object : Elah::JSON.generate(serializable(object)) }
      FORMATTERS = { json: JSON_TEXT, jsonapi: JSON_TEXT, serializable_hash: SERIALIZABLE, txt: TEXT, xml: XML }.freeze

      JSON_PARSER = lambda do |text, _env|
        Elah::JSON.parse_within(text, Elah.config.json_depth_max, Elah.config.json_names_max)
      rescue Elah::JSON::ParseError => e
        raise Exceptions::InvalidMessageBody.new("application/json", e.message)
      end
      JSON_TYPE = "application/json"
      PARSERS = { json: JSON_PARSER, jsonapi: JSON_PARSER }.freeze

      # How many Accept headers are remembered.
      ACCEPTS_MAX = 256
      private_constant :ACCEPTS_MAX

      def self.serializable(object)
        case object
        when Hash then object.transform_values { |value| serializable(value) }
        when Array then object.map { |value| serializable(value) }
        else object.respond_to?(:serializable_hash) ? object.serializable_hash : object
        end
      end

      # @return [Hash{Symbol=>String}] media types by format
      attr_reader :content_types
      # @return [Symbol, nil] the format that `format` names
      attr_reader :fixed

      # @param settings [Settings]
      def initialize(settings)
        types = settings.merged(:content_types)
        @content_types = (types.empty? ? CONTENT_TYPES : types).freeze
        @by_media_type = @content_types.to_h { |format, type| [type.split(";").first, format] }.freeze
        @by_name = @content_types.to_h { |format, _| [format.name, format] }.freeze
        @fixed = settings[:format]
        @default = settings[:default_format] || :txt
        @formatters = @content_types.to_h { |format, _| [format, refusing_formatter(format)] }
                                    .merge(FORMATTERS, settings.merged(:formatters)).freeze
        @parsers = PARSERS.merge(settings.merged(:parsers)).freeze
        @accepts = {}
      end

      # @return [Boolean] whether nothing in a request but `?format=` can ask for another format
      def single? = !@fixed.nil? && @content_types.size == 1

      # The format of an answer: by extension, by `?format=`, the fixed one, by Accept, the default.
      #
      # @param request [Elah::Request, RackRequest]
      # @return [Symbol]
      # @raise [Halt] 406 when the format asked for is not spoken
      def negotiate(request)
        path = request.path
        named = @by_name[path[(path.rindex(".") + 1)..]] if path.include?(".")
        named ||= queried(request.query_string)
        return named if named
        return @fixed if @fixed

        accept = request.header("accept")
        (accept && accepted(accept)) || (@content_types.key?(@default) ? @default : refuse(@default))
      end

      # @param format [Symbol, nil]
      # @return [String, nil]
      def content_type(format) = @content_types[format]

      # The format whose media type an answer carries, else the negotiated one.
      def format_of(content_type, format) = @by_media_type[content_type] || format

      # @param format [Symbol] any, as `env["api.format"]` may name one that this API does not speak
      # @return [#call] given the object and the env
      def formatter(format) = @formatters.fetch(format) { refusing_formatter(format) }

      # @return [Boolean] whether a body of the type application/json is read as JSON is
      def reads_json?
        format = @by_media_type[JSON_TYPE]
        @content_types.key?(format) && @parsers[format].equal?(JSON_PARSER)
      end

      # The format of a body.
      #
      # @param media_type [String, nil] in lower case, without parameters
      # @return [Symbol]
      # @raise [Halt] 415 when nothing is known about the type
      def body_format(media_type)
        format = media_type ? @by_media_type[media_type] : @default
        return format if @content_types.key?(format)

        raise Halt.new("The provided content-type '#{media_type}' is not supported.", 415, {})
      end

      # @return [#call, nil] given the body and the env
      def parser(format) = @parsers[format]

      private

      # For formats without a formatter: a String is sent as it is.
      def refusing_formatter(format)
        ->(object, _env) { object.is_a?(String) ? object : raise(Exceptions::InvalidFormatter.new(object.class, format)) }
      end

      def queried(query)
        return unless query.include?("format=")

        name = FormParameters.parse(query)["format"]
        name && (@by_name[name] || refuse(name))
      end

      def refuse(format)
        raise Halt.new("The requested format '#{format}' is not supported.", 406, {})
      end

      def accepted(accept)
        @accepts.fetch(accept) do
          @accepts.clear if @accepts.size >= ACCEPTS_MAX
          @accepts[accept] = best(accept)
        end
      end

      # None of these looks at a character more than a few times, whatever the header is.
      TYPE = %r{\b\w++/[\w+.-]+}
      QUALITY = /;\s*q=([\d.]+)/
      VENDOR = %r{/vnd\.[^+]+\+}
      private_constant :TYPE, :QUALITY, :VENDOR

      # Types by falling quality; a vendor's type also stands for its suffix.
      def best(accept)
        accept.split(",").filter_map { |range| (type = range[TYPE]) && [type, range[QUALITY, 1]] }
              .sort_by { |_, quality| -quality.to_f }
              .flat_map { |type, _| [type, type.sub(VENDOR, "/")] }
              .filter_map { |type| @by_media_type[type] }.first
      end
    end
  end
end
