# frozen_string_literal: true

module Elah
  # Owns the address of one listening socket, as a person writes it: `tcp://127.0.0.1:9292`, `tcp://[::1]:9292`,
  # `unix:///run/app.sock`. It opens nothing.
  #
  # @attr_reader [String, nil] host of a TCP listener, without brackets
  # @attr_reader [Integer, nil] port of a TCP listener; 0 lets the system choose
  # @attr_reader [String, nil] path of a Unix listener
  Listener = Struct.new(:host, :port, :path, keyword_init: true)

  # How an address is read and written.
  class Listener
    TCP = %r{\Atcp://(?:\[(?<ipv6>[0-9a-fA-F:.]+(?:%\w+)?)\]|(?<host>[\w.-]+)):(?<port>\d{1,5})/?\z}.freeze
    UNIX = %r{\Aunix://(?<path>/?[^\0]+)\z}.freeze
    PORTS = (0..65_535).freeze

    # @param url [String]
    # @return [Elah::Listener, nil] nil when the text is no such address
    def self.parse(url)
      if (tcp = TCP.match(url))
        port = tcp[:port].to_i
        new(host: tcp[:ipv6] || tcp[:host], port: port).freeze if PORTS.cover?(port)
      elsif (unix = UNIX.match(url))
        new(path: unix[:path]).freeze
      end
    end

    # @return [Boolean]
    def unix? = !path.nil?

    # @return [String] the URL
    def to_s
      return "unix://#{path}" if unix?

      "tcp://#{host.include?(':') ? "[#{host}]" : host}:#{port}"
    end
  end
end
