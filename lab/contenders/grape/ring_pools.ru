# frozen_string_literal: true

# The routes of specs/ring_pools.md in Grape.
require_relative "api"
require_relative "../ruby_apis/ring_pools"

class RingPoolsApp < Grape::API
  include API
  # What is wrong with a bulk request is answered in a form of its own.
  parser :json, ->(text, _env) { { "text" => text } }

  post "pools" do
    pool = RingPools.create(JSON.parse(document.fetch("text")))
    header "Location", "#{request.base_url}/pools/#{pool['id']}"
    pool
  end

  post "api/2013-07-01/bulk" do
    code, headers, answer = RingPools.bulk(document.fetch("text"), env)
    status code
    headers.each { |name, value| header(name, value) }
    answer
  end
end

RingPools.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run RingPoolsApp
