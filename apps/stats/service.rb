# frozen_string_literal: true

require_relative "client_address"
require_relative "errors"
require_relative "pulse"
require_relative "salts"
require_relative "sender"
require_relative "visitors"

# Owns what a running collector consists of.
module Stats
  # The parts of one collector.
  class Service
    # @return [Elah::Store]
    attr_reader :store
    # @return [Elah::Sink] where every event goes
    attr_reader :sink
    # @return [Pulse] what this process has seen lately
    attr_reader :pulse
    # @return [ClientAddress]
    attr_reader :client_address
    # @return [Visitors]
    attr_reader :visitors
    # @return [Elah::ApiKey, nil] needed to read and to change what was collected; nil when anybody may
    attr_reader :api_key
    # @return [Symbol] the durability of a request that names none
    attr_reader :durability

    # @return [Integer] what a compressed body may inflate to
    attr_reader :inflated_bytes_max

    # @param store [Elah::Store]
    # @param sink [Elah::Sink]
    # @param api_key [Elah::ApiKey, nil]
    # @param durability [Symbol]
    # @param proxies [Array<String>] whose X-Forwarded-For counts
    # @param addresses [String] see {Visitors::ADDRESSES}
    # @param inflated_bytes_max [Integer]
    # @param clock [#now]
    def initialize(store, sink, api_key: nil, durability: :memory, proxies: [], addresses: "truncated",
                   inflated_bytes_max: 10_485_760, clock: Time)
      @store = store
      @sink = sink
      @api_key = api_key
      @durability = durability
      @inflated_bytes_max = inflated_bytes_max
      @pulse = Pulse.new
      @client_address = ClientAddress.new(proxies)
      @visitors = Visitors.new(Salts.new(store, clock: clock), addresses: addresses)
    end

    # The conservation law of all workers: accepted = delivered + queued + dead, with the destination's health.
    #
    # @param minutes [Integer] how many of the last minutes to show one by one
    # @return [Hash{String=>Object}] as {Elah::Sink#report}
    def conservation(minutes: 60) = @sink.report(minutes: minutes)
  end

  class << self
    # @return [Service] what this process serves
    attr_accessor :service

    # @param event [Hash{String=>Object}]
    # @return [String] the path that the event is about: the one that it names, else the one that it was sent to
    def named_path(event)
      named = event["params"]["path"]
      named.is_a?(String) ? named : event["path"]
    end
  end
end
