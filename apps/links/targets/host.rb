# frozen_string_literal: true

module Links
  module Targets
    # The many spellings of a host: `EXAMPLE.com.` is `example.com`; `127.1`, `0x7f.0.0.1` and `2130706433` are `127.0.0.1`.
    # Browsers read them like this, by the WHATWG URL standard.
    module Host
      # Labels of 1 to 63 characters.
      NAME = /\A(?!-)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{0,62}[a-z0-9_]\z/
      NAME_LENGTH_MAX = 253
      NUMBER_AT_THE_END = /(?:\A|\.)(?:0x[0-9a-f]*|\d+)\z/

      class << self
        # @param text [String] a host as it stands in a URL, IPv6 in brackets
        # @return [String, nil] its one spelling, nil when it is no host
        def canonical(text)
          return ipv6(text[/\A\[([0-9a-fA-F:.]+)\]\z/, 1]) if text.start_with?("[")

          name = text.downcase.delete_suffix(".")
          return if name.length > NAME_LENGTH_MAX || !name.match?(NAME)

          name.match?(NUMBER_AT_THE_END) ? ipv4(name.split(".")) : name
        end

        # @param host [String] canonical
        # @return [Boolean] whether it is this machine, by whichever name
        def loopback?(host)
          host == "localhost" || host.end_with?(".localhost") || host == "::1" || host == "::" || host == "0.0.0.0" ||
            host.match?(/\A127\.\d+\.\d+\.\d+\z/)
        end

        private

        # One to four numbers, decimal, octal or hexadecimal; the last one fills the remaining bytes.
        def ipv4(labels)
          numbers = labels.map { |label| number(label) }
          return if numbers.size > 4 || numbers.any?(&:nil?)

          *bytes, rest = numbers
          return if bytes.any? { |byte| byte > 255 } || rest >= 256**(4 - bytes.size)

          address = bytes.each_with_index.sum { |byte, index| byte * (256**(3 - index)) } + rest
          [address].pack("N").unpack("C4").join(".")
        end

        def number(label)
          return label == "0x" ? 0 : Integer(label, 16, exception: false) if label.start_with?("0x")

          Integer(label, label.length > 1 && label.start_with?("0") ? 8 : 10, exception: false)
        end

        def ipv6(text)
          return if text.nil?

          require "ipaddr"
          IPAddr.new(text, Socket::AF_INET6).native.to_s
        rescue IPAddr::Error
          nil
        end
      end
    end
  end
end
