# frozen_string_literal: true

# The parts of a running collector, and the hook that starts them.
require_relative "archive"
require_relative "client_address"
require_relative "cors"
require_relative "destination"
require_relative "erasure"
require_relative "errors"
require_relative "event_processor"
require_relative "keys"
require_relative "live/ticker"
require_relative "live_counters"
require_relative "parked"
require_relative "quota"
require_relative "rollups"
require_relative "salts"
require_relative "schemas"
require_relative "visitors"

module Stats
  # The parts of one collector.
  class Service
    # Events per batch of processing. A batch is in memory as Ruby objects, and no request is served while it is processed.
    BATCH_EVENTS_MAX = 64

    # @return [Elah::Store]
    attr_reader :store
    # @return [Elah::Sink] where every event goes
    attr_reader :sink
    # @return [LiveCounters]
    attr_reader :live_counters
    # @return [Live::Ticker] the source of the live page's events
    attr_reader :live
    # @return [ClientAddress]
    attr_reader :client_address
    # @return [Salts]
    attr_reader :salts
    # @return [Visitors]
    attr_reader :visitors
    # @return [Archive]
    attr_reader :archive
    # @return [Rollups]
    attr_reader :rollups
    # @return [Schemas]
    attr_reader :schemas
    # @return [Parked]
    attr_reader :parked
    # @return [Erasure]
    attr_reader :erasure
    # @return [Elah::ApiKey, nil] required to read and to change data; nil if anybody may
    attr_reader :api_key
    # @return [Keys, nil] needed to send; nil when anybody may
    attr_reader :keys
    # @return [Quota]
    attr_reader :quota
    # @return [CORS]
    attr_reader :cors
    # @return [Symbol] the default durability of a request
    attr_reader :durability
    # @return [Integer] the most bytes after inflating
    attr_reader :inflated_bytes_max
    # @return [Integer] events of one batch
    attr_reader :batch_events_max

    # @param store [Elah::Store]
    # @param destination [String] `store`, or a URL as of {Destination}
    # @param api_key [Elah::ApiKey, nil]
    # @param keys [Keys, nil]
    # @param durability [Symbol]
    # @param proxies [Array<String>] whose X-Forwarded-For counts
    # @param origins [Array<String>] that may send credentials
    # @param addresses [String] see {Visitors::ADDRESSES}
    # @param kept_seconds [Integer] how long events are kept in the store
    # @param inflated_bytes_max [Integer]
    # @param batch_events_max [Integer]
    # @param machine [String, nil] the name of this machine, which shares the store with others
    # @param clock [#call] seconds since 1970
    # @param sink [Hash{Symbol=>Object}] options of {Elah::Sink}
    # @raise [Elah::OptionError]
    def initialize(store, destination: "store", api_key: nil, keys: nil, durability: :memory, proxies: [], origins: [], addresses: "truncated",
                   kept_seconds: 30 * 86_400, inflated_bytes_max: 10_485_760, batch_events_max: 10_000, machine: nil, clock: Clock, sink: {})
      @store = store
      @machine = machine
      @api_key = api_key
      @keys = keys
      @durability = durability
      @inflated_bytes_max = inflated_bytes_max
      @batch_events_max = batch_events_max
      @live_counters = LiveCounters.new(clock: clock)
      @cors = CORS.new(origins)
      @quota = Quota.new(store, clock: clock)
      @live = Live::Ticker.new(self, machine: machine)
      @client_address = ClientAddress.new(proxies)
      @salts = Salts.new(store, clock: clock)
      @visitors = Visitors.new(@salts, addresses: addresses)
      @has_uniform_headers = keys.nil? && @cors.uniform?
      build_processing(Destination.of(destination), kept_seconds, sink)
    end

    # Starts the background work of each worker: it reports its figures to the other workers, and reviews parked events.
    #
    # @return [void]
    def start
      @live.start
      @parked.follow(machines: !@machine.nil?)
    end

    # @param request [#header, #remote_ip]
    # @return [Visitors::Visitor] the sender
    def visitor_of(request) = @visitors.of(@client_address.of_request(request), request.header("user-agent"))

    # @return [Boolean] whether all requests without a preference get the same headers
    def uniform_headers? = @has_uniform_headers

    # @return [Integer] events that wait in the journals of all machines. The batch that is being settled may be in the sums already
    def queued = @sink.report(minutes: 0)["total"]["queued"] + @live.queued_elsewhere

    private

    def build_processing(destination, kept_seconds, sink_options)
      @archive = Archive.new(@store, kept_seconds: kept_seconds, is_keeping: destination.nil?)
      @rollups = Rollups.new(@store)
      @schemas = Schemas.new(@store)
      processor = EventProcessor.new(@store, archive: @archive, rollups: @rollups, schemas: @schemas, destination: destination) do |letters|
        @parked.review_page(letters)
      end
      @sink = Elah::Sink.new("stats", to: processor, batch_events_max: [BATCH_EVENTS_MAX, Elah.config.sink_batch_events_max].min, **sink_options)
      @parked = Parked.new(@sink, @store, @schemas, @archive)
      @erasure = Erasure.new(@archive, @rollups, destination, @parked)
    end
  end

  class << self
    # @return [Service] the service of this process
    attr_accessor :service

    # @param event [Hash{String=>Object}]
    # @return [String] the path that the event names as a parameter, or the path of its request
    def named_path(event)
      named = event["params"]["path"]
      named.is_a?(String) ? named : event["path"]
    end
  end
end

Elah::Config.at(:before_worker_boot) { Stats.service&.start }
