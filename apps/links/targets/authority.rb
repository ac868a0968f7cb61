# frozen_string_literal: true

require_relative "host"

module Links
  module Targets
    # The comparison of a target's host and port with those of this service.
    #
    # host: canonical · port: Integer, the scheme's default if the text has none
    Authority = Struct.new(:host, :port)

    # Parsing and comparison.
    class Authority
      WEB_PORTS = [80, 443].freeze

      # @param text [String] host[:port], IPv6 in brackets
      # @param default_port [Integer]
      # @return [Authority, nil] nil when it is none
      def self.parse(text, default_port)
        host, port = text.match(/\A(\[[^\]]*\]|[^:\[\]]*)(?::(\d*))?\z/)&.captures
        host = host && Targets::Host.canonical(host)
        port = port.nil? || port.empty? ? default_port : port.to_i
        new(host, port) if host && port.between?(1, 65_535)
      end

      # A service on the port of http or https is assumed to serve both.
      #
      # @param other [Authority]
      # @return [Boolean] whether both lead to the same server
      def same?(other)
        (port == other.port || (WEB_PORTS.include?(port) && WEB_PORTS.include?(other.port))) &&
          (host == other.host || (Targets::Host.loopback?(host) && Targets::Host.loopback?(other.host)))
      end
    end
  end
end
