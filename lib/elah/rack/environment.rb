# frozen_string_literal: true

require_relative "../version"
require_relative "input"
require_relative "take_over"

module Elah
  module Rack
    # The common part of all Rack environments. It satisfies the specifications of Rack 2.2 and Rack 3.
    module Environment
      # The specification of Rack 2.
      VERSION = [1, 3].freeze

      class << self
        # @return [Elah::Rack::EnvBuilder] the builder of this process
        def builder = @builder ||= EnvBuilder.new(template, Input)

        # @param request [Elah::Request]
        # @return [Hash] its environment
        def build(request) = builder.build(request)

        private

        # A key that every request sets is included too: replacing its value is cheaper than adding it. `rack.multithread` is true although there is
        # one thread: a request that waits lets others in, and middleware takes its locks only if the app may be called meanwhile.
        def template
          {
            "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "", "QUERY_STRING" => "",
            "REQUEST_PATH" => "", "REQUEST_URI" => "", "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1",
            "SERVER_NAME" => "localhost", "SERVER_PORT" => "80", "REMOTE_ADDR" => "127.0.0.1",
            "SERVER_SOFTWARE" => "Elah/#{Elah::VERSION}", "GATEWAY_INTERFACE" => "CGI/1.1",
            "rack.version" => VERSION, "rack.url_scheme" => "http", "rack.input" => EmptyInput.new, "rack.errors" => $stderr,
            "rack.multithread" => true, "rack.multiprocess" => Elah.config.workers > 1, "rack.run_once" => false,
            "rack.hijack?" => true, "rack.hijack" => nil, "rack.response_finished" => nil
          }
        end
      end
    end
  end
end
