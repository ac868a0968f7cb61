# frozen_string_literal: true

module Elah
  # The data folder of a server across a restart. A relative one lies in the release, so after a deployment the new code would begin without the
  # state of the old one, and would say nothing.
  # @api private
  module DataFolder
    # What a folder has in which stores or sinks keep their files.
    FILES = "{data.mdb,*/data.mdb,sinks/*}"
    private_constant :FILES

    # @param config [Elah::Config]
    # @return [Array<String>] for {check} in the trial run: the path, and the option as it was given; encoded, as paths may be no text
    def self.state(config) = [config.data, config.given_data].map { |text| [text].pack("m0") }

    # @param config [Elah::Config] of a trial run
    # @param state [Array<String>] of the server
    # @raise [Elah::OptionError] when the same option leads to another folder, and the server has data in its own
    def self.check(config, state)
      path, given = state.map { |text| text.unpack1("m0").force_encoding(Encoding.default_external) }
      return if given.b != config.given_data.b || real(path) == real(config.data) || Dir.glob(FILES, base: path).empty?

      raise OptionError, "The data folder #{Text.utf8(given)} is #{Text.utf8(path)} until now, and would be #{Text.utf8(config.data)}, without the " \
                         "data: set the option data to a path that is the same in every release."
    end

    def self.real(path) = File.exist?(path) ? File.realpath(path).b : path.b
    private_class_method :real
  end
end
