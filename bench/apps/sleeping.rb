# frozen_string_literal: true

# A handler that waits for 50 ms, as one that asks a slow service does.
class Sleeping < Elah::API
  format :txt

  get(:sleep) do
    sleep 0.05
    "slept"
  end
end

run Sleeping
