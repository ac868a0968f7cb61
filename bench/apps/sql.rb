# frozen_string_literal: true

# The record of `bench/apps/rails_queries.ru` through Elah::SQL, for `bench/rubies`.
class Products < Elah::API
  SQL = Elah::SQL.new(ENV.fetch("DATABASE_URL"), connections_max: 20)

  format :json

  params { requires :id, type: Integer }
  get("products/:id") { SQL.first("SELECT id, name, price FROM products WHERE id = ?", params[:id]) }
end

run Products
