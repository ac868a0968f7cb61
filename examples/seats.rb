# frozen_string_literal: true

# Seats of a show: held for ten minutes, paid or free again. `elah serve examples/seats.rb`, then
#   curl -X POST -d visitor=ann -d seat=14 localhost:9292/shows/hamlet/seats
#   curl -X DELETE localhost:9292/shows/hamlet/seats/14-1
class Show < Elah::Entity
  SEATS = (1..200).freeze
  index :seats

  def restore = @seats = Elah::LeasePool.new(SEATS, hold: 600, rows: index(:seats), name: key)
  def hold(visitor, seat) = @seats.lease(session: visitor, item: seat)&.id
  def give_back(id) = @seats.release(id)&.id
  def count = @seats.statistics.to_h
end

class Seats < Elah::API
  SHOWS = Show.in(Elah::Store.open(Elah.config.state))
  format :json
  error_format :problem
  params do
    requires :visitor, type: String
    optional :seat, type: Integer, values: Show::SEATS
  end
  post("shows/:name/seats") do
    { hold: SHOWS[params[:name]].hold(params[:visitor], params[:seat]) || error!("That seat is taken.", 409, code: "taken") }
  end
  delete("shows/:name/seats/:id") { { given_back: SHOWS[params[:name]].give_back(params[:id]) || error!("It is over.", 404) } }
  get("shows/:name") { SHOWS[params[:name]].count }
end
run Seats
