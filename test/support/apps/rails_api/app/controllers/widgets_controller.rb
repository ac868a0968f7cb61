# frozen_string_literal: true

class WidgetsController < ActionController::API
  def count = render(json: { widgets: Widget.count })

  # Creates two widgets or none.
  def create
    Widget.transaction do
      Widget.create!(name: params[:name])
      Widget.wait(0.05)
      raise ActiveRecord::Rollback if params[:fail]

      Widget.create!(name: params[:name])
    end
    render json: { open: Widget.connection.open_transactions }
  end

  # Counts three times: the second is answered by the query cache, the third follows a change.
  def cached
    statements = []
    fiber = Fiber.current
    note = lambda do |*, event|
      statements << (event[:cached] ? "cached" : "sent") if Fiber.current.equal?(fiber) && event[:sql].include?("COUNT")
    end
    ActiveSupport::Notifications.subscribed(note, "sql.active_record") do
      2.times { Widget.count }
      Widget.wait(0.02)
      Widget.create!(name: "cached")
      Widget.count
    end
    render json: statements
  end

  def roles
    role = params[:role].to_sym
    before = Widget.current_role
    inside = ActiveRecord::Base.connected_to(role: role) do
      Widget.wait(0.05)
      [Widget.current_role, write]
    end
    render json: { before: before, inside: inside, after: Widget.current_role }
  end

  def later
    CreateWidgetJob.perform_later(params[:name])
    render json: { widgets: Widget.where(name: params[:name]).count }
  end

  def async
    found = Array.new(3) { |index| Widget.where(name: "a#{index}").load_async }
    render json: found.map(&:size)
  end

  private

  def write
    Widget.create!(name: "role").persisted?
  rescue ActiveRecord::ReadOnlyError
    false
  end
end
