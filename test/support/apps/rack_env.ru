# frozen_string_literal: true

# Answers with its environment, marshalled; what cannot be marshalled as the name of its class.
use Rack::Lint
run lambda { |env|
  shown = env.transform_values do |value|
    [String, Integer, Array, true, false].any? { |kind| kind === value } ? value : value.class.name
  end
  [200, { "content-type" => "application/octet-stream" }, [Marshal.dump(shown)]]
}
