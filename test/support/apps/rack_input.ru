# frozen_string_literal: true

# Answers with what `rack.input` gives: /METHOD/ARGUMENT..., and for / with what all its methods say.
require "json"

all = lambda do |input|
  whole = input.read
  input.rewind
  { "class" => input.class.name, "bytes" => whole.bytesize, "encoding" => whole.encoding.name, "read_at_end" => (input.read; input.read(1)),
    "read_all_at_end" => input.read, "buffer" => (input.rewind; +"old").tap { |buffer| input.read(3, buffer) },
    "rest" => input.read.bytesize, "gets" => (input.rewind; input.gets), "each" => (input.rewind; [].tap { |lines| input.each { |line| lines << line.bytesize } }),
    "zero" => input.read(0) }
end

map "/lint" do
  use Rack::Lint
  run ->(env) { [200, { "content-type" => "application/json" }, [JSON.generate(all.call(env["rack.input"]))]] }
end

map "/body" do
  run ->(env) { [200, { "content-type" => "text/plain" }, env["rack.input"]] }
end

map "/closed" do
  run ->(env) { env["rack.input"].close; [200, {}, [env["rack.input"].closed?.to_s]] }
end

map "/descriptors" do
  run ->(_) { [200, {}, [Dir.children("/proc/self/fd").count { |fd| File.readlink("/proc/self/fd/#{fd}").include?("(deleted)") rescue false }.to_s]] }
end

run ->(env) { [200, { "content-type" => "application/json" }, [JSON.generate(all.call(env["rack.input"]))]] }
