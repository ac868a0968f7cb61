# frozen_string_literal: true

# Unicorn as its manual advises: the app is loaded once, workers share its pages.
worker_processes Integer(ENV.fetch("WORKERS"))
preload_app true
