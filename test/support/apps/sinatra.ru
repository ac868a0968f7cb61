# frozen_string_literal: true

# A Sinatra app of the usual parts, with Rack::Lint between it and the server. Before Rack 3, Lint also stands right
# around it; from then on two of them disagree about a body that one of them has closed.
require "sinatra/base"
require "json"

class Usual < Sinatra::Base
  set :environment, :production
  set :session_secret, "s" * 64
  set :logging, true
  enable :sessions
  enable :static
  set :public_folder, __dir__

  get("/") { "hello" }
  get("/params/:name") { JSON.generate(params.to_h) }
  post("/form") { JSON.generate(params.to_h) }
  get("/count") { (session[:count] = session[:count].to_i + 1).to_s }
  get("/cookie") do
    response.set_cookie("a", "1")
    response.set_cookie("b", value: "2", path: "/")
    request.cookies.to_a.inspect
  end
  get("/redirect") { redirect "/elsewhere" }
  get("/halt") { halt 418, { "x-why" => "tea" }, "short and stout" }
  get("/raise") { raise "the secret" }
  get("/sleep") { sleep 0.2; "slept" }
  get("/json") { content_type :json; JSON.generate(ok: true) }
  get("/etag") { etag "abc"; "tagged" }
  get("/last") { last_modified Time.at(0); "old" }
  get("/url") { url("/x") }
  get("/ip") { "#{request.ip} #{request.scheme} #{request.host} #{request.port} #{request.script_name}" }
  get("/file") { send_file __FILE__, type: :text }
  get("/range") { send_file __FILE__, type: :text }
  post("/body") { "#{request.body.read.bytesize} #{request.content_type} #{request.body.class}" }
  post("/upload") do
    file = params[:file]
    "#{file[:filename]} #{file[:type]} #{file[:tempfile].size} #{params[:note]}"
  end
  get("/stream") do
    last_modified Time.at(0) # Rack::ETag reads any other body to its end
    stream { |out| 3.times { |n| out << "#{n};"; sleep 0.01 } }
  end
  get("/stream_fails") do
    last_modified Time.at(0)
    stream { |out| out << "first"; sleep 0.05; raise "no second" }
  end
  not_found { "nothing here" }
  error { "sorry" }
end

map("/mounted") do
  run ->(env) { [200, { "content-type" => "text/plain" }, [env.values_at("SCRIPT_NAME", "PATH_INFO").inspect]] }
end
map("/sub") { run Usual }

use Rack::Lint
use Rack::ETag
use Rack::ConditionalGet
use Rack::Head
use Rack::Deflater
use Rack::Lint if Rack.release < "3"
run Usual
