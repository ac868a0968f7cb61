# frozen_string_literal: true

require_relative "../accepting"
require_relative "../batch"
require_relative "support"

module Stats
  module Endpoints
    # Owns the route that takes many events at once and says of each what became of it.
    class Batches < Elah::API
      format :json
      error_format :problem
      helpers Support, Accepting
      Support.rescue_errors(self)
      Parameters.accept_bodies(self)

      helpers do
        # @return [Array<Hash>] a result for each event, in their order
        def results(batch, receipt)
          ids = receipt&.ids&.each
          batch.faults.map { |fault| fault ? { status: fault.status, code: fault.code, detail: fault.message } : { status: 202, id: ids.next } }
        end

        # @return [Array<Hash>] results of those that were not accepted, by their place
        def refusals(batch)
          batch.faults.each_with_index.filter_map do |fault, index|
            { index: index, status: fault.status, code: fault.code, detail: fault.message } if fault
          end
        end
      end

      desc "Records many events: a JSON array, or a JSON object per line"
      post "stats/batch", raw: true do
        key = admit
        batch = Batch.read(Body.read(request, service.inflated_bytes_max), Parameters.media_type(request), service.batch_events_max)
        receipt = accept_batch(batch, key) { |sender, item| sender.event("batch", request.path, item) }
        minimal = Elah::Sink::Preference.parse(request.header("prefer"))["return"] == "minimal"
        status = batch.rejected.zero? ? 200 : receipt ? 207 : 422
        answer(status, { accepted: batch.size - batch.rejected, rejected: batch.rejected, durability: receipt&.durability,
                         results: minimal ? refusals(batch) : results(batch, receipt) }, receipt)
      end
    end
  end
end
