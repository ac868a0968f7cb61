# frozen_string_literal: true

require_relative "../accepting"
require_relative "../batch"
require_relative "support"

module Stats
  module Endpoints
    # The route for many events at once, with a result for each.
    class Batches < Elah::API
      format :json
      helpers Support, Accepting
      Parameters.accept_bodies(self)

      helpers do
        # @return [Array<Hash>] a result for each event, in their order
        def results(batch, receipt)
          ids = receipt&.ids&.each
          batch.faults.map { |fault| fault ? fault.to_h : { status: 202, id: ids.next } }
        end

        def minimal? = Elah::Sink::Preference.parse(request.header("prefer"))["return"] == "minimal"

        # Accepts a body that has only valid events, without parsing each.
        #
        # @return [Array(Object), nil] the result of the handler; nil if the body needs {#accept_one_by_one}
        def accept_whole(body, type, key)
          return if key&.per_minute

          options = preference(service)
          return if options[:durability] == :delivered

          started_at = now
          members = Sender.of(request, service).members("batch", request.path)
          service.live_counters.expire
          receipt, count = service.sink.push_items(body, lines: type == Batch::NDJSON, with: members, max: service.batch_events_max,
                                                         stream: key&.name, durability: options[:durability],
                                                         counts: [service.live_counters.paths, request.path])
          return unless receipt

          service.live_counters.record_latency(now - started_at)
          service.live_counters.add_counted(count)
          results = minimal? ? [] : receipt.ids.map { |id| { status: 202, id: id } }
          [respond(200, { accepted: count, rejected: 0, durability: receipt.durability, results: results }, receipt)]
        rescue Elah::Sink::TooLarge
          nil
        end

        def accept_one_by_one(body, type, key)
          batch = Batch.read(body, type, service.batch_events_max)
          receipt = accept_batch(batch, key) { |sender, item| sender.event("batch", request.path, item) }
          status = batch.rejected.zero? ? 200 : receipt ? 207 : 422
          respond(status, { accepted: batch.size - batch.rejected, rejected: batch.rejected, durability: receipt&.durability,
                            results: minimal? ? batch.refusals : results(batch, receipt) }, receipt)
        end
      end

      desc "Records many events: a JSON array, or a JSON object per line"
      post "stats/batch", raw: true do
        key = admit
        type = Parameters.media_type(request)
        body = Body.read(request, service.inflated_bytes_max)
        whole = accept_whole(body, type, key)
        whole ? whole.first : accept_one_by_one(body, type, key)
      end
    end
  end
end
