# frozen_string_literal: true

# The URL shortener. `elah serve apps/links/app.rb` runs it on the embedded store in the folder of --data.
require "elah"
require_relative "settings"
require_relative "api"

Links.service = Links::Settings.service(Elah.settings, Elah.config)

run Links::API
