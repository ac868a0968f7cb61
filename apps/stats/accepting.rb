# frozen_string_literal: true

require_relative "express"
require_relative "sender"

module Stats
  # Owns how an endpoint gives events to the sink, as safely as the request prefers, and which durability it says was met. Mixed into endpoints.
  module Accepting
    # Records the request and answers. One that asks for nothing is written to the journal as it is, without an object for it in between;
    # most of those have taken the way of {Express}.
    #
    # @param params [Hash{String=>Object}]
    def accept(params)
      service = Stats.service
      request = self.request
      return accept_with_care(params) unless service.plain? && plain?(request)

      started_at = now if service.pulse.timed?
      visitor = service.visitors.of(service.client_address.of_request(request), request.header("user-agent"))
      met = service.sink.append_request(request, visitor.head, params, Sender::UNKEPT_NAMES, service.durability)
      path = params["path"]
      service.pulse.accepted(path.is_a?(String) ? path : request.path)
      service.pulse.took(now - started_at) if started_at
      request.respond(200, *Express::ANSWERS[met])
    end

    # Ends the request with 401 unless it has a key, where there are keys, and with 429 when the key has no events left in this minute.
    #
    # @param count [Integer] events
    # @param offered [String, nil] a key that did not come in a header
    # @return [Keys::Key, nil] nil where there are no keys
    # @raise [Refused]
    def admit(count = 0, offered: nil)
      keys = Stats.service.keys or return
      key = keys[Keys.offered(request) || offered] or
        error!("Send a write key as the user of Basic, as Authorization: Bearer KEY or as X-Api-Key: KEY.", 401,
               { "www-authenticate" => 'Basic realm="stats"', **cors }, code: "unauthorized")
      take(key, count) if count.positive?
      key
    end

    # Takes events of a quota.
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

    # Records the good events of a batch, all or none of them.
    #
    # @param batch [Batch]
    # @param key [Keys::Key, nil]
    # @param id [String] the member that has the sender's id
    # @yieldparam sender [Sender]
    # @yieldparam item [Hash] an event as it was sent
    # @yieldreturn [Hash] as it is recorded
    # @return [Elah::Sink::BatchReceipt, nil] nil when none was good
    def accept_batch(batch, key, id: "id", &record)
      service = Stats.service
      started_at = now
      sender = Sender.of(request, service).brief
      begin
        events = batch.good.map { |item| yield sender, item }
        return if events.empty?

        take(key, events.size) unless @quota
        receipt = service.sink.push_all(events, ids: batch.ids(id, key&.name), stream: key&.name, **preference(service))
        events.each { |event| service.pulse.accepted(Stats.named_path(event)) }
        service.pulse.took(now - started_at)
        receipt
      rescue Elah::Sink::TooLarge
        refuse_large(batch, sender, &record) or raise
        retry
      end
    end

    # @param status [Integer]
    # @param body [Hash]
    # @param receipt [#durability, nil]
    def answer(status, body, receipt = nil)
      request.respond(status, prepared_headers(receipt) || { **Express::TYPE, **told(receipt) }, Elah::JSON.generate(body))
    end

    # @return [Hash{String=>String}] what the headers of an answer tell beside its type
    def told(receipt)
      applied = receipt && request.header("prefer") ? { "preference-applied" => "durability=#{receipt.durability}" } : {}
      @quota ? { **cors, **applied, **@quota.headers } : { **cors, **applied }
    end

    # @return [Hash{String=>String}]
    def cors = Stats.service.cors.headers(request.header("origin"))

    # Records one event as the request, its key and its quota want it.
    #
    # @param offered [String, nil] a key that did not come in a header
    # @return [Elah::Sink::Receipt]
    def push(type, params, path: request.path, id: nil, offered: nil)
      service = Stats.service
      started_at = now
      key = admit(1, offered: offered)
      event = Sender.of(request, service).event(type, path, params)
      options = { stream: key&.name, id: id, **preference(service) }
      receipt = begin
        service.sink.push(event, **options)
      rescue Elah::JSON::GenerateError
        service.sink.push(Sender.scrub(event), **options)
      end
      service.pulse.accepted(Stats.named_path(event))
      service.pulse.took(now - started_at)
      receipt
    end

    private

    # @return [Elah::HeaderSet, nil] the same as {#told} has them with the type, where they are known before
    def prepared_headers(receipt)
      return unless Stats.service.plain?
      return Express::HEADERS unless receipt && request.header("prefer")

      Express::TOLD[receipt.durability]&.first
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # @return [Boolean] whether it neither says what it prefers nor asks not to be followed
    def plain?(request) = !request.header("prefer") && !Sender.opted_out?(request)

    def accept_with_care(params)
      receipt = push("request", params)
      answer(200, { durability: receipt.durability, id: receipt.id }, receipt)
    end

    def preference(service) = Elah::Sink::Preference.of(request.header("prefer"), default: service.durability)

    # @return [Boolean] whether there was one, so that the others may be accepted
    def refuse_large(batch, sender)
      bytes_max = Elah.config.sink_event_bytes_max
      before = batch.rejected
      batch.refuse do |item|
        next if Elah::JSON.generate(yield(sender, item)).bytesize <= bytes_max

        Refused.new("event_too_large", "An event has at most #{bytes_max} bytes as it is recorded.", 413)
      end
      batch.rejected > before
    end
  end
end
