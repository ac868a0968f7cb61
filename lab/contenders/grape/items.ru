# frozen_string_literal: true

# The routes of specs/items.md in Grape.
require_relative "api"
require_relative "../ruby_apis/items"

class ItemsApp < Grape::API
  include API

  get "items/random" do
    header "Cache-Control", "no-store"
    next Items.random(params[:tag]) unless params[:n]

    %({"items":[#{Items.sample(params[:tag], params[:n].to_i).join(',')}]})
  end

  post "items" do
    uuid, item = Items.create(document)
    header "Location", "#{request.base_url}/items/#{uuid}"
    item
  end

  get("items/:uuid") { Items.find(params[:uuid]) }

  delete "items/:uuid" do
    Items.delete(params[:uuid])
    status 204
    body false
  end
end

Items.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run ItemsApp
