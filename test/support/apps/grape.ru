# frozen_string_literal: true

# A Grape API of the usual parts, with Rack::Lint around it.
require "grape"

class UsualAPI < Grape::API
  format :json
  prefix :api
  version "v1", using: :path
  rescue_from(ArgumentError) { |e| error!({ error: e.message }, 422) }

  helpers { def twice(value) = value * 2 }

  resource :things do
    get { [{ id: 1 }, { id: 2 }] }

    params { requires :id, type: Integer }
    route_param(:id) { get { { id: params[:id], double: twice(params[:id]) } } }

    params do
      requires :name, type: String, regexp: /\A[a-z]+\z/
      optional :tags, type: [String]
    end
    post { { created: declared(params) } }

    params { requires :file, type: File }
    post(:upload) { { name: params[:file][:filename], bytes: params[:file][:tempfile].size } }
  end

  get(:raise_argument) { raise ArgumentError, "wrong" }
  get(:header) { header "X-Thing", "1"; cookies[:a] = "b"; status 202; {} }
  get(:redirect) { redirect "/elsewhere" }
  get(:stream) { content_type "text/plain"; stream Enumerator.new { |out| 3.times { |n| out << "#{n};" } } }
  get(:no_content) { status 204; body false }
end

use Rack::Lint
run UsualAPI
