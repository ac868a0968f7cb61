# frozen_string_literal: true

# Answers with what `rack.input` gives: /METHOD/ARGUMENT..., and for / with what all its methods say.
require "json"

all = lambda do |input|
  whole = input.read
  input.rewind
  { "class" => input.class.name, "bytes" => whole.bytesize, "encoding" => whole.encoding.name,
    "read_at_end" => (input.read; input.read(1)), "read_all_at_end" => input.read,
    "buffer" => (input.rewind; +"old").tap { |buffer| input.read(3, buffer) }, "rest" => input.read.bytesize,
    "gets" => (input.rewind; input.gets),
    "each" => (input.rewind; [].tap { |lines| input.each { |line| lines << line.bytesize } }),
    "zero" => input.read(0) }
end

# From Rack 3 on, Lint hides `rewind`.
without_rewind = lambda do |input|
  { "gets" => (line = input.gets), "bytes" => line.to_s.bytesize + input.read.bytesize,
    "each" => [].tap { |lines| input.each { |rest| lines << rest } } }
end

map "/lint" do
  use Rack::Lint
  run lambda { |env|
    input = env["rack.input"]
    found = input.respond_to?(:rewind) ? all.call(input) : without_rewind.call(input)
    [200, { "content-type" => "application/json" }, [JSON.generate(found)]]
  }
end

map "/body" do
  run ->(env) { [200, { "content-type" => "text/plain" }, env["rack.input"]] }
end

map "/closed" do
  run ->(env) { env["rack.input"].close; [200, {}, [env["rack.input"].closed?.to_s]] }
end

map "/descriptors" do
  is_deleted = ->(fd) { File.readlink("/proc/self/fd/#{fd}").include?("(deleted)") rescue false }
  run ->(_) { [200, {}, [Dir.children("/proc/self/fd").count(&is_deleted).to_s]] }
end

run ->(env) { [200, { "content-type" => "application/json" }, [JSON.generate(all.call(env["rack.input"]))]] }
