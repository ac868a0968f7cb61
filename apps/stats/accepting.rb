# frozen_string_literal: true

require_relative "cors"
require_relative "sender"

module Stats
  # Pushes events to the sink with the preferred durability, and reports the durability that was reached. Mixed into endpoints.
  module Accepting
    # How long a request that prefers `delivered` waits by default.
    DELIVERED_SECONDS = 10
    TYPE = { "content-type" => "application/json" }.freeze
    # The usual headers, with and without a preference, and the usual body.
    HEADERS = Elah::HeaderSet.new({ **TYPE, **CORS::ANYBODY })
    PREFERRED_HEADERS = Elah::Sink::DURABILITIES.to_h do |durability|
      [durability, Elah::HeaderSet.new({ **TYPE, **CORS::ANYBODY, "preference-applied" => "durability=#{durability}" })]
    end.freeze
    BODIES = Elah::Sink::DURABILITIES.to_h { |durability| [durability, %({"durability":"#{durability}"})] }.freeze

    # Records the request and responds.
    #
    # @param params [Hash{String=>Object}]
    def accept(params)
      prefer = request.header("prefer")
      receipt = push("request", params, prefer: prefer)
      body = prefer ? %({"durability":"#{receipt.durability}","id":"#{receipt.id}"}) : BODIES[receipt.durability]
      request.respond(200, headers_for(receipt, prefer), body)
    end

    # Ends the request with 401 unless it has a key, if keys are set, and with 429 if the key's quota for this minute is used up.
    #
    # @param count [Integer] events
    # @param offered [String, nil] a key that did not come in a header
    # @return [Keys::Key, nil] nil where there are no keys
    # @raise [Refused]
    def admit(count = 0, offered: nil)
      keys = Stats.service.keys or return
      key = keys[Keys.offered(request) || offered] or
        error!("Send a write key as the user name of Basic authentication, as Authorization: Bearer KEY or as X-Api-Key: KEY.", 401,
               { "www-authenticate" => 'Basic realm="stats"', **cors }, code: "unauthorized")
      take(key, count) if count.positive?
      key
    end

    # Takes events from a quota.
    #
    # @param key [Keys::Key, nil]
    # @param count [Integer]
    def take(key, count)
      return unless key&.per_minute

      @quota = Stats.service.quota.take(key, count)
      return if @quota.is_kept

      error!("The key #{key.name} may send #{key.per_minute} events in a minute.", 429,
             { **@quota.headers, "retry-after" => @quota.reset_seconds.to_s, **cors }, code: "quota_exceeded")
    end

    # Records the valid events of a batch, all or none of them.
    #
    # @param batch [Batch]
    # @param key [Keys::Key, nil]
    # @yieldparam sender [Sender]
    # @yieldparam item [Hash] an event as sent
    # @yieldreturn [Hash] as recorded
    # @return [Elah::Sink::BatchReceipt, nil] nil if no event was valid
    def accept_batch(batch, key, &record)
      service = Stats.service
      started_at = now
      sender = Sender.of(request, service)
      begin
        events = batch.good.map { |item| yield sender, item }
        return if events.empty?

        take(key, events.size) unless @quota
        receipt = service.sink.push_all(events, ids: batch.ids(key&.name), stream: key&.name, **preference(service))
        events.each { |event| service.live_counters.count(Stats.named_path(event)) }
        service.live_counters.record_latency(now - started_at)
        receipt
      rescue Elah::Sink::TooLarge
        refuse_large(batch, sender, &record) or raise
        retry
      end
    end

    # @param status [Integer]
    # @param body [Hash]
    # @param receipt [#durability, nil]
    def respond(status, body, receipt = nil)
      request.respond(status, headers_for(receipt, request.header("prefer")), Elah::JSON.generate(body))
    end

    # @param receipt [#durability, nil]
    # @param prefer [String, nil] the header
    # @return [Hash{String=>String}] the headers of a response besides its type
    def response_headers(receipt, prefer = request.header("prefer"))
      applied = receipt && prefer ? { "preference-applied" => "durability=#{receipt.durability}" } : {}
      @quota ? { **cors, **applied, **@quota.headers } : { **cors, **applied }
    end

    # @return [Hash{String=>String}]
    def cors = Stats.service.cors.headers(request.header("origin"))

    # Records the request as one event, subject to its key and quota.
    #
    # @param type [String] of the event
    # @param params [Hash{String=>Object}]
    # @param offered [String, nil] a key that did not come in a header
    # @param prefer [String, nil] the header
    # @return [Elah::Sink::Receipt]
    def push(type, params, offered: nil, prefer: request.header("prefer"))
      service = Stats.service
      options = preference(service, prefer)
      started_at = now if service.live_counters.sample?
      key = admit(1, offered: offered)
      is_opted_out = Sender.opted_out?(request)
      visitor = is_opted_out ? Visitors::NOBODY : service.visitor_of(request)
      # Listed one by one, because a double splat would make a Hash of all.
      receipt = service.sink.push_request(request, with: visitor.members(type), params: params, stream: key&.name, except: Sender::UNKEPT,
                                                   only: (Sender::HARMLESS if is_opted_out), durability: options[:durability],
                                                   wait_seconds: options[:wait_seconds] || DELIVERED_SECONDS)
      named = params["path"]
      service.live_counters.count(named.is_a?(String) ? named : request.path)
      service.live_counters.record_latency(now - started_at) if started_at
      receipt
    end

    private

    # @return [Elah::HeaderSet, Hash{String=>String}]
    def headers_for(receipt, prefer)
      return { **TYPE, **response_headers(receipt, prefer) } unless Stats.service.uniform_headers?

      prefer && receipt ? PREFERRED_HEADERS[receipt.durability] : HEADERS
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def preference(service, prefer = request.header("prefer")) = Elah::Sink::Preference.of(prefer, default: service.durability)

    # @return [Boolean] whether there was one; the others may still be accepted
    def refuse_large(batch, sender)
      bytes_max = Elah.config.sink_event_bytes_max
      before = batch.rejected
      batch.refuse do |item|
        next if Elah::JSON.generate(yield(sender, item)).bytesize <= bytes_max

        Refused.new("event_too_large", "An event must have at most #{bytes_max} bytes as it is recorded.", 413)
      end
      batch.rejected > before
    end
  end
end
