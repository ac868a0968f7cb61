# frozen_string_literal: true

# The items in Sinatra on threads.
require_relative "items_app"

Items.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run ItemsApp
