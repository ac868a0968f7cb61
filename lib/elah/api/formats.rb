# frozen_string_literal: true

# Formats: the choice of a response's format, and how objects are written and bodies are read in it.
module Elah
  module Framework
    # The formats of one endpoint, fixed at boot.
    class Formats
      # In order of preference.
      CONTENT_TYPES = {
        xml: "application/xml", serializable_hash: "application/json", json: "application/json",
        binary: "application/octet-stream", txt: "text/plain"
      }.freeze

      CLASS_AND_ADDRESS = Kernel.instance_method(:to_s)
      private_constant :CLASS_AND_ADDRESS

      # An object whose text is only its class and address was not meant to be sent.
      TEXT = lambda do |object, _env|
        next object.to_txt if object.respond_to?(:to_txt)

        text = object.to_s
        next text unless text.start_with?("#<") && address?(text, object)

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

      # How a response in one format is written when the handler has set nothing.
      #
      # format:: its name · headers:: made at boot, nil for a format without a media type · formatter:: called with the object and the env ·
      # text:: whether a String is sent unchanged
      Plain = Struct.new(:format, :headers, :formatter, :text)

      # @return [Boolean] whether the text is only the class and the address of the object, or of the object to which it delegates
      def self.address?(text, object)
        text == CLASS_AND_ADDRESS.bind_call(object) || (object.respond_to?(:__getobj__) && address?(text, object.__getobj__))
      end

      def self.serializable(object)
        case object
        when Hash then object.transform_values { |value| serializable(value) }
        when Array then object.map { |value| serializable(value) }
        else object.respond_to?(:serializable_hash) ? object.serializable_hash : object
        end
      end

      # @return [Hash{Symbol=>String}] media types by format
      attr_reader :content_types
      # @return [Symbol, nil] the format that `format` sets
      attr_reader :fixed
      # @return [Hash{Symbol=>Plain}] by format
      attr_reader :plain
      # @return [Elah::MediaTypes] chooses the {Plain} of a request whose path and query name no format
      attr_reader :media_types

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
        @plain = [*@content_types.keys, *@fixed].to_h { |format| [format, plain_in(format)] }.freeze
        @media_types = MediaTypes.new(@fixed ? {} : @by_media_type.transform_values { |format| @plain[format] }, @plain[@fixed || @default])
      end

      # @return [Boolean] whether only `?format=` can choose another format
      def single? = !@fixed.nil? && @content_types.size == 1

      # The format of a response: from the extension, `?format=`, the fixed format, Accept, or the default.
      #
      # @param request [Elah::Request, RackRequest]
      # @return [Plain]
      # @raise [Halt] 406 when the API does not support the requested format
      def negotiate(request)
        name = named(request)
        name ? @plain[name] : @media_types.format_for(request.header("accept")) || refuse(@default)
      end

      # @param format [Symbol, nil]
      # @return [String, nil]
      def content_type(format) = @content_types[format]

      # The format of the response's media type, else the negotiated one.
      def format_of(content_type, format) = @by_media_type[content_type] || format

      # @param format [Symbol] any, because `env["api.format"]` may name a format that this API does not support
      # @return [#call] called with the object and the env
      def formatter(format) = @formatters.fetch(format) { refusing_formatter(format) }

      # @return [Boolean] whether a body of the type application/json is read as JSON
      def reads_json?
        format = @by_media_type[JSON_TYPE]
        @content_types.key?(format) && @parsers[format].equal?(JSON_PARSER)
      end

      # The format of a body.
      #
      # @param media_type [String, nil] in lower case, without parameters
      # @return [Symbol]
      # @raise [Halt] 415 when the type is unknown
      def body_format(media_type)
        format = media_type ? @by_media_type[media_type] : @default
        return format if @content_types.key?(format)

        raise Halt.new("The provided content-type '#{media_type}' is not supported.", 415, {})
      end

      # @return [#call, nil] called with the body and the env
      def parser(format) = @parsers[format]

      private

      def plain_in(format)
        type = @content_types[format]
        formatter = formatter(format_of(type, format))
        Plain.new(format, type && PreparedHeaders.set({ "content-type" => type }), formatter, formatter.equal?(TEXT)).freeze
      end

      # For formats without a formatter: a String is sent unchanged.
      def refusing_formatter(format)
        ->(object, _env) { object.is_a?(String) ? object : raise(Exceptions::InvalidFormatter.new(object.class, format)) }
      end

      # The format that the end of the path or the query requests.
      def named(request)
        path = request.path
        (@by_name[path[(path.rindex(".") + 1)..]] if path.include?(".")) || queried(request.query_string)
      end

      def queried(query)
        return unless query.include?("format=")

        name = FormParameters.parse(query)["format"]
        name && (@by_name[name] || refuse(name))
      end

      def refuse(format)
        raise Halt.new("The requested format '#{format}' is not supported.", 406, {})
      end
    end
  end
end
