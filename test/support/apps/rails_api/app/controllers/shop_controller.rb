# frozen_string_literal: true

# Responses in plain text, some of which wait.
class ShopController < ActionController::API
  def hello = render(plain: "hello")

  def slow
    Widget.wait(params.fetch(:seconds, 0.2).to_f)
    render json: { waited: true }
  end

  # Has a response of its own for a pool in which all is in use.
  def patient
    slow
  rescue ActiveRecord::ConnectionTimeoutError
    response.set_header("Retry-After", "5")
    render json: { busy: true }, status: :too_many_requests
  end

  # Holds a connection while a thread needs another.
  def two
    Widget.wait(0.1)
    render json: { widgets: Thread.new { Widget.connection_pool.with_connection { Widget.count } }.value }
  end

  def whoami
    before = Current.user
    Current.user = params[:user]
    logger.info("begins #{params[:user]}")
    sleep 0.05
    logger.info("ends #{params[:user]}")
    render json: { before: before, user: Current.user }
  end

  def broadcast
    ActionCable.server.broadcast("news", { "text" => params[:text] })
    head :no_content
  end

  # What Turbo's frames and streams are: HTML with a content type of its own.
  def turbo
    render body: %(<turbo-stream action="append" target="widgets"><template>#{Widget.count}</template></turbo-stream>),
           content_type: "text/vnd.turbo-stream.html"
  end

  def live = render(json: LiveController::RUNNING.value)
  def pool = render(json: Widget.connection_pool.stat)
  def middleware = render(json: Rails.application.middleware.map(&:name))
end
