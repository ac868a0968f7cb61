# frozen_string_literal: true

# The channel that the app's own descend from.
module ApplicationCable
  class Channel < ActionCable::Channel::Base
  end
end
