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
    # @return [Array] for {check} in a trial run: the path to which the option leads now, and the option as it was given, as {Restart.written_path}
    #   writes them
    def self.state(config) = [real(config.data), config.given_data].map { |path| Restart.written_path(path) }

    # @param config [Elah::Config] of a trial run
    # @param state [Array] of the server
    # @raise [Elah::OptionError] when the same option leads to another folder, and the server has data in its own
    def self.check(config, state)
      path, given = state.map { |written| Restart.read_path(written) }
      found = real(config.data)
      return if given.b != config.given_data.b || File.identical?(path, found) || Dir.glob(FILES, base: path).empty?

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
