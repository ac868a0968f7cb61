# frozen_string_literal: true

require "fileutils"

module Elah
  class Store
    module Backup
      # A backup written to a folder: first beside its place, then renamed when it is complete and synced.
      class FolderTarget
        SUFFIX = ".unfinished"

        # The first file of an unfinished backup. A folder of that name without it is somebody else's, whose files stay.
        MARK = "elah.unfinished"
        private_constant :SUFFIX, :MARK

        # @param path [String] a folder that is missing or empty
        # @param data [String] the data folder
        # @raise [Failed]
        def initialize(path, data)
          @path = Text.path(path)
          @staging = "#{@path}#{SUFFIX}"
          raise Failed, "#{path} is not empty: name a new folder." if File.exist?(@path) && !Folders.empty?(@path)
          raise Failed, "#{path} is a mount point or a symbolic link: name a folder in it." if Folders.fixed?(@path)
          raise Failed, "#{path} lies in the data folder #{data}: name a folder outside." if Folders.inside?(@path, data)
          raise Failed, "#{@staging} is no unfinished backup: remove it, or name another folder." unless own_or_absent?

          @lock = Folders.stage(@staging) or raise Failed, "Another backup to #{path} is running."
          Folders.add(@staging, MARK) { nil }
        rescue SystemCallError => e
          raise Failed, "The backup cannot be written to #{path}: #{e.message}."
        end

        # @param path [String] of a file, relative
        # @yieldparam io [IO]
        # @return [void]
        def add(path, _bytes, _time, &block) = Folders.add(@staging, path, &block)

        # @return [void]
        def finish
          File.delete(File.join(@staging, MARK))
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

        private

        def own_or_absent?
          return false if File.symlink?(@staging)

          !File.exist?(@staging) || Folders.empty?(@staging) || File.exist?(File.join(@staging, MARK))
        end
      end

      # A backup that is read from a folder.
      class FolderSource
        # @param path [String]
        # @param data [String] the data folder into which it is restored
        # @raise [Failed]
        def initialize(path, data)
          @path = Text.path(path)
          raise Failed, "#{data} lies in the backup #{path}: name a folder outside." if Folders.inside?(data, @path)
        end

        # @yieldparam path [String] of a file, relative
        # @yieldparam bytes [Integer] its length
        # @yieldparam io [IO]
        # @return [void]
        # @raise [Failed] when there is no manifest
        def each_file
          manifest = File.join(@path, MANIFEST)
          raise Failed, "#{@path} is no complete backup: it has no #{MANIFEST}." unless File.file?(manifest)

          Folders.files(@path).each { |path| File.open(File.join(@path, path), "rb") { |io| yield path, io.size, io } }
        end
      end

      # Folders that appear whole, or not at all.
      module Folders
        # The folder in the root of a file system that only its superuser reads.
        FILE_SYSTEM = "lost+found"
        private_constant :FILE_SYSTEM

        class << self
          # An empty folder for this process alone. What a killed process has left there is removed.
          #
          # @return [File, nil] to close at the end; nil when another process uses it
          def stage(path)
            FileUtils.mkdir_p(path, mode: 0o700)
            lock = lock(path) or return

            Dir.each_child(path) { |child| FileUtils.rm_rf(File.join(path, child)) }
            lock
          end

          # @return [File, nil] as of {stage}
          def lock(path)
            lock = File.open(path)
            return lock if lock.flock(File::LOCK_EX | File::LOCK_NB)

            lock.close
            nil
          end

          # Symbolic links to folders are followed: a store may lie on another disk.
          #
          # @return [Array<String>] paths of files relative to the folder, in which the bytes count: in the locale C, Ruby reads them as ASCII
          # @raise [Failed] when a folder may not be read
          def files(folder, outer = [])
            place = File.realpath(folder)
            return [] if outer.include?(place)

            children(folder).flat_map do |name|
              path = File.join(folder.b, name.b)
              next (File.file?(path) ? [Text.of_bytes(name)] : []) unless File.directory?(path)

              files(path, [*outer, place]).map { |file| Text.of_bytes(File.join(name.b, file.b)) }
            end
          rescue Errno::ENOENT, Errno::ENOTDIR # removed meanwhile
            []
          rescue Errno::EACCES
            raise Failed, "The folder #{Text.printable(folder)} may not be read: run the command as the user of the server."
          end

          # @return [Array<String>] names of the files and folders in it, except for that of the file system
          def children(folder) = Dir.children(folder) - [FILE_SYSTEM]

          def empty?(path) = File.directory?(path) && Dir.empty?(path)

          # Whether no other folder can take its place.
          def fixed?(path)
            File.symlink?(path) || (File.exist?(path) && File.stat(path).dev != File.stat(File.dirname(path)).dev)
          end

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
          def sync(folder) = Dir.glob("**/", File::FNM_DOTMATCH, base: folder).push(".").each { |path| sync_names(File.join(folder, path)) }

          def sync_names(folder) = File.open(folder, &:fsync)
        end
      end
      private_constant :Folders
    end
  end
end
