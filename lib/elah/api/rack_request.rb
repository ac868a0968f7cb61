# frozen_string_literal: true

# A Rack environment as a request of Elah: it has the methods of the native request, and responds with a triplet.
module Elah
  module Framework
    # One request of a Rack server.
    class RackRequest
      CHUNK_BYTES = 16_384
      NO_ROUTE_PARAMS = {}.freeze
      # As the server accepts them in X-Request-Id.
      REQUEST_ID = %r{\A[a-zA-Z0-9\-_.:@=+/]{1,128}\z}.freeze
      private_constant :CHUNK_BYTES, :NO_ROUTE_PARAMS, :REQUEST_ID

      # @return [Hash{String=>Object}] the Rack environment
      attr_reader :env
      # @return [Integer, nil] nil where no route matches
      # @api private
      attr_reader :route
      # @return [Hash{String=>String}] empty where no route matches
      # @api private
      attr_reader :route_params

      # @param env [Hash]
      # @api private
      def initialize(env)
        @env = env
        @route_params = NO_ROUTE_PARAMS
      end

      # Takes the route that the router has found.
      #
      # @param found [Array(Integer, Hash)]
      # @api private
      def reroute(found, _excluded = nil)
        @route, @route_params = found
      end

      # @param name [String]
      # @return [String, nil] one of the {#route_params}
      def route_param(name) = @route_params[name]

      # @return [String]
      def request_method = @env["REQUEST_METHOD"]

      # @return [String]
      def path = @env["PATH_INFO"].empty? ? "/" : @env["PATH_INFO"]

      # @return [String]
      def query_string = @env["QUERY_STRING"] || ""

      # @return [Boolean]
      def query? = !query_string.empty?

      # @return [String, nil]
      def protocol = @env["HTTP_VERSION"] || @env["SERVER_PROTOCOL"]

      # @return [String]
      def scheme = @env["rack.url_scheme"]

      # @return [String, nil]
      def host = @env["HTTP_HOST"] || @env["SERVER_NAME"]

      # @return [String, nil]
      def remote_ip = @env["REMOTE_ADDR"]

      # @return [String, nil]
      def content_type = header("content-type")

      # @return [Integer, nil]
      def content_length = @env["CONTENT_LENGTH"]&.to_i

      # @return [String] the ID from a middleware or a proxy, else that of the server's log lines, else a new one
      def id = @id ||= @env["action_dispatch.request_id"] || given_id || served_id || new_id

      # @param name [String] lower-case
      # @return [String, nil]
      def header(name)
        case name
        when "content-type" then present(@env["CONTENT_TYPE"])
        when "content-length" then present(@env["CONTENT_LENGTH"])
        else @env["HTTP_#{name.upcase.tr('-', '_')}"]
        end
      end

      # @param types [Elah::MediaTypes]
      # @return [Symbol, nil] the format that the Accept header chooses; nil when the path has a dot or there is a query, because either may name
      #   another one
      # @api private
      def format_among(types) = query? || path.include?(".") ? nil : types.format_for(@env["HTTP_ACCEPT"])

      # @return [Hash{String=>String}] by lower-case names
      def headers
        found = @env.each_with_object({}) do |(key, value), all|
          all[key.delete_prefix("HTTP_").downcase.tr("_", "-")] = value if key.start_with?("HTTP_") && key != "HTTP_VERSION" # the protocol, of Rack 2
        end
        %w[content-type content-length].each { |name| (value = header(name)) && found[name] = value }
        found
      end

      # @return [String] the whole body, binary
      def body
        @body ||= begin
          content = input&.read || ""
          input.rewind if input.respond_to?(:rewind)
          content.b
        end
      end

      # Yields the body in pieces: as they arrive, or of the whole body when that was read before.
      #
      # @yieldparam piece [String] binary
      # @return [void]
      def each_body_chunk
        return (yield @body unless @body.empty?) if @body

        input.rewind if input.respond_to?(:rewind)
        while (piece = input&.read(CHUNK_BYTES))
          yield piece
        end
      end

      # Responds.
      #
      # @param status [Integer]
      # @param headers [Hash{String=>String, Array<String>}, Elah::HeaderSet] lower-case names
      # @param body [String]
      # @return [Array(Integer, Hash{String=>Object}, Array<String>)]
      def respond(status, headers, body)
        content = request_method == "HEAD" || Statuses.bodiless?(status) || body.empty? ? [] : [body]
        [status, RackHeaders.for(status, headers), content]
      end

      # Responds with an empty body and a Location beside the headers.
      #
      # @param status [Integer]
      # @param location [String]
      # @param headers [Hash{String=>String, Array<String>}, Elah::HeaderSet] lower-case names
      # @return [Array(Integer, Hash{String=>Object}, Array<String>)]
      def redirect(status, location, headers) = respond(status, headers.to_h.merge("location" => location), "")

      # Responds with the output of the block, when the server asks for it.
      #
      # @param ended [#call] called once, after the output or without any
      # @yieldparam out [#write] sends each piece to the server
      # @return [Array(Integer, Hash, #each)]
      # @api private
      def stream(status, headers, ended, &writer)
        [status, RackHeaders.of_stream(status, headers), StreamedBody.new(request_method == "HEAD" ? ->(_out) {} : writer, ended)]
      end

      private

      # At its beginning: a middleware may have read it, and Rack 3 does not rewind.
      def input = @input ||= @env["rack.input"]&.tap { |input| input.rewind if input.respond_to?(:rewind) }

      def present(value) = value.nil? || value.empty? ? nil : value

      def given_id
        id = @env["HTTP_X_REQUEST_ID"]
        id if id && REQUEST_ID.match?(id.b)
      end

      # Only Elah's own server has one. It is read here and is no key of the environment, because most apps never ask for it.
      def served_id = Elah.current_loop&.current_task&.root&.request&.id

      def new_id
        require "securerandom"
        SecureRandom.uuid
      end

      # A Rack body that runs a block.
      # @api private
      class StreamedBody
        def initialize(writer, ended)
          @writer = writer
          @ended = ended
        end

        def each(&block)
          @writer.call(Pieces.new(block))
        ensure
          close
        end

        # The server closes the body, also one that it does not send.
        def close
          ended = @ended
          @ended = nil
          ended&.call
        end

        # Output of the block. If the client has disconnected, the server raises and the block ends.
        Pieces = Struct.new(:sink) do
          def write(piece)
            sink.call(piece)
            piece.bytesize
          end
        end
      end
    end

    # The headers of a Rack response: as Rack 3 requires or, where Rack 2 is loaded, in the spelling of its users.
    module RackHeaders
      LINE_BREAK = /[\r\n\0]/
      private_constant :LINE_BREAK

      @canonical = {}

      class << self
        # @param status [Integer]
        # @param headers [Hash{String=>String, Array<String>}] lower-case names
        # @return [Hash]
        # @raise [Elah::InvalidHeader] for a value with a line break
        def for(status, headers)
          headers = headers.to_h
          bodiless = Statuses.bodiless?(status)
          headers.each_with_object({}) do |(name, value), all|
            next if bodiless && (name == "content-type" || name == "content-length")

            check(name, value)
            if rack_2?
              all[canonical(name)] = value.is_a?(Array) ? value.join("\n") : value
            else
              all[name] = value
            end
          end
        end

        # Rack::ETag of Rack 2 reads a body to its end if there is no ETag.
        #
        # @param (see for)
        # @return [Hash]
        # @raise (see for)
        def of_stream(status, headers)
          headers = { "etag" => %(W/"#{Random.urandom(8).unpack1("H*")}"), **headers.to_h } if rack_2?
          self.for(status, headers)
        end

        private

        def check(name, value)
          return unless Array(value).any? { |one| LINE_BREAK.match?(one) }

          raise InvalidHeader, "The value of the response header #{name} has a line break."
        end

        def rack_2? = defined?(::Rack) && !defined?(::Rack::Headers)

        def canonical(name)
          @canonical.fetch(name) do
            spelled = name.split("-").map(&:capitalize).join("-")
            @canonical.size < 256 ? @canonical[name] = spelled : spelled
          end
        end
      end
    end
  end
end
