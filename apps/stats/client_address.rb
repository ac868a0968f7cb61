# frozen_string_literal: true

require "ipaddr"

module Stats
  # Owns the question who the client is. What X-Forwarded-For says counts only as far as proxies say it that are trusted by name: anybody
  # can send that header.
  class ClientAddress
    FORWARDED_BYTES_MAX = 1024
    LOCAL = "127.0.0.1"

    # @param proxies [Array<String>] addresses and networks, as 10.0.0.0/8
    # @raise [Elah::OptionError]
    def initialize(proxies)
      @proxies = proxies.map do |proxy|
        IPAddr.new(proxy)
      rescue IPAddr::Error
        raise Elah::OptionError, "stats_trusted_proxies lists addresses and networks as 10.0.0.0/8, separated by commas; #{proxy} is none."
      end
    end

    # @param request [#remote_ip, #header]
    # @return [String]
    def of_request(request) = @proxies.empty? ? request.remote_ip || LOCAL : of(request.remote_ip, request.header("x-forwarded-for"))

    # @param peer [String, nil] who has opened the connection; nil for a Unix socket, which only this machine can open
    # @param forwarded [String, nil] the header X-Forwarded-For
    # @return [String]
    def of(peer, forwarded)
      peer ||= LOCAL
      return peer if forwarded.nil? || @proxies.empty? || forwarded.bytesize > FORWARDED_BYTES_MAX

      # The last address was added by the peer, the one before it by the proxy that the peer names, and so on.
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

    # An address as proxies write it: also with a port, IPv6 in brackets then.
    def address(text)
      text = text[/\A\[(.+)\](?::\d+)?\z/, 1] || text[/\A([\d.]+):\d+\z/, 1] || text
      IPAddr.new(text).to_s
    rescue IPAddr::Error
      nil
    end
  end
end
