# frozen_string_literal: true

require_relative "folder"

module Elah
  class Store
    module Backup
      # The way of a backup into an empty data folder: all files are written into a folder in it and checked. Then the folder gets another name, and
      # its files are moved to their places. Its manifest names them, so that the next restore can undo one that was killed meanwhile.
      class Restoration
        # @param source [FolderSource, TarSource]
        # @param data [String] a folder that is missing or empty, but for the `lost+found` of a file system
        # @return [Report]
        # @raise [Failed] when the backup is not whole, or the folder not empty; nothing of it is left
        def self.run(source, data) = new(data).run(source)

        # @api private
        def initialize(data)
          @data = Text.path(data)
          @staging = File.join(@data, UNFINISHED_RESTORE)
          @checked = File.join(@data, CHECKED_RESTORE)
          @found = {}
        end

        # @api private
        def run(source)
          existing = Dir.exist?(@data)
          undo_interrupted
          others = existing ? Folders.children(@data) - [UNFINISHED_RESTORE] : []
          raise Failed, "#{@data} is not empty: a backup is restored into an empty folder only." if others.any?

          lock = Folders.stage(@staging) or raise_running
          source.each_file { |path, bytes, io| receive(path, bytes, io) }
          lock.flock(File::LOCK_SH) # a store may lie in the folder itself, and shares its lock
          report = verified
          install
          completed = report
        rescue SystemCallError => e
          raise Failed, "The restore into #{@data} failed, and nothing of it is left: #{e.message}."
        ensure
          discard(existing) if lock && !completed
          lock&.close
        end

        private

        def raise_running = raise(Failed, "Another restore into #{@data} is running.")

        # Undoes a restore that was killed while it moved its files, unless the folder has other files by now.
        def undo_interrupted
          return if Backup.unmoved(@data).empty?

          lock = Folders.lock(@checked) or raise_running
          undo if (Folders.children(@data) - [CHECKED_RESTORE] - names_of_backup).empty?
        ensure
          lock&.close
        end

        # Files that were not moved are removed last: as long as one is there, nobody uses the folder.
        def undo
          FileUtils.rm_rf((names_of_backup - Backup.unmoved(@data)).map { |name| File.join(@data, name) })
          File.rename(@checked, @staging)
        end

        def names_of_backup
          JSON.parse(File.read(File.join(@checked, MANIFEST))).fetch("files").map { |file| file.fetch("path")[%r{[^/]+}] }.uniq
        end

        def receive(path, bytes, io)
          path = Text.of_bytes(path)
          raise Failed, "The backup has a file with the path #{Text.printable(path)}, which is not allowed." unless safe?(path)

          checksum = nil
          Folders.add(@staging, path) { |file| checksum = Backup.copy(bytes, file) { |_, length| io.read(length) } }
          @found[path] = [bytes, format("%08x", checksum)]
        rescue Errno::EEXIST
          raise Failed, "The backup has two files with the path #{path}."
        end

        def safe?(path) = path.valid_encoding? && !path.start_with?("/") && path.split("/").none? { |part| ["", ".", ".."].include?(part) }

        # @return [Report]
        def verified
          manifest = self.manifest
          expected = manifest.fetch("files").to_h { |file| [file.fetch("path"), [file.fetch("bytes"), file.fetch("crc32")]] }
          wrong = (expected.to_a - @found.to_a).map(&:first)
          raise Failed, "The backup is not what was written: #{wrong.sort.first(5).join(', ')} differs or is missing." if wrong.any?

          # Who has opened a store of the backup, as `elah store check` does, has left one.
          locks = manifest.fetch("stores").map { |store| store == "." ? "lock.mdb" : File.join(store, "lock.mdb") }
          more = @found.keys - expected.keys - [MANIFEST, *locks]
          raise Failed, "The backup has files that it was not written with: #{more.sort.first(5).join(', ')}." if more.any?

          manifest.fetch("stores").each { |store| verify(File.join(@staging, store)) }
          Report.new(stores: manifest.fetch("stores"), sinks: manifest.fetch("sinks"), bytes: expected.values.sum(&:first), left_out: [])
        end

        def manifest
          raise Failed, "This is no complete backup: it has no #{MANIFEST}." unless @found.key?(MANIFEST)

          manifest = JSON.parse(File.read(File.join(@staging, MANIFEST)))
          raise Failed, "The #{MANIFEST} of the backup is no JSON object." unless manifest.is_a?(Hash)
          return manifest if manifest["backup"] == FORMAT

          raise Failed, "The backup has the format #{manifest['backup'].inspect}, written by Elah #{manifest['elah']}; this version reads #{FORMAT}."
        rescue JSON::ParseError
          raise Failed, "The #{MANIFEST} of the backup cannot be read."
        end

        # Reads all of it, and leaves no file of its own.
        def verify(store)
          Store.stats(store)
          FileUtils.rm_f(File.join(store, "lock.mdb"))
        end

        def install
          Folders.sync(@staging)
          File.rename(@staging, @checked)
          Folders.sync_names(@data)
          Backup.unmoved(@data).each { |child| File.rename(File.join(@checked, child), File.join(@data, child)) }
          Folders.sync_names(@data)
          FileUtils.rm_rf(@checked)
          Folders.sync_names(@data)
        end

        # A program may have opened a store in the folder meanwhile: its files stay.
        def discard(existing)
          undo if Backup.unmoved(@data).any?
          FileUtils.rm_rf([@staging, @checked])
          Dir.rmdir(@data) unless existing
        rescue Errno::ENOTEMPTY
          nil
        end
      end
    end
  end
end
