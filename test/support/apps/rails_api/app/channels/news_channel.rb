# frozen_string_literal: true

class NewsChannel < ApplicationCable::Channel
  def subscribed = stream_from("news")

  def count(data) = transmit({ "widgets" => Widget.count, "for" => data["name"] })
end
