# frozen_string_literal: true

require_relative "service"
require_relative "stores"

module Links
  # The settings of the app: `links_api_key`, `links_base_url` and `links_hosts`.
  module Settings
    # @param settings [Elah::Settings]
    # @param config [Elah::Config]
    # @return [Service]
    # @raise [Elah::OptionError] when a setting has a wrong value
    def self.service(settings, config)
      key = settings[:links_api_key]
      Service.new(Stores.open(config), api_key: key && Elah::ApiKey.new(key), base_url: settings[:links_base_url],
                                       hosts: settings.list(:links_hosts))
    end
  end
end
