# frozen_string_literal: true

# Actions that send their response piece by piece, in a thread of their own.
class LiveController < ActionController::API
  include ActionController::Live

  RUNNING = Concurrent::AtomicFixnum.new

  def events
    response.headers["Content-Type"] = "text/event-stream"
    response.headers["Last-Modified"] = Time.now.httpdate unless params[:etag] # else Rack::ETag waits for the end
    stream = ActionController::Live::SSE.new(response.stream, event: "tick")
    RUNNING.increment
    sleep params.fetch(:before, 0).to_f
    params.fetch(:ticks, 3).to_i.times do |number|
      stream.write({ number: number, widgets: count })
      sleep params.fetch(:pause, 0.02).to_f
    end
  ensure
    stream&.close
    RUNNING.decrement
  end

  def file = send_file(__FILE__)

  private

  # Until Rails 7.0 the connection of an action of Live stays with its thread, until the pool finds that the thread
  # has ended.
  def count = Rails::VERSION::MAJOR >= 7 ? Widget.count : Widget.connection_pool.with_connection { Widget.count }
end
