# frozen_string_literal: true

# The trivial Rack application of the rack workload.

run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello world"]] }
