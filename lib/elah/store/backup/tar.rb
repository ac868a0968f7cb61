# frozen_string_literal: true

require "rubygems"
require "rubygems/package"
require "stringio"

module Elah
  class Store
    module Backup
      # A backup that is written as a tar stream (POSIX.1-2001), which `tar -tf` lists. A reader knows from its last file, the manifest, that it is
      # whole.
      class TarTarget
        # @param io [IO]
        def initialize(io)
          @io = io
          @io.binmode
        end

        # @param path [String] of a file, relative
        # @param bytes [Integer] its length
        # @param time [Time]
        # @yieldparam io [IO]
        # @return [void]
        def add(path, bytes, time)
          extend_header(path, bytes, time) if bytes > Tar::BYTES_MAX
          header(path, bytes, time)
          yield @io
          pad(bytes)
        end

        # @return [void]
        def finish
          @io.write("\0" * (2 * Tar::BLOCK_BYTES))
          @io.flush
        end

        # A stream cannot be taken back: its reader misses the manifest.
        #
        # @return [void]
        def abort = nil

        private

        # The header of a file has room for a length of 8 GiB.
        def extend_header(path, bytes, time)
          record = Tar.record("size", bytes.to_s)
          header("#{File.basename(path)}.pax", record.bytesize, time, "x")
          @io.write(record)
          pad(record.bytesize)
        end

        def header(path, bytes, time, type = "0")
          name, prefix = Gem::Package::TarWriter.new(@io).split_name(path)
          bytes = 0 if bytes > Tar::BYTES_MAX
          header = Gem::Package::TarHeader.new(name: name, prefix: prefix, mode: 0o600, size: bytes, typeflag: type, mtime: time,
                                               uname: "", gname: "")
          @io.write(header.to_s)
        rescue Gem::Package::TooLongFileName => e
          raise Failed, "The path #{path} does not fit into a tar stream: #{e.message}. Back up to a folder."
        end

        def pad(bytes) = @io.write("\0" * (-bytes % Tar::BLOCK_BYTES))
      end

      # A backup that is read from a tar stream.
      class TarSource
        # @param io [IO]
        # @param name [String] for messages
        def initialize(io, name)
          @io = io
          @io.binmode
          @name = name
        end

        # @yieldparam path [String] of a file, relative
        # @yieldparam bytes [Integer] its length
        # @yieldparam io [IO] where the file begins; the block reads all of it
        # @return [void]
        # @raise [Failed] when the stream ends early or is no tar
        def each_file
          size = nil
          while (header = next_header)
            bytes = size || header.size
            size = nil
            case header.typeflag
            when "0", "\0", "" then yield path(header), bytes, @io
            when "x" then size = Tar.value(read(bytes), "size")&.to_i
            else read(bytes)
            end
            read(-bytes % Tar::BLOCK_BYTES)
          end
        end

        private

        def path(header) = (header.prefix.empty? ? header.name : "#{header.prefix}/#{header.name}").delete_prefix("./")

        # @return [Gem::Package::TarHeader, nil] nil at the end
        def next_header
          block = read(Tar::BLOCK_BYTES)
          return if block.count("\0") == block.bytesize

          header = Gem::Package::TarHeader.from(StringIO.new(block))
          raise Failed, "#{@name} is no tar stream." unless header.magic == "ustar"

          header
        rescue ArgumentError, Gem::Package::Error
          raise Failed, "#{@name} is no tar stream."
        end

        def read(bytes)
          read = @io.read(bytes).to_s
          return read if read.bytesize == bytes

          raise Failed, "#{@name} ends early: it is no complete backup."
        end
      end

      # The layout of tar streams.
      module Tar
        BLOCK_BYTES = 512
        # What 11 octal digits can say.
        BYTES_MAX = 0o77_777_777_777

        class << self
          # @return [String] a record of an extended header, which begins with its own length
          def record(name, value)
            rest = " #{name}=#{value}\n"
            length = rest.bytesize + 1
            length += 1 until "#{length}#{rest}".bytesize == length
            "#{length}#{rest}"
          end

          # @return [String, nil] the value of a record
          def value(text, name) = text[/^\d+ #{name}=(.*)$/, 1]
        end
      end
      private_constant :Tar
    end
  end
end
