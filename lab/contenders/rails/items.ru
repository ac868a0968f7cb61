# frozen_string_literal: true

# The routes of specs/items.md in Rails.
require_relative "api_controller"
require_relative "../ruby_apis/items"

LabApplication.routes.append do
  get "/items/random", to: "items#random"
  post "/items", to: "items#create"
  get "/items/:uuid", to: "items#show"
  delete "/items/:uuid", to: "items#destroy"
end

class ItemsController < APIController
  def random
    response.set_header("Cache-Control", "no-store")
    return render(json: Items.random(params[:tag])) unless params[:n]

    render(json: %({"items":[#{Items.sample(params[:tag], params[:n].to_i).join(',')}]}))
  end

  def create
    uuid, item = Items.create(document)
    render(json: item, status: :created, location: "#{request.base_url}/items/#{uuid}")
  end

  def show = render(json: Items.find(params[:uuid]))

  def destroy
    Items.delete(params[:uuid])
    head(:no_content)
  end
end

LabApplication.initialize!
Items.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))

run LabApplication
