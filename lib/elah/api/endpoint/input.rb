# frozen_string_literal: true

# The handler's access to the request: params, declared, headers, cookies, env.
module Elah
  module Framework
    # The env for formatters, parsers and entities: created when one of them reads it.
    class EnvironmentOnDemand < BasicObject
      # @param owner [#env] an endpoint or a request
      def initialize(owner)
        @owner = owner
      end

      private

      def method_missing(name, *arguments, &block) = @owner.env.public_send(name, *arguments, &block)
      def respond_to_missing?(name, _include_private) = ::Hash.method_defined?(name)
    end

    # Mixed into {Endpoint}.
    module Input
      BODY_VERBS = %w[POST PUT PATCH DELETE].freeze
      FORM = "application/x-www-form-urlencoded"
      MULTIPART = %w[multipart/form-data multipart/related multipart/mixed].freeze
      private_constant :BODY_VERBS, :FORM, :MULTIPART

      # For a route whose path has no parameters.
      NO_CAPTURES = {}.freeze

      # The parameters of the path, the body and the query, in that order of precedence. A rescue block gets those of the path if the others cannot be
      # read.
      #
      # @return [Params]
      # @raise [Exceptions::InvalidParameters] 400
      def params
        @_params ||= _read_params
      end

      # The body as a JSON object, also when its content type is that of a form, as with `curl --data`.
      #
      # @return [Hash{String=>Object}]
      # @raise [Halt] 400 `invalid_body` when it is not a JSON object
      def json_object
        return @_document if @_document.is_a?(Hash)

        document = Elah::JSON.parse_within(@_request.body, Elah.config.json_depth_max, Elah.config.json_names_max)
        document.is_a?(Hash) ? document : error!("The body must be a JSON object.", 400, code: "invalid_body")
      rescue Elah::JSON::ParseError => e
        error!(e.message, 400, code: "invalid_body")
      end

      # @return [RequestHeaders]
      def headers
        @_headers ||= RequestHeaders.from(@_request.headers)
      end

      # @return [Cookies] cookies; assigned ones are sent
      def cookies
        @_changed = true
        @_cookies ||= Cookies.new(@_request.header("cookie"))
      end

      # The Rack environment, created at the first call. The format set as `env["api.format"]` is that of the response.
      #
      # @return [Hash{String=>Object}]
      def env
        @_env ||= begin
          @_changed = true
          @_request.env.merge!({
            "api.endpoint" => self, "api.version" => @_version, "api.format" => _format, **_env_of_body
          }.compact)
        end
      end

      # The declared parameters of the endpoint, and no others.
      #
      # @param params [Params]
      # @param options [Hash{Symbol=>Boolean}, nil] the following ones, as a Hash
      # @param include_missing [Boolean] whether missing ones are included, as nil, [] or {}
      # @param include_parent_namespaces [Boolean] whether those of outer namespaces are included
      # @param stringify [Boolean] accepted for compatibility with Grape: the keys are strings, and symbols find them
      # @return [Params]
      # @raise [NoMethodError] in a `before` hook
      def declared(params, options = nil, include_missing: true, include_parent_namespaces: true, stringify: true)
        return declared(params, **options) if options
        if _blueprint.hooks?(:before) && !@_opened
          raise NoMethodError, "#declared is not available prior to parameter validation."
        end

        filter = include_parent_namespaces ? _blueprint.declared : _blueprint.own_declared
        filter.filter(params, include_missing)
      end

      # Reads the body as other routes do before their handlers. In a route with `late_body: true` the handler decides whether and when, and only then
      # are its parameters in {#params}. They are not validated.
      #
      # @return [void]
      # @raise [Halt] 415 for a type that the API does not accept, 400 for a malformed body
      def read_body
        return if @_was_read

        _read_body
        @_was_read = true
        return unless @_params && (document = _body_params)

        @_params.merge!(document) { |name, before, of_body| _captures.key?(name) ? before : of_body }
      end

      # Reads a body before hooks run. An unknown type is 415, an invalid document 400.
      def _read_body
        type = @_request.header("content-type")
        return _read_json if type == Formats::JSON_TYPE && self.class::READS_JSON

        @_media_type = type == Formats::JSON_TYPE ? type : type && type[/\A[^;,\s]+/]&.downcase
        return if @_media_type == FORM || MULTIPART.include?(@_media_type) || !_body?

        formats = _blueprint.formats
        parser = formats.parser(formats.body_format(@_media_type))
        parser ? _parse_body(parser) : @_raw = true
      end

      private

      # A shorter way for the most common bodies.
      def _read_json
        @_media_type = Formats::JSON_TYPE
        text = @_request.body
        @_document = Formats::JSON_PARSER.call(@_input = text, nil) unless text.empty?
      end

      def _body?
        return false unless BODY_VERBS.include?(@_request.request_method)

        length = @_request.header("content-length")
        length ? length != "0" : !@_request.header("transfer-encoding").nil?
      end

      def _parse_body(parser)
        @_input = @_request.body
        return if @_input.empty?

        @_document = parser.call(@_input, _lazy_env)
      rescue Exceptions::Base, *PASSING
        raise
      rescue StandardError => e
        raise Halt.new(e.message, 400, {})
      end

      # A body without a parser is in both places.
      def _env_of_body
        return { "api.request.input" => @_request.body, "api.request.body" => @_request.body } if @_raw

        { "api.request.input" => @_input, "api.request.body" => @_document }
      end

      def _lazy_env = EnvironmentOnDemand.new(self)

      def _read_params
        document = _body_params
        captures = _captures
        return Params.flat(captures) unless document || @_request.query?

        params = @_request.query? ? Params.from(FormParameters.parse(@_request.query_string)) : Params.new
        params.merge!(document) if document
        captures.empty? ? params : params.merge!(captures)
      rescue Exceptions::InvalidParameters
        @_is_rescuing ? Params.flat(_captures) : raise
      end

      def _captures = @_request.route_params

      # Whether the body is JSON with the content type of `curl --data`: every parameter is missing then.
      def _json_as_form? = @_media_type == FORM && @_request.body.start_with?("{", "[")

      # @return [Hash, nil] the parameters from the body
      def _body_params
        return @_document if @_document.is_a?(Hash)

        verb = @_request.request_method
        options = _blueprint.route.options # a helper may have the name `route`
        return if @_document || !BODY_VERBS.include?(verb) || options[:stream_body] || (options[:late_body] && !@_was_read)

        if MULTIPART.include?(@_media_type)
          files = []
          document = FormParameters.parse_multipart(@_request.body, @_request.header("content-type")) { |file| files << file }
          _keep_files(files) if files.any?
          document
        elsif @_media_type == FORM || (@_media_type.nil? && verb == "POST")
          FormParameters.parse(@_request.body, semicolons: false)
        end
      end

      # @return [Elah::Task, nil] nil under another server
      def _request_task = Elah.current_loop&.current_task&.root

      # Closes and deletes uploaded files at the end of the request. Under another server Rack::TempfileReaper does.
      def _keep_files(files)
        if (task = _request_task)
          task.at_end { files.each(&:close!) }
        else
          (@_request.env["rack.tempfiles"] ||= []).concat(files)
        end
      end
    end
  end
end
