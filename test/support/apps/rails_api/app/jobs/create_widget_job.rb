# frozen_string_literal: true

class CreateWidgetJob < ActiveJob::Base
  def perform(name) = Widget.create!(name: name)
end
