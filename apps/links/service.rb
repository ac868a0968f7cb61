# frozen_string_literal: true

require_relative "codes/generator"
require_relative "creation"
require_relative "targets/authority"

module Links
  # A running service: its store, its codes, its addresses and its API key.
  class Service
    # @return [Stores::Embedded] or another store with the same methods
    attr_reader :store
    # @return [Elah::ApiKey, nil] nil when anybody may write
    attr_reader :api_key
    # @return [Creation]
    attr_reader :creation

    # @param store [Stores::Embedded]
    # @param api_key [Elah::ApiKey, nil]
    # @param base_url [String, nil] the beginning of short URLs; nil uses the host of the request
    # @param hosts [Array<String>] further names of this service, `host` or `host:port`
    # @raise [Elah::OptionError]
    def initialize(store, api_key: nil, base_url: nil, hosts: [])
      @store = store
      @api_key = api_key
      @base_url = base_url&.chomp("/")
      @creation = Creation.new(store, Codes::Generator.new(store))
      @own = [*hosts, *(@base_url && own_host)].map { |host| authority(host) }.freeze
      @last_places = [nil, @own].freeze
    end

    # @param host [String, nil] the request's Host header
    # @return [String] without a slash at its end
    def base_url(host) = @base_url || "http://#{host}"

    # @param host [String, nil] the request's Host header
    # @return [Array<Targets::Authority>] where no target may lead
    def own_places(host)
      last_host, places = @last_places
      return places if host == last_host

      named = host && Targets::Authority.parse(host, 80)
      places = named ? [*@own, named].freeze : @own
      @last_places = [host, places].freeze
      places
    end

    private

    def own_host
      @base_url[%r{\Ahttps?://([^/?#]+)\z}, 1] or
        raise Elah::OptionError, "links_base_url must be http://HOST or https://HOST, with an optional port, not #{@base_url}."
    end

    def authority(host)
      Targets::Authority.parse(host, 80) or
        raise Elah::OptionError, "links_hosts must list hosts such as example.com or example.com:8080, separated by commas; #{host} is not a host."
    end
  end
end
