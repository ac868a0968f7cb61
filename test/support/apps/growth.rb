# frozen_string_literal: true

# Reads everything that a request can carry. `GET /mark` calls a function of the C library by which a profiler knows
# where one measurement ends and the next begins.
require "elah/api"
require "elah/server/idle_memory"

# It would collect garbage while a slow profiler runs, at any time.
def (Elah::IdleMemory).start(_event_loop) = nil

class GrowthApp < Elah::API
  format :json
  # Counted are requests, not the collection of their garbage, which comes at any time: it is counted apart, between two
  # calls of the function.
  get(:mark) do
    Process.getsid
    GC.start
    GC.disable
    Process.getsid
    {}
  end

  post(:read) { { size: params.size } }
  get(:read) { { size: params.size, cookies: cookies.to_h.size, headers: headers.size } }
  get("path/*rest") { { size: params[:rest].size } }
  get("word/:word") { { size: params[:word].size } }
  get(:environment) { { size: env.size } }
  post(:body) { { size: request.body.bytesize } }

  params do
    requires :rows, type: Array do
      requires :name, type: String
      optional :count, type: Integer
    end
  end
  post(:declared) { { size: declared(params)["rows"].size } }

  params { requires :number, type: Integer }
  post(:number) { { size: params[:number].bit_length } }

  get("write/:count") do
    count = params[:count].to_i
    { objects: Array.new(count) { |n| { id: n, name: "n" } },
      names: Array.new(count) { |n| ["n#{n}", n] }.to_h, text: "\u{20ac}\n\"" * count }
  end
end

# Looks at Accept and at Accept-Version.
class NegotiatingApp < Elah::API
  content_type :txt, "text/plain"
  content_type :json, "application/json"
  default_format :txt
  version "v1", using: :header, vendor: "acme"

  get("negotiated") { "x" }
end

GrowthApp.mount(NegotiatingApp)
run GrowthApp
