# frozen_string_literal: true

# The plain answers in Grape: the file of the contender elah, but for its superclass and the lines that Grape needs.
require "grape"

class Text < Grape::API
  format :txt

  get(:hello) { "hello world" }

  get(:sleep) do
    sleep 0.05
    "slept"
  end
end

class Item < Grape::API
  format :json

  get(:json) { { id: 42, title: "hello world", done: false, tags: %w[ruby rust] } }
end

class Plain < Grape::API
  mount Text
  mount Item
end

run Plain
