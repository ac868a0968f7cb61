# frozen_string_literal: true

require "fileutils"

module Elah
  class Store
    module Backup
      # A backup that is written as a folder: beside its place, and put there when it is complete and on the disk.
      class FolderTarget
        SUFFIX = ".unfinished"
        private_constant :SUFFIX

        # @param path [String] a folder that is missing or empty
        # @param data [String] the data folder
        # @raise [Failed]
        def initialize(path, data)
          @path = Text.path(path)
          raise Failed, "#{path} is not empty: name a new folder." if File.exist?(@path) && !Folders.empty?(@path)
          raise Failed, "#{path} lies in the data folder #{data}: name a folder outside." if Folders.inside?(@path, data)

          @staging = "#{@path}#{SUFFIX}"
          @lock = Folders.stage(@staging) or raise Failed, "Another backup to #{path} is running."
        rescue SystemCallError => e
          raise Failed, "The backup cannot be written to #{path}: #{e.message}."
        end

        # @param path [String] of a file, relative
        # @yieldparam io [IO]
        # @return [void]
        def add(path, _bytes, _time, &block) = Folders.add(@staging, path, &block)

        # @return [void]
        def finish
          Folders.sync(@staging)
          File.rename(@staging, @path)
          Folders.sync_names(File.dirname(@path))
          @lock.close
        end

        # @return [void]
        def abort
          FileUtils.rm_rf(@staging)
          @lock.close
        end
      end

      # A backup that is read from a folder.
      class FolderSource
        # @param path [String]
        def initialize(path)
          @path = Text.path(path)
        end

        # @yieldparam path [String] of a file, relative
        # @yieldparam bytes [Integer] its length
        # @yieldparam io [IO]
        # @return [void]
        # @raise [Failed] when there is no manifest
        def each_file
          manifest = File.join(@path, MANIFEST)
          raise Failed, "#{@path} is no complete backup: it has no #{MANIFEST}." unless File.file?(manifest)

          Folders.files("**/*", @path).each { |path| File.open(File.join(@path, path), "rb") { |io| yield path, io.size, io } }
        end
      end

      # Folders that appear whole, or not at all.
      module Folders
        class << self
          # An empty folder for this process alone. What a killed process has left there is removed.
          #
          # @return [File, nil] to close at the end; nil when another process uses it
          def stage(path)
            FileUtils.mkdir_p(path, mode: 0o700)
            lock = File.open(path)
            return lock.close && nil unless lock.flock(File::LOCK_EX | File::LOCK_NB)

            Dir.each_child(path) { |child| FileUtils.rm_rf(File.join(path, child)) }
            lock
          end

          # @return [Array<String>] paths relative to the folder, in which the bytes count: in the locale C, Ruby reads them as ASCII
          def files(pattern, folder)
            found = Dir.glob(pattern, File::FNM_DOTMATCH, base: folder).map { |path| Text.of_bytes(path) }
            found.select { |path| File.file?(File.join(folder.b, path.b)) }
          end

          def empty?(path) = File.directory?(path) && Dir.empty?(path)

          # Whether a path lies in a folder; none of them need exist.
          def inside?(path, folder)
            return false unless File.exist?(folder)

            path = File.dirname(path) until File.exist?(path)
            "#{File.realpath(path)}/".start_with?("#{File.realpath(folder)}/")
          end

          # Makes a file on the disk.
          def add(folder, path, &block)
            full = File.join(folder, path)
            FileUtils.mkdir_p(File.dirname(full))
            File.open(full, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600) do |io|
              block.call(io)
              io.fsync
            end
          end

          # Puts the names of a folder and those below it on the disk.
          def sync(folder) = [folder, *Dir.glob("#{folder}/**/", File::FNM_DOTMATCH)].each { |path| sync_names(path) }

          def sync_names(folder) = File.open(folder, &:fsync)
        end
      end
      private_constant :Folders
    end
  end
end
