# frozen_string_literal: true

# The routes of specs/ring_pools.md in Rails.
require_relative "api_controller"
require_relative "../ruby_apis/ring_pools"

LabApplication.routes.append do
  post "/pools", to: "ring_pools#create"
  post "/api/2013-07-01/bulk.json", to: "ring_pools#bulk"
end

class RingPoolsController < APIController
  def create
    pool = RingPools.create(document)
    render(json: pool, status: :created, location: "#{request.base_url}/pools/#{pool['id']}")
  end

  def bulk
    status, headers, answer = RingPools.bulk(request.raw_post, request.env)
    headers.each { |name, value| response.set_header(name, value) }
    render(json: JSON.generate(answer), status: status)
  end
end

LabApplication.initialize!
RingPools.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))

run LabApplication
