# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"

module Servers
  # Owns the empty databases that a server is started on: made once per version and recipe, then copied, which takes a
  # hundredth of the time.
  module Template
    # @param program [String] with its version
    # @param recipe [String] the file whose content says how it is made
    # @param target [String] the folder to make
    # @yieldparam folder [String] where the block makes the empty database, the first time
    def self.copy(program, recipe, target)
      template = File.join(CACHE, "#{program}-#{Digest::SHA256.file(recipe).hexdigest[0, 12]}")
      build(template) { |folder| yield folder } unless File.directory?(template)
      run("cp", "--archive", template, target)
    end

    # Several test processes may build it at once: who is first keeps it.
    def self.build(template)
      draft = "#{template}.#{Process.pid}"
      FileUtils.mkdir_p(CACHE)
      yield draft
      File.rename(draft, template)
    rescue Errno::EEXIST, Errno::ENOTEMPTY
      nil # somebody else's is as good
    ensure
      FileUtils.remove_entry(draft, true)
    end
    private_class_method :build

    # @raise [Failure] when the command fails
    def self.run(*command, **options)
      out, status = Open3.capture2e(*command, **options)
      status.success? ? out : raise(Failure, "#{command.join(' ')} failed:\n#{out}")
    end
  end
end
