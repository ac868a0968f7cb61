# frozen_string_literal: true

# Tables of a restaurant: reserved for 15 minutes, and free again unless the guest comes. Timers survive restarts.
#   elah serve --workers 2 examples/reservations.rb
#   curl -X POST -d guest=ann localhost:9292/tables/7
class Table < Elah::Entity
  def restore = @guest = state.get("guest")
  attr_reader :guest

  def reserve(guest)
    return if @guest

    state.put("guest", @guest = guest)
    wake_at(Time.now + (15 * 60))
    guest
  end

  def seat = wake_at(nil) || @guest
  def woken = state.delete("guest") || @guest = nil
end

class Reservations < Elah::API
  TABLES = Table.in(Elah::Store.open(Elah.config.state))
  format :json
  get("tables/:number") { { guest: TABLES[params[:number]].guest } }
  params { requires :guest, type: String }
  post("tables/:number") { { guest: TABLES[params[:number]].reserve(params[:guest]) || error!("taken", 409) } }
  put("tables/:number") { { guest: TABLES[params[:number]].seat } }
end
run Reservations
