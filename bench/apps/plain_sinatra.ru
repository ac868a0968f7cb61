# frozen_string_literal: true

# The text of the rack workload in Sinatra, for bench/yjit.
require "sinatra/base"

class PlainSinatra < Sinatra::Base
  set :environment, :production
  set :logging, false

  get("/rack") do
    content_type "text/plain"
    "hello world"
  end
end

run PlainSinatra
