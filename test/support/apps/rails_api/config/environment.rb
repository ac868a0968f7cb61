# frozen_string_literal: true

# Initializes the app.
require_relative "application"
Rails.application.initialize!
Tables.create if ENV["CREATE_TABLES"]
