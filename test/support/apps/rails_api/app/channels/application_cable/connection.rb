# frozen_string_literal: true

# A WebSocket of ActionCable.
module ApplicationCable
  class Connection < ActionCable::Connection::Base
  end
end
