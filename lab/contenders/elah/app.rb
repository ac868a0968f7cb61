# frozen_string_literal: true

# The plain answers in blocks of Elah::API.
require "elah"

class Text < Elah::API
  format :txt

  get(:hello) { "hello world" }

  get(:sleep) do
    sleep 0.05
    "slept"
  end
end

class Item < Elah::API
  format :json

  get(:json) { { id: 42, title: "hello world", done: false, tags: %w[ruby rust] } }
end

class Plain < Elah::API
  mount Text
  mount Item
end

run Plain
