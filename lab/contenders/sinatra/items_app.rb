# frozen_string_literal: true

# The routes of specs/items.md in Sinatra, for the contenders sinatra and em_synchrony.
require_relative "api"
require_relative "../ruby_apis/items"

class ItemsApp < API
  get("/items/random") do
    headers "Cache-Control" => "no-store"
    next answer(Items.random(params["tag"])) unless params["n"]

    answer(%({"items":[#{Items.sample(params['tag'], params['n'].to_i).join(',')}]}))
  end

  post("/items") do
    uuid, item = Items.create(document)
    headers "Location" => "#{request.base_url}/items/#{uuid}"
    answer(item, 201)
  end

  get("/items/:uuid") { |uuid| answer(Items.find(uuid)) }

  delete("/items/:uuid") do |uuid|
    Items.delete(uuid)
    status 204
  end
end
