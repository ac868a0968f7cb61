# frozen_string_literal: true

# The links in Sinatra on threads.
require_relative "links_app"

Links.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run LinksApp
