# frozen_string_literal: true

# A channel that sends what the app broadcasts, and responds to a message.
class NewsChannel < ApplicationCable::Channel
  def subscribed = stream_from("news")

  def count(data) = transmit({ "widgets" => Widget.count, "for" => data["name"] })
end
