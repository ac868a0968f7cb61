# frozen_string_literal: true

# The application behind `bench/instructions`: one small route for each part of the general path.
require "elah"

# An entity in memory: its call costs the entity's part alone.
class Tally < Elah::Entity
  durability :memory

  def restore = @count = 0
  def add = @count += 1
end

TALLIES = Tally.in(Elah::Store.open(Elah.config.data))

class Untyped < Elah::API
  get(:untyped) { "hello world" }
end

class Plain < Elah::API
  format :txt

  get(:text) { "hello world" }
  get(:entity) { TALLIES["one"].add.to_s }

  get :sleep do
    sleep 0.001
    "slept"
  end
end

class Item < Elah::API
  format :json

  get(:json) { { id: 42, title: "hello world", done: false, tags: %w[ruby rust] } }
end

class General < Elah::API
  mount Plain
  mount Item
  mount Untyped
end

run General
