# frozen_string_literal: true

# Server-Sent Events and a stream; each holds a fiber, not a thread.
#   curl -N http://127.0.0.1:9292/ticks
#   curl -N http://127.0.0.1:9292/squares
class EventsAPI < Elah::API
  params { optional :seconds, type: Float, default: 0.5, values: 0.0..10.0 }
  get :ticks do
    sse do |events|
      3.times do |n|
        events.push({ tick: n }, event: "tick", id: n)
        sleep params[:seconds]
      end
    end
  end

  get :squares do
    content_type "text/csv"
    stream { |out| 1.upto(1000) { |n| out << "#{n},#{n * n}\n" } }
  end
end

run EventsAPI
