# frozen_string_literal: true

module Elah
  # The data folder of a server across a restart. One that lies in the release, by a relative path or a symlink, is another after a deployment: the
  # new code would begin without the state of the old one, and would say nothing.
  # @api private
  module DataFolder
    # What a folder has in which stores or sinks keep their files.
    FILES = "{data.mdb,*/data.mdb,sinks/*}"
    private_constant :FILES

    # @param config [Elah::Config]
    # @return [Array<String>] for {check} in a trial run: the path to which the option leads now, and the option as it was given; encoded, as paths
    #   may be no text
    def self.state(config) = [real(config.data), config.given_data].map { |text| [text].pack("m0") }

    # @param config [Elah::Config] of a trial run
    # @param state [Array<String>] of the server
    # @raise [Elah::OptionError] when the same option leads to another folder, and the server has data in its own
    def self.check(config, state)
      path, given = state.map { |text| text.unpack1("m0").force_encoding(Encoding.default_external) }
      found = real(config.data)
      return if given.b != config.given_data.b || path.b == found.b || Dir.glob(FILES, base: path).empty?

      raise OptionError, "The data folder #{Text.utf8(given)} is #{Text.utf8(path)} until now, and would be #{Text.utf8(found)}, without the data: " \
                         "set the option data to a path that is the same in every release."
    end

    def self.real(path)
      File.realdirpath(path)
    rescue SystemCallError # the folder around it is missing too
      path
    end
    private_class_method :real
  end
end
