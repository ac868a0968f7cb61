# frozen_string_literal: true

# Where the app runs when nobody says so.
ENV["RAILS_ENV"] ||= "production"
