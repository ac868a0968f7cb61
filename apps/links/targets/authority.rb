# frozen_string_literal: true

require_relative "host"

module Links
  module Targets
    # Owns the comparison of a target's host and port with those of this service.
    #
    # host: canonical · port: Integer, the scheme's when the text had none
    Authority = Struct.new(:host, :port)

    # How it is read and compared.
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

      # A service on the port of http or https is taken to answer on both.
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
