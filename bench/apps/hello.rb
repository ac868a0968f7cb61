# frozen_string_literal: true

# The application behind the text and json workloads, and behind the 10,000 sleeping connections.

class Text < Elah::API
  format :txt

  get(:hello) { "hello world" }

  get(:sleep) do
    sleep 1
    "slept"
  end
end

class Item < Elah::API
  format :json

  get(:json) { { id: 42, title: "hello world", done: false, tags: %w[ruby rust] } }
end

class Hello < Elah::API
  mount Text
  mount Item
end

run Hello
