# frozen_string_literal: true

require "digest"

module Lab
  # Tells whether what a command made is still what it would make.
  module Fingerprint
    # @param command [Array<String>]
    # @param sources [Array<String>] files and folders that it depends on
    # @return [String] in hexadecimal
    def self.of(command, sources)
      files = sources.flat_map { |source| File.directory?(source) ? Dir.glob(File.join(source, "**/*")).select { |file| File.file?(file) } : source }
      Digest::SHA256.hexdigest([command, files.sort.map { |file| [file, Digest::SHA256.file(file).hexdigest] }].to_s)
    end
  end
end
