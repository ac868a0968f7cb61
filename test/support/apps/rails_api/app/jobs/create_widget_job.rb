# frozen_string_literal: true

# A job that writes a record.
class CreateWidgetJob < ActiveJob::Base
  def perform(name) = Widget.create!(name: name)
end
