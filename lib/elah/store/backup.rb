# frozen_string_literal: true

require "zlib"

module Elah
  class Store
    # A copy of a data folder, with all stores and sinks below it, made while servers use them. It is a folder, or the same as a tar stream. Its last
    # file is a manifest with the length and the CRC-32 of every other file: a copy without one, or with another file, is not restored.
    module Backup
      # A backup or a restore that could not be completed.
      class Failed < Error; end

      autoload :Contents, "elah/store/backup/contents"
      autoload :FolderSource, "elah/store/backup/folder"
      autoload :FolderTarget, "elah/store/backup/folder"
      autoload :Restoration, "elah/store/backup/restoration"
      autoload :TarSource, "elah/store/backup/tar"
      autoload :TarTarget, "elah/store/backup/tar"

      MANIFEST = "backup.json"
      # The number of the manifest's format.
      FORMAT = 1
      CHUNK_BYTES = 1024 * 1024

      # What a backup or a restore has copied.
      #
      # @attr_reader [Array<String>] stores paths below the data folder
      # @attr_reader [Array<String>] sinks
      # @attr_reader [Integer] bytes
      # @attr_reader [Array<String>] left_out files that belong to no store and no sink
      Report = Struct.new(:stores, :sinks, :bytes, :left_out, keyword_init: true)

      class << self
        # @param data [String]
        # @return [Array<String>] names that a restore has checked, and has not moved to their places in the data folder
        # @api private
        def unmoved(data)
          checked = File.join(data, CHECKED_RESTORE)
          Dir.exist?(checked) ? Dir.children(checked) - [MANIFEST] : []
        end

        # Copies all that is stored below a folder, as of one moment.
        #
        # @param data [String] the data folder
        # @param target [FolderTarget, TarTarget]
        # @return [Report]
        # @raise [Failed] when nothing is left of the copy, because of its target
        # @raise [Store::Error] when a store is damaged
        def create(data, target)
          completed = Contents.pin(data) { |contents| write(contents, target) }
        rescue SystemCallError => e
          raise Failed, "The backup failed and was removed: #{e.message}."
        ensure
          target.abort unless completed
        end

        # Copies bytes, piece by piece.
        #
        # @param bytes [Integer] how many
        # @yieldparam offset [Integer]
        # @yieldparam length [Integer]
        # @yieldreturn [String] the bytes there, which are passed on
        # @return [Integer] their CRC-32
        def copy(bytes, to)
          offset = checksum = 0
          while offset < bytes
            chunk = yield offset, [CHUNK_BYTES, bytes - offset].min
            raise Failed, "A file ends early, at #{offset} of #{bytes} bytes: it is no complete backup." if chunk.nil? || chunk.empty?

            to.write(chunk)
            checksum = Zlib.crc32(chunk, checksum)
            offset += chunk.bytesize
          end
          checksum
        end

        private

        def write(contents, target)
          files = contents.each_file.map do |file|
            checksum = nil
            target.add(file.path, file.bytes, contents.taken_at) { |io| checksum = copy(file.bytes, io, &file.reader) }
            { "path" => file.path, "bytes" => file.bytes, "crc32" => format("%08x", checksum) }
          end
          manifest = { "backup" => FORMAT, "elah" => VERSION, "taken_at" => contents.taken_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                       "stores" => contents.stores, "sinks" => contents.sinks, "files" => files }
          text = "#{JSON.generate(manifest)}\n"
          target.add(MANIFEST, text.bytesize, contents.taken_at) { |io| io.write(text) }
          target.finish
          Report.new(stores: contents.stores, sinks: contents.sinks, bytes: files.sum { |file| file["bytes"] }, left_out: contents.left_out)
        end
      end
    end
  end
end
