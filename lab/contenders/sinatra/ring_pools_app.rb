# frozen_string_literal: true

# The routes of specs/ring_pools.md in Sinatra, for the contenders sinatra and em_synchrony.
require_relative "api"
require_relative "../ruby_apis/ring_pools"

class RingPoolsApp < API
  post("/pools") do
    pool = RingPools.create(document)
    headers "Location" => "#{request.base_url}/pools/#{pool['id']}"
    answer(pool, 201)
  end

  post("/api/2013-07-01/bulk.json") do
    status, more, document = RingPools.bulk(request.body.read, env)
    headers more
    answer(document, status)
  end
end
