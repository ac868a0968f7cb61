# frozen_string_literal: true

require "digest"

module Lab
  # Tells whether what a command made is still what it would make.
  module Fingerprint
    # @param command [Array<String>]
    # @param sources [Array<String>] files and folders that it depends on
    # @return [String] in hexadecimal
    def self.of(command, sources)
      files = sources.flat_map { |source| File.directory?(source) ? files_below(source) : source }
      Digest::SHA256.hexdigest([command, files.sort.map { |file| [file, Digest::SHA256.file(file).hexdigest] }].to_s)
    end

    # @param folder [String]
    # @return [Array<String>]
    def self.files_below(folder)
      Dir.glob("**/*", base: folder).map { |file| File.join(folder, file) }.select { |file| File.file?(file) }
    end
    private_class_method :files_below
  end
end
