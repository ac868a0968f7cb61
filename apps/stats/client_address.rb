# frozen_string_literal: true

require "ipaddr"

module Stats
  # The address of the client. X-Forwarded-For counts only as far as trusted proxies wrote it, because anybody can send that
  # header.
  class ClientAddress
    FORWARDED_BYTES_MAX = 1024
    LOCAL = "127.0.0.1"

    # @param proxies [Array<String>] addresses and networks, as 10.0.0.0/8
    # @raise [Elah::OptionError]
    def initialize(proxies)
      @proxies = proxies.map do |proxy|
        IPAddr.new(proxy)
      rescue IPAddr::Error
        raise Elah::OptionError, "stats_trusted_proxies must list addresses or networks such as 10.0.0.0/8; #{proxy} is neither."
      end
    end

    # @param request [#remote_ip, #header]
    # @return [String]
    def of_request(request) = @proxies.empty? ? request.remote_ip || LOCAL : of(request.remote_ip, request.header("x-forwarded-for"))

    # @param peer [String, nil] the address of the peer; nil for a Unix socket, which only this machine can open
    # @param forwarded [String, nil] the header X-Forwarded-For
    # @return [String]
    def of(peer, forwarded)
      peer ||= LOCAL
      return peer if forwarded.nil? || @proxies.empty? || forwarded.bytesize > FORWARDED_BYTES_MAX

      # The peer added the last address, the proxy that the peer names the one before it, and so on.
      forwarded.split(",").reverse_each do |hop|
        return peer unless trusted?(peer)

        hop = address(hop.strip) or return peer
        peer = hop
      end
      peer
    end

    private

    def trusted?(address)
      ip = IPAddr.new(address)
      @proxies.any? { |proxy| proxy.include?(ip) || proxy.include?(ip.native) }
    rescue IPAddr::Error
      false
    end

    # An address as proxies write it, optionally with a port and with IPv6 in brackets.
    def address(text)
      text = text[/\A\[(.+)\](?::\d+)?\z/, 1] || text[/\A([\d.]+):\d+\z/, 1] || text
      IPAddr.new(text).to_s
    rescue IPAddr::Error
      nil
    end
  end
end
