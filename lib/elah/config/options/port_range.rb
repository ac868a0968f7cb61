# frozen_string_literal: true

require "ipaddr"

module Elah
  module Options
    # Ports of one IP address, as a person writes them: `10.0.0.11:9400-9463`, `[fd00::7]:9400-9463`, `127.0.0.1:9400`.
    #
    # @attr_reader [String] host the IP address, without brackets
    # @attr_reader [Range<Integer>] ports
    PortRange = Struct.new(:host, :ports)

    # How it is read and written.
    class PortRange
      FORM = /\A(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<ipv4>[\d.]+)):(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?\z/.freeze

      # @param text [String]
      # @return [PortRange, nil] nil when the text has another form
      def self.parse(text)
        found = FORM.match(text) or return
        host = found[:ipv6] || found[:ipv4]
        ports = found[:first].to_i..(found[:last] || found[:first]).to_i
        return if ports.none? || ports.end > 65_535 || IPAddr.new(host).ipv6? != !found[:ipv6].nil?

        new(host.dup.freeze, ports).freeze
      rescue IPAddr::Error
        nil
      end

      # @param count [Integer]
      # @return [Boolean] whether so many processes cannot listen at a time; with port 0 the system finds one for each
      def fewer_than?(count) = ports.begin.positive? && ports.size < count

      # @return [String]
      def to_s = "#{host.include?(':') ? "[#{host}]" : host}:#{[ports.begin, ports.end].uniq.join('-')}"
    end
  end
end
