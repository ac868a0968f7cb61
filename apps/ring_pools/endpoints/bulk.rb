# frozen_string_literal: true

require_relative "../bulk_request"
require_relative "original"

module RingPools
  module Endpoints
    # The Bulk RingPool API, version 2013-07-01: many numbers of many pools in one request.
    class Bulk < Elah::API
      format :json
      Original.rescue_errors(self)
      # The body is parsed by the code that knows its errors.
      parser :json, ->(text, _env) { text }

      desc "Allocates a number for each row"
      post "api/2013-07-01/bulk.json", raw: true do
        started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        bulk = BulkRequest.new(RingPools.service, BulkRequest.rows(request.body), Credentials.header(request))
        text = bulk.response
        milliseconds = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at) * 1000
        headers = { "content-type" => "application/json", "processing-time" => milliseconds.round(3).to_s }
        headers["overflow-reasons"] = bulk.reasons.map { |reason, count| "#{reason}=#{count}" }.join(", ") unless bulk.reasons.empty?
        request.respond(200, headers, text)
      end
    end
  end
end
